// Earlier versions that can still be read. Invariant: a purge reports its numbers before, leaves a signed commit
// afterwards, and names the copies that it cannot reach.

internal import CoffretBase
package import CoffretStorage

/// The commits and files that a purge of locked notes' readable past removes.
package struct HistoryPurgePlan: Equatable, Sendable {
    /// The oldest commit that stays: all before it goes, since each commit says what changed against the one before.
    package let firstKeptCommit: BlobName
    /// Commits that go, also those that only touched other items.
    package let removedCommitCount: Int
    /// Commits among them that touched the notes themselves.
    package let readableVersionCount: Int
    package let keptCommitCount: Int
    /// Lines of history that are not merged yet and that this cannot shorten.
    package let unmergedHeadCount: Int
}

extension Vault {
    /// The purge after which the history of this store has no readable version of these notes; nil if there is none
    /// now.
    ///
    /// - Throws: `CoreError.noteNotLocked` for a note that is readable now.
    /// - Complexity: reads all commits.
    package func historyPurgePlan(for ids: [EntityID]) throws -> HistoryPurgePlan? {
        for id in ids {
            let item = try wholeItem(id)
            guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.visibleTitle) }
        }
        let prefixes = ids.flatMap { [$0.bytes, AttachmentID.prefix(for: $0)] }
        var commits: [CommitSummary] = []
        var touching: [Int] = []
        var cursor = try inStorage(repository.log())
        while let commit = try inStorage(cursor.next()) {
            var isTouched = false
            for prefix in prefixes where !isTouched {
                isTouched = try inStorage(!(try repository.changes(of: commit, withPrefix: prefix).facts.isEmpty))
            }
            if isTouched { touching.append(commits.count) }
            commits.append(commit)
        }
        // From the newest commit back: the first state in which one of the notes could be read.
        var newestReadable: Int?
        for index in touching where newestReadable == nil {
            for parent in commits[index].parents where newestReadable == nil {
                guard let position = commits.firstIndex(where: { $0.name == parent }) else { continue }
                if try isReadable(ids, at: parent) { newestReadable = position }
            }
        }
        guard let newestReadable else { return nil }
        // The oldest commit that stays is the newest one whose parents include what is readable, or a later merge,
        // which may bring in another line that holds it.
        let readable = commits[newestReadable].name
        let kept = commits.indices.first { index in
            index < newestReadable && (commits[index].parents.count > 1 || commits[index].parents.contains(readable))
        }
        guard let kept else { return nil }
        let removed = ancestors(of: kept, in: commits)
        return HistoryPurgePlan(
            firstKeptCommit: commits[kept].name, removedCommitCount: removed.count,
            readableVersionCount: touching.count { removed.contains($0) },
            keptCommitCount: commits.count - removed.count, unmergedHeadCount: repository.headNames.count - 1)
    }

    private func ancestors(of index: Int, in commits: [CommitSummary]) -> Set<Int> {
        var names = Set(commits[index].parents)
        var found: Set<Int> = []
        // A parent stands behind all its children.
        for position in commits.indices where names.contains(commits[position].name) {
            found.insert(position)
            names.formUnion(commits[position].parents)
        }
        return found
    }

    private func isReadable(_ ids: [EntityID], at commit: BlobName) throws -> Bool {
        let view = try wholeView(at: commit)
        for id in ids {
            guard let item = try view.item(id) else { continue }
            let isSealed = item.lock.map { $0.clearText == nil } ?? false
            if !isSealed || !item.attachments.isEmpty || !item.fields.isEmpty { return true }
            // A title that is sealed now and could be read then.
            if try wholeItem(id).lock?.sealsTitle == true, item.lock?.sealsTitle == false { return true }
        }
        return false
    }

    /// Removes what a plan names, from the history, the index and the files of attachments, and leaves a signed
    /// record that something was cut.
    package func purgeHistory(_ plan: HistoryPurgePlan) throws -> VaultCompaction {
        try compact(dropHistoryOlderThan: nil, droppingParentsOf: plan.firstKeptCommit)
    }
}
