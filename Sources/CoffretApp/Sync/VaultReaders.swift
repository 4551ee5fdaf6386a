// Who else has the vaults of a list. Invariant: it costs what is in memory of an open vault, and asks no server.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust

/// The others in a vault.
struct VaultOthers {
    /// The most senior owner; nil if that is the own account.
    let owner: String?
    let others: [String]
}

struct VaultReaders {
    private let own: ChainID?
    private let names: PersonNames

    init(_ desk: StoreDesk) {
        own = try? desk.store.keyring.accountID()
        names = (try? desk.personNames()) ?? PersonNames()
    }

    /// Nil for a vault that nobody else has, as far as its chain is known here.
    func people(of record: VaultRecord, _ vault: Vault) -> VaultOthers? {
        guard record.kind == .synced, let own else { return nil }
        return try? vault.repository.ask { (machine) -> VaultOthers? in
            guard machine.members.takenCount > 0 else { return nil }
            let members = machine.members.newestState.members
            guard members.count > 1 || members[own] == nil else { return nil }
            let links = machine.members.chain.links
            func name(_ account: ChainID) -> String {
                if let name = names[account] { return name }
                let link = links.last { $0.roleChanges[account] != nil && $0.details?.accountName != nil }
                return link?.details?.accountName ?? String(account.hex.prefix(8))
            }
            let sorted = members.sorted { left, right in
                (left.value.role.rawValue, left.value.ownerSince ?? left.value.addedAt, left.key.hex)
                    < (right.value.role.rawValue, right.value.ownerSince ?? right.value.addedAt, right.key.hex)
            }
            let senior = sorted.first?.key
            return VaultOthers(
                owner: senior == own ? nil : senior.map(name), others: sorted.map(\.key).filter { $0 != own }.map(name))
        }
    }
}
