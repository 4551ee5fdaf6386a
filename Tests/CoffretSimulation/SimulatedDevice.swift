// A device in memory: a vault on a disk that fails and loses power. The one thing to keep true: what it
// acknowledged to its person is on the disk, whatever happens next.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage
package import CoffretSync
package import CoffretTestSupport

/// Keys that all devices of a simulation share.
package final class SimulatedKeys {
    package let vaultID: VaultID
    package let splitKey: SplitKey
    /// Whose devices these are.
    package let accountID: [UInt8]
    /// Of the account: what its devices state of other vaults.
    package let headsKey: HeadsKey
    package private(set) var vaultKeys: [UInt32: VaultKey]
    private let random: SeededGenerator

    /// - Parameter other: of another vault of the same person.
    package init(_ random: SeededGenerator, ofSamePersonAs other: SimulatedKeys? = nil) {
        guard let id = VaultID(random.bytes(count: 32...32)) else { preconditionFailure("32 bytes are an id") }
        self.random = random
        vaultID = id
        splitKey = .generate(from: random)
        accountID = other?.accountID ?? random.bytes(count: 32...32)
        vaultKeys = [1: .generate(from: random)]
        headsKey = other?.headsKey ?? .generate(from: random)
    }

    /// The keys as somebody keeps them who is told of no later ones.
    private init(copying keys: SimulatedKeys) {
        (vaultID, splitKey, accountID) = (keys.vaultID, keys.splitKey, keys.accountID)
        (headsKey, vaultKeys, random) = (keys.headsKey, keys.vaultKeys, keys.random)
    }

    package func copy() -> SimulatedKeys { SimulatedKeys(copying: self) }

    package var epoch: UInt32 { vaultKeys.keys.max() ?? 1 }

    package func rotate() { vaultKeys[epoch + 1] = .generate(from: random) }

    package func keys(local: LocalKey) -> VaultKeys {
        VaultKeys(vaultID: vaultID, vaultKeys: vaultKeys, splitKey: splitKey, localKey: local)
    }
}

/// Trusts the devices of a simulation.
package final class SimulatedSigners: CommitSignerDirectory {
    package var authors: [CommitAuthor] = []
    /// Heads of the account's chain in their order.
    package var chain: [[UInt8]] = []
    /// Device id to the link that revoked it.
    package var revoked: [[UInt8]: UInt64] = [:]

    package func revocation(ofAuthorOf context: CommitContext) -> UInt64? { revoked[context.deviceID] }

    package func chainPosition(of context: CommitContext) -> UInt64? {
        chain.firstIndex(of: context.deviceChainHead).map(UInt64.init)
    }

    package init() {}

    /// Each device states one link for its whole life here, so that they say nothing of order.
    package func areHeads(of later: CommitContext, atOrAfter earlier: CommitContext) -> Bool { true }

    package func verifyingKey(for context: CommitContext) -> VerifyingKey? {
        authors.first { $0.deviceID == context.deviceID && $0.accountID == context.accountID }?.signingKey
            .verifyingKey
    }
}

/// Puts texts of lines together; the lines of both, in an order that does not depend on the side.
package struct SimulatedRule: ValueMergeRule {
    package init() {}

    package func mergesValues(under key: FactKey) -> Bool { key.attribute == "text" }

    package func merge(base: [UInt8], _ first: [UInt8], _ second: [UInt8]) -> [UInt8]? {
        func lines(_ bytes: [UInt8]) -> [[UInt8]] { bytes.split(separator: 10).map(Array.init) }
        let (old, one, two) = (lines(base), lines(first), lines(second))
        guard old.allSatisfy({ one.contains($0) && two.contains($0) }) else { return nil }
        let added = Set((one + two).filter { !old.contains($0) }).sorted { $0.lexicographicallyPrecedes($1) }
        return Array((old + added).joined(separator: [10]))
    }
}

