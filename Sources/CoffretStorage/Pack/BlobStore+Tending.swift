// Keeping the files few and small without being asked. The one thing to keep true: nobody waits for it, and whatever others
// write meanwhile stays whole.

/// What tending a store did.
package struct TendedFiles: Equatable, Sendable {
    package var merges: [SegmentMerge] = []
    /// Bytes of all files of records before and after; nil if nothing was compacted.
    package var compacted: (before: Int, after: Int)?

    package static func == (left: TendedFiles, right: TendedFiles) -> Bool {
        left.merges == right.merges && left.compacted?.before == right.compacted?.before
            && left.compacted?.after == right.compacted?.after
    }
}

extension BlobStore {
    /// How long a run waits for the writer's lock at its end before it gives up.
    private static let tendingTimeoutMilliseconds = 1_000

    /// Merges segments, one small run after the other.
    ///
    /// - Parameter runCountMax: a run reads `StorageTuning.mergeByteCountMax` at most.
    /// - Throws: what reading and writing throw; nothing has changed then.
    package func mergeSegments(runCountMax: Int) throws(StorageError) -> [SegmentMerge] {
        var merges: [SegmentMerge] = []
        while merges.count < runCountMax {
            let reader = try reopened()
            guard let merge = try reader.mergeDueSegments(lockTimeoutMilliseconds: Self.tendingTimeoutMilliseconds)
            else { break }
            merges.append(merge)
        }
        return merges
    }

    /// Does all that is due: merges segments, and compacts where that frees or orders much.
    ///
    /// - Parameter live: names what has to stay of the state of a store over the same files.
    /// - Complexity: as `compact`, without the writer's lock but for the moment of change.
    package func tend(
        live: (BlobStore) throws(StorageError) -> Set<BlobName>
    ) throws(StorageError) -> TendedFiles {
        var report = TendedFiles()
        let reader = try reopened()
        guard reader.isCompactionDue else {
            report.merges = try mergeSegments(runCountMax: .max)
            return report
        }
        let state = reader.state
        let kept = try live(reader)
        let before = reader.fileByteCount
        guard let rewrite = try reader.beginCompaction(of: kept) else { return report }
        defer { rewrite.cancel() }
        let writer = try reader.reopened(.readWrite(lockTimeoutMilliseconds: Self.tendingTimeoutMilliseconds))
        defer { writer.close() }
        // Where others changed the state meanwhile, what lives is found again under the lock.
        let added = try writer.state == state ? [] : live(writer).subtracting(kept)
        if try writer.finishCompaction(rewrite, keeping: added) {
            report.compacted = (before, writer.fileByteCount)
        }
        return report
    }
}
