// Keeping the files few and small without being asked. The one thing to keep true: nobody waits for it, no history goes,
// and whatever others write meanwhile stays whole.

internal import CoffretBase

/// What tending a vault did.
package struct TendingReport: Equatable, Sendable {
    package var merges: [SegmentMerge] = []
    /// Bytes of all files of records before and after; nil if nothing was compacted.
    package var compacted: (before: Int, after: Int)?

    package static func == (left: TendingReport, right: TendingReport) -> Bool {
        left.merges == right.merges && left.compacted?.before == right.compacted?.before
            && left.compacted?.after == right.compacted?.after
    }
}

extension VaultRepository {
    /// How long a run waits for the writer's lock at its end before it gives up.
    private static let lockTimeoutMilliseconds = 1_000

    /// Whether a run of merging would find something to do.
    package var isMergeDue: Bool { (backend as? BlobStore)?.isMergeDue ?? false }

    /// Merges segments, one small run after the other.
    ///
    /// - Parameter runCountMax: a run reads `StorageTuning.mergeByteCountMax` at most.
    /// - Throws: what reading and writing throw; nothing has changed then.
    package func mergeSegments(runCountMax: Int) throws(StorageError) -> [SegmentMerge] {
        guard let store = backend as? BlobStore else { return [] }
        var merges: [SegmentMerge] = []
        while merges.count < runCountMax {
            let reader = try store.reopened()
            guard let merge = try reader.mergeDueSegments(lockTimeoutMilliseconds: Self.lockTimeoutMilliseconds) else {
                break
            }
            merges.append(merge)
        }
        return merges
    }

    /// Does all that is due: merges segments, and compacts where that frees or orders much.
    package func tend() throws(StorageError) -> TendingReport {
        var report = TendingReport()
        guard let store = backend as? BlobStore else { return report }
        let reader = try store.reopened()
        if reader.isCompactionDue {
            report.compacted = try compactBesideOthers(reader)
        } else {
            report.merges = try mergeSegments(runCountMax: .max)
        }
        return report
    }

    /// Rewrites what is live into packs, without the writer's lock but for the moment of change. All history stays.
    ///
    /// The live blobs follow from the state alone. Where others changed it meanwhile, they are found again under the lock.
    ///
    /// - Complexity: as `compact`.
    private func compactBesideOthers(_ store: BlobStore) throws(StorageError) -> (before: Int, after: Int)? {
        let reader = VaultRepository(backend: store, keys: keys, author: nil, random: random)
        // A history that is still arriving has parts that nothing refers to yet.
        guard try reader.pendingPresent() == nil else { return nil }
        let state = store.state
        let live = try reader.liveBlobs { (name) throws(StorageError) in try store.isInActiveSegment(name) }
        let before = store.fileByteCount
        guard let rewrite = try store.beginCompaction(of: live) else { return nil }
        defer { rewrite.cancel() }
        let writer = try store.reopened(.readWrite(lockTimeoutMilliseconds: Self.lockTimeoutMilliseconds))
        defer { writer.close() }
        var added: Set<BlobName> = []
        if writer.state != state {
            let present = VaultRepository(backend: writer, keys: keys, author: nil, random: random)
            guard try present.pendingPresent() == nil else { return nil }
            added = try present.liveBlobs { (name) throws(StorageError) in
                try writer.staysInPlace(name, during: rewrite)
            }
            added.subtract(live)
        }
        guard try writer.finishCompaction(rewrite, keeping: added) else { return nil }
        return (before, writer.fileByteCount)
    }

    /// Everything that compaction keeps while no history goes.
    ///
    /// - Parameter stays: whether a blob lies in a file that is not replaced. A tree whose root stays is kept whole:
    ///   a writer that meets the root takes all below it for stored.
    private func liveBlobs(
        _ stays: (BlobName) throws(StorageError) -> Bool
    ) throws(StorageError) -> Set<BlobName> {
        var live: Set<BlobName> = []
        let meet = { (name: BlobName) in live.insert(name).inserted }
        func ignore(_ fact: Fact) throws(StorageError) {}
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: .none)
        var roots = [backend.state.checkpoint?.root, backend.state.previousCheckpoint?.root].compactMap(\.self)
        var trees = MonthlyTrees()
        var pending = try headNames + setAsideSummaries().map(\.name)
        var queued = Set(pending)
        while let name = pending.popLast() {
            guard let commit = try history.commitIfThere(name) else { continue }
            try walk.walk(commit, visit: meet, visitFact: ignore)
            var beginsHere = false
            for parent in commit.parents {
                if try !backend.containsBlob(parent) { beginsHere = true }
                if queued.insert(parent).inserted { pending.append(parent) }
            }
            guard try backend.containsBlob(commit.commit.root) else { continue }
            if beginsHere {
                roots.append(commit.commit.root)
            } else if try stays(commit.commit.root) {
                roots.append(commit.commit.root)
            }
            trees.add(commit)
        }
        for root in roots + trees.roots { try walk.walkTree(root, visit: meet, visitFact: ignore) }
        return live
    }
}

/// Of the trees that were stored in one twelfth of a year, the newest.
private struct MonthlyTrees {
    private var newest: [Milliseconds: (time: Milliseconds, root: BlobName)] = [:]

    var roots: [BlobName] { newest.values.map(\.root) }

    mutating func add(_ commit: CommitSummary) {
        let period = commit.timeMilliseconds / VaultRepository.sparseTreeMilliseconds
        guard commit.timeMilliseconds > newest[period]?.time ?? .min else { return }
        newest[period] = (commit.timeMilliseconds, commit.commit.root)
    }
}
