// The changes between two texts, line by line. Invariant: the edits turn the old text into the new one exactly, also
// where the search for the shortest edit was ended early.
//
// Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986, section 4b (linear space).

/// The difference of two texts as runs of lines that were replaced.
package struct LineDifference: Equatable, Sendable {
    /// A run of old lines that a run of new lines replaces; one of the two may be empty, never both.
    package struct Edit: Equatable, Sendable {
        /// Positions in the old text's lines.
        package let oldRange: Range<Int>
        /// Positions in the new text's lines.
        package let newRange: Range<Int>
    }

    /// The text before.
    package let old: TextLines
    /// The text after.
    package let new: TextLines
    /// The edits in order, with at least one kept line between neighbours.
    package let edits: [Edit]

    /// How many lines the new text has that the old one lacks.
    package var addedLineCount: Int { edits.reduce(0) { $0 + $1.newRange.count } }
    /// How many lines the old text has that the new one lacks.
    package var removedLineCount: Int { edits.reduce(0) { $0 + $1.oldRange.count } }

    /// Compares two texts.
    ///
    /// - Complexity: O((n + m) · d) for n and m lines and d differing ones, with d bounded by
    ///   `MiddleSnakeSearch.editCountMax`: above it the result is correct but may be longer than necessary.
    ///   Memory is linear.
    package init(from oldText: String, to newText: String) {
        self.init(from: TextLines(oldText), to: TextLines(newText))
    }

    init(from old: TextLines, to new: TextLines) {
        var numbers: [ArraySlice<UInt8>: Int32] = [:]
        func number(_ line: ArraySlice<UInt8>) -> Int32 {
            if let known = numbers[line] { return known }
            let next = Int32(numbers.count)
            numbers[line] = next
            return next
        }
        var search = MiddleSnakeSearch(old: old.lines.map(number), new: new.lines.map(number))
        search.run()
        self.old = old
        self.new = new
        self.edits = Self.edits(isRemoved: search.isRemoved, isAdded: search.isAdded)
    }

    private static func edits(isRemoved: [Bool], isAdded: [Bool]) -> [Edit] {
        var edits: [Edit] = []
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < isRemoved.count || newIndex < isAdded.count {
            let oldStart = oldIndex
            let newStart = newIndex
            while oldIndex < isRemoved.count && isRemoved[oldIndex] { oldIndex += 1 }
            while newIndex < isAdded.count && isAdded[newIndex] { newIndex += 1 }
            if oldIndex > oldStart || newIndex > newStart {
                edits.append(Edit(oldRange: oldStart..<oldIndex, newRange: newStart..<newIndex))
            }
            // A kept line is one line of both texts.
            oldIndex += 1
            newIndex += 1
        }
        return edits
    }
}

/// Marks the lines that do not belong to a longest common run of two sequences.
struct MiddleSnakeSearch {
    /// How many edits one search looks through before it settles for the furthest point reached.
    static let editCountMax = 2_000

    private let old: [Int32]
    private let new: [Int32]
    private(set) var isRemoved: [Bool]
    private(set) var isAdded: [Bool]
    /// Furthest old position per diagonal, searching from the start and from the end.
    private var forward: [Int] = []
    private var backward: [Int] = []

    private struct Box {
        var old: Range<Int>
        var new: Range<Int>
    }

    init(old: [Int32], new: [Int32]) {
        self.old = old
        self.new = new
        isRemoved = [Bool](repeating: false, count: old.count)
        isAdded = [Bool](repeating: false, count: new.count)
    }

    /// Works through boxes of the edit graph from a stack, so that no input can exhaust the call stack.
    mutating func run() {
        var boxes = [Box(old: 0..<old.count, new: 0..<new.count)]
        while let next = boxes.popLast() {
            let box = trimmed(next)
            if box.old.isEmpty {
                for index in box.new { isAdded[index] = true }
            } else if box.new.isEmpty {
                for index in box.old { isRemoved[index] = true }
            } else {
                let (oldMiddle, newMiddle) = middle(of: box)
                boxes.append(Box(old: box.old.lowerBound..<oldMiddle, new: box.new.lowerBound..<newMiddle))
                boxes.append(Box(old: oldMiddle..<box.old.upperBound, new: newMiddle..<box.new.upperBound))
            }
        }
    }

