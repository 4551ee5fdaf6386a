// The contacts of an account, out of its own vault. The one thing to keep true: a contact is an account id; its name is what
// the own person calls it, and nothing that the other one claims changes that.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretTrust

/// Attributes of contacts and codes.
private enum ContactAttribute {
    static let account: Attribute = "account"
    static let name: Attribute = "name"
    static let card: Attribute = "card"
    static let blocked: Attribute = "blocked"
    static let verified: Attribute = "verified"
    static let code: Attribute = "code"
}

extension AccountVault {
    private func entity(of account: ChainID) -> EntityID {
        EntityID(kind: EntityKind.contact, uuid: ContactFacts.uuid(of: account))
    }

    // MARK: Contacts

    /// Of an account's id, the fewest that a person may type.
    private static var digitCountMin: Int { 4 }

    /// All contacts, by name. What cannot be read of one is left out of it.
    func contacts() throws -> [Contact] {
        let own = try desk.store.keyring.accountID()
        return try facts(kind: EntityKind.contact).compactMap { entity, values in
            guard let account = values[ContactAttribute.account].flatMap(ContactFacts.bytes).flatMap({ ChainID($0) }),
                account != own, entity.uuid == ContactFacts.uuid(of: account),
                let name = values[ContactAttribute.name].flatMap(ContactFacts.text),
                // The own person has a name too, and so had the one of an account before a restore.
                let verified = values[ContactAttribute.verified]
            else { return nil }
            return Contact(
                accountID: account, name: name,
                card: values[ContactAttribute.card].flatMap(ContactFacts.bytes).flatMap { try? Card(decoding: $0) },
                verification: ContactVerification(decoding: verified),
                blockedSince: values[ContactAttribute.blocked].flatMap(ContactFacts.time))
        }.sorted { ($0.name.lowercased(), $0.accountID.hex) < ($1.name.lowercased(), $1.accountID.hex) }
    }

    func contact(with account: ChainID) throws -> Contact? { try contacts().first { $0.accountID == account } }

    /// The contact that a person means: by name in any case, or by the beginning of the account's id (at least four digits).
    ///
    /// - Throws: `SharingError.contactUnknown`; a failure with the candidates where several fit.
    func contact(_ wanted: String) throws -> Contact {
        let (all, sought) = (try contacts(), wanted.lowercased())
        let named = all.filter { $0.name.lowercased() == sought }
        let found =
            named.isEmpty && sought.utf8.count >= Self.digitCountMin
            ? all.filter { $0.accountID.hex.hasPrefix(sought) } : named
        guard let first = found.first else { throw SharingError(.contactUnknown, at: wanted) }
        guard found.count == 1 else {
            throw CommandFailure(
                .ambiguous, .deviceAmbiguous, "\(found.count) contacts fit \"\(TextWidth.displaySafe(wanted))\"",
                details: found.map { "\($0.accountID.hex.prefix(8))  \(TextWidth.displaySafe($0.name))" },
                hint: "use the id")
        }
        return first
    }

    /// Refuses a name that no contact can have, or that another one has.
    func checkName(_ name: String, of account: ChainID) throws {
        guard ContactFacts.isName(name) else { throw SharingError(.nameInvalid, at: name) }
        let isTaken = try contacts().contains {
            $0.accountID != account && $0.name.lowercased() == name.lowercased()
        }
        guard !isTaken else { throw SharingError(.contactExists, at: name) }
    }

    /// Writes a contact as it is to be from now on.
    func write(_ contact: Contact) throws {
        let entity = entity(of: contact.accountID)
        var values: Registers = [
            ContactAttribute.account: ContactFacts.encode(contact.accountID.bytes),
            ContactAttribute.name: ContactFacts.encode(contact.name),
        ]
        values[ContactAttribute.card] = contact.card.map { ContactFacts.encode($0.encoded) }
        values[ContactAttribute.verified] = contact.verification?.encoded
        values[ContactAttribute.blocked] = contact.blockedSince.map { ContactFacts.encode($0) }
        try write(entity, values)
        if contact.blockedSince == nil { try retract(entity, [ContactAttribute.blocked]) }
    }

    func remove(_ contact: Contact) throws { try retract(entity(of: contact.accountID)) }

    // MARK: The own name

    /// What the own person calls himself.
    func ownName() throws -> String? {
        let own = entity(of: try desk.store.keyring.accountID())
        let values = try facts(kind: EntityKind.contact).first { $0.entity == own }?.values
        return values?[ContactAttribute.name].flatMap(ContactFacts.text)
    }

    func setOwnName(_ name: String) throws {
        guard ContactFacts.isName(name), name.utf8.count <= PersonAddress.nameByteCountMax else {
            throw SharingError(.nameInvalid, at: name)
        }
        let own = try desk.store.keyring.accountID()
        try write(
            entity(of: own),
            [
                ContactAttribute.account: ContactFacts.encode(own.bytes),
                ContactAttribute.name: ContactFacts.encode(name),
            ])
    }

    // MARK: Codes

    /// Codes that were handed out, used and expired ones too.
    func codes() throws -> [(entity: EntityID, given: GivenCode)] {
        try facts(kind: EntityKind.contactCode).compactMap { entity, values in
            values[ContactAttribute.code].flatMap { GivenCode(decoding: $0) }.map { (entity, $0) }
        }
    }

    func write(_ given: GivenCode, _ entity: EntityID) throws {
        try write(entity, [ContactAttribute.code: given.encoded])
    }

    func add(_ given: GivenCode) throws {
        let uuid = UniqueID.generate(from: desk.surroundings.random)
        try write(given, EntityID(kind: EntityKind.contactCode, uuid: uuid))
    }
}

extension Contact {
    /// The same with some of it replaced.
    func with(
        name: String? = nil, card: Card? = nil, verification: ContactVerification? = nil,
        blockedSince: Milliseconds?? = nil
    ) -> Contact {
        Contact(
            accountID: accountID, name: name ?? self.name, card: card ?? self.card,
            verification: verification ?? self.verification, blockedSince: blockedSince ?? self.blockedSince)
    }

    /// As far as its person was verified, by what was recorded.
    var recordedState: ContactState { verification?.state ?? .unverified }

    /// Whether the answer to a request of the own person is still on its way: the card of an answer has no code.
    var isAwaited: Bool { card?.code != nil }
}
