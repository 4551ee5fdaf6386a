// What a text key shows. The one thing to keep true: it depends on the current facts, the base's tree and the entries above
// the base, and on nothing else, so that equal states show equal texts; and merging writes nothing (T1, T2).

internal import CoffretBase
package import CoffretStorage

/// One version of a text: a fact that stands, or stood, under its key.
package struct TextVersion: Hashable, Sendable {
    package let rank: EntryRank
    /// What its change replaced; empty for a fact of the base's tree, which has no ancestors.
    package let replaces: [Dot]
    /// Whether the change took the text away: then it is no version, and leads to others only.
    package let isRetraction: Bool

    package init(rank: EntryRank, replaces: [Dot] = [], isRetraction: Bool = false) {
        self.rank = rank
        self.replaces = replaces
        self.isRetraction = isRetraction
    }

    package var dot: Dot { rank.dot }
}

/// What a key shows to a person, and what his next edit replaces (T5).
package struct ShownText: Hashable, Sendable {
    /// The text; nil if the value that would be shown is malformed.
    package let text: [UInt8]?
    /// The current facts that an edit of what is shown replaces; ascending.
    package let replaces: [Dot]
    /// How many current facts are not in what is shown: above 0, the text is in conflict.
    package let hiddenCount: Int
    /// Whether it is the merge of several texts that differ, which nobody wrote.
    package let isMerged: Bool

    package init(text: [UInt8]?, replaces: [Dot], hiddenCount: Int, isMerged: Bool) {
        self.text = text
        self.replaces = replaces
        self.hiddenCount = hiddenCount
        self.isMerged = isMerged
    }
}

/// Bounds of T7: what is beyond is in conflict.
package enum TextMergeLimits {
    package static let versionCountMax = 8
    /// Of a text, the merge base among them.
    package static let byteCountMax = 1 << 20
    /// Of all current texts together.
    package static let sumByteCountMax = 4 << 20
}

/// Reads one text key. Spec: Spec/history.md section 5.
package struct TextMerge {
    private let version: (Dot) -> TextVersion?
    private let value: (Dot) throws(HistoryError) -> [UInt8]

    /// - Parameters:
    ///   - version: the version of that dot under the key: a fact of the base's tree, or a change of an entry above the
    ///     base that counts and was applied; nil for all others, whether they are stored or not.
    ///   - value: the text of such a version; `.valueMalformed` if it is none.
    package init(
        version: @escaping (Dot) -> TextVersion?, value: @escaping (Dot) throws(HistoryError) -> [UInt8]
    ) {
        self.version = version
        self.value = value
    }

    /// - Parameter current: the current facts under the key, at least one.
    /// - Throws: what `value` throws, but for `.valueMalformed`.
    /// - Complexity: with one current fact, one value. Else the versions above the base and their differences.
    package func show(_ current: [TextVersion]) throws(HistoryError) -> ShownText {
        precondition(!current.isEmpty, "a key without facts shows nothing")
        let ordered = current.sorted { $0.rank < $1.rank }
        var texts: [[UInt8]?] = []
        for version in ordered { texts.append(try text(of: version.dot)) }
        let shown = texts[texts.count - 1]
        let dots = ordered.map(\.dot).sorted()
        if texts.allSatisfy({ $0 == shown }) {
            return ShownText(text: shown, replaces: dots, hiddenCount: 0, isMerged: false)
        }
        let whole = texts.compactMap(\.self)
        if whole.count == texts.count, let merged = try merge(ordered, whole) {
            return ShownText(text: merged, replaces: dots, hiddenCount: 0, isMerged: true)
        }
        // S8: the greatest is shown, and an edit replaces it and its equals.
        let equal = zip(ordered, texts).filter { $0.1 == shown }.map(\.0.dot).sorted()
        return ShownText(text: shown, replaces: equal, hiddenCount: ordered.count - equal.count, isMerged: false)
    }

    /// Two texts that both grew from `base`, put together by lines.
    ///
    /// - Returns: nil if they contradict each other.
    package static func merged(_ first: [UInt8], _ second: [UInt8], over base: [UInt8]) -> [UInt8]? {
        var table = LineTable()
        let lines = table.lines(of: base)
        let versions = [table.lines(of: first), table.lines(of: second)]
        return LineMerge.merge(versions, over: lines).map { table.text(of: $0) }
    }

    private func text(of dot: Dot) throws(HistoryError) -> [UInt8]? {
        do throws(HistoryError) {
            return try value(dot)
        } catch {
            guard error.code == .valueMalformed else { throw error }
            return nil
        }
    }

    /// - Returns: nil without a merge base, with a contradiction, or beyond T7.
    private func merge(_ ordered: [TextVersion], _ texts: [[UInt8]]) throws(HistoryError) -> [UInt8]? {
        guard texts.count <= TextMergeLimits.versionCountMax,
            texts.allSatisfy({ $0.count <= TextMergeLimits.byteCountMax }),
            texts.reduce(0, { $0 + $1.count }) <= TextMergeLimits.sumByteCountMax,
            let base = Self.base(of: ordered, version), let old = try text(of: base.dot),
            old.count <= TextMergeLimits.byteCountMax
        else { return nil }
        var table = LineTable()
        let baseLines = table.lines(of: old)
        let versions = texts.map { table.lines(of: $0) }
        return LineMerge.merge(versions, over: baseLines).map { table.text(of: $0) }
    }

    /// The merge base: of the versions that are ancestors of all current ones the one of the greatest rank. A version is its
    /// own ancestor.
    ///
    /// - Parameter current: at most 64.
    static func base(of current: [TextVersion], _ version: (Dot) -> TextVersion?) -> TextVersion? {
        var known: [Dot: TextVersion] = [:]
        /// Whose ancestor a version is, one bit for each current one.
        var descendants: [Dot: UInt64] = [:]
        for (index, start) in current.enumerated() {
            let bit = UInt64(1) << UInt64(index)
            known[start.dot] = start
            var waiting = [start.dot]
            while let dot = waiting.popLast() {
                let reached = descendants[dot, default: 0]
                guard reached & bit == 0, let found = known[dot] ?? version(dot) else { continue }
                known[dot] = found
                descendants[dot] = reached | bit
                waiting += found.replaces
            }
        }
        let all = UInt64.max >> UInt64(64 - current.count)
        return descendants.lazy.filter { $0.value == all }.compactMap { known[$0.key] }
            .filter { !$0.isRetraction }.max { $0.rank < $1.rank }
    }
}
