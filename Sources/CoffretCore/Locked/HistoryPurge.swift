// Earlier versions that can still be read. Invariant: a purge reports its numbers before, leaves a link in the member chain
// afterwards, and names the copies that it cannot reach.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// The entries that a purge of locked notes' readable past removes.
package struct HistoryPurgePlan: Equatable, Sendable {
    /// The notes and their files: all entries that changed them go, with whatever else they changed.
    package let entities: [EntityID]
    package let removedCount: Int
    /// Entries among them behind which a note could be read.
    package let readableVersionCount: Int
    package let keptCount: Int
}

extension Vault {
    /// The purge after which the history of this store has no readable version of these notes; nil if there is none
    /// now.
    ///
    /// - Throws: `CoreError.noteNotLocked` for a note that is readable now.
    /// - Complexity: reads the entries of the notes.
    package func historyPurgePlan(for ids: [EntityID]) throws -> HistoryPurgePlan? {
        for id in ids {
            let item = try wholeItem(id)
            guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.visibleTitle) }
        }
        var removed: Set<BlobName> = []
        var readable: Set<BlobName> = []
        var entities: Set<EntityID> = []
        for id in ids {
            let sealsTitle = try wholeItem(id).lock?.sealsTitle == true
            var life = try ItemLife(id, in: repository)
            entities.formUnion([id])
            entities.formUnion(
                try inStorage(repository.changedEntities(withPrefix: AttachmentID.prefix(for: id))))
            if let first = try life.first(), isReadable(first.item, sealsTitle: sealsTitle) {
                readable.insert(first.name)
            }
            while let state = try life.next() {
                removed.insert(state.name)
                if isReadable(state.item, sealsTitle: sealsTitle) { readable.insert(state.name) }
            }
        }
        guard !readable.isEmpty else { return nil }
        let count = try inStorage(repository.entryCount())
        return HistoryPurgePlan(
            entities: entities.sorted(), removedCount: removed.count, readableVersionCount: readable.count,
            keptCount: count - removed.count)
    }

    /// - Parameter sealsTitle: the title is sealed now: it could be read where it was not.
    private func isReadable(_ item: Item?, sealsTitle: Bool) -> Bool {
        guard let item else { return false }
        let isSealed = item.lock.map { $0.clearText == nil } ?? false
        if !isSealed || !item.attachments.isEmpty || !item.fields.isEmpty { return true }
        return sealsTitle && item.lock?.sealsTitle == false
    }

    /// Removes what a plan names, from the history, the index and the files of attachments, and leaves a link that says that
    /// something was deleted for good.
    ///
    /// In a vault of several devices a sync wrote the link.
    /// - Parameter unacknowledged: own entries that a server has not acknowledged: they go when it has.
    /// - Throws: `CoreError.storage` where there is no link.
    package func purgeHistory(
        _ plan: HistoryPurgePlan, unacknowledged: Set<BlobName> = []
    ) throws -> VaultCompaction {
        let before = plan.removedCount + plan.keptCount
        let link = try writeCheckpoint.map { try $0(plan.entities, nil) } ?? newestPurge(of: plan.entities)
        try inStorage(repository.purge(unacknowledged: unacknowledged, now: clock.now))
        return try compacted(from: before, link: link)
    }

    private func newestPurge(of entities: [EntityID]) throws -> Int {
        let links = repository.chains.members.links
        let found = links.indices.last { Set(links[$0].checkpoint?.purges ?? []).isSuperset(of: entities) }
        guard let found else { throw CoreError(.storage, at: "checkpoint") }
        return found
    }
}
