// What a repository needs from the storage underneath. The one thing to keep true: the real store
// and the one that tests keep in memory promise the same.

/// Blobs with transactions and a state: implemented by `BlobStore` and, in tests, in memory.
package protocol BlobRepositoryBackend: BlobReader {
    /// The state of the last complete transaction this process has seen.
    var state: RepositoryState { get }

    /// Whether transactions may begin.
    var isWritable: Bool { get }

    /// Begins a transaction; at most one at a time.
    ///
    /// - Throws: `.readOnly`; `.unusable` after a failed write whose outcome on disk is unknown.
    func beginTransaction() throws(StorageError) -> any BlobTransactionWriter

    /// Picks up transactions that other processes completed.
    ///
    /// - Returns: whether `state` changed.
    func refresh() throws(StorageError) -> Bool
}

/// A transaction: nothing of it is visible to others before `commit` returns, all of it after.
package protocol BlobTransactionWriter: BlobReader, BlobWriter {
    /// Makes the blobs and the new state durable together, and ends the transaction.
    ///
    /// - Parameter isCheckpoint: also stores the index of the open segment, so
    ///   later openings start here and do not look at older records.
    /// - Throws: `.diskFull`, `.fileFailed`: then nothing of the transaction is there.
    func commit(state: RepositoryState, isCheckpoint: Bool) throws(StorageError)

    /// As above, for what an ordinary commit does: `head`, a commit of this transaction, becomes the only head and the
    /// last of the tail, and nothing else changes. In a store of logs it is an entry, which is the last of the entries then.
    func commit(appendingHead head: BlobName) throws(StorageError)

    /// Forgets the transaction.
    func cancel()
}
