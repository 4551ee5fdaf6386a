"""Texts merged by lines (Spec/history.md section 5, T1 to T9)."""

DIFFERENCE_MAX = 1000


def lines(text):
    """The lines of a text; each ends behind its LF."""
    parts = text.split(b'\n')
    return [part + b'\n' for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Distances:
    """D(i, j), from the ends of both texts: for each count and diagonal the least i from which that many lines lead to the end.

    A place (i, j) lies on the diagonal i - j. D(i, j) is at most a count of the same parity if the least i there is not above i.
    """

    def __init__(self, old, new):
        self.least, self.total = [], None
        for count in range(DIFFERENCE_MAX + 1):
            self.least.append(self._next(old, new, count))
            if self.least[count].get(0) == 0:
                self.total = count
                return

    def _next(self, old, new, count):
        n, m = len(old), len(new)
        if count == 0:
            return {n - m: _back(old, new, n, m)}
        before, row = self.least[count - 1], {}
        for diagonal in range(n - m - count, n - m + count + 1, 2):
            removed, added = before.get(diagonal + 1), before.get(diagonal - 1)
            # Before an old line that is removed, and before a new one that is added.
            starts = [i for i in (removed - 1 if removed else None, added) if i is not None]
            starts = [i for i in starts if 0 <= i <= n and 0 <= i - diagonal <= m]
            if starts:
                i = min(starts)
                row[diagonal] = _back(old, new, i, i - diagonal)
        return row

    def reaches(self, count, i, j):
        """Whether D(i, j) is at most this count, of its parity."""
        least = self.least[count].get(i - j) if count >= 0 else None
        return least is not None and least <= i


def _back(old, new, i, j):
    """The beginning of the equal lines that end at a place."""
    while i and j and old[i - 1] == new[j - 1]:
        i, j = i - 1, j - 1
    return i


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
    distances = Distances(old[start:], new[start:])
    if distances.total is None:
        return [(start, n - tail, start, m - tail)]
    return [tuple(place + start for place in run) for run in _walk(distances, old[start:], new[start:])]


def _walk(distances, old, new):
    i = j = 0
    runs, run, left = [], None, distances.total
    while left:
        if i < len(old) and j < len(new) and old[i] == new[j]:
            if run is not None:
                runs.append((run[0], i, run[1], j))
                run = None
            i, j = i + 1, j + 1
            continue
        run = run or (i, j)
        left -= 1
        if j < len(new) and distances.reaches(left, i, j + 1):
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
