// What becomes of own work that was built on a revoked device's commits. The one thing to keep true: nothing that this
// device's person wrote is lost by it, and nothing that the revoked device wrote enters by it.

internal import CoffretBase
internal import CoffretCrypto

extension Adoption {
    /// Checks heads with all that leads to them. Where a history turns out to begin by records that do not count, it is checked once
    /// more without their word.
    func check(
        _ heads: [BlobName], _ known: KnownCommits, _ annotation: RepositoryAnnotation,
        signers: any CommitSignerDirectory
    ) throws(StorageError) -> ForeignHistory {
        var uncounted: Set<BlobName> = []
        while true {
            var foreign = ForeignHistory(
                graph: graph, loader: loader, vaultID: repository.keys.vaultID.bytes, signers: signers,
                ownInstance: author.instanceID, localHead: repository.headNames.first,
                localTree: { [repository] () throws(StorageError) in try repository.headRoot() },
                knownEpochs: annotation.epochs, known: known,
                beginnings: try beginnings(of: heads, known, leavingOut: uncounted))
            incoming.wholeTrees = foreign.beginnings.trees
            // Each time there are more of them, of as many as there are.
            let more = try foreign.check(heads)
            guard !more.isEmpty else { return foreign }
            uncounted.formUnion(more)
        }
    }

    /// Each head must have seen what was seen before, as far as that still counts; what is not merged needs nothing.
    func checkRequired(
        _ required: [BlobName], _ requiredDots: [Dot], since revocation: UInt64?, _ heads: [BlobName],
        _ foreign: ForeignHistory,
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
            var dots: [Dot] = []
            for dot in requiredDots where try !isSetAside(dot, foreign) {
                if let revocation, try isBehindCut(dot, since: revocation, of: head, foreign) { continue }
                dots.append(dot)
            }
            for name in counting where try !graph.isAncestor(name, of: head) {
                // Who wrote the head knew another cut than the one that counts here in the end.
                if try isBehindCut(name, of: head, foreign) { continue }
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

    /// Whether of all that is here only what is set aside now has seen a commit that was removed: that one is behind the cut too.
    private func isSetAside(_ dot: Dot, _ foreign: ForeignHistory) throws(StorageError) -> Bool {
        var hasSeen = false
        for commit in foreign.rejudged where foreign.setAside.contains(commit.name) {
            if try graph.versions(of: commit.name).covers(dot) { hasSeen = true }
            for parent in commit.parents where !foreign.setAside.contains(parent) {
                if try graph.contains(parent), try graph.versions(of: parent).covers(dot) { return false }
            }
        }
        return hasSeen
    }

    /// Whether a commit that came now and leads to `head` cuts off whoever was revoked at a link or after it, and has not seen a
    /// number.
    private func isBehindCut(
        _ dot: Dot, since revocation: UInt64, of head: BlobName, _ foreign: ForeignHistory
    ) throws(StorageError) -> Bool {
        for cut in foreign.cuts where foreign.commits[cut.name]?.standing == .valid {
            guard let position = foreign.signers.chainPosition(of: cut.context), position >= revocation,
                try graph.isAncestor(cut.name, of: head)
            else { continue }
            if try !graph.versions(of: cut.name).covers(dot) { return true }
        }
        return false
    }

    /// Whether a commit that came now and leads to `head` cuts off a revoked device, and with it `name`.
    private func isBehindCut(
        _ name: BlobName, of head: BlobName, _ foreign: ForeignHistory
    ) throws(StorageError) -> Bool {
        for cut in foreign.cuts where foreign.commits[cut.name]?.standing == .valid {
            guard try graph.isAncestor(cut.name, of: head) else { continue }
            // What was removed cannot be judged any more; the other line takes nothing away from what stands on it.
            if try foreign.isBehind(cut, name, orRemoved: true) { return true }
        }
        return false
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

    /// Of what leads to heads that do not count, the newest commits that came now and do: what their authors sent is taken,
    /// whoever merged it.
    func newestCounting(
        below heads: [BlobName], _ foreign: ForeignHistory
    ) throws(StorageError) -> [BlobName] {
        var newest: [BlobName] = []
        var seen = Set(heads)
        var pending = heads
        while let name = pending.popLast() {
            guard let commit = foreign.commits[name] else { continue }
            if commit.standing == .valid {
                newest.append(name)
            } else {
                for parent in commit.summary.parents where seen.insert(parent).inserted { pending.append(parent) }
            }
        }
        return newest.sorted()
    }

    /// What compactions have removed here, once records were set aside.
    func removedVersions(countingFrom head: BlobName?) throws(StorageError) -> VersionVector {
        var removed = VersionVector()
        try graph.forEachCommit(from: head.map { [$0] } ?? []) { commit in
            if let record = commit.commit.compaction { removed.merge(record.removedVersions) }
        }
        return removed
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

extension ForeignHistory {
    /// Whether a commit is, or was made from, one of a revoked device that a cut has not seen.
    ///
    /// - Parameter orRemoved: what to say where history was removed, so that it cannot be told.
    func isBehind(_ cut: CommitSummary, _ name: BlobName, orRemoved: Bool) throws(StorageError) -> Bool {
        guard let position = signers.chainPosition(of: cut.context) else { return false }
        let versions = try graph.versions(of: cut.name)
        var seen: Set<BlobName> = [name]
        var pending = [name]
        while let next = pending.popLast() {
            guard try graph.contains(next) else {
                if orRemoved { return true }
                continue
            }
            let commit = try graph.summary(next)
            guard !versions.covers(commit.dot) else { continue }
            if let revocation = signers.revocation(ofAuthorOf: commit.context), revocation <= position { return true }
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
        return false
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

    /// All commits that are kept and not merged, parents first; not those of which only a part came again after they were removed.
    package func setAsideSummaries() throws(StorageError) -> [CommitSummary] {
        let graph = try graph()
        var order: [CommitSummary] = []
        var seen: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = try quarantinedHeads().reversed().map { ($0, false) }
        while let (name, isDone) = stack.popLast() {
            if isDone {
                order.append(try graph.summary(name))
                continue
            }
            guard try graph.contains(name), seen.insert(name).inserted, try isWhole(graph.summary(name)) else {
                continue
            }
            if let head = headNames.first, try graph.isAncestor(name, of: head) { continue }
            stack.append((name, true))
            for parent in try graph.summary(name).parents.reversed() { stack.append((parent, false)) }
        }
        return order
    }

    /// Whether all that a commit changed is here.
    private func isWhole(_ commit: CommitSummary) throws(StorageError) -> Bool {
        var names: [BlobName] = []
        do throws(StorageError) {
            try ReachableBlobs(history: history, nodes: nodes, kinds: .none).walk(commit) { name in
                names.append(name)
                return true
            } visitFact: { (_) throws(StorageError) in
            }
        } catch {
            guard error.code == .blobMissing else { throw error }
            return false
        }
        for name in names where try !backend.containsBlob(name) { return false }
        return true
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
