// A difference as people read it: changed lines with a few kept ones around them.

/// A difference in the manner of `diff -u`, as a model; its caller chooses signs and colours.
package struct UnifiedDifference: Equatable, Sendable {
    /// The change of a line.
    package enum Mark: String, Equatable, Sendable {
        case kept
        case removed
        case added
    }

    /// One line and what happened to it.
    package struct Line: Equatable, Sendable {
        /// Its change.
        package let mark: Mark
        /// The text without its line ending.
        package let text: String
        /// Whether a line feed ends it; only the last line of a text may lack one.
        package let hasLineFeed: Bool
    }

    /// A run of lines with changes in it.
    package struct Hunk: Equatable, Sendable {
        /// Which lines of the old text it covers, counted from 0.
        package let oldRange: Range<Int>
        /// Which lines of the new text it covers, counted from 0.
        package let newRange: Range<Int>
        /// The lines in order; removed ones before added ones.
        package let lines: [Line]

        /// The head of a hunk as `diff -u` writes it: `@@ -3,7 +3,8 @@`.
        package var head: String { UnifiedDifference.head(oldRange, newRange) }
    }

    /// The head of a hunk over these lines, counted from 0.
    package static func head(_ old: Range<Int>, _ new: Range<Int>) -> String {
        "@@ -\(position(old)) +\(position(new)) @@"
    }

    private static func position(_ range: Range<Int>) -> String {
        // An empty range is named by the line before it, which is its lower bound counted from 1.
        let first = range.isEmpty ? range.lowerBound : range.lowerBound + 1
        return range.count == 1 ? "\(first)" : "\(first),\(range.count)"
    }

    /// The hunks in order; empty if the texts are equal.
    package let hunks: [Hunk]

    /// Groups edits into hunks.
    ///
    /// - Parameter contextLineCount: how many kept lines stand around an edit, where there are so many.
    package init(_ difference: LineDifference, contextLineCount: Int = 3) {
        let context = max(0, contextLineCount)
        var hunks: [Hunk] = []
        var group: [LineDifference.Edit] = []
        for edit in difference.edits {
            if let last = group.last, edit.oldRange.lowerBound - last.oldRange.upperBound > 2 * context {
                hunks.append(Self.hunk(of: group, in: difference, context: context))
                group = []
            }
            group.append(edit)
        }
        if !group.isEmpty { hunks.append(Self.hunk(of: group, in: difference, context: context)) }
        self.hunks = hunks
    }

    private static func hunk(of edits: [LineDifference.Edit], in difference: LineDifference, context: Int) -> Hunk {
        let old = difference.old.lines
        let new = difference.new.lines
        let before = min(context, edits[0].oldRange.lowerBound)
        let last = edits[edits.count - 1]
        let after = min(context, old.count - last.oldRange.upperBound)
        var lines: [Line] = []
        func append(_ mark: Mark, _ source: ArraySlice<ArraySlice<UInt8>>) {
            lines += source.map { Line(mark: mark, text: TextLines.display($0), hasLineFeed: $0.last == 0x0A) }
        }
        var oldPosition = edits[0].oldRange.lowerBound - before
        for edit in edits {
            append(.kept, old[oldPosition..<edit.oldRange.lowerBound])
            append(.removed, old[edit.oldRange])
            append(.added, new[edit.newRange])
            oldPosition = edit.oldRange.upperBound
        }
        append(.kept, old[oldPosition..<(oldPosition + after)])
        return Hunk(
            oldRange: (edits[0].oldRange.lowerBound - before)..<(last.oldRange.upperBound + after),
            newRange: (edits[0].newRange.lowerBound - before)..<(last.newRange.upperBound + after),
            lines: lines)
    }
}
