"""Texts merged by lines (Spec/history.md section 5, T1 to T9)."""

DIFFERENCE_MAX = 1000


def lines(text):
    """The lines of a text; each ends behind its LF."""
    parts = text.split(b'\n')
    return [part + b'\n' for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _distances(old, new):
    """D(i, j) for all places, row by row from the end."""
    n, m = len(old), len(new)
    rows = [None] * (n + 1)
    rows[n] = list(range(m, -1, -1))
    for i in range(n - 1, -1, -1):
        below, row, line = rows[i + 1], [0] * (m + 1), old[i]
        row[m] = n - i
        for j in range(m - 1, -1, -1):
            row[j] = below[j + 1] if line == new[j] else 1 + min(below[j], row[j + 1])
        rows[i] = row
    return rows


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
    rows = _distances(old[start:], new[start:])
    if rows[0][0] > DIFFERENCE_MAX:
        return [(start, n - tail, start, m - tail)]
    return [tuple(place + start for place in run) for run in _walk(rows, old[start:], new[start:])]


def _walk(rows, old, new):
    i = j = 0
    runs, run = [], None
    while rows[i][j]:
        if i < len(old) and j < len(new) and old[i] == new[j]:
            if run is not None:
                runs.append((run[0], i, run[1], j))
                run = None
            i, j = i + 1, j + 1
            continue
        run = run or (i, j)
        if j < len(new) and rows[i][j + 1] == rows[i][j] - 1:
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
