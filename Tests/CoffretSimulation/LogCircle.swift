// People who share a vault of logs. The one thing to keep true: keys go from one person to another in real letters, sealed to
// real identities, through the server's store.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
package import CoffretLogs
package import CoffretSharing
package import CoffretSync
internal import CoffretTestSupport
package import CoffretTrust
internal import CoffretWire

/// What a person receives letters by.
package struct LogIdentity {
    package let chain: VerifiedIdentityChain
    package let keys: IdentityKeys

    private init(_ chain: VerifiedIdentityChain, _ keys: IdentityKeys) { (self.chain, self.keys) = (chain, keys) }

    /// - Parameter old: in whose place this one comes; its keys go.
    init(
        _ chain: VerifiedDeviceChain, after old: LogIdentity? = nil, signedBy key: SigningKey, now: Milliseconds,
        _ random: SeededGenerator
    ) throws {
        let (box, transient) = (AgreementKey.generate(from: random), AgreementKey.generate(from: random))
        let signing = SigningKey.generate(from: random)
        let number = UInt64(old?.chain.links.count ?? 0)
        let operation = IdentityOperation.set(
            head: StatedLink(chain.head), box: box.publicKey,
            transient: TransientKey(key: transient.publicKey, made: now, expires: now + TransientKey.lifetimeMax),
            number: number, of: chain.accountID, signing: signing)
        let link = VerifiedIdentityChain.sign(operation, after: old?.chain, account: chain.accountID, with: key)
        self.chain = try .verify((old?.chain.links.map(\.link) ?? []) + [link], devices: AccountDevices(chain))
        keys = IdentityKeys(
            longTerm: [IdentityKeys.LongTerm(number: number, signing: signing, box: box, since: now)],
            transients: [IdentityKeys.Transient(number: number, key: transient, since: now)])
    }

    /// The same with a new transient key; the one before stays for letters that are on their way.
    func refreshed(
        _ devices: VerifiedDeviceChain, signedBy key: SigningKey, now: Milliseconds, _ random: SeededGenerator
    ) throws -> LogIdentity {
        let transient = AgreementKey.generate(from: random)
        let number = UInt64(chain.links.count)
        let operation = IdentityOperation.refresh(
            head: StatedLink(devices.head),
            transient: TransientKey(key: transient.publicKey, made: now, expires: now + TransientKey.lifetimeMax))
        let link = VerifiedIdentityChain.sign(operation, after: chain, account: devices.accountID, with: key)
        return LogIdentity(
            try .verify(chain.links.map(\.link) + [link], devices: AccountDevices(devices)),
            IdentityKeys(
                longTerm: keys.longTerm,
                transients: keys.transients + [IdentityKeys.Transient(number: number, key: transient, since: now)]))
    }
}

/// Everybody of a world, and who seals and opens for one of them.
package final class LogCircle {
    package private(set) var people: [LogPerson]

    /// - Parameter host: founded the vault.
    package init(_ host: LogPerson) throws {
        people = [host]
        try host.enter(self)
    }

    /// Somebody with an account and no right yet.
    ///
    /// - Parameter friends: who may add that person; nil: everybody.
    package func addPerson(isKnownTo friends: [LogPerson]? = nil) throws -> LogPerson {
        let person = try LogPerson(guestOf: people[0])
        people.append(person)
        try person.enter(self)
        try (person.server as? LogServer)?.admit((friends ?? people).map(\.account), by: person)
        return person
    }

    /// A person of another vault, who has no right in this one yet.
    @discardableResult
    package func addPerson(as other: LogPerson) throws -> LogPerson {
        let person = try LogPerson(guestOf: people[0], as: other)
        people.append(person)
        try person.enter(self)
        return person
    }

    subscript(account: ChainID) -> LogPerson? { people.first { $0.account == account } }
}

/// Letters of one person.
package final class LogLetters: VaultPeople {
    private unowned let person: LogPerson
    private unowned let circle: LogCircle
    /// Stands between what is sealed and what is sent.
    package var forge: (VaultKeyContent) -> VaultKeyContent = { $0 }

    init(_ person: LogPerson, _ circle: LogCircle) {
        self.person = person
        self.circle = circle
    }

    package func letters(_ wish: LetterWish, accounts: [ChainID: FollowedAccount]) throws -> [[UInt8]] {
        guard let device = person.devices.first(where: { person.isTrusted($0) }) else { return [] }
        let sender = LetterSender(
            accountID: person.account, deviceID: device.id, head: StatedLink(person.chain.head),
            signingKey: device.secrets.signing)
        return try wish.accounts.compactMap { id in
            guard let other = circle[id], let identity = other.identity, let followed = accounts[id] else { return nil }
            // To keys that are not current nothing is sealed; a later sync sends the letter.
            guard let keys = try? identity.chain.receivingKeys(for: followed.devices) else { return nil }
            let recipient = try LetterRecipient(keys, now: person.server.clock.now)
            let content = forge(VaultKeyContent(vaultKey: wish.key, splitKey: wish.splitKey, word: wish.word(for: id)))
            return try LetterSealing.seal(
                .vaultKey(content), scope: wish.vaultID.bytes,
                subject: .key(
                    epoch: wish.epoch,
                    memberHead: StatedLink(number: wish.memberHead.number, hash: wish.memberHead.hash)),
                from: sender, to: recipient, random: person.random
            ).encoded
        }
    }

    package func keys(
        in letter: [UInt8], epoch: UInt32, chain: VerifiedMemberRights, accounts: [ChainID: FollowedAccount]
    ) throws -> LetterKeys? {
        guard let read = try? UnverifiedLetter(decoding: letter), let identity = person.identity,
            let sender = accounts[read.header.sender]
        else { return nil }
        let opener = LetterOpener(chain: identity.chain, keys: identity.keys)
        guard case .vaultKey(let content)? = try? opener.open(read, from: sender.devices, in: .vault(chain)) else {
            return nil
        }
        return LetterKeys(key: content.vaultKey, splitKey: content.splitKey, word: content.word)
    }
}

extension LogDevice {
    /// Syncs until a change of the members is made, and the links that had to come first.
    ///
    /// - Returns: the number of its link; nil: it could not be made.
    @discardableResult
    package func change(
        _ change: MemberChange, introducing other: LogPerson? = nil, shown: ShownLinks? = nil
    ) throws -> Int? {
        var options = LogSync.Options()
        (options.change, options.shown, options.hurries) = (change, shown, true)
        options.introduced = other.map { other in
            FollowedAccount(other.chain, replaced: [], watch: ChainWatch(confirmedAt: now))
        }
        for _ in 0..<4 {
            let report = try sync(options)
            if let number = report.changeNumber { return number }
        }
        return nil
    }

    /// Lets a person in, who accepts at once.
    package func share(_ role: MemberRole, with other: LogPerson) throws {
        guard let head = Bytes32(other.chain.head.linkHash) else { throw SimulationFailure("no head") }
        let added = try change(
            .add(StatedHead(accountID: other.account, device: head), role, name: nil), introducing: other)
        guard added != nil, try other.devices[0].change(.accept) != nil else { throw SimulationFailure("not shared") }
    }

    /// One sync by a person who waits, and who looks for members without a key.
    @discardableResult
    package func hurry() throws -> LogReport {
        var options = LogSync.Options()
        (options.hurries, options.looksForLetters) = (true, true)
        return try sync(options)
    }
}
