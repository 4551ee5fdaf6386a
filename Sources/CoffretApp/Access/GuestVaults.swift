// Vaults that another person founded. Invariant: until this device's person allows it, no program that looks for an item by itself
// finds one in them: else whoever shares a login for a host chooses which one is used there (R81).

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

/// The uses that a store's vaults are allowed for.
package struct GuestVaults {
    private let store: Store
    private let records: SyncRecords

    package init(_ store: Store) {
        self.store = store
        records = SyncRecords(
            stateDirectory: store.environment.stateDirectory, storeID: store.keyring.storeID,
            fileSystem: store.fileSystem)
    }

    package func isGuest(_ record: VaultRecord) throws -> Bool { try !store.isFoundedHere(record) }

    package func uses(of record: VaultRecord) -> Set<GuestUse> {
        Set(records.guestUses(record.vaultID.hex).compactMap(GuestUse.init(rawValue:)))
    }

    package func setUses(of record: VaultRecord, _ uses: Set<GuestUse>) throws {
        try records.setGuestUses(record.vaultID.hex, uses.map(\.rawValue).sorted())
    }

    package func allows(_ record: VaultRecord, for use: GuestUse) throws -> Bool {
        try !isGuest(record) || uses(of: record).contains(use)
    }

    /// The vault with a name, whoever founded it; without one those of `vaults` that may be used.
    package func vaults(_ name: String?, for use: GuestUse) throws -> [VaultRecord] {
        if let name { return [try store.vaultRecord(name) { !$0.isAccountVault }] }
        return try store.vaults.filter { try allows($0, for: use) }
    }
}

extension StoreDesk {
    package var guests: GuestVaults { GuestVaults(store) }

    /// Whether the session may know of a vault. A token that names no vaults is for those of its person.
    func admits(_ record: VaultRecord) -> Bool {
        guard grant.admits(record), !record.isAccountVault else { return false }
        guard grant.access != .control, grant.vaults == nil else { return true }
        return (try? guests.allows(record, for: .tokens)) ?? false
    }

    /// The one that is named, else those in which a program may look by itself.
    func records(_ reference: String?, for use: GuestUse) throws -> [VaultRecord] {
        guard reference == nil else { return try records(reference) }
        let guests = guests
        return try records(nil).filter { try guests.allows($0, for: use) }
    }
}

extension ShareSettings: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        if let uses { try desk.guests.setUses(of: record, Set(uses)) }
        if let required {
            let members = record.kind == .synced ? try VaultMembers(record, desk.store, PersonNames()) : nil
            guard members.map({ $0.rights.rights.members[$0.own]?.role == .owner }) ?? true else {
                throw CommandFailure(
                    .permission, code: MemberError.Code.notPermitted.rawValue,
                    "the owners of \"\(TextWidth.displaySafe(record.name))\" alone say whom it takes in")
            }
            try desk.writing(record) { try $0.require(required == .compared ? .compared : .linked) }
        }
        var answer = Answer()
        (answer.vault, answer.isGuest) = (record.name, try desk.guests.isGuest(record))
        answer.required = try desk.vault(record).requiredState > .linked ? .compared : .linked
        answer.uses =
            answer.isGuest ? GuestUse.allCases.filter(desk.guests.uses(of: record).contains) : GuestUse.allCases
        return answer
    }
}
