// The members of a vault as this device knows them. The one thing to keep true: roles come from the verified chain, and a name
// that somebody gave an account is shown as that.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// A vault's member chain, as far as this device has taken it.
struct VaultMembers {
    let record: VaultRecord
    let own: ChainID
    let chains: FollowedChains
    let rights: VerifiedMemberRights
    /// How this person calls accounts.
    let names: PersonNames

    /// - Throws: `CoreError`; `.vaultChainsBehind` before the chain came.
    init(_ record: VaultRecord, _ store: Store, _ names: PersonNames) throws {
        self.record = record
        self.names = names
        own = try store.keyring.accountID()
        chains = try store.followedChains(of: record.vaultID)
        guard let rights = chains.rights else { throw CoreError(.vaultChainsBehind, at: record.name) }
        self.rights = rights
    }

    var isShared: Bool { rights.rights.members.count > 1 }

    /// Refuses one more account, or owner, than a vault has room for; the server and all readers refuse it as well.
    ///
    /// - Throws: `MemberError.tooMany`.
    func checkRoom(for role: MemberRole, isNew: Bool) throws {
        let members = rights.rights.members.values
        guard !isNew || members.count < VerifiedMemberRights.memberCountMax,
            role != .owner || members.count(where: { $0.role == .owner }) < VerifiedMemberRights.ownerCountMax
        else { throw MemberError(.tooMany, at: UInt64(rights.count)) }
    }

    /// The most senior first: owners by when they became ones, then the others by when they were added.
    var sorted: [(account: ChainID, member: Member)] {
        rights.rights.members.map { (account: $0.key, member: $0.value) }.sorted { left, right in
            let (a, b) = (left.member, right.member)
            return (a.role.rawValue, a.ownerSince ?? a.addedAt, left.account.hex)
                < (b.role.rawValue, b.ownerSince ?? b.addedAt, right.account.hex)
        }
    }

    /// The name of an account: this person's for it, else the one with which a member added it.
    func name(of account: ChainID) -> String? {
        if let name = names[account] { return name }
        guard let members = chains.members?.state else { return nil }
        return members.links.last { link in link.roleChanges[account] != nil && link.details?.accountName != nil }?
            .details?.accountName
    }

    /// In a person's words, and safe for the screen.
    func words(for account: ChainID) -> String {
        if account == own { return "you" }
        return name(of: account).map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(account.hex.prefix(8))
    }

    func message(for account: ChainID) -> ShareMember {
        var message = ShareMember()
        (message.account, message.name, message.isSelf) = (account.hex, name(of: account), account == own)
        message.isFounder = account == rights.foundation.accountID
        message.deviceCount = chains.accounts[account]?.devices.trusted.count ?? 0
        if let member = rights.rights.members[account] {
            message.role = ShareRole(member.role)
            message.state = member.hasAccepted ? .member : .added
            message.since = member.addedAt
        }
        return message
    }

    /// All accounts that were members once, or are.
    var everybody: Set<ChainID> {
        Set(rights.rights.members.keys).union(chains.members?.state.links.flatMap(\.roleChanges.keys) ?? [])
    }

    /// The member that a person means: by name, or by the beginning of the account's id (at least four digits).
    ///
    /// - Throws: `SyncError.memberUnknown`; a failure with the candidates where several fit.
    func member(_ wanted: String) throws -> ChainID {
        try account(wanted, among: Set(rights.rights.members.keys))
    }

    /// The same among accounts of the vault.
    func account(_ wanted: String, among members: Set<ChainID>) throws -> ChainID {
        let named = members.filter { name(of: $0)?.lowercased() == wanted.lowercased() }
        let found =
            named.isEmpty && wanted.utf8.count >= 4 ? members.filter { $0.hex.hasPrefix(wanted.lowercased()) } : named
        guard let first = found.first else { throw SyncError(.memberUnknown, at: wanted) }
        guard found.count == 1 else {
            throw CommandFailure(
                .ambiguous, .deviceAmbiguous, "\(found.count) members are called \"\(TextWidth.displaySafe(wanted))\"",
                details: found.map { String($0.hex.prefix(8)) }.sorted(),
                hint: "coffret share members VAULT lists them; use the id")
        }
        return first
    }
}

/// How this device's person calls accounts.
struct PersonNames {
    private let names: [ChainID: String]

    init(_ names: [ChainID: String] = [:]) { self.names = names }

    var isEmpty: Bool { names.isEmpty }

    subscript(account: ChainID) -> String? { names[account] }

    /// Accounts that are called so, in any case.
    func accounts(called name: String) -> [ChainID] {
        names.filter { $0.value.lowercased() == name.lowercased() }.map(\.key).sorted { $0.hex < $1.hex }
    }
}

extension ShareRole {
    init(_ role: MemberRole) {
        self =
            switch role {
            case .owner: .owner
            case .writer: .writer
            case .viewer, .contact: .viewer
            }
    }

    var right: MemberRole {
        switch self {
        case .owner: .owner
        case .writer: .writer
        case .viewer: .viewer
        }
    }
}

extension SharedVault {
    init(_ members: VaultMembers, _ desk: StoreDesk) throws {
        self.init()
        let (rights, record) = (members.rights.rights, members.record)
        (id, self.vault) = (record.vaultID.hex, record.name)
        role = rights.members[members.own].map { ShareRole($0.role) }
        founder = members.rights.foundation.accountID.hex
        (epoch, isEpochStale) = (Int(rights.epoch), rights.oldestEpoch > rights.epoch)
        self.members = members.sorted.map { members.message(for: $0.account) }
        let opened = try desk.store.openVault(record.vaultID.hex, isWritable: false)
        defer { opened.close() }
        let own = members.own
        try opened.repository.ask { (machine) throws(StorageError) in
            let view = machine.members
            unconfirmed = view.chain.links.indices.dropFirst().filter { view.lacksConfirmation($0) }
            ownUnconfirmed = view.unconfirmedLinks(spokenForBy: own)
            review = Set(try machine.restsOnExcluded().map(\.key.entity)).count
            isEpochStale = isEpochStale || !view.accountsDue.isEmpty
        }
    }
}
