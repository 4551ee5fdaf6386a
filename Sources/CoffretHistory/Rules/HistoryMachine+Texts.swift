// What text keys show (Spec/history.md section 5). The one thing to keep true: versions are facts of the base's tree and
// applied entries above it, whatever else is stored (T2).

internal import CoffretBase
package import CoffretStorage

/// Reads a text that an entry or a tree has under a key; `.valueMalformed` if it is none.
package typealias TextReader = (FactKey, ChangeContent) throws(HistoryError) -> [UInt8]

/// The versions of one text key that a merge may ask for.
package struct TextVersions {
    package let key: FactKey
    fileprivate var current: [TextVersion] = []
    fileprivate var all: [Dot: (version: TextVersion, content: ChangeContent)] = [:]

    /// The values that the key shows.
    ///
    /// - Throws: what `read` throws, but for `.valueMalformed`.
    /// - Complexity: as `TextMerge.show`.
    package func show(_ read: @escaping TextReader) throws(HistoryError) -> ShownText {
        let merge = TextMerge(version: { all[$0]?.version }) { (dot) throws(HistoryError) in
            guard let content = all[dot]?.content else {
                throw HistoryError(.valueMalformed, place: dot.description)
            }
            return try read(key, content)
        }
        return try merge.show(current)
    }
}

extension HistoryMachine {
    /// The versions of a text key; nil: nothing stands under it.
    ///
    /// - Complexity: one read for a key with one fact; else one for each version above the base.
    package func textVersions(under key: FactKey) throws(Store.Failure) -> TextVersions? {
        let current = try facts(under: key)
        guard !current.isEmpty else { return nil }
        let base = try store.facts(under: key, inTree: baseRoot)
        var found = TextVersions(key: key)
        var rest = Array(current.keys)
        while let dot = rest.popLast() {
            guard found.all[dot] == nil, let version = try version(dot, of: key, base) else { continue }
            found.all[dot] = version
            if current.count > 1 { rest += version.version.replaces }
        }
        for (dot, fact) in current {
            let version = TextVersion(rank: EntryRank(height: fact.height, dot: dot))
            found.current.append(found.all[dot]?.version ?? version)
            if found.all[dot] == nil { found.all[dot] = (version, fact.content) }
        }
        return found
    }

    private func version(
        _ dot: Dot, of key: FactKey, _ base: CurrentFacts
    ) throws(Store.Failure) -> (version: TextVersion, content: ChangeContent)? {
        if let fact = base[dot] {
            return (TextVersion(rank: EntryRank(height: fact.height, dot: dot)), fact.content)
        }
        for stored in try store.entries(at: dot) {
            guard try isApplied(stored.entry),
                let change = try change(of: key, by: stored.entry)
            else { continue }
            let version = TextVersion(
                rank: stored.entry.rank, replaces: change.replaces, isRetraction: change.content == .retraction)
            return (version, change.content)
        }
        return nil
    }

    /// T6: keys with several current facts, ascending. Before a checkpoint with a root its author writes, of those whose
    /// text is merged (`ShownText.isMerged`), the merge.
    ///
    /// - Parameter isText: whether a key's shape is text.
    package func contestedTexts(isText: (FactKey) -> Bool) throws(Store.Failure) -> [TextVersions] {
        try contested.sorted().filter(isText).known { (key) throws(Store.Failure) in try textVersions(under: key) }
    }
}
