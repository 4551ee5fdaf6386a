// Copies of one vault on simulated disks, that exchange sealed blobs. The one thing to keep true: replicas meet
// through what a server would carry, and through nothing else.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport

@testable import CoffretStorage

/// Keys of one vault, made one by one so that epochs can be added.
final class ReplicaKeys {
    let vaultID: VaultID
    let splitKey: SplitKey
    /// Whose devices the replicas are.
    let accountID: [UInt8]
    var vaultKeys: [UInt32: VaultKey]

    init(_ random: SeededGenerator) {
        vaultID = VaultID(random.bytes(count: 32...32))!
        splitKey = .generate(from: random)
        accountID = random.bytes(count: 32...32)
        vaultKeys = [1: .generate(from: random)]
    }

    func keys(local: LocalKey) -> VaultKeys {
        VaultKeys(vaultID: vaultID, vaultKeys: vaultKeys, splitKey: splitKey, localKey: local)
    }
}

/// One device's copy.
final class Replica {
    let author: CommitAuthor
    let local: LocalKey
    let disk: SimulatedFileSystem
    let random: SeededGenerator
    let keys: ReplicaKeys
    let policy: CheckpointPolicy
    private(set) var repository: VaultRepository
    private let clock = ManualClock()

    init(_ random: SeededGenerator, keys: ReplicaKeys, policy: CheckpointPolicy) throws {
        self.random = random
        self.keys = keys
        self.policy = policy
        disk = SimulatedFileSystem()
        author = RepositoryFixture.author(random, account: keys.accountID)
        local = .generate(from: random)
        let environment = StorageEnvironment(fileSystem: disk, random: random, clock: clock)
        let store = try BlobStore.create(
            directory: "vault", keys: keys.keys(local: local), environment: environment)
        repository = VaultRepository(
            backend: store, keys: keys.keys(local: local), author: author, random: random, checkpointPolicy: policy)
    }

    /// A copy of another's disk: what a backup of the disk brings back.
    ///
    /// - Parameter isRenewed: whether it writes as an instance of its own.
    init(copying other: Replica, isRenewed: Bool = false) throws {
        (random, keys, policy, local) = (other.random, other.keys, other.policy, other.local)
        author = isRenewed ? other.author.renewed(random) : other.author
        disk = other.disk.syncedCopy()
        repository = try VaultRepository.open(
            directory: "vault", keys: keys.keys(local: local), author: author,
            mode: .readWrite(lockTimeoutMilliseconds: 0),
            environment: StorageEnvironment(fileSystem: disk, random: random, clock: clock), checkpointPolicy: policy)
    }

    /// Opens the copy anew: with all epochs that there are by now.
    func reopen() throws {
        repository.close()
        repository = try VaultRepository.open(
            directory: "vault", keys: keys.keys(local: local), author: author,
            mode: .readWrite(lockTimeoutMilliseconds: 0),
            environment: StorageEnvironment(fileSystem: disk, random: random, clock: clock),
            checkpointPolicy: policy)
    }

    var head: BlobName? { repository.headNames.first }

    /// What this copy sends to who has `known`.
    func export(knowing known: [BlobName] = []) throws -> [SealedBlob] {
        try repository.contents(from: known).names.map { try repository.sealedBlob($0) }
    }

    @discardableResult
    func adopt(
        _ blobs: [SealedBlob], heads: [BlobName], signers: any CommitSignerDirectory,
        rule: any ValueMergeRule = LineRule()
    ) throws -> AdoptionReport {
        let adoption = try repository.beginAdoption(rule: rule)
        for blob in blobs { try adoption.offer(blob) }
        return try adoption.adopt(heads, signers: signers, time: 7)
    }
}

/// Merges values under `text` that are sets of lines: those of both, without those that either removed.
struct LineRule: ValueMergeRule {
    func mergesValues(under key: FactKey) -> Bool { key.attribute == "text" }

    func merge(base: [UInt8], _ first: [UInt8], _ second: [UInt8]) -> [UInt8]? {
        func lines(_ bytes: [UInt8]) -> [[UInt8]] { bytes.split(separator: 10).map(Array.init) }
        let (old, one, two) = (lines(base), lines(first), lines(second))
        // Removing and adding at once is a contradiction here.
        let removed = old.filter { !one.contains($0) || !two.contains($0) }
        guard removed.isEmpty else { return nil }
        let added = (one + two).filter { !old.contains($0) }
        let sorted = Set(added).sorted { $0.lexicographicallyPrecedes($1) }
        return Array((old + sorted).joined(separator: [10]))
    }
}

/// Trusts what a test says.
struct WorldSigners: CommitSignerDirectory {
    let authors: [CommitAuthor]
    /// Chain heads in their order; position by index.
    var chain: [[UInt8]] = []
    /// Device id to the position of its revocation.
    var revoked: [[UInt8]: UInt64] = [:]

    func verifyingKey(for context: CommitContext) -> VerifyingKey? {
        authors.first { $0.deviceID == context.deviceID && $0.accountID == context.accountID }?.signingKey
            .verifyingKey
    }

    func areHeads(of later: CommitContext, atOrAfter earlier: CommitContext) -> Bool {
        guard let new = chainPosition(of: later), let old = chainPosition(of: earlier) else { return true }
        return new >= old
    }

    func revocation(ofAuthorOf context: CommitContext) -> UInt64? { revoked[context.deviceID] }

    func chainPosition(of context: CommitContext) -> UInt64? {
        chain.firstIndex(of: context.deviceChainHead).map(UInt64.init)
    }
}

/// Several copies of one vault.
final class ReplicaWorld {
    let random: SeededGenerator
    let keys: ReplicaKeys
    let replicas: [Replica]
    /// Every line of text that a replica acknowledged, by key.
    var acknowledged: [FactKey: Set<String>] = [:]

    init(_ random: SeededGenerator, count: Int, policy: CheckpointPolicy = .shortLived) throws {
        self.random = random
        let keys = ReplicaKeys(random)
        self.keys = keys
        replicas = try (0..<count).map { _ in try Replica(random, keys: keys, policy: policy) }
    }

    var signers: WorldSigners { WorldSigners(authors: replicas.map(\.author)) }

    /// `to` takes the head of `from`.
    @discardableResult
    func send(_ from: Int, to: Int) throws -> AdoptionReport? {
        guard let head = replicas[from].head else { return nil }
        let known = replicas[to].head.map { [$0] } ?? []
        return try replicas[to].adopt(
            replicas[from].export(knowing: known), heads: [head], signers: signers)
    }

    /// Adds a key epoch, and lets all replicas know it.
    func rotate() throws {
        let newest = keys.vaultKeys.keys.max() ?? 0
        keys.vaultKeys[newest + 1] = .generate(from: random)
        for replica in replicas { try replica.reopen() }
    }
}

extension Replica {
    func text(_ key: FactKey) throws -> [String] {
        let present = try repository.present
        return try present.facts(under: key).map { String(decoding: try present.value(of: $0), as: UTF8.self) }
    }
}

extension CommitAuthor {
    /// The same device, as another copy of its store.
    fileprivate func renewed(_ random: SeededGenerator) -> CommitAuthor {
        CommitAuthor(
            signingKey: signingKey, deviceID: deviceID, instanceID: .generate(from: random), accountID: accountID,
            deviceChainHead: deviceChainHead, memberChainHead: memberChainHead)
    }
}
