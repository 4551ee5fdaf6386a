// People as a desk's person names them. The one thing to keep true: a person is an account id, and a name is what somebody
// calls it.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// Somebody with whom a vault may be shared, as this device has just followed that account.
struct FoundPerson {
    let accountID: ChainID
    /// As this device's person calls it, or as its address does.
    let name: String?
    let followed: FollowedAccount
    let deviceHead: Bytes32
    /// The newest link of its identity chain; nil while it has none.
    let identityHead: Bytes32?
    /// nil for somebody who is no contact, and was named by an id or a full address.
    let contact: Contact?
    /// How sure it is that the account is that person's; nil for no contact.
    var state: ContactState? { contact?.verification?.now(followed.chain).state }

    /// In a person's words, and safe for the screen.
    var words: String { name.map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(accountID.hex.prefix(8)) }

    func message(role: ShareRole) -> ShareMember {
        var message = ShareMember()
        (message.account, message.name, message.role) = (accountID.hex, name, role)
        message.deviceCount = followed.devices.trusted.count
        message.verification = state.map(ContactStateName.init)
        message.verifiedAt = contact?.verification.map { WireMoment($0.time) }
        return message
    }
}

extension StoreDesk {
    /// How this device's person calls accounts.
    func personNames() throws -> PersonNames {
        let contacts = try accountVault.contacts()
        return PersonNames(Dictionary(contacts.map { ($0.accountID, $0.name) }) { first, _ in first })
    }

    /// The person that is meant: a contact, a full address, or an account id, in hexadecimal digits.
    ///
    /// - Throws: `AccountError.personUnknown`; what its chains are refused for.
    func findPerson(_ wanted: String, _ sync: AccountSync) throws -> FoundPerson {
        let (id, name) = try accountID(wanted, sync)
        guard try id != store.keyring.accountID() else {
            throw CommandFailure(
                .usage, .inputInvalid, "that is you", hint: "coffret device add brings your other devices in")
        }
        let contact = try accountVault.contact(with: id)
        let shown = try sync.shown(id, behind: contact?.verification)
        try contact?.checkSharing(shown.followed.chain)
        return FoundPerson(
            accountID: id, name: contact?.name ?? name, followed: shown.followed, deviceHead: shown.known.deviceHead,
            identityHead: shown.identity == nil ? nil : shown.known.identityHead, contact: contact)
    }

    /// Refuses somebody whom a vault does not take in: it may ask that the codes of its people were compared.
    func checkRequirement(of record: VaultRecord, _ person: FoundPerson) throws {
        let required = try vault(record).requiredState
        guard required > .linked, person.state ?? .unverified < required else { return }
        throw Self.notCompared(person.words, record)
    }

    private static func notCompared(_ words: String, _ record: VaultRecord) -> CommandFailure {
        let name = TextWidth.displaySafe(record.name)
        return CommandFailure(
            .personUnverified, code: SharingError.Code.contactUnverified.rawValue,
            "the vault \"\(name)\" takes in people whose codes were compared, and those of \(words) were not; nothing was shared",
            hint: "coffret contact verify NAME compares them; coffret share settings \(record.vaultID.hex.prefix(8)) "
                + "--require linked ends what the vault asks for")
    }

    /// Refuses a contact behind a recovery: somebody else may hold its account. And one of whom a vault asks for more.
    func checkUnchanged(_ account: ChainID, in record: VaultRecord, _ sync: AccountSync) throws {
        let required = try vault(record).requiredState
        guard let contact = try accountVault.contact(with: account), let verification = contact.verification else {
            guard required <= .linked else { throw Self.notCompared(String(account.hex.prefix(8)), record) }
            return
        }
        let shown = try sync.shown(account, behind: verification)
        guard !verification.now(shown.followed.chain).isChanged else {
            throw SharingError(.contactChanged, at: contact.name)
        }
        guard verification.state >= required || required <= .linked else {
            throw Self.notCompared("\"\(TextWidth.displaySafe(contact.name))\"", record)
        }
    }

    private func accountID(_ wanted: String, _ sync: AccountSync) throws -> (id: ChainID, name: String?) {
        let named = try personNames().accounts(called: wanted)
        if let first = named.first {
            guard named.count == 1 else {
                throw CommandFailure(
                    .ambiguous, .deviceAmbiguous,
                    "\(named.count) contacts are called \"\(TextWidth.displaySafe(wanted))\"",
                    details: named.map(\.hex), hint: "use the id")
            }
            return (first, wanted)
        }
        if let bytes = try? Hex.decode(wanted.lowercased()), let id = ChainID(bytes) { return (id, nil) }
        if wanted.contains("#") { return try account(at: PersonAddress(parsing: wanted), wanted, sync) }
        throw SharingError(.contactUnknown, at: wanted)
    }
}

extension StoreDesk {
    /// The account of a full address. The server finds it, and the address says whether it is the right one (R50).
    ///
    /// - Throws: `.contactUnverified` for a short address, which proves nothing; `.chainIDDiffers` for another account.
    private func account(
        at address: PersonAddress, _ wanted: String, _ sync: AccountSync
    ) throws -> (id: ChainID, name: String?) {
        guard case .full(let prefix) = address.finding else { throw SharingError(.contactUnverified, at: wanted) }
        guard let id = try sync.account.connection.account(withAddress: prefix) else {
            throw AccountError(.personUnknown, at: wanted)
        }
        guard address.fits(id) else { throw TrustError(.chainIDDiffers) }
        return (id, address.name.isEmpty ? nil : ClaimedName(address.name).shown)
    }
}
