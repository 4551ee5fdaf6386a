"""Texts by lines: the difference of two, and the merge of two over a third (Spec/history.md, T3 and T8).

A text is a tuple of lines. Two devices must come to the same difference, so the walk below is the definition and not one of several shortest ways.
"""

FAR = 1_000  # more lines added and removed than this: one run that replaces all between the equal ends


def remaining(old, new):
    """For each (i, j) that a shortest way from the end reaches: how many lines are to be added and removed behind it. None: more than FAR."""
    n, m = len(old), len(new)
    reach = {}  # (count, diagonal) -> least i such that old[i:], new[i - diagonal:] differ by count
    for count in range(FAR + 1):
        for diagonal in range(n - m - count, n - m + count + 1, 2):
            if count == 0:
                i = n
            else:
                # Removing old[i]: from (i + 1, j). Adding new[j]: from (i, j + 1).
                ways = [reach[count - 1, diagonal + 1] - 1] if (count - 1, diagonal + 1) in reach else []
                if (count - 1, diagonal - 1) in reach:
                    ways.append(reach[count - 1, diagonal - 1])
                ways = [i for i in ways if 0 <= i <= n and 0 <= i - diagonal <= m]
                if not ways:
                    continue
                i = min(ways)
            while i > 0 and i - diagonal > 0 and old[i - 1] == new[i - diagonal - 1]:
                i -= 1
            reach[count, diagonal] = i
            if i == 0 and diagonal == 0:
                return count, reach
    return None


def difference(old, new):
    """Runs (from, to, from, to) of old lines that runs of new lines replace, with at least one kept line between two runs."""
    found = remaining(old, new)
    runs, i, j = [], 0, 0

    def replaced(i0, i1, j0, j1):
        if runs and runs[-1][1] == i0 and runs[-1][3] == j0:
            runs[-1] = (runs[-1][0], i1, runs[-1][2], j1)
        else:
            runs.append((i0, i1, j0, j1))

    if found is None:
        while i < len(old) and i < len(new) and old[i] == new[i]:
            i += 1
        k = 0
        while k < len(old) - i and k < len(new) - i and old[-1 - k] == new[-1 - k]:
            k += 1
        return [(i, len(old) - k, i, len(new) - k)]
    count, reach = found
    while count > 0:
        while i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
        # A new line is taken as added if a shortest way goes on so; else the old one was removed.
        if j < len(new) and reach.get((count - 1, i - j - 1), i + 1) <= i:
            replaced(i, i, j, j + 1)
            j += 1
        else:
            replaced(i, i + 1, j, j)
            i += 1
        count -= 1
    return runs


def merge(base, first, second):
    """Both edits of base put together, or None: they contradict each other."""
    mine, theirs = difference(base, first), difference(base, second)
    out, at = [], 0
    while mine or theirs:
        start = min(r[0] for r in mine[:1] + theirs[:1])
        end, a, b = start, [], []
        while True:  # all runs that touch or overlap are one place
            if mine and mine[0][0] <= end:
                a.append(mine.pop(0))
                end = max(end, a[-1][1])
            elif theirs and theirs[0][0] <= end:
                b.append(theirs.pop(0))
                end = max(end, b[-1][1])
            else:
                break

        def side(text, runs):
            lines, p = [], start
            for i0, i1, j0, j1 in runs:
                lines += list(base[p:i0]) + list(text[j0:j1])
                p = i1
            return lines + list(base[p:end])

        x, y = side(first, a), side(second, b)
        if x == y or not b:
            new = x
        elif not a:
            new = y
        else:
            return None
        out += list(base[at:start]) + new
        at = end
    return tuple(out) + tuple(base[at:])


def merge_all(base, versions):
    """Standing versions, in ascending order, each merged over that base (T3). None: a contradiction."""
    text = versions[0]
    for other in versions[1:]:
        text = merge(base, text, other)
        if text is None:
            return None
    return text
