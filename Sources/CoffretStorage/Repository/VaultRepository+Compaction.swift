// Giving room back. The one thing to keep true: the present and every kept commit read as before, and what
// was removed is told in a signed commit.

package import CoffretBase

/// What a compaction did.
package struct CompactionReport: Equatable, Sendable {
    package let keptCommitCount: Int
    package let removedCommitCount: Int
    /// The commit that says what was removed; nil if no history was.
    package let compactionCommit: BlobName?
    /// Trees that stay stored: the newest, the one before, where the history now begins, and one a month.
    package let keptTreeCount: Int
    package let blobs: BlobCompaction
}

extension VaultRepository {
    /// A twelfth of a year: of the trees stored in one such time the newest stays.
    static let sparseTreeMilliseconds: Milliseconds = 2_629_800_000

    /// What compactions of other devices removed, as their signed commits say, and still lies here.
    ///
    /// - Complexity: reads all commits.
    package func recordedRemovals() throws(StorageError) -> [BlobName] {
        try present(Array(compactions().values))
    }

    private func present(_ records: [CompactionRecord]) throws(StorageError) -> [BlobName] {
        guard !records.isEmpty else { return [] }
        var present: Set<BlobName> = []
        for name in Set(records.flatMap(\.removedParents)) where !present.contains(name) {
            if try backend.containsBlob(name) { present.insert(name) }
        }
        // A device that was away has what led to them, and not them.
        var cursor = try log()
        while let commit = try cursor.next() {
            if records.contains(where: { $0.removedVersions.covers(commit.dot) }) { present.insert(commit.name) }
        }
        return present.sorted()
    }

