// Several transactions that become visible as one. The one thing to keep true: until `commitStaging` has returned no other
// reader sees any of them, and if it never returns none of them is there.

extension BlobStore {
    /// Transactions that are parts of one.
    struct Staging {
        let transaction: BlobTransaction
        var state: RepositoryState
        /// One of the parts was given up, and what it wrote would come along.
        var hasFailed = false
    }

    /// Begins to collect transactions: what they write is there for readers of this store alone.
    ///
    /// - Throws: as `begin`.
    package func beginStaging() throws(StorageError) {
        precondition(staging == nil, "one staging at a time")
        let transaction = try begin()
        isInTransaction = false
        staging = Staging(transaction: transaction, state: active.state)
    }

    package var isStaging: Bool { staging != nil }

    func stage(_ state: RepositoryState) { staging?.state = state }

    func failStaging() { staging?.hasFailed = true }

    /// Makes all parts durable and visible, with one sync at the end.
    ///
    /// - Throws: `.unusable` if a part was given up; what transactions throw. Then nothing of it is there.
    package func commitStaging() throws(StorageError) {
        guard let staging else { return }
        guard !staging.hasFailed else { throw StorageError(.unusable, place: directory) }
        self.staging = nil
        guard staging.state != active.state else { return staging.transaction.cancel() }
        do throws(StorageError) {
            try staging.transaction.commit(state: staging.state, isCheckpoint: true)
        } catch {
            staging.transaction.cancel()
            throw error
        }
    }

    /// Forgets all parts.
    package func cancelStaging() {
        guard let staging else { return }
        self.staging = nil
        staging.transaction.cancel()
    }
}