    private func trimmed(_ box: Box) -> Box {
        var (oldStart, oldEnd) = (box.old.lowerBound, box.old.upperBound)
        var (newStart, newEnd) = (box.new.lowerBound, box.new.upperBound)
        while oldStart < oldEnd && newStart < newEnd && old[oldStart] == new[newStart] {
            oldStart += 1
            newStart += 1
        }
        while oldStart < oldEnd && newStart < newEnd && old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
        }
        return Box(old: oldStart..<oldEnd, new: newStart..<newEnd)
    }

    /// A point on a shortest path through a trimmed box with both sides non-empty; never one of its corners
    /// (first line and last line differ, so a shortest path has at least two edits, one on either side).
    private mutating func middle(of box: Box) -> (old: Int, new: Int) {
        let oldCount = box.old.count
        let newCount = box.new.count
        let delta = oldCount - newCount
        let editCountMax = min((oldCount + newCount + 1) / 2, Self.editCountMax)
        // Diagonal k of either search is at k + center; -1 says that no path inside the box reaches it.
        let center = editCountMax + 1
        forward = [Int](repeating: -1, count: 2 * center + 1)
        backward = [Int](repeating: -1, count: 2 * center + 1)
        for editCount in 0...editCountMax {
            for diagonal in stride(from: -editCount, through: editCount, by: 2) {
                let x = advance(forward, at: center, diagonal, editCount, box) {
                    old[box.old.lowerBound + $0] == new[box.new.lowerBound + $1]
                }
                forward[center + diagonal] = x
                let other = delta - diagonal
                guard x >= 0, delta % 2 != 0, abs(other) < editCount, backward[center + other] >= 0 else { continue }
                if x >= oldCount - backward[center + other] {
                    return (box.old.lowerBound + x, box.new.lowerBound + x - diagonal)
                }
            }
            for diagonal in stride(from: -editCount, through: editCount, by: 2) {
                let x = advance(backward, at: center, diagonal, editCount, box) {
                    old[box.old.upperBound - 1 - $0] == new[box.new.upperBound - 1 - $1]
                }
                backward[center + diagonal] = x
                let other = delta - diagonal
                guard x >= 0, delta % 2 == 0, abs(other) <= editCount, forward[center + other] >= 0 else { continue }
                if forward[center + other] >= oldCount - x {
                    return (box.old.upperBound - x, box.new.upperBound - (x - diagonal))
                }
            }
        }
        return furthest(center: center, box: box)
    }

    /// One step of a search on one diagonal: the better of a step right and a step down from the neighbours,
    /// as long as it stays in the box, and then along equal lines as far as they go.
    private func advance(
        _ reached: [Int], at center: Int, _ diagonal: Int, _ editCount: Int, _ box: Box, isEqual: (Int, Int) -> Bool
    ) -> Int {
        let oldCount = box.old.count
        let newCount = box.new.count
        var x = 0
        if editCount > 0 {
            let left = reached[center + diagonal - 1]
            let above = reached[center + diagonal + 1]
            x = left >= 0 && left < oldCount ? left + 1 : -1
            if above >= 0 && above - (diagonal + 1) < newCount { x = max(x, above) }
        }
        guard x >= 0 else { return -1 }
        while x < oldCount && x - diagonal < newCount && isEqual(x, x - diagonal) { x += 1 }
        return x
    }

    /// The point inside the box that the forward search brought furthest, for when it was cut off.
    private func furthest(center: Int, box: Box) -> (old: Int, new: Int) {
        var best = (x: 0, y: 0)
        for index in forward.indices where forward[index] >= 0 {
            let x = forward[index]
            let y = x - (index - center)
            if x + y > best.x + best.y { best = (x, y) }
        }
        return (box.old.lowerBound + best.x, box.new.lowerBound + best.y)
    }
}
