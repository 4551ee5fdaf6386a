// What becomes of own work that was built on a revoked device's commits. The one thing to keep true: nothing that this
// device's person wrote is lost by it, and nothing that the revoked device wrote enters by it.

internal import CoffretBase
internal import CoffretCrypto

extension Adoption {
    /// Each head must have seen what was seen before, as far as that still counts; what is not merged needs nothing.
    func checkRequired(
        _ required: [BlobName], _ requiredDots: [Dot], _ heads: [BlobName], _ foreign: ForeignHistory,
        _ annotation: RepositoryAnnotation
    ) throws(StorageError) {
        var counting: [BlobName] = []
        for name in required {
            if foreign.setAside.contains(name) { continue }
            if try graph.isSetAside(name, heads: annotation.quarantined, localHead: repository.headNames.first) {
                continue
            }
            counting.append(name)
        }
        for head in heads where foreign.commits[head]?.standing ?? .valid == .valid {
            var dots = requiredDots
            for name in counting where try !graph.isAncestor(name, of: head) {
                dots.append(try graph.summary(name).dot)
            }
            guard !dots.isEmpty else { continue }
            // No line of commits leads back to what a compaction removed; what has seen it says so.
            let (seen, removed) = (try graph.versions(of: head), try removedVersions(foreign))
            guard dots.allSatisfy({ seen.covers($0) && removed.covers($0) }) else {
                throw StorageError(.historyUnrelated, place: "commit \(head)")
            }
        }
    }

    /// What compactions have removed, of those that count here or come now.
    private func removedVersions(_ foreign: ForeignHistory) throws(StorageError) -> VersionVector {
        var versions = try graph.removedVersions()
        for name in foreign.order {
            guard let commit = foreign.commits[name], commit.standing == .valid else { continue }
            if let record = commit.summary.commit.compaction { versions.merge(record.removedVersions) }
        }
        return versions
    }

    /// What is left of the local head when it counts no more: its newest commits that do, and above them one commit with
    /// what this device wrote in those that do not (protocol 3).
    ///
    /// - Parameter others: heads that were taken; where nothing of the own head is left, they are gone on from.
    func validSides(
        of foreign: ForeignHistory, _ localHead: BlobName, joining others: [MergeSide], time: Milliseconds
    ) throws(StorageError) -> [MergeSide] {
        var bases: [MergeSide] = []
        var changes: [FactKey: CommitChange] = [:]
        var seen: Set<BlobName> = []
        for commit in foreign.rejudged where foreign.setAside.contains(commit.name) {
            for parent in commit.parents where !foreign.setAside.contains(parent) && seen.insert(parent).inserted {
                bases.append(try side(parent))
            }
            // A merge says nothing of its own.
            guard commit.instance == author.instanceID, !commit.flags.contains(.merge) else { continue }
            for change in try ownChanges(of: commit) { changes[change.key] = change }
        }
        let record = try lostRecord(foreign, bases)
        guard !changes.isEmpty || record != nil else { return bases }
        let used = try graph.versions(of: localHead)[author.instanceID]
        let base = try reduce(bases.isEmpty ? others : bases, time: time)
        let sorted = changes.values.sorted { $0.key < $1.key }
        return [try write(sorted, record, on: base, after: used, time: time)]
    }

