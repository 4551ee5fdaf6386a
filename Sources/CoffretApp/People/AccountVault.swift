// The account's facts about people, over all its own vaults. The one thing to keep true: of two vaults that two devices made,
// both are read and the one with the lower id is written, so that all devices come to the same.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTrust

extension VaultRecord {
    /// As people are told of it where something is wrong with it.
    var shownName: String { isAccountVault ? "contacts" : name }
}

/// The account's own vault, as this desk reads and writes it.
struct AccountVault {
    typealias Registers = [Attribute: [UInt8]]

    let desk: StoreDesk

    private func merged(_ kind: UInt8) throws -> [EntityID: Registers] {
        var found: [EntityID: Registers] = [:]
        for record in try desk.store.accountVaults {
            for (entity, values) in try desk.vault(record).registers(ofKind: kind) {
                // What the first one says stands.
                found[entity, default: [:]].merge(values) { first, _ in first }
            }
        }
        return found
    }

    /// All entities of a kind, by id.
    func facts(kind: UInt8) throws -> [(entity: EntityID, values: Registers)] {
        try merged(kind).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Writes attributes of an entity; the vault is made at first need. It needs no server.
    func write(_ entity: EntityID, _ values: Registers) throws {
        let record = try desk.store.writtenAccountVault()
        let registers = values.map { (FactKey(entity: entity, attribute: $0.key), Optional($0.value)) }
        try desk.writing(record) { try $0.writeRegisters(Dictionary(uniqueKeysWithValues: registers)) }
    }

    /// Takes attributes of an entity away, in each vault that has them: else those of another one would stand again.
    ///
    /// - Parameter attributes: nil for all.
    func retract(_ entity: EntityID, _ attributes: Set<Attribute>? = nil) throws {
        for record in try desk.store.accountVaults {
            let standing =
                try desk.vault(record).registers(ofKind: entity.kind).first { $0.entity == entity }?.values ?? [:]
            let gone = standing.keys.filter { attributes?.contains($0) ?? true }
            guard !gone.isEmpty else { continue }
            let registers = gone.map { (FactKey(entity: entity, attribute: $0), [UInt8]?.none) }
            try desk.writing(record) { try $0.writeRegisters(Dictionary(uniqueKeysWithValues: registers)) }
        }
    }
}

extension StoreDesk {
    var accountVault: AccountVault { AccountVault(desk: self) }
}

extension AccountSync {
    /// Puts the account's own vaults on the server, and brings what other devices wrote there.
    ///
    /// - Throws: what a sync of one of them fails with.
    func syncAccountVaults() throws {
        let waiting = try store.accountVaults.filter { $0.kind == .local }
        for record in waiting {
            try account.makeZone(for: record)
            let id = record.vaultID
            try store.setKind(of: id, .synced)
        }
        if !waiting.isEmpty { try account.sendKeys() }
        for record in try store.accountVaults where record.kind == .synced {
            var options = SyncOptions()
            options.hurries = true
            _ = try sync(record, options)
            note(record, nil)
        }
    }
}
