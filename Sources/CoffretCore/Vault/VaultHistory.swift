// The versions of one item. Invariant: every state that was ever written and is kept can be read and brought back, and bringing
// one back is a change like any other, so that it can be undone too.

package import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
package import CoffretStorage

/// One state in the life of an item.
package struct ItemVersion: Sendable {
    /// The entry that made it; of a state below which history was dropped the root of its tree.
    package let commit: BlobName
    /// When, by the clock of the device that made it.
    package let time: Milliseconds
    /// The log that it is in; of the state that history begins with the device.
    package let instance: UniqueID
    /// The device that made it; `Store.deviceName` knows what people call it.
    package let device: [UInt8]
    /// The item as it then stood; nil if the entry deleted it.
    package let item: Item?
    /// The difference to the version before.
    package let change: ItemChange
}

extension Vault {
    /// The versions of an item, the newest first; also of one that was deleted.
    ///
    /// Entries that touched the item without changing what people see are left out. Where history was dropped, the oldest
    /// version says that it created the item.
    /// - Throws: `CoreError.itemNotFound` if no entry ever touched such an item.
    /// - Complexity: reads the item's own entries.
    package func history(of id: EntityID, limit: Int = .max) throws -> [ItemVersion] {
        var life = try ItemLife(id, in: repository)
        guard !life.isEmpty else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        var versions: [ItemVersion] = []
        var before: Item?
        let isVeiling = !hiddenGate.isOpen
        let isHiddenNow = try presentReader().isHidden(id)
        func add(_ state: ItemLife.State) {
            let item = state.item
            var change = ItemChange(from: before, to: item)
            if isVeiling && (isHiddenNow || item?.isHidden == true || before?.isHidden == true) {
                change = change.withoutContents
            }
            before = item
            guard !change.isEmpty else { return }
            versions.append(
                ItemVersion(
                    commit: state.name, time: state.time, instance: state.instance, device: state.device,
                    item: isVeiling && (isHiddenNow || item?.isHidden == true) ? item?.veiled() : item, change: change))
        }
        if let first = try life.first() { add(first) }
        while let state = try life.next() { add(state) }
        return Array(versions.reversed().prefix(limit))
    }

    /// Whether entries of before are on their way: what asks for them may end with `storage.history.not-here-yet`.
    package var isHistoryPending: Bool {
        get throws { try inStorage(!repository.isPastWhole()) }
    }

    /// An item as it stood at an entry, with all contents.
    private func life(of id: EntityID, at name: BlobName) throws -> ItemLife {
        var life = try ItemLife(id, in: repository)
        if let entry = try inStorage(repository.entry(named: name)) { life.advance(upTo: entry.rank) }
        return life
    }

    /// When a version was made, by its author's clock.
    package func time(of name: BlobName) throws -> Milliseconds {
        if let entry = try inStorage(repository.entry(named: name)) { return entry.body.time }
        return try inStorage(repository.timeBelowHistory()) ?? 0
    }

    /// The item at an entry, without contents that are hidden now or were then; nil: it was not there.
    ///
    /// - Complexity: reads the item's own entries.
    package func item(_ id: EntityID, at name: BlobName) throws -> Item? { try shownItem(id, at: name) }

    private func shownItem(_ id: EntityID, at name: BlobName) throws -> Item? {
        guard let item = try life(of: id, at: name).item() else { return nil }
        return try HiddenItems(gate: hiddenGate, present: presentReader()).veil(item)
    }

    /// The difference between two states of an item, and between their texts.
    ///
    /// - Parameters:
    ///   - old: the entry of the earlier state.
    ///   - new: that of the later one; nil for the current state.
    /// - Throws: as `opened` where a version is locked, even if it is so in both: what differs is inside.
    package func difference(
        of id: EntityID, from old: BlobName, to new: BlobName? = nil
    ) throws -> (change: ItemChange, text: UnifiedDifference) {
        var before = try shownItem(id, at: old)
        var after: Item?
        if let new { after = try shownItem(id, at: new) } else { after = try present.item(id) }
        guard before != nil || after != nil else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        before = try before.map(opened)
        after = try after.map(opened)
        return (
            ItemChange(from: before, to: after),
            UnifiedDifference(LineDifference(from: before?.text ?? "", to: after?.text ?? ""))
        )
    }

    /// Brings an item back to what it was at an entry, files included, whatever has become of it since.
    ///
    /// Works on facts, so that what this version cannot read comes back too.
    /// - Throws: `CoreError.itemNotFound` if the item was not there then; `.noteHidden` if it is hidden, then or now, and
    ///   nobody has shown to be there.
    /// - Returns: whether anything had to change.
    @discardableResult
    package func restore(_ id: EntityID, to commit: BlobName) throws -> Bool {
        if let shown = try shownItem(id, at: commit) { _ = try revealed(shown) }
        let past = try life(of: id, at: commit)
        guard let item = try past.item() else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        // A readable version would come back beside, or instead of, what a lock seals.
        if let current = try whole.item(id), current.isLocked, !item.isLocked {
            throw CoreError(.noteLocked, at: current.visibleTitle)
        }
        return try batch { batch in
            let now = try whole
            var changes = try self.changes(turning: now, into: past, for: id)
            let files = item.attachments.map(\.id) + (item.lock?.files.map(\.id) ?? [])
            for file in files { changes += try self.changes(turning: now, into: past, for: file) }
            let there = try now.reader.files(of: id)
            for file in there.clear.map(\.id) + there.sealed.map(\.id) where !files.contains(file) {
                for fact in try now.reader.facts(of: file) {
                    changes.append(LogChange(key: fact.key, value: nil))
                }
            }
            let modifiedKey = FactKey(entity: id, attribute: ItemAttribute.modified)
            changes.removeAll { $0.key == modifiedKey }
            guard !changes.isEmpty else { return false }
            changes.append(LogChange(key: modifiedKey, value: FactValue.encode(batch.time)))
            batch.write(changes)
            return true
        }
    }

    /// The changes of facts after which an entity stands in one view as it does in the other.
    private func changes(
        turning now: VaultView, into past: ItemLife, for entity: EntityID
    ) throws -> [LogChange] {
        let old = try past.winners(of: entity)
        let new = try now.reader.winners(of: entity)
        var changes: [LogChange] = []
        for (key, value) in old where new[key] != value { changes.append(LogChange(key: key, value: value)) }
        for key in new.keys where old[key] == nil { changes.append(LogChange(key: key, value: nil)) }
        return changes
    }
}

extension SnapshotReader {
    /// The values that an entity's facts show, by key.
    func winners(of entity: EntityID) throws -> [FactKey: [UInt8]] {
        var values: [FactKey: [UInt8]] = [:]
        for (key, facts) in Dictionary(grouping: try facts(of: entity), by: \.key) {
            if facts.count > 1, ItemTexts.isText(key) {
                values[key] = try text(key, facts).text
            } else if let winner = facts.winner {
                values[key] = try value(of: winner)
            }
        }
        return values
    }
}