    /// What says what is gone here, where the record by which it went does not count any more.
    ///
    /// - Parameter bases: what stays of the own head.
    /// - Returns: nil if nothing is gone, or records that count say so.
    private func lostRecord(
        _ foreign: ForeignHistory, _ bases: [MergeSide]
    ) throws(StorageError) -> CompactionRecord? {
        let aside = foreign.rejudged.filter { foreign.setAside.contains($0.name) }.compactMap(\.commit.compaction)
        guard !aside.isEmpty else { return nil }
        var lost: Set<BlobName> = []
        var beginnings: [BlobName: VersionVector] = [:]
        var counting: [CompactionRecord] = []
        try graph.forEachCommit(from: bases.map(\.commit.name)) { (commit) throws(StorageError) in
            if let record = commit.commit.compaction { counting.append(record) }
            for parent in commit.parents where foreign.commits[parent] == nil {
                // What was offered and not asked for does not stay.
                guard try !repository.backend.containsBlob(parent) else { continue }
                lost.insert(parent)
                beginnings[commit.name] = try graph.versions(of: commit.name)
            }
        }
        let isTold = lost.allSatisfy { parent in counting.contains { $0.removedParents.contains(parent) } }
        let isStated = beginnings.keys.allSatisfy { name in counting.contains { $0.beginnings?[name] != nil } }
        guard !isTold || !isStated else { return nil }
        let followed = aside.filter { !lost.isDisjoint(with: $0.removedParents) }
        guard !followed.isEmpty else { return nil }
        var removed = VersionVector()
        for record in followed { removed.merge(record.removedVersions) }
        return CompactionRecord(
            removedParents: lost.sorted(), removedCommitCount: followed.reduce(0) { $0 + $1.removedCommitCount },
            removedVersions: removed, olderThanMilliseconds: followed.map(\.olderThanMilliseconds).max() ?? .min,
            beginnings: beginnings)
    }

    /// What compactions have removed here, once records were set aside.
    func removedVersions(countingFrom head: BlobName?) throws(StorageError) -> VersionVector {
        var removed = VersionVector()
        try graph.forEachCommit(from: head.map { [$0] } ?? []) { commit in
            if let record = commit.commit.compaction { removed.merge(record.removedVersions) }
        }
        return removed
    }

    func ownChanges(of commit: CommitSummary) throws(StorageError) -> [CommitChange] {
        if case .list(let changes) = commit.commit.changes { return changes }
        return try graph.history.changes(of: commit).facts.map { fact in
            switch fact.content {
            case .retraction: CommitChange(key: fact.key, content: .retraction)
            case .inline(let bytes): CommitChange(key: fact.key, content: .inline(bytes))
            case .stored(let value): CommitChange(key: fact.key, content: .stored(value))
            }
        }
    }

    /// Writes an ordinary commit on a state.
    ///
    /// - Parameters:
    ///   - changes: ascending, one for each key.
    ///   - record: what it says was removed.
    ///   - used: the greatest number that this instance has used, wherever.
    func write(
        _ changes: [CommitChange], _ record: CompactionRecord? = nil, on base: MergeSide?, after used: UInt64,
        time: Milliseconds
    ) throws(StorageError) -> MergeSide {
        var versions = base?.versions ?? VersionVector()
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        let before = Dot(instance: author.instanceID, sequence: versions[author.instanceID])
        let newest = max(
            before.sequence, used, annotation.usedSequences[author.instanceID], droppedOwn[author.instanceID])
        let dot = Dot(instance: author.instanceID, sequence: newest + 1)
        var previous: BlobName?
        if let base, before.sequence > 0 { previous = try graph.commit(with: before, from: base.commit.name) }
        versions.advance(dot)

        let facts = changes.map { $0.fact(ownDot: dot) }
        let root = try loader.editor.apply(
            facts.map { Replacement(key: $0.key, facts: $0.isRetraction ? [] : [$0]) },
            to: base?.state.root() ?? loader.emptyRoot)
        let context = repository.context(for: author, epoch: base?.commit.context.epoch)
        let parents = base.map { [$0.commit.name] } ?? []
        var commit = Commit(
            context: try transaction.writeBlob(type: .commitContext, bytes: context.encode()), root: root.name,
            parents: parents, sequence: dot.sequence, timeMilliseconds: time, flags: record == nil ? [] : [.compaction],
            changes: .list(changes), previousOfInstance: previous.flatMap { parents.contains($0) ? nil : $0 },
            versionVector: versions, compaction: record)
        var unstored = base?.state.overlay.unstored ?? [:]
        if isLarge(changes) {
            try storeTree(of: changes, in: &commit, dot: dot)
        } else {
            for (change, fact) in zip(changes, facts) {
                guard let content = change.content.unstoredBlob, case .stored(let value) = fact.content else {
                    continue
                }
                unstored[value.name] = content
            }
        }
        let name = try transaction.writeBlob(
            type: .commit, bytes: commit.sign(with: author, vaultID: context.vaultID))
        graph.note(versions, of: name)
        return MergeSide(
            commit: CommitSummary(name: name, commit: commit, context: context), versions: versions,
            state: state(of: name, root: root, unstored: unstored))
    }

