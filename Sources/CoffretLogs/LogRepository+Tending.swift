// Keeping the files few and small without being asked, and entries that become visible all at once. The one thing to keep
// true: nobody waits for tending, no history goes, and whatever others write meanwhile stays whole.

internal import CoffretBase
package import CoffretStorage

extension LogRepository {
    /// Whether a run of merging would find something to do.
    package var isMergeDue: Bool { blobs.isMergeDue }

    /// As `BlobStore.mergeSegments`.
    package func mergeSegments(runCountMax: Int) throws(StorageError) -> [SegmentMerge] {
        try blobs.mergeSegments(runCountMax: runCountMax)
    }

    /// Does all that is due: merges segments, and compacts where that frees or orders much. All history stays.
    package func tend() throws(StorageError) -> TendedFiles {
        try blobs.tend { (store) throws(StorageError) in try over(store).liveBlobs() }
    }

    // MARK: All at once

    /// Begins to collect entries that become visible all at once.
    ///
    /// - Throws: `.readOnly`, `.unusable`.
    package func beginStaging() throws(StorageError) {
        try requireWriter()
        try blobs.beginStaging()
    }

    /// Makes the collected entries durable and visible, with one sync at the end.
    ///
    /// - Throws: what transactions throw; then none of them is there.
    package func commitStaging() throws(StorageError) {
        do throws(StorageError) {
            // What later openings start from, so that the entries are no tail that they would have to read.
            try checkpoint()
            try blobs.commitStaging()
        } catch {
            cancelStaging()
            throw error
        }
    }

    /// Forgets the collected entries.
    package func cancelStaging() {
        guard blobs.isStaging else { return }
        blobs.cancelStaging()
        files.forgetAll()
        reload()
    }
}
