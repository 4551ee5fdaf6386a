// Contacts with the server at hand. The one thing to keep true: who may write to this account and add it is what its contacts
// are, and a request becomes a contact by a word of the person alone.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// Somebody who wrote, and waits for an answer.
struct ContactRequest {
    let id: [UInt8]
    let person: ShownPerson
    let content: ContactContent
    /// The code that it showed; nil for none of the own ones.
    let given: (entity: EntityID, code: GivenCode)?
    /// Whether the code is one that more people have shown than it was for, or too old.
    let isCodeUsed: Bool
    /// Contacts of other accounts for whose name the claimed one can be taken.
    let lookAlikes: [Contact]

    /// What a contact would rest on.
    var state: ContactState { given != nil && !isCodeUsed ? .linked : .unverified }
}

/// The account's contacts while it is logged in.
struct ContactDesk {
    let desk: StoreDesk
    let sync: AccountSync
    var vault: AccountVault { desk.accountVault }
    var own: ChainID { get throws { try desk.store.keyring.accountID() } }

    private static let refused = "server.member.not-allowed"

    static func isRefusal(_ error: any Error) -> Bool {
        guard let error = error as? AccountError else { return false }
        return error.code == .refused && error.place == refused
    }

    /// Sends what was written, and states who may write and add. A contact who is blocked or not known to be somebody may not.
    func send() throws {
        try sync.syncAccountVaults()
        let welcome = try vault.contacts().filter { $0.blockedSince == nil && $0.recordedState > .unverified }
        try sync.account.connection.setContacts(Set(welcome.map(\.accountID)).sortedByBytes)
    }

    // MARK: Letters

    private struct Opened {
        let id: [UInt8]
        let purpose: LetterPurpose
        let person: ShownPerson
        let content: ContactContent
    }

    /// Letters about contacts that all checks have passed; others are deleted, since nothing makes them good.
    private func opened() throws -> [Opened] {
        let identity = try sync.account.ownIdentity()
        let opener = LetterOpener(chain: identity.chain, keys: identity.keys)
        var found: [Opened] = []
        for entry in try sync.account.connection.letters() {
            guard let letter = try? UnverifiedLetter(decoding: entry.letter) else { continue }
            let purpose = letter.header.purpose
            guard purpose == .contactRequest || purpose == .contactAnswer else { continue }
            do {
                let known = try vault.contact(with: letter.header.sender)
                let person = try sync.shown(letter.header.sender, behind: known?.verification)
                let content: ContactContent
                switch try opener.open(letter, from: person.followed.devices, in: .account) {
                case .contactRequest(let read), .contactAnswer(let read): content = read
                default: continue
                }
                guard let chain = person.identity, known?.blockedSince == nil else {
                    throw SharingError(.letterInvalid)
                }
                try content.card.verify(chain)
                found.append(Opened(id: entry.id, purpose: purpose, person: person, content: content))
            } catch let error as SharingError {
                desk.surroundings.person?.note(
                    "a letter of \(letter.header.sender.hex.prefix(8)) was not taken (\(error.code.rawValue))")
                try sync.account.connection.deleteLetter(entry.id)
            } catch  where !SyncTrouble.isTransient(error) {
                // What a server says of one sender keeps nobody else's letter from being read.
                desk.surroundings.person?.warn(
                    "a letter of \(letter.header.sender.hex.prefix(8)) waits (\(FailureCode.of(error)))")
            }
        }
        return found
    }