    /// Those that are no ancestors of others, ascending, as many as the annotation takes.
    func newest(of heads: [BlobName]) throws(StorageError) -> [BlobName] {
        let names = Set(heads)
        var kept: Set<BlobName> = []
        for name in names {
            var isCovered = false
            for other in names where other != name && !isCovered { isCovered = try graph.isAncestor(name, of: other) }
            if !isCovered { kept.insert(name) }
        }
        return RepositoryAnnotation.bounded(kept)
    }
}

extension CommitGraph {
    /// Whether a commit leads to one of `heads`, which are kept and not merged, and not to the own head.
    func isSetAside(_ name: BlobName, heads: [BlobName], localHead: BlobName?) throws(StorageError) -> Bool {
        guard !heads.isEmpty, try contains(name) else { return false }
        if let localHead, try isAncestor(name, of: localHead) { return false }
        for head in heads where try contains(head) {
            if try isAncestor(name, of: head) { return true }
        }
        return false
    }
}

/// A commit that is kept and not merged.
package struct SetAsideCommit {
    package let summary: CommitSummary
    package let changes: CommitChanges
}

extension VaultRepository {
    /// Whether a commit was set aside by a revocation: it is here and does not count.
    package func isSetAside(_ name: BlobName) throws(StorageError) -> Bool {
        try graph().isSetAside(name, heads: quarantinedHeads(), localHead: headNames.first)
    }

    /// Commits that are kept and not merged, by others than this device, which wrote its own again; parents first.
    package func setAsideCommits() throws(StorageError) -> [SetAsideCommit] {
        var commits: [SetAsideCommit] = []
        for summary in try setAsideSummaries() where !summary.flags.contains(.merge) {
            guard summary.instance != author?.instanceID else { continue }
            commits.append(SetAsideCommit(summary: summary, changes: try changes(of: summary)))
        }
        return commits
    }

    func setAsideSummaries() throws(StorageError) -> [CommitSummary] {
        let graph = try graph()
        var order: [CommitSummary] = []
        var seen: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = try quarantinedHeads().reversed().map { ($0, false) }
        while let (name, isDone) = stack.popLast() {
            if isDone {
                order.append(try graph.summary(name))
                continue
            }
            guard try graph.contains(name), seen.insert(name).inserted else { continue }
            if let head = headNames.first, try graph.isAncestor(name, of: head) { continue }
            stack.append((name, true))
            for parent in try graph.summary(name).parents.reversed() { stack.append((parent, false)) }
        }
        return order
    }

    /// Forgets what was set aside; the next compaction removes it.
    package func dropSetAside() throws(StorageError) {
        var state = backend.state
        try state.annotate { $0.quarantined = [] }
        let changed = state
        guard changed != backend.state else { return }
        try transact { (transaction) throws(StorageError) in
            try transaction.commit(state: changed, isCheckpoint: false)
        }
    }

    /// Whether a commit that is here says where a revocation takes effect in this vault.
    ///
    /// - Parameters:
    ///   - position: the revoking link in the account's chain; a later one serves as well.
    package func hasCut(
        at position: UInt64, account: [UInt8], signers: any CommitSignerDirectory
    ) throws(StorageError) -> Bool {
        for name in try RepositoryAnnotation.decode(backend.state.annotation).epochs {
            guard try backend.containsBlob(name) else { continue }
            let context = try commit(named: name).context
            guard context.accountID == account, signers.revocation(ofAuthorOf: context) == nil else {
                continue
            }
            if let stated = signers.chainPosition(of: context), stated >= position { return true }
        }
        return false
    }
}
