// Operations on contacts. The one thing to keep true: what is recorded about a person rests on what the own person saw or
// compared, and names never do.

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
package import CoffretWire

extension ContactStateName {
    init(_ state: ContactState) {
        self =
            switch state {
            case .unverified: .unverified
            case .introduced: .introduced
            case .linked: .linked
            case .compared: .compared
            case .met: .met
            }
    }
}

extension ContactMessage {
    /// - Parameters:
    ///   - all: the others, for whom it may be taken.
    ///   - shown: nil where the server was not asked.
    init(_ contact: Contact, among all: [Contact], _ shown: ShownPerson? = nil) {
        self.init()
        (name, account) = (contact.name, contact.accountID.hex)
        let claimed = contact.card.map { ClaimedName($0.name) }
        claimedName = claimed?.shown
        mixesScripts = claimed?.mixesScripts ?? false
        let names = [contact.name] + (contact.card.map { [$0.name] } ?? [])
        looksLike = all.filter { other in
            names.contains { [other].lookAlikes(of: $0, claimedBy: contact.accountID).isEmpty == false }
        }.map(\.name)
        state = ContactStateName(contact.recordedState)
        verifiedAt = contact.verification.map { WireMoment($0.time) }
        (isBlocked, isAwaited) = (contact.blockedSince != nil, contact.isAwaited)
        address = PersonAddress(name: claimedName ?? "", accountID: contact.accountID).text
        personCode = PersonCode.person(contact.accountID)
        guard let shown else { return }
        if let now = contact.verification?.now(shown.followed.chain) {
            (state, isChanged) = (ContactStateName(now.state), now.isChanged)
        }
        (deviceCount, isCurrent) = (shown.followed.devices.trusted.count, shown.isCurrent)
    }
}

extension ContactRequestMessage {
    init(_ request: ContactRequest) {
        self.init()
        let claimed = ClaimedName(request.content.card.name)
        (id, account) = (Hex.encode(request.id), request.person.accountID.hex)
        (claimedName, mixesScripts) = (claimed.shown, claimed.mixesScripts)
        (looksLike, state) = (request.lookAlikes.map(\.name), ContactStateName(request.state))
        text = ClaimedName(request.content.text).shown
        personCode = PersonCode.person(request.person.accountID)
        if request.isCodeUsed {
            problem = SharingError.Code.codeUsed.rawValue
        } else if !request.lookAlikes.isEmpty {
            problem = SharingError.Code.contactChanged.rawValue
        }
    }
}

extension ContactsList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        let contacts = try desk.accountVault.contacts()
        answer.contacts = contacts.map { ContactMessage($0, among: contacts) }
        answer.ownName = try desk.accountVault.ownName()
        return answer
    }
}

// MARK: The own card

extension ContactMe: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withContacts { contacts in
            if let newName {
                try contacts.vault.setOwnName(newName)
                try contacts.send()
            }
            var answer = Answer()
            let own = try contacts.own
            answer.name = try contacts.vault.ownName()
            answer.account = own.hex
            answer.address = PersonAddress(name: answer.name ?? "", accountID: own).text
            answer.personCode = PersonCode.person(own)
            answer.link = try answer.name.map { try contacts.sync.ownCard(named: $0).link }
            return answer
        }
    }
}

extension ContactDesk {
    /// - Throws: a failure that says how to get one.
    fileprivate func requiredName() throws -> String {
        guard let name = try vault.ownName() else {
            throw CommandFailure(
                .usage, code: SharingError.Code.nameInvalid.rawValue, "you have not said yet what others call you",
                hint: "coffret contact me --name NAME")
        }
        return name
    }
}

extension ContactInvite: PerformedOperation {
    private static let standardSeconds = 14 * 86_400
    private static let secondsMax = 365 * 86_400
    private static let useCountMax = 255
    private static let openCountMax = 32