    /// Takes what contacts answered, and the requests that wait for a word of the person.
    func receive() throws -> [ContactRequest] {
        let (own, now) = (try own, sync.clock.now)
        var waiting: [(letter: Opened, given: (entity: EntityID, code: GivenCode)?)] = []
        for letter in try opened() {
            let known = try vault.contact(with: letter.person.accountID)
            if letter.purpose == .contactAnswer {
                if let known { try take(letter, from: known) }
                try sync.account.connection.deleteLetter(letter.id)
                continue
            }
            let given = try vault.codes().first { _, given in
                letter.content.proof == given.code.proof(inviter: own, claimant: letter.person.accountID)
            }
            guard let known else {
                waiting.append((letter, given.map { ($0.entity, $0.given) }))
                continue
            }
            // Both added each other, or one did twice.
            try vault.write(known.with(card: letter.content.card))
            try answer(letter.person, given?.given.code)
            try sync.account.connection.deleteLetter(letter.id)
        }
        let contacts = try vault.contacts()
        return waiting.map { letter, given in
            let claimants = Set(
                waiting.filter { $0.given?.entity == given?.entity && given != nil }.map(\.letter.person.accountID))
            let isUsed = given.map { !$0.code.isOpen(at: now) || claimants.count > Int(clamping: $0.code.usesLeft) }
            return ContactRequest(
                id: letter.id, person: letter.person, content: letter.content, given: given,
                isCodeUsed: isUsed ?? false,
                lookAlikes: contacts.lookAlikes(of: letter.content.card.name, claimedBy: letter.person.accountID))
        }
    }

    /// Keeps the card of an answer. The proof in it shows that the link's maker has the code, as the link's account.
    private func take(_ letter: Opened, from contact: Contact) throws {
        if let code = contact.card?.code {
            let expected = code.answerProof(inviter: contact.accountID, claimant: try own)
            guard letter.content.proof == expected else { return }
        }
        try vault.write(contact.with(card: letter.content.card))
    }

    private func answer(_ person: ShownPerson, _ code: ContactCode?) throws {
        guard let name = try vault.ownName() else { return }
        let proof = code?.answerProof(inviter: try own, claimant: person.accountID)
        let card = try sync.ownCard(named: name)
        do {
            try sync.post(.contactAnswer(ContactContent(card: card, proof: proof)), to: person)
        } catch  where Self.isRefusal(error) {
            // It has taken its word back meanwhile; the contact here stays.
        }
    }

    /// The request that a person means, by the beginning of its id.
    func request(_ wanted: String) throws -> ContactRequest {
        let sought = wanted.lowercased()
        let found = try receive().filter { Hex.encode($0.id).hasPrefix(sought) && sought.utf8.count >= 4 }
        guard let first = found.first, found.count == 1 else { throw SharingError(.contactUnknown, at: wanted) }
        return first
    }

    /// Makes somebody who wrote a contact.
    ///
    /// - Parameter name: nil: as it calls itself.
    /// - Throws: `SharingError.contactChanged` if that can be taken for a contact of another account, and no name was given.
    func accept(_ request: ContactRequest, as name: String?) throws -> Contact {
        let claimed = ClaimedName(request.content.card.name).shown
        if name == nil, let other = request.lookAlikes.first { throw ContactDesk.taken(claimed, by: other) }
        let account = request.person.accountID
        try vault.checkName(name ?? claimed, of: account)
        let contact = Contact(
            accountID: account, name: name ?? claimed, card: request.content.card,
            verification: ContactVerification(
                state: request.state, time: sync.clock.now, own: try sync.ownKnown(), other: request.person.known))
        try vault.write(contact)
        if let given = request.given, !request.isCodeUsed { try vault.write(given.code.used, given.entity) }
        try send()
        try answer(request.person, request.given?.code.code)
        try sync.account.connection.deleteLetter(request.id)
        return contact
    }

    /// Somebody of another account calls himself as a contact does, or nearly so.
    static func taken(_ claimed: String, by other: Contact) -> CommandFailure {
        CommandFailure(
            .personUnverified, code: SharingError.Code.contactChanged.rawValue,
            "that person's name, \"\(claimed)\", can be taken for your contact \"\(other.name)\", who has another account",
            hint: "ask that person by a way that you trust; --name NAME keeps both apart")
    }
}

extension StoreDesk {
    /// Runs `body` with the account logged in, its own identity founded, and its contacts as other devices left them.
    func withContacts<Result>(_ body: (ContactDesk) throws -> Result) throws -> Result {
        let sync = sync(try account())
        defer { sync.account.connection.logOut() }
        try follow(sync.account)
        _ = try sync.receiveKeys()
        _ = try sync.account.ownIdentity()
        try sync.syncAccountVaults()
        return try body(ContactDesk(desk: self, sync: sync))
    }
}
