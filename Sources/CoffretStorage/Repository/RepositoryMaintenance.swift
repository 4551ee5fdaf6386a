// What looking after a repository asks of the storage underneath.

/// A backend that can be checked whole and rewritten without garbage.
package protocol BlobMaintenance: BlobRepositoryBackend {
    /// Rewrites the blobs that `walk` names and drops all others; `state` holds from then on.
    func compact(
        state newState: RepositoryState,
        keeping walk: (_ keep: (BlobName) -> Bool) throws(StorageError) -> Void
    ) throws(StorageError) -> BlobCompaction

    /// Reads and verifies everything on disk.
    ///
    /// - Parameter progress: an error that it throws ends the check.
    func check(progress: (_ done: Int, _ total: Int) throws -> Void) rethrows -> BlobCheckReport
}