    package func perform(on desk: StoreDesk) throws -> Answer {
        let (seconds, uses) = (seconds ?? Self.standardSeconds, useCount ?? 1)
        guard 60...Self.secondsMax ~= seconds else { throw OperationError(.requestInvalid, at: "seconds") }
        guard 1...Self.useCountMax ~= uses else { throw OperationError(.requestInvalid, at: "uses") }
        return try desk.withContacts { contacts in
            let (own, now) = (try contacts.own, contacts.sync.clock.now)
            let name = try contacts.requiredName()
            let open = try contacts.vault.codes().filter { $0.given.isOpen(at: now) }.count
            guard open < Self.openCountMax else {
                throw CommandFailure(
                    .busy, code: "server.quota.exceeded", "\(open) invitations are open already",
                    hint: "one ends when it is used, or when its time is over")
            }
            let given = GivenCode(
                code: .generate(from: desk.surroundings.random), made: now,
                expires: now + Milliseconds(seconds) * 1_000, usesLeft: UInt64(uses))
            // Durable before anybody has it: a proof by it is recognised.
            try contacts.vault.add(given)
            try contacts.send()
            let connection = contacts.sync.account.connection
            let invitation = try invitesGuest == true ? connection.guestInvitation() : []
            try connection.setToken(
                ContactToken(
                    hash: given.code.tokenHash(inviter: own), expiry: UInt64(given.expires),
                    useCount: given.usesLeft))
            var answer = Answer()
            answer.link = try contacts.sync.ownCard(named: name, code: given.code, invitation: invitation).link
            (answer.expires, answer.useCount) = (WireMoment(given.expires), uses)
            return answer
        }
    }
}

// MARK: Adding

extension ContactAdd: PerformedOperation {
    /// Whom a word means, and what that rests on.
    private struct Meant {
        let account: ChainID
        let state: ContactState
        var claimed: String?
        var card: Card?
        var introducer: ChainID?
    }

    package func perform(on desk: StoreDesk) throws -> Answer {
        if let newName, !ContactFacts.isName(newName) { throw SharingError(.nameInvalid, at: newName) }
        let card = Card.isLink(person) ? try Card(link: person) : nil
        if let card, try desk.store.keyring.server() == nil { throw Self.notJoined(card) }
        return try desk.withContacts { contacts in
            let meant = try meant(contacts, card)
            guard try meant.account != contacts.own else {
                throw CommandFailure(
                    .usage, .inputInvalid, "that is you", hint: "coffret device add brings your other devices in")
            }
            let known = try contacts.vault.contact(with: meant.account)
            let shown = try contacts.sync.shown(meant.account, behind: known?.verification)
            if let card {
                guard let identity = shown.identity else { throw SharingError(.cardInvalid, at: "account") }
                try card.verify(identity)
            }
            let name = try name(meant, known, contacts)
            let isRaised = meant.state > (known?.recordedState ?? .unverified)
            if let known, !isRaised, card?.code == nil { throw SharingError(.contactExists, at: known.name) }
            let isAsked = try ask(shown, card?.code, contacts, name)
            let verification = ContactVerification(
                state: meant.state, time: contacts.sync.clock.now, own: try contacts.sync.ownKnown(),
                other: shown.known, introducer: meant.introducer)
            let contact = Contact(
                accountID: meant.account, name: name, card: card ?? known?.card,
                verification: isRaised || known == nil ? verification : known?.verification,
                blockedSince: known?.blockedSince)
            try contacts.vault.write(contact)
            try contacts.send()
            var answer = Answer()
            answer.contact = ContactMessage(contact, among: try contacts.vault.contacts(), shown)
            answer.isAsked = isAsked
            return answer
        }
    }

    /// Where the card's account is, for who has no server yet. Only what a shell takes for a word is shown: a link comes from
    /// anybody.
    private static func notJoined(_ card: Card) -> CommandFailure {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.-_")
        let invitation = String(decoding: card.invitation, as: UTF8.self)
        var hint: String?
        if plain.isSuperset(of: card.serverURL + invitation), !card.serverURL.isEmpty {
            hint = "coffret server join \(card.serverURL)"
            if card.serverFingerprint.contains(where: { $0 != 0 }) {
                hint? += " --fingerprint \(Hex.encode(card.serverFingerprint))"
            }
            if !invitation.isEmpty { hint? += " --invitation \(invitation)" }
        }
        return CommandFailure(
            .notFound, code: AccountError.Code.notJoined.rawValue, "this store has no server; that person is at one",
            hint: hint)
    }

