// Taking commits from elsewhere. The one thing to keep true: everything that a new head needs, the merge and the
// state that names it become durable in one transaction, after all of it was verified.

package import CoffretBase
internal import CoffretCrypto

/// What taking heads from elsewhere came to.
package struct AdoptionReport: Equatable, Sendable {
    /// The head before and after; nil in a vault without commits.
    package let oldHead: BlobName?
    package let newHead: BlobName?
    /// Commits that were not here before.
    package let newCommitCount: Int
    /// Merges that this device wrote.
    package let mergeCount: Int
    /// Heads that build on a commit which is not valid: kept, and not merged (protocol 3).
    package let quarantined: [BlobName]
    /// Heads that a revoked device wrote: not taken.
    package let revoked: [BlobName]
    /// Commits of the own head before that count no more; what this device wrote in them it wrote again.
    package let setAsideCount: Int
    /// Commits among the new ones that say what a compaction removed.
    package let removals: [BlobName]
    /// Those, or commits that came again although a compaction has removed them here.
    package let areRemovalsDue: Bool
    /// What other devices say of other vaults in the new commits that count, parents before children.
    package let statements: [CommitStatement]

    package var isNews: Bool { oldHead != newHead }
}

/// Blobs from elsewhere on their way into a repository. End it with `adopt`, `stage` or `cancel`; the repository
/// takes no commit in between.
package final class Adoption {
    let repository: VaultRepository
    let author: CommitAuthor
    let exchange: any SealedBlobExchange
    let transaction: any SealedBlobWriter
    let incoming: IncomingBlobs
    let history: HistoryReader
    let nodes: NodeStore
    let graph: CommitGraph
    let loader: StateLoader
    private let rule: any ValueMergeRule
    var mergeCount = 0
    /// Numbers of this instance's merges that are dropped here.
    var droppedOwn = VersionVector()
    var contextsWritten: Set<BlobName> = []

    init(repository: VaultRepository, rule: any ValueMergeRule) throws(StorageError) {
        guard let author = repository.author else { throw StorageError(.readOnly) }
        guard let exchange = repository.backend as? any SealedBlobExchange else { throw StorageError(.unusable) }
        // Read before the transaction begins, and kept: it is what the merge starts from.
        let known = try repository.graph().vectors
        let transaction = try exchange.beginTransaction()
        guard let transaction = transaction as? any SealedBlobWriter else {
            transaction.cancel()
            throw StorageError(.unusable)
        }
        self.repository = repository
        self.author = author
        self.exchange = exchange
        self.transaction = transaction
        self.rule = rule
        incoming = IncomingBlobs(exchange: exchange, transaction: transaction)
        history = HistoryReader(reader: incoming, vaultID: repository.keys.vaultID.bytes)
        nodes = NodeStore(reader: incoming)
        graph = CommitGraph(history: history, known: known) { () throws(StorageError) in
            try repository.compactions()
        }
        loader = StateLoader(
            history: history, nodes: nodes, editor: TreeEditor(store: nodes, splitHash: repository.splitHash),
            reader: incoming, emptyRoot: try repository.emptyRoot(), containsTree: incoming.containsTree,
            missing: { StorageError(.historyBroken, place: "commit \($0)") })
    }

    /// Takes a blob, if everything about it verifies; of several under one address the one that does counts
    /// (protocol 4).
    ///
    /// - Returns: its name; nil if it does not verify.
    @discardableResult
    package func offer(_ blob: SealedBlob) throws(StorageError) -> BlobName? {
        try incoming.offer(blob)
    }

    /// The commit that lies at an address, if it was offered or is here.
    package func commitName(at address: BlobAddress) throws(StorageError) -> BlobName? {
        try incoming.commitName(among: exchange.names(of: address))
    }

    /// The number of a commit that was offered or is here; nil for any other.
    package func dot(ofCommit name: BlobName) throws(StorageError) -> Dot? {
        try incoming.containsBlob(name) ? graph.summary(name).dot : nil
    }

    /// Whether a blob was offered or is here.
    package func contains(_ name: BlobName) throws(StorageError) -> Bool { try incoming.containsBlob(name) }

    /// What heads need, and what was neither offered nor is here: commits, contexts, values, trees of changes. What a
    /// missing blob would lead to is not known yet.
    ///
    /// - Returns: in the order of the walk; empty if `adopt` has all it needs.
    package func missing(for heads: [BlobName]) throws(StorageError) -> [BlobName] {
        let known = try known()
        return try MissingBlobs(adoption: self).find(heads, known: known, beginnings: beginnings(of: heads, known))
    }

    func beginnings(
        of heads: [BlobName], _ known: KnownCommits, leavingOut uncounted: Set<BlobName> = []
    ) throws(StorageError) -> HistoryBeginnings {
        try HistoryBeginnings(
            heads, incoming: incoming, known: known, leavingOut: uncounted,
            isWhole: { [self] (name, beginnings) throws(StorageError) in
                try MissingBlobs(adoption: self).find([name], known: known, beginnings: beginnings).isEmpty
            }, recorded: graph.recorded)
    }

    /// Forgets all that was offered.
    package func cancel() { transaction.cancel() }

    /// Makes all that was offered durable without any head, so that it need not be fetched again; ends the adoption.
    ///
    /// - Parameter note: what to keep with it for who syncs, made with whether removals are to be followed.
    /// - Returns: whether something came that a compaction has removed here.
    @discardableResult
    package func stage(note: (_ areRemovalsDue: Bool) -> [UInt8]) throws(StorageError) -> Bool {
        do throws(StorageError) {
            let hasRemoved = try offersRemoved()
            try incoming.keepAllButInnerNodes()
            var state = repository.backend.state
            try state.annotate { $0.note = note(hasRemoved) }
            try transaction.commit(state: state, isCheckpoint: true)
            repository.forget()
            return hasRemoved
        } catch {
            transaction.cancel()
            throw error
        }
    }

    /// Whether commits were offered that a compaction has removed here: they have to be removed once more, even if no head
    /// that comes needs them.
    private func offersRemoved() throws(StorageError) -> Bool {
        guard !repository.headNames.isEmpty else { return false }
        let removed = try removedVersions()
        guard !removed.sequences.isEmpty else { return false }
        for name in incoming.commitNames {
            // Of one whose context has not come it cannot be told, nor of what hangs from it.
            if let commit = try? graph.summary(name), removed.covers(commit.dot) { return true }
        }
        return false
    }

    /// Verifies `heads` with all that leads to them, merges them with what is here, and makes it durable.
    ///
    /// - Parameters:
    ///   - time: of the merge commits, for show.
    ///   - required: commits that each of `heads` must have seen, such as what the same server showed before.
    ///   - requiredDots: the same of commits that are not here any more.
    ///   - revocation: where the first device was revoked after these were told, if they never were here: where a cut takes
    ///     effect that has not seen one, nobody can tell whether it counted.
    ///   - note: what to keep with it for who syncs, made with whether removals are to be followed and what new commits state; nil
    ///     leaves the old note.
    /// - Throws: `.historyUnrelated` naming a head that has not seen a required commit; what `ForeignHistory.check` and transactions throw; then nothing has changed, but that the two
    ///   commits of a fork are kept as evidence.
    package func adopt(
        _ heads: [BlobName], signers: any CommitSignerDirectory, time: Milliseconds, required: [BlobName] = [],
        requiredDots: [Dot] = [], revocation: UInt64? = nil,
        note: ((_ areRemovalsDue: Bool, _ statements: [CommitStatement]) -> [UInt8])? = nil
    ) throws(StorageError) -> AdoptionReport {
        do throws(StorageError) {
            return try adoptVerified(
                heads, signers: signers, time: time, required: required, requiredDots: requiredDots,
                revocation: revocation, note: note)
        } catch {
            giveUp(after: error)
            throw error
        }
    }

    /// Leaves all as it was, but for the evidence of a fork.
    func giveUp(after error: StorageError) {
        let evidence = error.code == .historyForked ? try? evidence(at: error.place) : nil
        transaction.cancel()
        repository.forget()
        if let evidence { try? repository.keepEvidence(evidence) }
    }

    private func adoptVerified(
        _ heads: [BlobName], signers: any CommitSignerDirectory, time: Milliseconds, required: [BlobName],
        requiredDots: [Dot], revocation: UInt64?,
        note: ((_ areRemovalsDue: Bool, _ statements: [CommitStatement]) -> [UInt8])?
    ) throws(StorageError) -> AdoptionReport {
        // On top of what is verified only.
        try repository.requireHistory()
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        let localHead = repository.headNames.first
        let known = try known()
        let foreign = try check(heads, known, annotation, signers: signers)
        try checkRequired(required, requiredDots, since: revocation, heads, foreign, annotation)
        // What was removed and comes again with nothing above it is left where it is.
        let isOld = foreign.hasRemoved ? try isSeen(heads, foreign) : false
        let order = isOld ? [] : foreign.order
        for name in order {
            guard let commit = foreign.commits[name]?.summary else { continue }
            try keep(commit)
            if foreign.beginnings.roots.contains(name), !foreign.beginnings.unjudged.contains(name) {
                try keepTree(of: commit)
            }
        }
        var sides: [MergeSide] = []
        var quarantined: [BlobName] = []
        var revoked: [BlobName] = []
        for head in heads.sorted() {
            switch foreign.commits[head]?.standing ?? .valid {
            case .valid: sides.append(try side(head))
            case .quarantined: quarantined.append(head)
            case .revoked: revoked.append(head)
            }
        }
        if foreign.lacksCut, let head = (revoked + quarantined).first {
            // Where the revocation takes effect is not known yet: whoever revoked says it first.
            throw StorageError(.commitRevokedSigner, place: "commit \(head)")
        }
        for name in try newestCounting(below: quarantined + revoked, foreign) { sides.append(try side(name)) }
        let taken = sides.map(\.commit.name)
        if let localHead, foreign.setAside.contains(localHead) {
            // Numbers that were used for what counts no more are not used again.
            let used = try graph.versions(of: localHead)[author.instanceID]
            if used > 0 { droppedOwn.advance(Dot(instance: author.instanceID, sequence: used)) }
            sides += try validSides(of: foreign, heads, localHead, time: time)
        } else if let localHead, !heads.contains(localHead) {
            sides.append(try localSide(localHead))
        }
        let head = try reduce(sides, time: time)
        var state = repository.backend.state
        let newEpochs = order.filter { foreign.commits[$0]?.summary.flags.contains(.epoch) ?? false }
        let droppedOwn = droppedOwn
        let removals = order.filter { name in
            guard let commit = foreign.commits[name], commit.standing == .valid else { return false }
            // One that was followed here, and removed, comes again with heads that do not count.
            let dot = commit.summary.dot
            return commit.summary.commit.compaction != nil && !(known.versions.covers(dot) && known.removed.covers(dot))
        }
        // What is set aside stays where it is, whatever of it was removed before.
        let hasRemoved = foreign.hasRemoved && !isOld ? try leadsToRemoved(taken, foreign) : false
        let areRemovalsDue = hasRemoved || !removals.isEmpty
        let aside = try newest(
            of: annotation.quarantined + quarantined + revoked
                + (localHead.map { foreign.setAside.contains($0) ? [$0] : [] } ?? []))
        var removed = try removedVersions()
        // A record that counts no more says nothing of what is still here.
        let haveRecordsGone = foreign.rejudged.contains { commit in
            foreign.setAside.contains(commit.name) && commit.commit.compaction != nil
        }
        if haveRecordsGone { removed = try removedVersions(countingFrom: head?.commit.name) }
        for name in removals {
            if let record = foreign.commits[name]?.summary.commit.compaction { removed.merge(record.removedVersions) }
        }
        let removedVersions = removed
        let statements = isOld ? [] : foreign.statements(besides: author.deviceID)
        try state.annotate { annotation in
            annotation.removedVersions = removedVersions
            // All of it is here now.
            annotation.present = nil
            annotation.quarantined = aside
            annotation.epochs = RepositoryAnnotation.bounded(Set(annotation.epochs + newEpochs))
            annotation.usedSequences.merge(droppedOwn)
            if let note { annotation.note = note(areRemovalsDue, statements) }
        }
        try finish(head, state: &state)
        return AdoptionReport(
            oldHead: localHead, newHead: head?.commit.name, newCommitCount: order.count,
            mergeCount: mergeCount, quarantined: quarantined, revoked: revoked, setAsideCount: foreign.setAside.count,
            removals: removals, areRemovalsDue: areRemovalsDue, statements: statements)
    }

    /// Whether commits that came now and lead to some heads were removed here before.
    private func leadsToRemoved(_ heads: [BlobName], _ foreign: ForeignHistory) throws(StorageError) -> Bool {
        let removed = try removedVersions()
        let own = repository.headNames.isEmpty ? VersionVector() : try repository.tail().versionVector
        var pending: [BlobName] = []
        // What was seen before stands for nothing new.
        for head in heads where try !own.covers(graph.versions(of: head)) { pending.append(head) }
        var seen = Set(pending)
        while let name = pending.popLast() {
            guard let commit = foreign.commits[name]?.summary else { continue }
            if removed.covers(commit.dot) { return true }
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
        return false
    }

    /// Whether the own head has seen all of some heads.
    private func isSeen(_ heads: [BlobName], _ foreign: ForeignHistory) throws(StorageError) -> Bool {
        guard !repository.headNames.isEmpty, foreign.setAside.isEmpty else { return false }
        let own = try repository.tail().versionVector
        for head in heads {
            guard foreign.commits[head]?.standing ?? .valid == .valid, try own.covers(graph.versions(of: head)) else {
                return false
            }
        }
        return true
    }

    /// What compactions that count or once counted here have removed.
    private func removedVersions() throws(StorageError) -> VersionVector {
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        if let removed = annotation.removedVersions { return removed }
        return try graph.removedVersions()
    }

    private func known() throws(StorageError) -> KnownCommits {
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        return KnownCommits(
            graph: graph, backend: repository.backend, evidence: Set(annotation.evidence),
            versions: repository.headNames.isEmpty ? VersionVector() : try repository.tail().versionVector,
            removed: try removedVersions(), heads: repository.headNames + annotation.quarantined)
    }

    // MARK: States

    func side(_ name: BlobName) throws(StorageError) -> MergeSide {
        MergeSide(
            commit: try graph.summary(name), versions: try graph.versions(of: name), state: try loader.state(of: name))
    }

    private func localSide(_ name: BlobName) throws(StorageError) -> MergeSide {
        // The tree that the repository has in memory already.
        let tail = try repository.tail()
        let root = try repository.headRoot()
        return MergeSide(
            commit: try graph.summary(name), versions: tail.versionVector,
            state: state(of: name, root: root, unstored: tail.overlay.unstored))
    }

    func state(of name: BlobName, root: TreeNode, unstored: [BlobName: [UInt8]]) -> Snapshot {
        Snapshot(
            commitName: name, base: TreeRoot(node: root), overlay: Overlay(unstored: unstored),
            statedRoot: root.name, nodes: nodes, editor: loader.editor, reader: incoming)
    }

    // MARK: Heads

    /// Brings heads together, pairwise in ascending order of their names, until one is left.
    func reduce(_ sides: [MergeSide], time: Milliseconds) throws(StorageError) -> MergeSide? {
        var sides = sides
        while true {
            sides.sort { $0.commit.name < $1.commit.name }
            dropCovered(&sides)
            dropEqualMerges(&sides)
            guard sides.count > 1 else { return sides.first }
            var second = 1
            // What this instance writes has seen what it wrote before.
            let newest = sides.map { $0.versions[author.instanceID] }.max() ?? 0
            if sides[0].versions[author.instanceID] < newest {
                for index in sides.indices.reversed() where sides[index].versions[author.instanceID] == newest {
                    second = index
                }
            }
            let right = sides.remove(at: second)
            sides.append(try merge(sides.removeFirst(), right, time: time))
        }
    }

    /// Takes out what another head has seen: going forward to that needs no commit.
    private func dropCovered(_ sides: inout [MergeSide]) {
        var index = 0
        while index < sides.count {
            let side = sides[index]
            let isCovered = sides.enumerated().contains { other in
                other.offset != index && other.element.versions.covers(side.versions)
                    && (!side.versions.covers(other.element.versions) || other.offset < index)
            }
            if isCovered { noteDropped(sides.remove(at: index), by: sides) } else { index += 1 }
        }
    }

    /// Of merges with equal parents and equal roots the lowest name stays.
    private func dropEqualMerges(_ sides: inout [MergeSide]) {
        var kept: [MergeSide] = []
        for side in sides {
            let isEqual = kept.contains { other in
                side.commit.flags.contains(.merge) && other.commit.parents == side.commit.parents
                    && other.commit.commit.root == side.commit.commit.root
            }
            if isEqual { noteDropped(side, by: kept) } else { kept.append(side) }
        }
        sides = kept
    }

    /// A dropped merge of this instance has used its number.
    private func noteDropped(_ side: MergeSide, by others: [MergeSide]) {
        let dot = Dot(instance: author.instanceID, sequence: side.versions[author.instanceID])
        if dot.sequence > 0 { droppedOwn.advance(dot) }
    }

    private func merge(
        _ left: MergeSide, _ right: MergeSide, time: Milliseconds
    ) throws(StorageError) -> MergeSide {
        let merge = StateMerge(
            left: left, right: right, rule: rule, keys: repository.keys, cutter: repository.valueCutter(),
            store: nodes, editor: loader.editor
        ) { () throws(StorageError) in
            guard let base = try self.graph.base(of: left.commit.name, right.commit.name) else { return nil }
            do throws(StorageError) {
                return try self.loader.state(of: base)
            } catch {
                // What it takes was compacted away: then both values are kept.
                guard error.code == .historyBroken || error.code == .historyCompacted else { throw error }
                return nil
            }
        }
        return try write(try merge.run(), of: left, right, time: time)
    }
}