    /// Removes what nothing refers to, what other devices' compactions removed, and history from before a time if asked
    /// for.
    ///
    /// - Parameter time: commits older than this go, by their authors' clocks; a commit goes with all
    ///   its ancestors, the head never. Nil keeps all history.
    /// - Parameter commit: all commits that this one was made from go too; the record then states its time.
    /// - Parameter timeMilliseconds: of the commit that records the removal.
    /// - Parameter kinds: of entities whose facts the caller wants to see.
    /// - Parameter visitFact: called with every fact of those that is kept, so that the caller can tell which
    ///   attachments live.
    /// - Throws: `.readOnly`; `.unusable` if the backend cannot be compacted; what reading and writing
    ///   throw. Then everything is as before, but for the commit that may have been written.
    package func compact(
        dropHistoryOlderThan time: Milliseconds?, droppingParentsOf commit: BlobName? = nil,
        timeMilliseconds: Milliseconds, visiting kinds: EntityKinds = .all,
        visitFact: (Fact) throws(StorageError) -> Void = { (_) throws(StorageError) in }
    ) throws(StorageError) -> CompactionReport {
        guard isWritable else { throw StorageError(.readOnly) }
        guard let backend = backend as? any BlobMaintenance else { throw StorageError(.unusable) }
        // What came of the history is referred to by nothing yet.
        try requireHistory()
        let records = Array(try compactions().values)
        var plan = try compactionPlan(olderThan: time, droppingParentsOf: commit, removed: try present(records))
        var compactionCommit: CommitSummary?
        if plan.removedCount > 0, isTold(plan) {
            // A commit that is here says so already; another one would go round and round between devices.
            try storeTrees(of: plan.oldest)
        } else if plan.removedCount > 0 {
            let cut = try commit.map { (name) throws(StorageError) in try self.commit(named: name).timeMilliseconds }
            compactionCommit = try recordRemoval(
                plan, olderThan: max(time ?? .min, cut ?? .min), time: timeMilliseconds)
        } else {
            try checkpoint()
        }
        if let compactionCommit { plan.kept.insert(compactionCommit, at: 0) }
        var state = self.backend.state
        let keptNames = Set(plan.kept.map(\.name))
        if let previous = state.previousCheckpoint, !keptNames.contains(previous.commit) {
            state.previousCheckpoint = nil
        }
        let trees = try keptTrees(plan, state: state)
        // What was set aside is kept, so that it can be looked at and taken.
        let kept = try plan.kept + setAsideSummaries().filter { !keptNames.contains($0.name) }
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: kinds)
        let blobs = try backend.compact(state: state) { (keep) throws(StorageError) in
            for commit in kept { try walk.walk(commit, visit: keep, visitFact: visitFact) }
            for root in trees { try walk.walkTree(root, visit: keep, visitFact: visitFact) }
        }
        forget()
        return CompactionReport(
            keptCommitCount: kept.count, removedCommitCount: plan.removedCount,
            compactionCommit: compactionCommit?.name, keptTreeCount: trees.count, blobs: blobs)
    }

    private struct CompactionPlan {
        /// Newest first.
        var kept: [CommitSummary] = []
        /// Kept commits that lose a parent now, or lost one before: the history begins with them.
        var oldest: [CommitSummary] = []
        var removedParents: Set<BlobName> = []
        /// What is kept and says what is gone.
        var records: [CompactionRecord] = []
        var removedCount = 0
        var removedVersions = VersionVector()
        var removedAuthors: [UniqueID: CompactionRecord.Author] = [:]
        /// Commits go that said where revocations take effect.
        var removesEpochs = false
    }

    /// - Parameter recorded: what is still here of what other devices' compactions removed.
    private func compactionPlan(
        olderThan time: Milliseconds?, droppingParentsOf cut: BlobName?, removed recorded: [BlobName]
    ) throws(StorageError) -> CompactionPlan {
        var plan = CompactionPlan()
        let heads = Set(headNames)
        // A parent comes after all its children, so that it is known by then whether one of them goes.
        var removed = Set(recorded)
        /// What records that go said was gone: it still is, and the history may begin above it.
        var untold: Set<BlobName> = []
        var cursor = try log()
        while let commit = try cursor.next() {
            let isOld = time.map { commit.timeMilliseconds < $0 } ?? false
            if !heads.contains(commit.name), isOld || removed.contains(commit.name) {
                removed.formUnion(commit.parents)
                removed.insert(commit.name)
                plan.removedCount += 1
                plan.removedVersions.advance(commit.dot)
                plan.removedAuthors[commit.instance] = CompactionRecord.Author(commit.context)
                if commit.flags.contains(.epoch) { plan.removesEpochs = true }
                // What says what is gone goes too: from now on this one says it.
                if let record = commit.commit.compaction {
                    plan.removedVersions.merge(record.removedVersions)
                    untold.formUnion(record.removedParents)
                    plan.removedAuthors.merge(record.authors ?? [:]) { known, _ in known }
                }
            } else {
                plan.kept.append(commit)
                if let record = commit.commit.compaction { plan.records.append(record) }
                if commit.name == cut { removed.formUnion(commit.parents) }
            }
        }
        let keptNames = Set(plan.kept.map(\.name))
        for commit in plan.kept {
            var beginsHere = false
            for parent in commit.parents {
                // What is kept was read just now.
                let isThere = keptNames.contains(parent) ? true : try backend.containsBlob(parent)
                guard removed.contains(parent) || untold.contains(parent) || !isThere else { continue }
                plan.removedParents.insert(parent)
                beginsHere = true
            }
            if beginsHere { plan.oldest.append(commit) }
        }
        return plan
    }

    /// Whether records that are kept list all that is gone, and say what each commit with which the history begins has seen.
    private func isTold(_ plan: CompactionPlan) -> Bool {
        let listed = plan.records.reduce(into: Set()) { $0.formUnion($1.removedParents) }
        return plan.removedParents.isSubset(of: listed)
            && plan.oldest.allSatisfy { commit in plan.records.contains { $0.beginnings?[commit.name] != nil } }
    }

    /// Stores the trees with which the history will begin, and the commit that says what goes.
    private func recordRemoval(
        _ plan: CompactionPlan, olderThan: Milliseconds, time: Milliseconds
    ) throws(StorageError) -> CommitSummary {
        var oldStates: [Snapshot] = []
        var beginnings: [BlobName: VersionVector] = [:]
        for commit in plan.oldest {
            oldStates.append(try snapshot(at: commit.name))
            beginnings[commit.name] = try graph().versions(of: commit.name)
        }
        let record = CompactionRecord(
            removedParents: plan.removedParents.sorted(), removedCommitCount: UInt64(plan.removedCount),
            removedVersions: plan.removedVersions, olderThanMilliseconds: olderThan, beginnings: beginnings,
            authors: plan.removedAuthors)
        // What a cut took out is not here: in its place this commit takes out the same. Where a revocation waits for its first cut
        // this must not be it.
        let flags: CommitFlags = plan.removesEpochs && areCutsKnown(self) ? [.checkpoint, .epoch] : [.checkpoint]
        let bulk = try beginBulk()
        do throws(StorageError) {
            for state in oldStates { try bulk.store(state) }
            return try bulk.commit(time: time, flags: flags, compaction: record)
        } catch {
            bulk.cancel()
            throw error
        }
    }

    /// Stores the trees with which the history will begin.
    private func storeTrees(of commits: [CommitSummary]) throws(StorageError) {
        var states: [Snapshot] = []
        for commit in commits { states.append(try snapshot(at: commit.name)) }
        try checkpoint()
        let state = backend.state
        try transact { (transaction) throws(StorageError) in
            for old in states {
                var nodes = TreeWriter()
                try write(old.root(), values: old.overlay.unstored, with: &nodes, to: transaction)
            }
            try transaction.commit(state: state, isCheckpoint: true)
        }
    }

    private func keptTrees(_ plan: CompactionPlan, state: RepositoryState) throws(StorageError) -> [BlobName] {
        var roots = [state.checkpoint?.root, state.previousCheckpoint?.root].compactMap(\.self)
        roots += plan.oldest.map(\.commit.root)
        var lastPeriod: Milliseconds?
        for commit in plan.kept {
            let period = commit.timeMilliseconds / Self.sparseTreeMilliseconds
            guard period != lastPeriod, try backend.containsBlob(commit.commit.root) else { continue }
            lastPeriod = period
            roots.append(commit.commit.root)
        }
        var seen: Set<BlobName> = []
        return roots.filter { seen.insert($0).inserted }
    }
}

extension BulkCommit {
    /// Stores the tree of an old state with this commit.
    func store(_ state: Snapshot) throws(StorageError) {
        var nodes = TreeWriter()
        try repository.write(state.root(), values: state.overlay.unstored, with: &nodes, to: transaction)
    }
}
