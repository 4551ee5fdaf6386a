// An account with one device and an identity, without a keyring, for tests.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretSharing
import CoffretTestSupport
import CoffretTrust

struct Person {
    let deviceID: UniqueID
    let signing: SigningKey
    private(set) var chain: VerifiedDeviceChain
    private(set) var identity: VerifiedIdentityChain
    private(set) var keys: IdentityKeys
    private let generator: SeededGenerator

    /// - Parameter expires: of the transient keys, from 0 on.
    init(_ generator: SeededGenerator, expires: Milliseconds = 1_000) throws {
        self.generator = generator
        deviceID = .generate(from: generator)
        signing = .generate(from: generator)
        let deviceKeys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
        chain = try .verify([
            VerifiedDeviceChain.found(deviceID: deviceID, keys: deviceKeys, details: [], with: signing)
        ])
        let (link, longTerm, transient) = Self.link(
            nil, chain: chain, signing, generator, sets: true, expires: expires)
        identity = try .verify([link], devices: AccountDevices(chain))
        keys = IdentityKeys(longTerm: longTerm.map { [$0] } ?? [], transients: [transient])
    }

    /// Adds a device to the chain, or takes one out of it.
    mutating func follow(_ operation: DeviceOperation) throws {
        chain = try chain.following([chain.sign(operation, details: [], with: signing)]).chain
    }

    mutating func append(sets: Bool) throws {
        let (link, longTerm, transient) = Self.link(
            identity, chain: chain, signing, generator, sets: sets, expires: 1_000)
        identity = try .verify(identity.links.map(\.link) + [link], devices: devices)
        keys = IdentityKeys(
            longTerm: keys.longTerm + (longTerm.map { [$0] } ?? []), transients: keys.transients + [transient])
    }

    private static func link(
        _ identity: VerifiedIdentityChain?, chain: VerifiedDeviceChain, _ signer: SigningKey,
        _ generator: SeededGenerator, sets: Bool, expires: Milliseconds
    ) -> (UnverifiedLink, IdentityKeys.LongTerm?, IdentityKeys.Transient) {
        let number = UInt64(identity?.links.count ?? 0)
        let (box, key) = (AgreementKey.generate(from: generator), AgreementKey.generate(from: generator))
        let signing = SigningKey.generate(from: generator)
        let transient = TransientKey(key: key.publicKey, made: 0, expires: expires)
        let head = StatedLink(chain.head)
        let operation =
            sets
            ? IdentityOperation.set(
                head: head, box: box.publicKey, transient: transient, number: number, of: chain.accountID,
                signing: signing)
            : IdentityOperation.refresh(head: head, transient: transient)
        return (
            VerifiedIdentityChain.sign(operation, after: identity, account: chain.accountID, with: signer),
            sets ? IdentityKeys.LongTerm(number: number, signing: signing, box: box, since: 0) : nil,
            IdentityKeys.Transient(number: number, key: key, since: 0)
        )
    }

    var accountID: ChainID { chain.accountID }
    var devices: AccountDevices { AccountDevices(chain) }
    var opener: LetterOpener { LetterOpener(chain: identity, keys: keys) }
    var sender: LetterSender {
        LetterSender(accountID: accountID, deviceID: deviceID, head: StatedLink(chain.head), signingKey: signing)
    }

    var signingKey: SigningKey? { keys.longTerm(of: identity.newestSet)?.signing }

    func recipient(now: Milliseconds = 0) throws -> LetterRecipient {
        try LetterRecipient(identity.receivingKeys(for: devices), now: now)
    }

    func card(named name: String, code: ContactCode? = nil) throws -> Card {
        guard let signingKey else { throw SharingError(.cardInvalid) }
        return try .sign(
            accountID: accountID, serverURL: "https://vault.example",
            serverFingerprint: [UInt8](repeating: 7, count: 32), name: name, code: code, time: 0, with: signingKey)
    }
}

/// A vault that a person founded, with an epoch that its chain opened.
struct SharedVault {
    let rights: VerifiedMemberRights
    let vaultKeys: [UInt32: VaultKey]
    let splitKey: SplitKey

    /// - Parameter members: who is added, in this order, as writers.
    init(_ founder: Person, adding members: [Person] = [], _ generator: SeededGenerator) throws {
        let keys: [UInt32: VaultKey] = [1: .generate(from: generator), 2: .generate(from: generator)]
        vaultKeys = keys
        splitKey = .generate(from: generator)
        let seed = generator.bytes(count: 32)
        let key1 = try Self.require(keys[1])
        let link = VerifiedMemberChain.found(
            VaultFoundation(
                random: seed, accountID: founder.accountID, deviceChainHead: founder.chain.head.linkHash,
                keyCommitment: EpochKeys.deriveCommitment(to: key1, scope: seed, epoch: 1)), details: [],
            with: founder.signing)
        var rights = try VerifiedMemberRights(founding: link, founder: founder.devices, chain: founder.chain)
        let split: AuthenticationKey = KDF.derive(from: splitKey, .splitKeyCommitment, rights.vaultID.bytes)
        let commitment = unsafe split.withUnsafeBytes { unsafe [UInt8]($0) }
        let key2 = try Self.require(keys[2])
        let opening = EpochOpening(
            epoch: 2,
            keyCommitment: try Self.require(
                Bytes32(EpochKeys.deriveCommitment(to: key2, scope: rights.vaultID.bytes, epoch: 2))),
            splitKeyCommitment: try Self.require(Bytes32(commitment)), historyHash: Bytes32(0, 0, 0, 0),
            checkpointEpoch: 1)
        var operations = [MemberOperation.Kind.state]
        for member in members {
            operations.append(.add(StatedHead(accountID: member.accountID, device: try Self.head(member)), .writer))
        }
        let accounts = Dictionary(uniqueKeysWithValues: ([founder] + members).map { ($0.accountID, $0.devices) })
        for (offset, kind) in operations.enumerated() {
            let operation = MemberOperation(
                kind, by: founder.accountID, deviceHead: try Self.head(founder), opening: offset == 0 ? opening : nil)
            let link = UnverifiedLink.sign(
                kind: .member, chainID: ChainID(rights.vaultID.bytes), sequenceNumber: UInt64(rights.count),
                publicPart: operation.encoded, sealedPart: [],
                previousLinkHash: rights.links[rights.count - 1].hash.bytes, with: founder.signing)
            try rights.append(link, accounts: accounts)
        }
        self.rights = rights
    }

    private static func head(_ person: Person) throws -> Bytes32 { try require(Bytes32(person.chain.head.linkHash)) }

    private static func require<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw SharingError(.letterInvalid, at: "test") }
        return value
    }

    var head: StatedLink {
        StatedLink(number: UInt64(rights.count - 1), hash: rights.links[rights.count - 1].hash)
    }

    func content(epoch: UInt32 = 2) throws -> LetterContent {
        .vaultKey(VaultKeyContent(vaultKey: try Self.require(vaultKeys[epoch]), splitKey: splitKey))
    }
}