    private func meant(_ contacts: ContactDesk, _ card: Card?) throws -> Meant {
        if let card {
            guard try contacts.sync.isHere(card) else { throw SharingError(.otherServer, at: card.serverURL) }
            return Meant(account: card.accountID, state: .linked, claimed: card.name, card: card)
        }
        if let bytes = try? Hex.decode(person.lowercased()), let id = ChainID(bytes) {
            return Meant(account: id, state: .linked)
        }
        guard person.contains(where: { $0 == "#" || $0 == ":" }) else { return try introduced(contacts) }
        let address = try PersonAddress(parsing: person)
        let connection = contacts.sync.account.connection
        let claimed = address.name.isEmpty ? nil : address.name
        let found: (id: ChainID?, state: ContactState) =
            switch address.finding {
            case .full(let prefix): (try connection.account(withAddress: prefix), .linked)
            case .short(let prefix): (try connection.account(withShortAddress: prefix), .unverified)
            }
        guard let id = found.id else { throw AccountError(.personUnknown, at: person) }
        guard address.fits(id) else { throw AccountError(.failed, at: person, cause: TrustError(.chainIDDiffers)) }
        return Meant(account: id, state: found.state, claimed: claimed)
    }

    /// A member of a vault that both are in: whoever added it there introduced it.
    private func introduced(_ contacts: ContactDesk) throws -> Meant {
        var found: [ChainID: Meant] = [:]
        let names = try contacts.desk.personNames()
        for record in try contacts.desk.store.vaults where record.kind == .synced {
            guard let members = try? VaultMembers(record, contacts.desk.store, names) else { continue }
            for (account, member) in members.rights.rights.members
            where members.name(of: account)?.lowercased() == person.lowercased() && names[account] == nil {
                let adder = members.rights.links[member.addedAt].accountID
                found[account] = Meant(
                    account: account, state: .introduced, claimed: members.name(of: account), introducer: adder)
            }
        }
        guard let first = found.values.first else { throw SharingError(.contactUnknown, at: person) }
        guard found.count == 1 else {
            throw CommandFailure(
                .ambiguous, .deviceAmbiguous,
                "\(found.count) members of your vaults are called \"\(TextWidth.displaySafe(person))\"",
                details: found.keys.map(\.hex).sorted(), hint: "use the id")
        }
        return first
    }

    private func name(_ meant: Meant, _ known: Contact?, _ contacts: ContactDesk) throws -> String {
        let claimed = meant.claimed.map { ClaimedName($0).shown }
        guard let name = newName ?? known?.name ?? claimed else {
            throw CommandFailure(
                .usage, code: SharingError.Code.nameInvalid.rawValue, "say what that person is to be called here",
                hint: "coffret contact add \(person.prefix(12))… --name NAME")
        }
        if newName == nil, known == nil,
            let other = try contacts.vault.contacts().lookAlikes(of: name, claimedBy: meant.account).first
        {
            throw ContactDesk.taken(name, by: other)
        }
        try contacts.vault.checkName(name, of: meant.account)
        return name
    }

    /// Shows the code of a link to the person who made it.
    private func ask(
        _ person: ShownPerson, _ code: ContactCode?, _ contacts: ContactDesk, _ name: String
    ) throws -> Bool {
        guard let code else { return false }
        let own = try contacts.own
        let card = try contacts.sync.ownCard(named: contacts.requiredName())
        let proof = code.proof(inviter: person.accountID, claimant: own)
        do {
            try contacts.sync.post(
                .contactRequest(ContactContent(card: card, proof: proof)), to: person,
                token: code.token(inviter: person.accountID))
        } catch  where ContactDesk.isRefusal(error) {
            throw SharingError(.codeUsed, at: name)
        }
        return true
    }
}

// MARK: One contact

extension ContactRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ContactMessage {
        try desk.withContacts { contacts in
            _ = try contacts.receive()
            let found = try contacts.vault.contact(contact)
            let shown = try contacts.sync.shown(found.accountID, behind: found.verification)
            return ContactMessage(found, among: try contacts.vault.contacts(), shown)
        }
    }
}

