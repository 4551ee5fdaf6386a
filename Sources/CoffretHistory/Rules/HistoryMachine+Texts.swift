// What text keys show (Spec/history.md section 5). The one thing to keep true: versions are facts of the base's tree and
// applied entries above it, whatever else is stored (T2).

internal import CoffretBase
package import CoffretStorage

/// Reads a text that an entry or a tree has under a key; `.valueMalformed` if it is none.
package typealias TextReader = (FactKey, ChangeContent) throws(HistoryError) -> [UInt8]

extension HistoryMachine {
    /// A version and what it says; nil: no version of the key has this dot.
    private func version(_ dot: Dot, of key: FactKey) -> (TextVersion, ChangeContent)? {
        if let fact = store.facts(under: key, inTree: baseRoot)[dot] {
            return (TextVersion(rank: EntryRank(height: fact.height, dot: dot)), fact.content)
        }
        for stored in store.entries(at: dot) where isApplied(stored.entry) {
            guard let change = changes(of: stored.entry).first(where: { $0.key == key }) else { continue }
            let version = TextVersion(
                rank: stored.entry.rank, replaces: change.replaces, isRetraction: change.content == .retraction)
            return (version, change.content)
        }
        return nil
    }

    /// What a text key shows; nil: nothing stands under it.
    ///
    /// - Throws: what `read` throws, but for `.valueMalformed`.
    /// - Complexity: as `TextMerge.show`; two reads for each version.
    package func shownText(under key: FactKey, _ read: @escaping TextReader) throws(HistoryError) -> ShownText? {
        let current = facts(under: key)
        guard !current.isEmpty else { return nil }
        let merge = TextMerge(version: { version($0, of: key)?.0 }) { (dot) throws(HistoryError) in
            guard let content = current[dot]?.content ?? version(dot, of: key)?.1 else {
                throw HistoryError(.valueMalformed, place: dot.description)
            }
            return try read(key, content)
        }
        return try merge.show(
            current.map { dot, fact in
                version(dot, of: key)?.0 ?? TextVersion(rank: EntryRank(height: fact.height, dot: dot))
            })
    }

    /// T6: keys whose texts are merged, with what an author writes before a checkpoint with a root; ascending.
    ///
    /// - Parameter isText: whether a key's shape is text.
    package func mergedTexts(
        isText: (FactKey) -> Bool, _ read: @escaping TextReader
    ) throws(HistoryError) -> [(key: FactKey, shown: ShownText)] {
        var found: [(key: FactKey, shown: ShownText)] = []
        for key in contested.sorted() where isText(key) {
            if let shown = try shownText(under: key, read), shown.isMerged { found.append((key, shown)) }
        }
        return found
    }
}
