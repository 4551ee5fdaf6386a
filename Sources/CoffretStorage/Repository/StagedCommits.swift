// Several commits that become visible as one. The one thing to keep true: until `commit` has returned no reader sees
// any of them, and if it never returns none of them is there.

internal import CoffretBase

/// A repository to write into, whose commits are all in one transaction of the repository below.
///
/// The repository below takes nothing else meanwhile. Memory stays bounded, as that of any large transaction.
package final class StagedCommits {
    /// The commits so far are visible here, and nowhere else.
    package let repository: VaultRepository
    private let backend: StagedBackend
    private let below: VaultRepository

    init(_ below: VaultRepository) throws(StorageError) {
        self.below = below
        backend = StagedBackend(transaction: try below.backend.beginTransaction(), state: below.backend.state)
        repository = VaultRepository(
            backend: backend, keys: below.keys, author: below.author, random: below.random,
            checkpointPolicy: below.checkpointPolicy)
    }

    deinit { cancel() }

    /// Makes all commits durable and visible, with one sync at the end.
    ///
    /// - Throws: `.unusable` if one of them failed; what transactions throw. Then `cancel` is due.
    package func commit() throws(StorageError) {
        guard backend.isWritable else { throw StorageError(.unusable) }
        // What later openings start from, so that the commits are no tail that they would have to read.
        try repository.checkpoint()
        guard backend.state != below.backend.state else { return cancel() }
        try backend.transaction.commit(state: backend.state, isCheckpoint: true)
        backend.isEnded = true
        below.forget()
    }

    /// Forgets all commits.
    package func cancel() {
        guard !backend.isEnded else { return }
        backend.isEnded = true
        backend.transaction.cancel()
    }
}

extension VaultRepository {
    /// Begins to collect commits that are to become visible all at once.
    ///
    /// - Throws: `.readOnly` without an author; what beginning a transaction throws.
    package func beginStaging() throws(StorageError) -> StagedCommits {
        guard author != nil else { throw StorageError(.readOnly) }
        return try StagedCommits(self)
    }
}

/// One transaction in the place of a store.
private final class StagedBackend: BlobRepositoryBackend {
    let transaction: any BlobTransactionWriter
    fileprivate(set) var state: RepositoryState
    /// Whether a commit failed: what of it was written would come along.
    fileprivate var hasFailed = false
    fileprivate var isEnded = false

    init(transaction: any BlobTransactionWriter, state: RepositoryState) {
        self.transaction = transaction
        self.state = state
    }

    var isWritable: Bool { !hasFailed && !isEnded }

    func beginTransaction() throws(StorageError) -> any BlobTransactionWriter {
        guard isWritable else { throw StorageError(.unusable) }
        return StagedTransaction(self)
    }

    func refresh() throws(StorageError) -> Bool { false }

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try transaction.readBlob(name, type: type, body)
    }

    func containsBlob(_ name: BlobName) throws(StorageError) -> Bool { try transaction.containsBlob(name) }
}

/// A transaction inside the one below: its blobs are there at once, its state only for the staged repository.
private final class StagedTransaction: BlobTransactionWriter {
    private let backend: StagedBackend
    private var isEnded = false

    init(_ backend: StagedBackend) { self.backend = backend }

    func writeBlob(type: BlobType, content: Span<UInt8>) throws(StorageError) -> BlobName {
        try backend.transaction.writeBlob(type: type, content: content)
    }

    func commit(state: RepositoryState, isCheckpoint: Bool) throws(StorageError) {
        isEnded = true
        backend.state = state
    }

    func commit(appendingHead head: BlobName) throws(StorageError) {
        isEnded = true
        backend.state.append(head: head)
    }

    func cancel() {
        if !isEnded { backend.hasFailed = true }
        isEnded = true
    }

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try backend.transaction.readBlob(name, type: type, body)
    }

    func containsBlob(_ name: BlobName) throws(StorageError) -> Bool {
        try backend.transaction.containsBlob(name)
    }
}