package final class SimulatedDevice {
    package let author: CommitAuthor
    package let keys: SimulatedKeys
    package let signers: SimulatedSigners
    package let network: SimulatedNetwork
    /// Whether a device was revoked before this one was let in.
    private var isRevocationKnown = false
    private let local: LocalKey
    private let random: SeededGenerator
    package private(set) var disk = SimulatedFileSystem()
    package private(set) var repository: VaultRepository
    private var tuning = StorageTuning()
    /// By this device's clock.
    package var now: Int64 = 1_000
    /// What this device keeps of its vaults together; nil if this is the only one.
    package var heads: SimulatedHeads? {
        didSet { state() }
    }

    /// - Parameter author: of another vault on the same device; nil for a new device.
    package init(
        keys: SimulatedKeys, signers: SimulatedSigners, zone: SimulatedZone, random: SeededGenerator,
        author known: CommitAuthor? = nil
    ) throws {
        self.keys = keys
        self.signers = signers
        self.random = random
        author =
            known
            ?? CommitAuthor(
                signingKey: .generate(from: random), deviceID: random.bytes(count: 16...16),
                instanceID: .generate(from: random), accountID: keys.accountID,
                deviceChainHead: random.bytes(count: 32...32), memberChainHead: random.bytes(count: 32...32))
        network = SimulatedNetwork(zone: zone, random: random, device: author.deviceID)
        if known == nil { signers.authors.append(author) }
        local = .generate(from: random)
        tuning.segmentByteCountMin = 64 << 10
        let environment = StorageEnvironment(
            fileSystem: disk, random: random, clock: ManualClock(), tuning: tuning)
        repository = try VaultRepository.create(
            directory: "vault", keys: keys.keys(local: local), author: author, environment: environment,
            checkpointPolicy: CheckpointPolicy(factCountMax: random.element(of: [8, 40, 256])))
        state()
    }

    package var head: BlobName? { repository.headNames.first }

    /// Puts the present of what the server showed last where a new device finds it, whatever the history's size.
    package func offerPresent() throws -> PresentMark? {
        guard let memory = try VaultSync.memory(of: repository), let seen = memory.head,
            try repository.presentStanding == .whole
        else { return nil }
        var policy = PresentPolicy()
        policy.historyByteCountMin = 0
        policy.historyFactor = 0
        return try PresentOffer(repository: repository, transport: network, policy: policy).make(at: seen)
    }

    /// Is let in by a device that tells its head, and perhaps that the tree of this lies at the server.
    package func join(toldOf head: ToldHead?, present: PresentMark?) throws {
        isRevocationKnown = !signers.revoked.isEmpty
        let memory = SyncMemory(server: "simulated", told: head.flatMap { ToldHead.decode($0.encode()) })
        if let present {
            try repository.remember(present: present, note: memory.encode())
        } else if head != nil {
            try repository.setSyncNote(memory.encode())
        }
    }

    /// What it tells a device that it lets in, as `Store.zoneHeads` does.
    package func toldHead() throws -> ToldHead? {
        guard let memory = try VaultSync.memory(of: repository), let head = memory.head,
            try !repository.isSetAside(head), repository.areCutsKnown(repository)
        else { return nil }
        return ToldHead(head: head, dot: try memory.headDot ?? repository.dot(ofCommit: head))
    }

    /// Opens the vault anew, on a disk; power that went unnoticed comes back first.
    package func start(on newDisk: SimulatedFileSystem? = nil) throws {
        if let newDisk {
            disk = newDisk
        } else if disk.isPoweredOff {
            disk = disk.restarted(keeping: random)
        } else if !repository.isWritable {
            // A write failed of which nobody was told, such as a note of what other vaults stated: the process ends.
            disk = disk.restarted(keeping: random)
        } else {
            repository.close()
        }
        repository = try VaultRepository.open(
            directory: "vault", keys: keys.keys(local: local), author: author,
            mode: .readWrite(lockTimeoutMilliseconds: 0),
            environment: StorageEnvironment(fileSystem: disk, random: random, clock: ManualClock(), tuning: tuning),
            checkpointPolicy: repository.checkpointPolicy)
        state()
    }

    /// Commits from now on say what they can of the other vaults.
    private func state() {
        repository.statements = heads.map { SimulatedStatements(heads: $0, device: self) }
        repository.areCutsKnown = { [signers, accountID = keys.accountID] repository in
            guard let newest = signers.revoked.values.max() else { return true }
            return (try? repository.hasCut(at: newest, account: accountID, signers: signers)) ?? false
        }
    }

    /// The person's other devices that are trusted.
    private var others: Set<UniqueID> {
        Set(
            signers.authors.map(\.deviceID).filter { signers.revoked[$0] == nil && $0 != author.deviceID }
                .compactMap { UniqueID(bytes: $0) })
    }

    /// What stated heads are held against.
    package var check: StatedHeadCheck {
        StatedHeadCheck(
            repository: repository, signers: signers, newestRevocation: signers.revoked.values.max(), others: others)
    }

    /// The power goes, and comes back.
    package func crash() throws { try start(on: disk.restarted(keeping: random)) }

    @discardableResult
    package func sync(_ change: (inout SyncEngine.Options) -> Void = { _ in }) throws -> SyncReport {
        var options = SyncEngine.Options()
        options.acknowledges = false
        options.stagedByteCountMax = 2 << 10
        options.partByteCountMax = 4 << 10
        change(&options)
        let memory = try VaultSync.memory(of: repository) ?? SyncMemory(server: "simulated")
        let acknowledger = SyncAcknowledger(
            keys: keys.keys(local: local), author: author, signers: signers, others: others,
            newestRevocation: signers.revoked.values.max(), random: random
        ) { [self] in now }
        let vault = VaultSync(
            repository: repository, signers: signers, rule: SimulatedRule(), acknowledger: acknowledger,
            headsKey: heads == nil ? nil : keys.headsKey,
            revocationSinceJoining: isRevocationKnown ? nil : signers.revoked.values.min()
        ) { [self] in now }
        defer {
            vault.cancel()
            heads?.spread(from: self)
        }
        let engine = SyncEngine(
            memory: memory, knownEpoch: keys.epoch, present: try repository.presentStanding, options: options)
        return try SyncSession(transport: network, vault: vault).run(engine).report
    }

    package func texts(_ key: FactKey) throws -> [String] {
        let present = try repository.present
        return try present.facts(under: key).map { String(decoding: try present.value(of: $0), as: UTF8.self) }
    }

    /// Adds a line to a text; where there are several texts, the person puts them together.
    package func addLine(_ line: String, to key: FactKey, time: Milliseconds = 1) throws {
        var lines: [Substring] = []
        for text in try texts(key) {
            for line in text.split(separator: "\n") where !lines.contains(line) { lines.append(line) }
        }
        let value = Array((lines + [Substring(line)]).joined(separator: "\n").utf8)
        try repository.commit([FactChange(key: key, value: value)], time: time)
    }

    /// Packs the vault, removing what other devices removed, and history if that is wanted.
    package func compact(olderThan time: Milliseconds? = nil, droppingParentsOf commit: BlobName? = nil) throws {
        _ = try repository.compact(
            dropHistoryOlderThan: time, droppingParentsOf: commit, timeMilliseconds: now)
    }

    /// Removes here what compactions of other devices removed, if a sync found that due, as the product does after each.
    ///
    /// - Returns: whether something was due.
    package func followRemovals() throws -> Bool {
        guard var memory = try VaultSync.memory(of: repository), memory.areRemovalsDue else { return false }
        if try !repository.recordedRemovals().isEmpty { try compact() }
        memory.areRemovalsDue = false
        try repository.setSyncNote(memory.encode())
        return true
    }

    package static func key(_ number: Int, _ attribute: Attribute = "text") -> FactKey {
        var uuid = [UInt8](repeating: 0, count: 16)
        uuid[0] = UInt8(number)
        guard let id = UniqueID(bytes: uuid) else { preconditionFailure("16 bytes are an id") }
        return FactKey(entity: EntityID(kind: UInt8(ascii: "N"), uuid: id), attribute: attribute)
    }
}