extension ContactEdit: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ContactMessage {
        try desk.withContacts { contacts in
            var found = try contacts.vault.contact(contact)
            if let newName {
                try contacts.vault.checkName(newName, of: found.accountID)
                found = found.with(name: newName)
            }
            if let isBlocked {
                found = found.with(blockedSince: isBlocked ? found.blockedSince ?? contacts.sync.clock.now : nil)
            }
            try contacts.vault.write(found)
            try contacts.send()
            return ContactMessage(found, among: try contacts.vault.contacts())
        }
    }
}

extension ContactRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ContactMessage {
        try desk.withContacts { contacts in
            let found = try contacts.vault.contact(contact)
            let message = ContactMessage(found, among: try contacts.vault.contacts())
            try contacts.vault.remove(found)
            try contacts.send()
            return message
        }
    }
}

extension ContactVerify: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withContacts { contacts in
            var found = try contacts.vault.contact(contact)
            let shown = try contacts.sync.shown(found.accountID, behind: found.verification)
            let own = try contacts.sync.ownKnown()
            var answer = Answer()
            answer.ownCode = PersonCode.person(own.accountID)
            answer.stateCode = PersonCode.state(own, shown.known)
            answer.ownLink = try contacts.vault.ownName().map { try contacts.sync.ownCard(named: $0).link }
            if let state = try decided(found) {
                // The record says what the person saw, and not what came while he compared.
                if areEqual == true, stateCode != answer.stateCode { throw Self.moved(found) }
                let verification = ContactVerification(
                    state: state, time: contacts.sync.clock.now, own: own, other: shown.known)
                found = found.with(verification: verification)
                try contacts.vault.write(found)
                try contacts.send()
                guard state > .unverified else { throw Self.differs(found) }
                answer.isRecorded = true
            }
            answer.contact = ContactMessage(found, among: try contacts.vault.contacts(), shown)
            return answer
        }
    }

    /// The state that the person's word makes; nil: he has said none.
    private func decided(_ contact: Contact) throws -> ContactState? {
        if let scanned {
            let isSame =
                Card.isLink(scanned)
                ? try Card(link: scanned).accountID == contact.accountID
                : try PersonAddress(parsing: scanned).fitsWholly(contact.accountID)
            return isSame ? .met : .unverified
        }
        return areEqual.map { $0 ? .compared : .unverified }
    }

    private static func moved(_ contact: Contact) -> CommandFailure {
        CommandFailure(
            .personUnverified, code: SharingError.Code.contactChanged.rawValue,
            "devices or keys changed while you compared; nothing was recorded",
            hint: "coffret contact verify \(TextWidth.displaySafe(contact.name)) shows the codes of now")
    }

    private static func differs(_ contact: Contact) -> CommandFailure {
        CommandFailure(
            .personUnverified, code: SharingError.Code.contactChanged.rawValue,
            "the account that you call \"\(TextWidth.displaySafe(contact.name))\" is not that person's; nothing is shared with it any more",
            hint: "coffret contact rm forgets it; ask the person for a new link, by a way that you trust")
    }
}

extension PersonAddress {
    /// Whether it is a full address, of that account.
    fileprivate func fitsWholly(_ account: ChainID) -> Bool {
        if case .full = finding { fits(account) } else { false }
    }
}

// MARK: Requests

extension ContactRequests: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withContacts { contacts in
            var answer = Answer()
            answer.requests = try contacts.receive().map { ContactRequestMessage($0) }
            try contacts.sync.syncAccountVaults()
            return answer
        }
    }
}

extension ContactAnswer: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withContacts { contacts in
            let found = try contacts.request(request)
            var answer = Answer()
            if isAccepted {
                // The answer says it.
                _ = try contacts.requiredName()
                let contact = try contacts.accept(found, as: newName)
                answer.contact = ContactMessage(contact, among: try contacts.vault.contacts(), found.person)
            } else {
                try contacts.sync.account.connection.deleteLetter(found.id)
                if let given = found.given { try contacts.vault.write(given.code.used, given.entity) }
                try contacts.send()
            }
            return answer
        }
    }
}
