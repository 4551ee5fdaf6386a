// Somebody as the server shows it now. The one thing to keep true: all of it is verified from the account id, and nothing that
// the own person compared is taken back by a server.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretSharing
internal import CoffretTrust

/// An account that was followed just now.
struct ShownPerson {
    let followed: FollowedAccount
    /// nil while it has none.
    let identity: VerifiedIdentityChain?
    /// The newest links; zeros for an identity that there is not.
    let known: PersonCode.Known

    var accountID: ChainID { known.accountID }

    /// Whether something may be sealed to it.
    var isCurrent: Bool { identity?.isCurrent(for: followed.devices) ?? false }
}

extension AccountSync {
    /// Follows an account from its id.
    ///
    /// - Parameter verification: what the server does not go back behind.
    /// - Throws: `AccountError.personUnknown`; a `TrustError`: `.chainRolledBack` for chains that lack a link which was seen.
    func shown(_ id: ChainID, behind verification: ContactVerification?) throws -> ShownPerson {
        let (followed, identity) = try people.follow(id)
        if let seen = verification?.other {
            let hasIdentity = identity?.links.contains { $0.hash == seen.identityHead.bytes } ?? false
            guard followed.knows(seen.deviceHead.bytes), seen.identityHead == Self.none || hasIdentity else {
                throw AccountError(.failed, at: id.hex, cause: TrustError(.chainRolledBack))
            }
        }
        guard let deviceHead = Bytes32(followed.chain.head.linkHash) else {
            throw AccountError(.personUnknown, at: id.hex)
        }
        let identityHead = identity.flatMap { Bytes32($0.head.linkHash) } ?? Self.none
        return ShownPerson(
            followed: followed, identity: identity,
            known: PersonCode.Known(accountID: id, deviceHead: deviceHead, identityHead: identityHead))
    }

    private static let none = Bytes32(0, 0, 0, 0)

    /// The own account as others see it when they know the newest links.
    func ownKnown() throws -> PersonCode.Known {
        let identity = try account.ownIdentity()
        guard let device = Bytes32(try store.keyring.deviceChain().head.linkHash),
            let head = Bytes32(identity.chain.head.linkHash)
        else { throw AccountError(.keysAwaited) }
        return PersonCode.Known(
            accountID: try store.keyring.accountID(), deviceHead: device, identityHead: head)
    }

    // MARK: Cards and letters

    /// The own card, signed by the account's identity.
    func ownCard(named name: String, code: ContactCode? = nil, invitation: [UInt8] = []) throws -> Card {
        let identity = try account.ownIdentity()
        guard let server = try store.keyring.server(),
            let key = identity.keys.longTerm(of: identity.chain.newestSet)?.signing
        else { throw AccountError(.keysAwaited) }
        return try .sign(
            accountID: store.keyring.accountID(), serverURL: server.url, serverFingerprint: server.fingerprint,
            name: name, code: code, invitation: invitation, time: clock.now, with: key)
    }

    /// Whether a card is of this store's server: an account has one.
    func isHere(_ card: Card) throws -> Bool {
        guard let server = try store.keyring.server() else { return false }
        return server.fingerprint.contains { $0 != 0 }
            ? server.fingerprint == card.serverFingerprint : server.url == card.serverURL
    }

    /// Seals a letter to somebody and leaves it at the server.
    ///
    /// - Parameter scope: what the letter belongs to; nil: the recipient.
    /// - Throws: `TrustError.identityStale`; `SharingError.recipientDormant`; what the server refuses.
    func post(
        _ content: LetterContent, to person: ShownPerson, scope: [UInt8]? = nil, subject: LetterSubject = .none,
        token: [UInt8]? = nil
    ) throws {
        let recipient = try checkRecipient(person)
        let letter = try LetterSealing.seal(
            content, scope: scope ?? person.accountID.bytes, subject: subject, from: people.sender(), to: recipient,
            random: people.random)
        try account.connection.post(letter.encoded, to: person.accountID, token: token)
    }

    /// So many members are asked for a key.
    private static let askedCountMax = 3

    /// Asks members of a vault for its key, if the letter that came with it was refused: the server forgets the letter, and whoever has
    /// the key writes another one.
    ///
    /// - Returns: why it was refused; nil: none was.
    func askAnew(in rights: VerifiedMemberRights) throws -> SharingError? {
        guard let refusal = people.takeRefusal(of: rights.vaultID) else { return nil }
        let own = try store.keyring.accountID()
        let others = rights.rights.members.filter { $0.key != own && $0.value.hasAccepted }
            .sorted { $0.value.addedAt < $1.value.addedAt }
        var count = 0
        for (member, _) in others where count < Self.askedCountMax {
            do {
                try post(
                    .keyWanted, to: shown(member, behind: nil), scope: rights.vaultID.bytes,
                    subject: .epoch(rights.rights.epoch))
                count += 1
            } catch  where !SyncTrouble.isTransient(error) {
                // Somebody to whom nothing can be sealed now, or whose mailbox is full: the next one is asked.
            }
        }
        return refusal
    }

    /// Makes sure that something can be sealed to somebody now.
    ///
    /// - Throws: as `post`.
    @discardableResult
    func checkRecipient(_ person: ShownPerson) throws -> LetterRecipient {
        guard let identity = person.identity else { throw TrustError(.identityStale) }
        return try LetterRecipient(identity.receivingKeys(for: person.followed.devices), now: clock.now)
    }
}
