// What revoked devices wrote behind what counts of them, shown and taken. The one thing to keep true: nothing of it enters a
// vault but in an entry of this device, because its person said so.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
package import CoffretStorage

/// One item that a revoked device changed.
package struct SetAsideItem: Equatable, Sendable {
    package let entity: EntityID
    /// As the change has it, else as it is here; nil if neither says.
    package let title: String?
    package let deviceID: UniqueID
    /// By that device's clock; for show.
    package let time: Milliseconds
}

extension Store {
    /// What is set aside in a vault and differs from what stands there, the newest change of each item.
    package func setAsideItems(in record: VaultRecord) throws -> [SetAsideItem] {
        let vault = try openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        var items: [EntityID: SetAsideItem] = [:]
        for (key, change) in try vault.repository.setAsideChanges() {
            let title = try change.title ?? Self.title(of: key.entity, in: vault.repository)
            let known = items[key.entity]
            if let known, known.title != nil, change.title == nil { continue }
            items[key.entity] = SetAsideItem(
                entity: key.entity, title: title, deviceID: change.entry.context.deviceID,
                time: change.entry.body.time)
        }
        return items.values.sorted { ($0.time, $0.entity.bytes.last ?? 0) < ($1.time, $1.entity.bytes.last ?? 0) }
    }

    /// Writes what is set aside into the vault as this device's own, or leaves it, and notes that a person decided.
    ///
    /// - Returns: how many values changed.
    package func settleSetAside(in record: VaultRecord, isTaken: Bool, clock: any WallClock) throws -> Int {
        let lock = try SyncLock.take(
            layout.vaultPath(record.vaultID), fileSystem, patienceMilliseconds: Self.lockTimeoutMilliseconds)
        defer { lock.giveBack() }
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        let repository = vault.repository
        let changes =
            isTaken
            ? try repository.setAsideChanges().map { LogChange(key: $0.key, value: $0.change.value) } : []
        if !changes.isEmpty { try repository.commit(changes, time: clock.now) }
        var memory = LogMemory(of: repository)
        for entry in try repository.setAsideEntries() {
            memory.settled[entry.instance] = max(memory.settled[entry.instance] ?? 0, entry.number)
        }
        try repository.remember(memory.encoded)
        return changes.count
    }

    private static func title(of entity: EntityID, in repository: LogRepository) throws -> String? {
        let present = try repository.present()
        for attribute in [ItemAttribute.title, ItemAttribute.text] {
            let key = FactKey(entity: entity, attribute: attribute)
            guard let fact = try present.facts(under: key).first else { continue }
            let value = try repository.readable { () throws(StorageError) in try present.value(of: fact) }
            if let title = value.flatMap({ ItemTitle.of($0, under: key) }) { return title }
        }
        return nil
    }
}

/// A value, or a retraction, as a revoked device wrote it.
struct SetAsideChange {
    let entry: VerifiedEntry
    /// nil for a retraction.
    let value: [UInt8]?
    let title: String?
}

extension LogRepository {
    /// The newest of each key of which no person decided yet, ascending by key.
    func setAsideChanges() throws -> [(key: FactKey, change: SetAsideChange)] {
        let settled = LogMemory(of: self).settled
        var newest: [FactKey: SetAsideChange] = [:]
        for entry in try setAsideEntries() where entry.number > settled[entry.instance] ?? 0 {
            for change in try changes(of: entry) {
                let isRetraction = change.content == .retraction
                let value = try readable { () throws(StorageError) in
                    isRetraction ? nil : try self.value(of: change.content, under: change.key)
                }
                // A value that is none is nobody's loss.
                guard isRetraction || value != nil else { continue }
                let title = value.flatMap { ItemTitle.of($0, under: change.key) }
                newest[change.key] = SetAsideChange(entry: entry, value: value, title: title)
            }
        }
        let present = try present()
        return try newest.filter { key, change in
            let facts = try present.facts(under: key)
            guard let first = facts.first else { return change.value != nil }
            let value = try readable { () throws(StorageError) in try present.value(of: first) }
            return facts.count > 1 || value != change.value
        }.map { (key: $0.key, change: $0.value) }.sorted { $0.key < $1.key }
    }

    /// - Returns: nil for what no writer may store: it keeps nobody from the rest.
    fileprivate func readable(_ value: () throws(StorageError) -> [UInt8]?) throws(StorageError) -> [UInt8]? {
        do throws(StorageError) {
            return try value()
        } catch {
            guard error.isMalformedValue || error.code == .blobMissing else { throw error }
            return nil
        }
    }
}
