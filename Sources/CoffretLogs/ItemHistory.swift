// The history of one item. The one thing to keep true: it costs what the item has, by the index of items; and a version
// is what an entry says, whether or not it counts.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

/// What one entry changed of an item.
package struct ItemEntry: Sendable {
    package let entry: BlobName
    package let rank: EntryRank
    package let accountID: ChainID
    package let deviceID: UniqueID
    /// The author's clock; for show.
    package let time: Milliseconds
    /// Whether it is applied, or below the base; else it waits, or was excluded.
    package let counts: Bool
    /// Of the item alone, ascending by key.
    package let changes: [Change]
}

extension LogRepository {
    /// Entries that changed an item, newest first.
    ///
    /// Where history was dropped it begins with what is kept; `compaction` of a dot says so (G7).
    /// - Complexity: one read for each version; what others wrote in between costs nothing.
    package func history(of entity: EntityID) throws(StorageError) -> [ItemEntry] {
        try ask { (machine) throws(StorageError) in
            var versions: [ItemEntry] = []
            for rank in try machine.store.items.versions(of: entity).reversed() {
                for stored in try machine.store.entries(at: rank.dot) where stored.entry.height == rank.height {
                    let entry = stored.entry
                    let changes = try files.changes(of: entry, withPrefix: entity.bytes)
                    versions.append(
                        ItemEntry(
                            entry: entry.name, rank: entry.rank, accountID: entry.context.accountID,
                            deviceID: entry.context.deviceID, time: entry.body.time,
                            counts: try machine.counts(entry), changes: changes))
                }
            }
            return versions
        }
    }

    /// What a change made of what it replaced: the values before, as far as they are kept, ascending by dot.
    ///
    /// - Complexity: one read for each replaced fact.
    package func replaced(by change: Change) throws(StorageError) -> [(dot: Dot, content: ChangeContent)] {
        try ask { (machine) throws(StorageError) in
            var found: [(dot: Dot, content: ChangeContent)] = []
            for dot in change.replaces.sorted() {
                var content: ChangeContent?
                for stored in try machine.store.entries(at: dot) where content == nil {
                    content = try files.change(of: change.key, by: stored.entry)?.content
                }
                if content == nil, let root = machine.baseRoot {
                    content = try machine.store.facts(under: change.key, inTree: root)[dot]?.content
                }
                if let content { found.append((dot, content)) }
            }
            return found
        }
    }
}

extension HistoryMachine<DiskHistoryStore> {
    /// Whether an entry is in the state: applied, or below the base.
    func counts(_ entry: VerifiedEntry) throws(StorageError) -> Bool {
        guard entry.number <= accepted.number(of: entry.instance) else { return try isApplied(entry) }
        if try store.wasApplied(entry.name) { return true }
        // It came after the base that accepts it.
        return try store.entries(at: entry.dot).count == 1
    }

    /// The same by its record, of one that is not above the frontier.
    func counts(_ record: LogIndex.Record) throws(StorageError) -> Bool {
        if record.isBare { return false }
        if record.wasApplied { return true }
        guard record.dot.number <= accepted.number(of: record.dot.instance) else { return false }
        return try store.index.records(at: record.dot).count { !$0.isBare } == 1
    }
}
