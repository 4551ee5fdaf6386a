// A repository's storage in memory. The one thing to keep true: it promises what the real store does, so
// that tests of what lies above need no disk.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport

@testable import CoffretStorage

final class MemoryBackend: BlobRepositoryBackend {
    let blobs = MemoryBlobs()
    var state = RepositoryState()
    var isWritable = true
    /// Makes the next commit of a transaction fail.
    var failure: StorageError?
    var transactionCount = 0
    var writtenByteCount = 0

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try blobs.readBlob(name, type: type, body)
    }

    func containsBlob(_ name: BlobName) -> Bool { blobs.containsBlob(name) }
    func refresh() -> Bool { false }

    func beginTransaction() throws(StorageError) -> any BlobTransactionWriter {
        guard isWritable else { throw StorageError(.readOnly) }
        return MemoryTransaction(backend: self)
    }
}

final class MemoryTransaction: BlobTransactionWriter {
    private let backend: MemoryBackend
    private let blobs = MemoryBlobs()

    init(backend: MemoryBackend) { self.backend = backend }

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try (blobs.containsBlob(name) ? blobs : backend.blobs).readBlob(name, type: type, body)
    }

    func containsBlob(_ name: BlobName) -> Bool { blobs.containsBlob(name) || backend.containsBlob(name) }

    func writeBlob(type: BlobType, content: Span<UInt8>) throws(StorageError) -> BlobName {
        let name = BlobName.derive(type: type, content: content)
        return backend.containsBlob(name) ? name : blobs.writeBlob(type: type, content: content)
    }

    func commit(state: RepositoryState, isCheckpoint: Bool) throws(StorageError) {
        if let failure = backend.failure {
            backend.failure = nil
            throw failure
        }
        for (name, blob) in blobs.blobs {
            backend.blobs.blobs[name] = blob
            backend.writtenByteCount += blob.content.count
        }
        backend.state = state
        backend.transactionCount += 1
    }

    func commit(appendingHead head: BlobName) throws(StorageError) {
        var state = backend.state
        state.append(head: head)
        try commit(state: state, isCheckpoint: false)
    }

    func cancel() {}
}

/// A repository in memory with an author, and changes that read well in tests.
struct RepositoryFixture {
    let backend: MemoryBackend
    let keys: VaultKeys
    let author: CommitAuthor
    let random: SeededGenerator

    init(seed: UInt64 = 1) {
        random = SeededGenerator(seed: seed)
        keys = VaultKeys.generate(vaultID: VaultID(random.bytes(count: 32...32))!, from: random)
        author = Self.author(random)
        backend = MemoryBackend()
    }

    static func author(_ random: SeededGenerator, account: [UInt8]? = nil) -> CommitAuthor {
        CommitAuthor(
            signingKey: .generate(from: random), deviceID: random.bytes(count: 32...32),
            instanceID: .generate(from: random), accountID: account ?? random.bytes(count: 32...32),
            deviceChainHead: random.bytes(count: 32...32), memberChainHead: random.bytes(count: 32...32))
    }

    func open(policy: CheckpointPolicy = .shortLived, author: CommitAuthor? = nil) -> VaultRepository {
        VaultRepository(
            backend: backend, keys: keys, author: author ?? self.author, random: random, checkpointPolicy: policy)
    }

    static func key(_ number: Int, _ attribute: Attribute = "title") -> FactKey {
        var uuid = [UInt8](repeating: 0, count: 16)
        uuid.replaceSubrange(0..<8, with: (UInt64(number) &* 0x9E37_79B9_7F4A_7C15).bigEndianBytes)
        return FactKey(entity: EntityID(kind: UInt8(ascii: "N"), uuid: UniqueID(bytes: uuid)!), attribute: attribute)
    }

    static func put(_ number: Int, _ text: String, _ attribute: Attribute = "title") -> FactChange {
        FactChange(key: key(number, attribute), value: Array(text.utf8))
    }
}

extension VaultRepository {
    func text(_ number: Int, _ attribute: Attribute = "title") throws -> String? {
        try present.text(number, attribute)
    }
}

extension Snapshot {
    func text(_ number: Int, _ attribute: Attribute = "title") throws -> String? {
        try fact(RepositoryFixture.key(number, attribute)).map { String(decoding: try value(of: $0), as: UTF8.self) }
    }
}

extension MemoryBackend: BlobMaintenance {
    func compact(
        state newState: RepositoryState,
        keeping walk: (_ keep: (BlobName) -> Bool) throws(StorageError) -> Void
    ) throws(StorageError) -> BlobCompaction {
        var names: Set<BlobName> = []
        try walk { names.insert($0).inserted }
        let before = blobs.blobs.count
        for name in names where !containsBlob(name) { throw StorageError(.blobMissing, place: name.description) }
        blobs.blobs = blobs.blobs.filter { names.contains($0.key) }
        state = newState
        return BlobCompaction(
            blobCount: names.count, packCount: 1, byteCountBefore: before, byteCountAfter: names.count)
    }

    func check(progress: (_ done: Int, _ total: Int) throws -> Void) rethrows -> BlobCheckReport {
        var report = BlobCheckReport()
        report.blobCount = blobs.blobs.count
        return report
    }
}
