"""Texts merged by lines (Spec/history.md section 5, T1 to T9)."""

DIFFERENCE_MAX = 1000


def lines(text):
    """The lines of a text; each ends behind its LF."""
    parts = text.split(b'\n')
    return [part + b'\n' for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Distances:
    """D(i, j), where it is at most `DIFFERENCE_MAX`; far from the diagonal it is more, and is not computed."""

    def __init__(self, old, new):
        n, m = self.size = len(old), len(new)
        self.far = n + m + 1
        self.rows = [None] * (n + 1)  # the first column of a row, and its values
        for i in range(n, -1, -1):
            start, end = max(0, i - DIFFERENCE_MAX), min(m, i + DIFFERENCE_MAX)
            row = [self.far] * max(0, end - start + 1)
            for j in range(end, start - 1, -1):
                if i == n or j == m:
                    row[j - start] = n - i + m - j
                elif old[i] == new[j]:
                    row[j - start] = self.at(i + 1, j + 1)
                else:
                    right = row[j + 1 - start] if j < end else self.far
                    row[j - start] = 1 + min(self.at(i + 1, j), right)
            self.rows[i] = start, row

    def at(self, i, j):
        start, row = self.rows[i]
        return row[j - start] if start <= j < start + len(row) else self.far


def difference(old, new):
    """T8: runs (old start, old end, new start, new end) between two lists of lines."""
    n, m = len(old), len(new)
    start = 0
    while start < min(n, m) and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < min(n, m) - start and old[n - 1 - tail] == new[m - 1 - tail]:
        tail += 1
    if start == n == m:
        return []
    # Lines that are equal at the beginning are kept in any case. Equal ones at the end may be matched otherwise, so they stay in the walk.
    if abs(n - m) > DIFFERENCE_MAX:
        return [(start, n - tail, start, m - tail)]
    distances = Distances(old[start:], new[start:])
    if distances.at(0, 0) > DIFFERENCE_MAX:
        return [(start, n - tail, start, m - tail)]
    return [tuple(place + start for place in run) for run in _walk(distances, old[start:], new[start:])]


def _walk(distances, old, new):
    i = j = 0
    runs, run = [], None
    while distances.at(i, j):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            if run is not None:
                runs.append((run[0], i, run[1], j))
                run = None
            i, j = i + 1, j + 1
            continue
        run = run or (i, j)
        if j < len(new) and distances.at(i, j + 1) == distances.at(i, j) - 1:
            j += 1
        else:
            i += 1
    if run is not None:
        runs.append((run[0], i, run[1], j))
    return runs


def merge(base, one, two):
    """T9: the merged lines, or None where the texts contradict each other."""
    edits = sorted(
        [(s, e, 0, one[a:b]) for s, e, a, b in difference(base, one)] + [(s, e, 1, two[a:b]) for s, e, a, b in difference(base, two)],
        key=lambda edit: edit[:3],
    )
    out, at, index = [], 0, 0
    while index < len(edits):
        start, end = edits[index][:2]
        place = []
        while index < len(edits) and (not place or edits[index][0] <= end):
            place.append(edits[index])
            end = max(end, edits[index][1])
            index += 1
        sides = [_side(base, [edit for edit in place if edit[2] == side], start, end) for side in (0, 1)]
        if sides[0] is not None and sides[1] is not None and sides[0] != sides[1]:
            return None
        out += base[at:start] + (sides[0] if sides[0] is not None else sides[1])
        at = end
    return out + base[at:]


def _side(base, edits, start, end):
    """The lines of one side at a place; None if it has no runs there."""
    if not edits:
        return None
    out, at = [], start
    for s, e, _, added in edits:
        out += base[at:s] + added
        at = e
    return out + base[at:end]


def merged(base, versions):
    """The merge of all versions, in their order, over the base; None where two contradict each other."""
    under = lines(base)
    result = lines(versions[0])
    for version in versions[1:]:
        result = merge(under, result, lines(version))
        if result is None:
            return None
    return b''.join(result)
