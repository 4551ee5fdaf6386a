// Two edits of one text, put together. The one thing to keep true: where both sides changed one place differently, nobody
// chooses for the person (T9).

enum LineMerge {
    /// Runs of both differences that touch or overlap in the base are one place. A place where only one side has runs takes
    /// that side's lines; where both have runs and equal lines, they are taken once.
    ///
    /// - Returns: nil if the texts contradict each other.
    static func merge(_ first: [Int32], _ second: [Int32], over base: [Int32]) -> [Int32]? {
        var mine = Side(text: first, runs: LineDifference.runs(base, first))
        var theirs = Side(text: second, runs: LineDifference.runs(base, second))
        var result: [Int32] = []
        var kept = 0
        while let start = [mine.start, theirs.start].compactMap(\.self).min() {
            var end = start
            while mine.take(upTo: &end) || theirs.take(upTo: &end) {}
            let (left, right) = (mine.lines(of: start..<end, base), theirs.lines(of: start..<end, base))
            if let left, let right, left != right { return nil }
            result += base[kept..<start]
            result += left ?? right ?? []
            kept = end
        }
        return result + base[kept...]
    }

    /// Versions in ascending order, each merged with the result over the base (T3).
    static func merge(_ versions: [[Int32]], over base: [Int32]) -> [Int32]? {
        guard var result = versions.first else { return nil }
        for version in versions.dropFirst() {
            guard let merged = merge(result, version, over: base) else { return nil }
            result = merged
        }
        return result
    }

    /// One text with its runs: those before `open` lie in places that are done, those before `next` in the present one.
    private struct Side {
        private let text: [Int32]
        private let runs: [LineRun]
        private var open = 0
        private var next = 0

        init(text: [Int32], runs: [LineRun]) {
            self.text = text
            self.runs = runs
        }

        /// Where the next run begins in the base.
        var start: Int? { next < runs.count ? runs[next].old.lowerBound : nil }

        /// Takes the next run into the present place, if it begins at its end or before.
        mutating func take(upTo end: inout Int) -> Bool {
            guard let start, start <= end else { return false }
            end = max(end, runs[next].old.upperBound)
            next += 1
            return true
        }

        /// Ends the present place.
        ///
        /// - Returns: this side's lines in the place of the base's; nil if this side has no run there.
        mutating func lines(of place: Range<Int>, _ base: [Int32]) -> [Int32]? {
            guard open < next else { return nil }
            var lines: [Int32] = []
            var position = place.lowerBound
            for run in runs[open..<next] {
                lines += base[position..<run.old.lowerBound]
                lines += text[run.new]
                position = run.old.upperBound
            }
            open = next
            return lines + base[position..<place.upperBound]
        }
    }
}
