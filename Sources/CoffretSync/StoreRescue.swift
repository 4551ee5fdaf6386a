// What revoked devices wrote behind the cut, shown and taken. The one thing to keep true: nothing of it enters a vault
// but in a commit of this device, because its person said so.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
package import CoffretStorage

/// One item that a revoked device, or somebody building on its work, changed.
package struct SetAsideItem: Equatable, Sendable {
    package let entity: EntityID
    /// As the change has it, else as it is here; nil if neither says.
    package let title: String?
    package let deviceID: [UInt8]
    /// By that device's clock; for show.
    package let time: Milliseconds
}

extension Store {
    /// What is set aside in a vault and differs from what stands there, the newest change of each item.
    package func setAsideItems(in record: VaultRecord) throws -> [SetAsideItem] {
        let vault = try openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        var items: [EntityID: SetAsideItem] = [:]
        for (key, change) in try Self.setAsideChanges(in: vault.repository) {
            let title = try change.title ?? Self.title(of: key.entity, in: vault.repository)
            let known = items[key.entity]
            if let known, known.title != nil, change.title == nil { continue }
            items[key.entity] = SetAsideItem(
                entity: key.entity, title: title, deviceID: change.summary.deviceID,
                time: change.summary.timeMilliseconds)
        }
        return items.values.sorted { ($0.time, $0.entity.bytes.last ?? 0) < ($1.time, $1.entity.bytes.last ?? 0) }
    }

    /// Writes what is set aside into the vault as this device's own, or leaves it, and forgets that it was set aside.
    ///
    /// - Returns: how many values changed.
    /// - Throws: `SyncError` `.headRevoked` while the server shows it still: the next sync ends that.
    package func settleSetAside(in record: VaultRecord, isTaken: Bool, clock: any WallClock) throws -> Int {
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        let repository = vault.repository
        if let head = try VaultSync.memory(of: repository)?.head, try repository.isSetAside(head) {
            throw SyncError(.headRevoked, at: "commit \(head)")
        }
        let changes = isTaken ? try Self.setAsideChanges(in: repository).map { $0.change.fact(under: $0.key) } : []
        if !changes.isEmpty { try repository.commit(changes, time: clock.now) }
        try repository.dropSetAside()
        return changes.count
    }

    private struct Change {
        let summary: CommitSummary
        /// nil for a retraction.
        let value: [UInt8]?
        let title: String?

        func fact(under key: FactKey) -> FactChange { FactChange(key: key, value: value) }
    }

    /// The newest of each key, ascending by key.
    private static func setAsideChanges(in repository: VaultRepository) throws -> [(key: FactKey, change: Change)] {
        var newest: [FactKey: Change] = [:]
        for commit in try repository.setAsideCommits() {
            for fact in commit.changes.facts {
                let value = fact.isRetraction ? nil : try commit.changes.value(of: fact)
                let title = value.flatMap { ItemTitle.of($0, under: fact.key.attribute) }
                newest[fact.key] = Change(summary: commit.summary, value: value, title: title)
            }
        }
        let present = try repository.present
        return try newest.filter { key, change in
            let facts = try present.facts(under: key)
            guard let first = facts.first else { return change.value != nil }
            return try facts.count > 1 || present.value(of: first) != change.value
        }.map { (key: $0.key, change: $0.value) }.sorted { $0.key < $1.key }
    }

    private static func title(of entity: EntityID, in repository: VaultRepository) throws -> String? {
        let present = try repository.present
        for attribute in [ItemAttribute.title, ItemAttribute.text] {
            guard let fact = try present.fact(FactKey(entity: entity, attribute: attribute)) else { continue }
            if let title = ItemTitle.of(try present.value(of: fact), under: attribute) { return title }
        }
        return nil
    }
}
