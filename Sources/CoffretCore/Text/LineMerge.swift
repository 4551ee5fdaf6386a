// Two edits of one text put together. Invariant: a line that either side wrote is in the result or in a conflict, and
// swapping the two sides changes nothing but which side is called first.
//
// Source: S. Khanna, K. Kunal, B. C. Pierce, "A Formal Investigation of Diff3", 2007.

/// The three-way merge of two texts over their common ancestor, by lines.
package struct LineMerge: Equatable, Sendable {
    /// A part of the result.
    package enum Part: Equatable, Sendable {
        /// Lines on which there is no disagreement.
        case agreed(String)
        /// The same place, written differently by both sides.
        case conflict(base: String, first: String, second: String)
    }

    /// The parts in order.
    package let parts: [Part]

    /// The merged text, or nil if the two sides disagree somewhere.
    package var text: String? {
        var text = ""
        for part in parts {
            guard case .agreed(let lines) = part else { return nil }
            text += lines
        }
        return text
    }

    /// Merges two texts that both grew from `base`.
    ///
    /// Edits that touch or overlap are one place; they agree only if both sides wrote the same there.
    /// - Complexity: that of two line differences.
    package init(base baseText: String, first firstText: String, second secondText: String) {
        let base = TextLines(baseText)
        let first = LineDifference(from: base, to: TextLines(firstText))
        let second = LineDifference(from: base, to: TextLines(secondText))
        var parts: [Part] = []
        var agreed: [ArraySlice<UInt8>] = []
        var position = 0
        var firstEdits = first.edits[...]
        var secondEdits = second.edits[...]
        while let start = [firstEdits.first, secondEdits.first].compactMap({ $0?.oldRange.lowerBound }).min() {
            agreed += base.lines[position..<start]
            let (end, mine, theirs) = Self.takePlace(from: start, &firstEdits, &secondEdits)
            let place = start..<end
            let old = base.lines[place]
            let written = Self.lines(of: first, in: place, after: mine)
            let otherwise = Self.lines(of: second, in: place, after: theirs)
            position = end
            if written.elementsEqual(otherwise) || theirs.isEmpty {
                agreed += written
            } else if mine.isEmpty {
                agreed += otherwise
            } else {
                if !agreed.isEmpty { parts.append(.agreed(TextLines.joined(agreed))) }
                agreed = []
                parts.append(
                    .conflict(
                        base: TextLines.joined(old), first: TextLines.joined(written),
                        second: TextLines.joined(otherwise)))
            }
        }
        agreed += base.lines[position...]
        if !agreed.isEmpty { parts.append(.agreed(TextLines.joined(agreed))) }
        self.parts = parts
    }

    /// Takes all edits of both sides that hang together, beginning at `start` in the base.
    private static func takePlace(
        from start: Int, _ first: inout ArraySlice<LineDifference.Edit>, _ second: inout ArraySlice<LineDifference.Edit>
    ) -> (end: Int, first: [LineDifference.Edit], second: [LineDifference.Edit]) {
        var end = start
        var mine: [LineDifference.Edit] = []
        var theirs: [LineDifference.Edit] = []
        while true {
            if let edit = first.first, edit.oldRange.lowerBound <= end {
                mine.append(first.removeFirst())
                end = max(end, edit.oldRange.upperBound)
            } else if let edit = second.first, edit.oldRange.lowerBound <= end {
                theirs.append(second.removeFirst())
                end = max(end, edit.oldRange.upperBound)
            } else {
                return (end, mine, theirs)
            }
        }
    }

    /// One side's lines in place of the base lines `place`, given its edits there.
    private static func lines(
        of side: LineDifference, in place: Range<Int>, after edits: [LineDifference.Edit]
    ) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var position = place.lowerBound
        for edit in edits {
            lines += side.old.lines[position..<edit.oldRange.lowerBound]
            lines += side.new.lines[edit.newRange]
            position = edit.oldRange.upperBound
        }
        lines += side.old.lines[position..<place.upperBound]
        return lines
    }
}
