// An account with devices and one vault, without a keyring: real keys, real chains, real repositories. The one thing to keep
// true: what a repository is given passes the same checks as in a store.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
package import CoffretStorage
package import CoffretTestSupport
package import CoffretTrust

package struct TestFailure: Error, CustomStringConvertible {
    package let description: String
}

/// A device of the account.
package struct TestDevice {
    package let id: UniqueID
    package let signing: SigningKey
    package let keys: DeviceKeys

    init(_ random: any RandomSource) {
        id = .generate(from: random)
        signing = .generate(from: random)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
    }
}

package final class TestAccount {
    package let random: SeededGenerator
    package let clock: ManualClock
    package private(set) var devices: [TestDevice]
    package private(set) var chain: VerifiedDeviceChain
    /// Of the vault, as all devices know them.
    package private(set) var chains: FollowedChains
    package let vaultID: VaultID
    package let vaultKey: VaultKey
    package let splitKey: SplitKey

    package init(deviceCount: Int = 1, random: SeededGenerator, clock: ManualClock) throws {
        (self.random, self.clock) = (random, clock)
        let first = TestDevice(random)
        devices = [first]
        vaultKey = .generate(from: random)
        splitKey = .generate(from: random)
        var chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: first.id, keys: first.keys, details: [], with: first.signing)
        ])
        for _ in 1..<max(deviceCount, 1) {
            let device = TestDevice(random)
            let proof = DeviceOperation.countersign(
                id: device.id, keys: device.keys, chainID: chain.accountID, sequenceNumber: UInt64(chain.links.count),
                with: device.signing)
            let operation = DeviceOperation.add(
                id: device.id, kind: .ordinary, keys: device.keys, countersignature: proof)
            chain = try chain.following([chain.sign(operation, details: [], with: first.signing)]).chain
            devices.append(device)
        }
        self.chain = chain
        let seed = random.bytes(count: VaultFoundation.randomByteCount)
        let foundation = VaultFoundation(
            random: seed, accountID: chain.accountID, deviceChainHead: chain.head.linkHash,
            keyCommitment: EpochKeys.deriveCommitment(to: vaultKey, scope: seed, epoch: 1))
        let link = VerifiedMemberChain.found(foundation, details: [], with: first.signing)
        vaultID = try VerifiedMemberChain.verify([link], founder: chain).vaultID
        chains = FollowedChains(
            vaultID: vaultID,
            own: FollowedAccount(chain, replaced: [], watch: ChainWatch(confirmedAt: clock.now)))
        try chains.take(links: [link], from: 0)
        if let failure = try chains.finish(keys: keyring) { throw failure }
    }

    /// The keys of one device's copy.
    package func makeKeys() -> VaultKeys {
        VaultKeys(
            vaultID: vaultID, vaultKeys: [1: vaultKey], splitKey: splitKey, localKey: .generate(from: random))
    }

    package func author(_ device: Int = 0, isWritable: Bool = true) throws -> LogAuthor {
        guard let head = ChainPosition(chain.head) else { throw TestFailure(description: "no head") }
        return LogAuthor(
            accountID: chain.accountID, deviceID: devices[device].id, deviceHead: head,
            signingKey: isWritable ? devices[device].signing : nil)
    }

    package var environment: StorageEnvironment {
        StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: clock)
    }

    package func create(
        at directory: String, keys: VaultKeys, device: Int = 0, isText: @escaping (FactKey) -> Bool
    ) throws -> LogRepository {
        try LogRepository.create(
            directory: directory, keys: keys, author: author(device), chains: chains.vaultChains,
            environment: environment, isText: isText)
    }

    package func open(
        at directory: String, keys: VaultKeys, device: Int = 0, isWritable: Bool = false,
        isText: @escaping (FactKey) -> Bool
    ) throws -> LogRepository {
        try LogRepository.open(
            directory: directory, keys: keys, author: author(device, isWritable: isWritable),
            chains: chains.vaultChains, mode: isWritable ? .readWrite(lockTimeoutMilliseconds: 0) : .readOnly,
            environment: environment, isText: isText)
    }

    // MARK: Links

    private struct Keyring: LogKeyring {
        let splitKey: SplitKey
        let key: VaultKey

        func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { epoch == 1 ? key : nil }
        func makeKey(ofEpoch epoch: UInt32) throws -> MadeKey { throw TestFailure(description: "no epochs here") }
        func settle(_: VerifiedMemberRights) throws {}
        func offer(_: [UInt32: VaultKey]) throws {}
    }

    private var keyring: Keyring { Keyring(splitKey: splitKey, key: vaultKey) }

    /// A checkpoint as a store writes it into a local vault.
    package func writeCheckpoint(
        in repository: LogRepository, purges: [EntityID], upTo frontier: Frontier?
    ) throws -> Int {
        let now = clock.now
        try repository.follow(chains.vaultChains)
        try repository.settle(now: now)
        guard let writer = LinkWriter(repository: repository, chains: chains, keys: keyring),
            let due = try writer.due(asked: true, now: now),
            case .success(let draft)? = try writer.draft(
                due, purges: purges, upTo: frontier, isAlone: true, hasUnreadable: false, cursor: nil, now: now)
        else { throw TestFailure(description: "no link") }
        try chains.takeOwn(link: draft.link, keys: keyring)
        try repository.takeOwn(chains.vaultChains, isRoot: draft.root != nil)
        return chains.links.count - 1
    }

    // MARK: Exchange

    /// Sends all entries that one repository has and another lacks, as a sync does.
    package func send(from source: LogRepository, to target: LogRepository) throws {
        var entries: [VerifiedEntry] = []
        var walk = try source.walk()
        while let entry = try walk.next() { entries.append(entry) }
        let members = try target.ask { (machine) in machine.members }
        let verifier = EntryVerifier(vaultID: vaultID, authority: members)
        let batch = try target.beginReceiving()
        for entry in entries.reversed() {
            var content: [UInt8] = []
            for name in try source.blobNames(of: entry) {
                let blob = try source.exchange.sealedBlob(name)
                let opened = try target.exchange.openSealed(blob) { (opened, _, bytes) in
                    if name == entry.name { content = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) } }
                    return opened
                }
                guard opened == name else { throw TestFailure(description: "a blob differs") }
                try batch.write(blob, name: name)
            }
            let read = try UnverifiedEntry.decode(content, name: entry.name) { _ in entry.context }
            let signed = try verifier.verifySignature(of: read)
            if try batch.takes(signed, byteCount: content.count) { try batch.take(signed, byteCount: content.count) }
        }
        try batch.finish()
        try target.settle(now: clock.now)
    }
}
