// The past of single items, deleted for good (Spec/history.md section 13, P1 to P4). Invariant: the plan names in numbers what
// goes, and what stands stays as it is, without a byte of an older version.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// What goes when the past of some items is deleted for good.
package struct ForgettingPlan: Equatable, Sendable {
    /// The items and their files: all entries that changed them go, with whatever else they changed.
    package let entities: [EntityID]
    package let removedCount: Int
    /// Versions that go; of a locked note those that could be read.
    package let versionCount: Int
    /// Other items of which a version goes with them.
    package let otherItemCount: Int
    package let keptCount: Int
}

extension Vault {
    /// The plan after which the history of this store has no earlier version of these items; nil if there is none now.
    ///
    /// A locked note counts as forgotten when no version can be read without its passphrase.
    /// - Parameter deletes: the items go too.
    /// - Complexity: reads the entries of the items.
    package func forgettingPlan(for ids: [EntityID], deletes: Bool = false) throws -> ForgettingPlan? {
        var removed: Set<BlobName> = []
        var others: Set<EntityID> = []
        var entities: Set<EntityID> = []
        var versionCount = 0
        for id in ids {
            let present = try whole.item(id)
            var life = try ItemLife(id, in: repository)
            entities.formUnion([id])
            entities.formUnion(
                try inStorage(repository.changedEntities(withPrefix: AttachmentID.prefix(for: id))))
            var versions = try [life.first()].compactMap(\.self)
            while let state = try life.next() {
                versions.append(state)
                removed.insert(state.name)
                guard let entry = try inStorage(repository.entry(named: state.name)) else { continue }
                others.formUnion(try inStorage(repository.changes(of: entry)).map(\.key.entity))
            }
            if deletes || present?.isLocked == true {
                versionCount += versions.count { isReadable($0.item, present, deletes: deletes) }
            } else {
                versionCount += versions.dropLast(present == nil ? 0 : 1).count { $0.item != nil }
            }
        }
        guard versionCount > 0 else { return nil }
        return ForgettingPlan(
            entities: entities.sorted(), removedCount: removed.count, versionCount: versionCount,
            otherItemCount: try itemIDs(of: others).subtracting(ids).count,
            keptCount: try inStorage(repository.entryCount()) - removed.count)
    }

    /// Whether a version shows more than the locked note of now does; of a note that goes too, whether it was there.
    private func isReadable(_ item: Item?, _ present: Item?, deletes: Bool) -> Bool {
        guard let item, !deletes else { return item != nil }
        let isSealed = item.lock.map { $0.clearText == nil } ?? false
        if !isSealed || !item.attachments.isEmpty || !item.fields.isEmpty { return true }
        // A title that is sealed now could be read where it was not.
        return present?.lock?.sealsTitle == true && item.lock?.sealsTitle == false
    }

    /// The title of an item as it is, or was when it was removed; nil: none is known, or the item is hidden.
    package func lastTitle(of id: EntityID) throws -> String? {
        if let present = try present.item(id) { return present.title }
        var life = try ItemLife(id, in: repository)
        var last = try life.first()?.item
        while let state = try life.next() { last = state.item ?? last }
        guard let last else { return nil }
        return try HiddenItems(gate: hiddenGate, present: presentReader()).veil(last).title
    }

    /// P3: agrees to what another device deleted for good, and lets it go here.
    ///
    /// - Parameters:
    ///   - unacknowledged: own entries that the server has not acknowledged; they go when it has.
    ///   - makesRoom: nothing else is waited for that needs the blobs of what was dropped.
    package func agreeToPurge(of link: Int, unacknowledged: Set<BlobName>, makesRoom: Bool) throws {
        let before = try inStorage(repository.entryCount())
        try inStorage { () throws(StorageError) in
            try repository.agreeToPurge(of: link, now: clock.now)
            _ = try repository.purge(unacknowledged: unacknowledged, now: clock.now)
        }
        if makesRoom { _ = try compacted(from: before, link: nil) }
    }

    /// An item that was removed and of which history is kept, by its whole id.
    package func removedItem(_ digits: String) throws -> EntityID? {
        guard let bytes = try? Hex.decode(digits), let uuid = UniqueID(bytes: bytes) else { return nil }
        return try ItemKind.allCases.map { EntityID(kind: $0.rawValue, uuid: uuid) }
            .first { try !ItemLife($0, in: repository).isEmpty }
    }

    /// Writes what goes before the link (P1): the items are removed, or texts that are differences to older ones are
    /// written whole.
    package func prepareForgetting(_ plan: ForgettingPlan, deletes: Bool) throws {
        let items = plan.entities.filter { ItemKind($0) != nil }
        if deletes {
            try deletePermanently(items.filter { try whole.item($0) != nil })
        } else {
            try inStorage(repository.writeWhole(plan.entities, time: clock.now))
        }
    }

    /// Deletes for good what a plan names, in a vault that nobody else has; leaves a link that says so. In a vault of several
    /// devices a sync does that.
    ///
    /// - Throws: `CoreError.historyKept` where no link can be written.
    package func forget(_ plan: ForgettingPlan) throws -> VaultCompaction {
        guard let writeCheckpoint else { throw CoreError(.historyKept, at: "sync") }
        let before = try inStorage(repository.entryCount())
        let link = try writeCheckpoint(plan.entities, nil)
        _ = try inStorage(repository.purge(unacknowledged: [], now: clock.now))
        return try compacted(from: before, link: link)
    }
}
