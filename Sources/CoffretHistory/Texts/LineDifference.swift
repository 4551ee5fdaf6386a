// The difference of two texts by lines. The one thing to keep true: it is defined by a walk, not found by a search, so
// that all devices merge to the same bytes (T8).

/// Old lines that new lines replace; one of the two ranges may be empty. Between two runs lies at least one kept line.
struct LineRun: Hashable, Sendable {
    var old: Range<Int>
    var new: Range<Int>
}

/// D(i, j) is the least number of lines to add and remove between old[i...] and new[j...]. The walk begins at (0, 0) and
/// goes on until D is 0: equal lines are kept; else the new line is added if D(i, j + 1) is D(i, j) − 1; else the old line
/// is removed. If D(0, 0) is above 1,000, equal lines at both ends are kept, those at the beginning first, and all between
/// is one run. Spec: Spec/history.md section 5.
enum LineDifference {
    /// More lines added and removed than this: one run.
    static let countMax = 1_000

    /// - Complexity: time for (lines of both) × D, memory for D² / 2 numbers of four bytes: 2 MB at most.
    static func runs(_ old: [Int32], _ new: [Int32]) -> [LineRun] {
        // The walk keeps equal lines at the beginning whatever D is. Those at the end it may not keep: it can reach them
        // from a line further up.
        let start = sharedPrefixCount(old, new)
        if start == old.count, start == new.count { return [] }
        guard let distances = LineDistances(old, new, from: start) else { return [replacement(old, new, from: start)] }
        var runs: [LineRun] = []
        var (i, j) = (start, start)
        for count in stride(from: distances.count, to: 0, by: -1) {
            while i < old.count, j < new.count, old[i] == new[j] { (i, j) = (i + 1, j + 1) }
            if runs.last.map({ $0.old.upperBound != i || $0.new.upperBound != j }) ?? true {
                runs.append(LineRun(old: i..<i, new: j..<j))
            }
            if j < new.count, distances.isAtMost(count - 1, i, j + 1) { j += 1 } else { i += 1 }
            runs[runs.count - 1].old = runs[runs.count - 1].old.lowerBound..<i
            runs[runs.count - 1].new = runs[runs.count - 1].new.lowerBound..<j
        }
        return runs
    }

    /// All between the equal ends, of which the first has been counted.
    private static func replacement(_ old: [Int32], _ new: [Int32], from start: Int) -> LineRun {
        var end = 0
        while end < min(old.count, new.count) - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
        return LineRun(old: start..<old.count - end, new: start..<new.count - end)
    }

    private static func sharedPrefixCount(_ old: [Int32], _ new: [Int32]) -> Int {
        var count = 0
        while count < min(old.count, new.count), old[count] == new[count] { count += 1 }
        return count
    }
}

/// The distances from the end, as far as the walk may ask for them.
///
/// For each count c and each diagonal d = i − j it has the least i from which the rest takes at most c lines: along a
/// diagonal the distance never grows towards the end, so that number says it for all i. (Myers, 1986, from the end.)
private struct LineDistances {
    /// D at the start.
    let count: Int
    /// oldCount − newCount: the diagonal of the end.
    private let endDiagonal: Int
    /// Level c begins at c (c + 1) / 2 and has the diagonals endDiagonal − c, − c + 2 … + c.
    private let reached: [Int32]

    private static let unreached = Int32.max

    /// - Returns: nil if more than 1,000 lines are to be added and removed from (start, start) on.
    init?(_ old: [Int32], _ new: [Int32], from start: Int) {
        let (n, m) = (old.count, new.count)
        let end = n - m
        guard abs(end) <= LineDifference.countMax else { return nil }
        var reached: [Int32] = []
        for count in 0...LineDifference.countMax {
            let level = reached.count
            let before = level - count
            for index in 0...count {
                let diagonal = end - count + 2 * index
                var i = n
                if count > 0 {
                    // From (i + 1, j), which removes old[i], and from (i, j + 1), which adds new[j].
                    let removing = index < count ? reached[before + index] : Self.unreached
                    let adding = index > 0 ? reached[before + index - 1] : Self.unreached
                    i = n + 1
                    if removing != Self.unreached, removing > start, Int(removing) - 1 - diagonal <= m {
                        i = Int(removing) - 1
                    }
                    if adding != Self.unreached, Int(adding) - diagonal >= start { i = min(i, Int(adding)) }
                }
                guard i <= n, i - diagonal >= start else {
                    reached.append(Self.unreached)
                    continue
                }
                while i > start, i - diagonal > start, old[i - 1] == new[i - diagonal - 1] { i -= 1 }
                reached.append(Int32(i))
                if diagonal == 0, i == start {
                    (self.count, endDiagonal, self.reached) = (count, end, reached)
                    return
                }
            }
        }
        return nil
    }

    /// Whether the rest from (i, j) on takes at most `count` lines, where it takes `count` or two more or fewer.
    func isAtMost(_ count: Int, _ i: Int, _ j: Int) -> Bool {
        let distance = i - j - endDiagonal + count
        guard count >= 0, distance >= 0, distance <= 2 * count, distance & 1 == 0 else { return false }
        return reached[count * (count + 1) / 2 + distance / 2] <= i
    }
}
