// Commits from elsewhere, verified. The one thing to keep true: only this file makes a `CheckedCommit`, and only of
// a commit whose signature, place in history and root were all checked (`Spec/commit.md` section 7).

internal import CoffretBase
internal import CoffretCrypto

/// What a check says of a commit that is in order by itself.
enum CommitStanding: Equatable {
    case valid
    /// By a device that was revoked, and not from before the revocation took effect here (R22).
    case revoked
    /// By a trusted device, on top of a commit that is not valid: kept, and not merged (protocol 3).
    case quarantined
}

/// A commit from elsewhere of which everything was checked.
struct CheckedCommit {
    let verified: VerifiedCommit
    let summary: CommitSummary
    let versions: VersionVector
    let standing: CommitStanding

    fileprivate init(
        verified: VerifiedCommit, summary: CommitSummary, versions: VersionVector, standing: CommitStanding
    ) {
        self.verified = verified
        self.summary = summary
        self.versions = versions
        self.standing = standing
    }
}

/// The commits that were verified before: the local head and its ancestors. What lies here besides, such as
/// what is in quarantine, is verified again whenever it is met.
struct KnownCommits {
    let graph: CommitGraph
    let backend: any BlobRepositoryBackend
    let evidence: Set<BlobName>
    /// Of the local head.
    let versions: VersionVector
    /// What compactions removed: of that something may have been put down again, unverified and without its parents.
    let removed: VersionVector
    /// The local head, and those that were set aside.
    var heads: [BlobName] = []

    func contains(_ name: BlobName) throws(StorageError) -> Bool {
        // What was staged may lack its context as yet.
        guard try isStored(name), try graph.contains(name) else { return false }
        let dot = try graph.summary(name).dot
        return versions.covers(dot) && !removed.covers(dot)
    }

    func isStored(_ name: BlobName) throws(StorageError) -> Bool {
        guard !evidence.contains(name) else { return false }
        return try backend.containsBlob(name)
    }
}

/// Checks the commits that lead from what is here to heads from elsewhere.
struct ForeignHistory {
    /// No instance writes more; guards sums of sequences.
    static let sequenceMax: UInt64 = 1 << 53

    let graph: CommitGraph
    let loader: StateLoader
    let verifier: CommitVerifier
    let signers: any CommitSignerDirectory
    let ownInstance: UniqueID
    let localHead: BlobName?
    /// The local head's tree, which the repository computes once: going forward from it is what happens most.
    private let localTree: () throws(StorageError) -> TreeNode
    /// Known commits that opened an epoch.
    let knownEpochs: [BlobName]
    let known: KnownCommits
    /// Commits whose removed parents are not asked for: their trees are here, and stand for them.
    let beginnings: HistoryBeginnings
    private(set) var commits: [BlobName: CheckedCommit] = [:]
    /// Commits of the local head that count no more: a revoked device wrote them behind the cut that came now, or they
    /// build on such a commit.
    private(set) var setAside: Set<BlobName> = []
    /// `setAside` and what they build on, as far as the cut has not seen it; parents before children.
    private(set) var rejudged: [CommitSummary] = []
    /// Commits that opened an epoch, by devices that are trusted: those that are known and those that came.
    private(set) var cuts: [CommitSummary] = []
    /// A revoked device's commit was met, and no commit here says where its revocation took effect.
    private(set) var lacksCut = false
    /// Parents before children.
    private(set) var order: [BlobName] = []
    /// Commits came again that a compaction has removed here: somebody wrote on top of them without knowing of it.
    private(set) var hasRemoved = false
    private var removedVersions: VersionVector?
    private var trees: [BlobName: TreeNode] = [:]

    init(
        graph: CommitGraph, loader: StateLoader, vaultID: [UInt8], signers: any CommitSignerDirectory,
        ownInstance: UniqueID, localHead: BlobName?, localTree: @escaping () throws(StorageError) -> TreeNode,
        knownEpochs: [BlobName], known: KnownCommits, beginnings: HistoryBeginnings
    ) {
        self.graph = graph
        graph.incomingCompactions = beginnings.records
        self.beginnings = beginnings
        self.loader = loader
        verifier = CommitVerifier(vaultID: vaultID, signers: signers)
        self.signers = signers
        self.ownInstance = ownInstance
        self.localHead = localHead
        self.localTree = localTree
        self.knownEpochs = knownEpochs
        self.known = known
    }

    /// Checks all commits from `heads` back to what is here.
    ///
    /// - Returns: nothing where that is done; else commits by whose records a history begins here and which do not count, so that
    ///   it is to be checked without them.
    /// - Throws: `.historyBroken` naming a commit that is missing (R5); what else verification throws.
    mutating func check(_ heads: [BlobName]) throws(StorageError) -> Set<BlobName> {
        let names = try collect(heads)
        var checked: [(CommitSummary, VerifiedCommit, VersionVector)] = []
        for (index, name) in names.enumerated() {
            let (unverified, summary, _) = try graph.history.unverified(name)
            let verified = try verifier.verify(unverified, context: summary.context)
            let versions = try checkPlace(summary)
            graph.note(versions, of: name)
            try checkRoot(summary, laterNames: names[(index + 1)...], heads: heads)
            checked.append((summary, verified, versions))
        }
        try judge(checked)
        let uncounted = try checkBeginnings()
        guard uncounted.isEmpty else { return uncounted }
        try checkRecords()
        // What does not count may be left behind by its author, who then goes on from before it.
        var counting: [CommitSummary] = []
        for (summary, _, _) in checked where commits[summary.name]?.standing == .valid { counting.append(summary) }
        try checkForks(counting)
        return []
    }

    /// The new commits, parents first.
    private func collect(_ heads: [BlobName]) throws(StorageError) -> [BlobName] {
        var order: [BlobName] = []
        var seen: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = heads.sorted().reversed().map { ($0, false) }
        while let (name, isDone) = stack.popLast() {
            if isDone {
                order.append(name)
                continue
            }
            guard !seen.contains(name), try !known.contains(name) else { continue }
            seen.insert(name)
            guard try graph.contains(name) else { throw StorageError(.historyBroken, place: "commit \(name)") }
            stack.append((name, true))
            for parent in try graph.summary(name).parents.reversed() where !beginnings.isRemoved(parent, of: name) {
                stack.append((parent, false))
            }
        }
        return order
    }

    /// A history begins only where a commit says so that counts itself.
    ///
    /// - Returns: the records that do not count, if one of them is needed.
    private func checkBeginnings() throws(StorageError) -> Set<BlobName> {
        var broken: BlobName?
        for root in beginnings.roots.subtracting(beginnings.unjudged) {
            guard let commit = commits[root] else { continue }
            for parent in commit.summary.parents where beginnings.isRemoved(parent, of: root) {
                if !(beginnings.removed[parent] ?? []).contains(where: counts) { broken = parent }
            }
            if !beginnings.stating(commit.summary.commit, root).contains(where: counts) { broken = root }
        }
        guard let broken else { return [] }
        let uncounted = beginnings.recording.filter { !counts($0) }
        guard !uncounted.isEmpty else { throw StorageError(.historyBroken, place: "commit \(broken)") }
        return uncounted
    }

    /// What a commit has seen follows from what it is: whatever says something else of it lies.
    private func checkRecords() throws(StorageError) {
        for (name, record) in beginnings.records where counts(name) {
            for (beginning, stated) in record.beginnings ?? [:] {
                let isKnown = try known.contains(beginning)
                guard isKnown || commits[beginning] != nil else { continue }
                guard try graph.versions(of: beginning) == stated else {
                    throw StorageError(.commitMalformed, place: "commit \(name)")
                }
            }
        }
    }

    /// Whether a commit with a record counts: one that came now by what was found of it, one that was known does.
    private func counts(_ name: BlobName) -> Bool {
        commits[name].map { $0.standing == .valid } ?? (beginnings.records[name] == nil && !setAside.contains(name))
    }

    /// Number, version vector, epoch and chain heads against the parents.
    ///
    /// - Returns: what it has seen, itself included.
    private mutating func checkPlace(_ commit: CommitSummary) throws(StorageError) -> VersionVector {
        let place = "commit \(commit.name)"
        guard commit.sequence <= Self.sequenceMax else { throw StorageError(.commitMalformed, place: place) }
        if commit.instance == ownInstance, try !known.isStored(commit.name) {
            guard try isRemoved(commit) else { throw StorageError(.historyLocalRollback, place: place) }
        }
        var versions = VersionVector()
        var isBeginning = false
        for parent in commit.parents {
            if beginnings.isRemoved(parent, of: commit.name) {
                isBeginning = true
                continue
            }
            versions.merge(try graph.versions(of: parent))
            guard try graph.contains(parent) else { continue }
            let parentContext = try graph.summary(parent).context
            guard parentContext.epoch <= commit.context.epoch else {
                throw StorageError(.commitStaleEpoch, place: place)
            }
            guard signers.areHeads(of: commit.context, atOrAfter: parentContext) else {
                throw StorageError(.commitChainHeadsBehind, place: place)
            }
        }
        if isBeginning { return try checkBeginning(commit, parents: versions) }
        try checkPrevious(commit, before: versions[commit.instance])
        try checkDots(commit, versions)
        versions.advance(commit.dot)
        if let stated = commit.commit.versionVector {
            guard stated == versions else { throw StorageError(.commitMalformed, place: place) }
        } else if commit.parents.count > 1 {
            throw StorageError(.commitMalformed, place: place)
        }
        return versions
    }

    /// The version vector of a commit of which a parent was removed: who had the history compared it, here only its bounds
    /// can be. Which number of the instance was the one before is not known.
    ///
    /// - Parameter parents: what the parents that are there have seen.
    private func checkBeginning(
        _ commit: CommitSummary, parents: VersionVector
    ) throws(StorageError) -> VersionVector {
        var (least, most) = (parents, try graph.allRemovedVersions())
        least.advance(commit.dot)
        most.merge(least)
        let recorded = try graph.statedVersions(ofBeginning: commit.name)
        let stated = commit.commit.versionVector ?? recorded ?? most
        guard stated.covers(least), most.covers(stated), stated[commit.instance] == commit.sequence,
            commit.commit.versionVector != nil || commit.parents.count == 1
        else { throw StorageError(.commitMalformed, place: "commit \(commit.name)") }
        try checkDots(commit, stated)
        return stated
    }

    /// An instance's commit follows its last one, by a number that was not used (protocol 10).
    private func checkPrevious(_ commit: CommitSummary, before: UInt64) throws(StorageError) {
        let forked = StorageError(.historyForked, place: "commit \(commit.name)")
        guard commit.sequence > before else { throw forked }
        let previous = Dot(instance: commit.instance, sequence: before)
        if let stated = commit.commit.previousOfInstance {
            guard before > 0 else { throw forked }
            if try graph.contains(stated), try graph.summary(stated).dot != previous { throw forked }
        } else if before > 0 {
            var isParent = false
            for parent in commit.parents {
                guard try graph.contains(parent) else { return }
                if try graph.summary(parent).dot == previous { isParent = true }
            }
            if isParent { return }
            // Whoever removed the commit before has nothing to name.
            guard try graph.allRemovedVersions().covers(previous) else { throw forked }
        }
    }

    /// Only merges bring facts of others, and only such as their parents have seen.
    private func checkDots(_ commit: CommitSummary, _ versions: VersionVector) throws(StorageError) {
        let malformed = StorageError(.commitMalformed, place: "commit \(commit.name)")
        let isMerge = commit.flags.contains(.merge)
        for fact in try graph.history.changes(of: commit).facts where !fact.isRetraction && fact.dot != commit.dot {
            guard isMerge, versions.covers(fact.dot) else { throw malformed }
        }
    }

    /// The changes, applied to the first parent's tree, give the stated root.
    private mutating func checkRoot(
        _ commit: CommitSummary, laterNames: ArraySlice<BlobName>, heads: [BlobName]
    ) throws(StorageError) {
        // Its tree is here under the name that it states.
        if beginnings.roots.contains(commit.name) { return }
        var base = loader.emptyRoot
        if let parent = commit.firstParent { base = try tree(of: parent) }
        let changes = try graph.history.changes(of: commit)
        var overlay = Overlay()
        overlay.add(changes.facts, unstored: [:])
        let root = try loader.editor.apply(overlay.replacements, to: base)
        guard root.name == commit.commit.root else {
            throw StorageError(.treeRootMismatch, place: "commit \(commit.name)")
        }
        trees[commit.name] = root
        // A line needs the tree of its last commit only; where lines part, older trees are computed again.
        if let parent = commit.firstParent, !heads.contains(parent) { trees[parent] = nil }
    }

    func tree(of name: BlobName) throws(StorageError) -> TreeNode {
        if let known = trees[name] { return known }
        if name == localHead { return try localTree() }
        return try loader.state(of: name).root()
    }

    // MARK: Forks

    /// Whether a commit says nothing of its own: a merge that its author may have dropped for an equal one.
    private func isDroppable(_ commit: CommitSummary) throws(StorageError) -> Bool {
        guard commit.flags.contains(.merge), commit.commit.compaction == nil else { return false }
        return try graph.history.changes(of: commit).facts.allSatisfy { $0.isRetraction || $0.dot != commit.dot }
    }

    /// Whether its author may go on without having seen a commit: it dropped it, or set it aside by another cut than the one
    /// that counts in the end.
    private func mayBeLeftBehind(_ commit: CommitSummary) throws(StorageError) -> Bool {
        if try isDroppable(commit) { return true }
        for cut in cuts where try isBehind(cut, commit.name, orRemoved: false) { return true }
        return false
    }

    /// Two commits with one number, or one that does not follow the last (protocol 10).
    private mutating func checkForks(_ commits: [CommitSummary]) throws(StorageError) {
        var local = VersionVector()
        if let localHead { local = try graph.versions(of: localHead) }
        for (instance, list) in Dictionary(grouping: commits, by: \.instance) {
            let list = list.sorted { ($0.sequence, $0.name) < ($1.sequence, $1.name) }
            for (earlier, later) in zip(list, list.dropFirst()) {
                try checkFollows(later, earlier)
            }
            for commit in list { try check(commit, against: local[instance]) }
        }
    }

    private func checkFollows(_ later: CommitSummary, _ earlier: CommitSummary) throws(StorageError) {
        guard later.sequence != earlier.sequence else {
            throw StorageError(.historyForked, place: "commit \(later.name)")
        }
        guard try !graph.versions(of: later.name, without: later).covers(earlier.dot) else { return }
        guard try mayBeLeftBehind(earlier) else { throw StorageError(.historyForked, place: "commit \(later.name)") }
    }

    /// Whether a compaction has removed a commit here that now came again.
    private mutating func isRemoved(_ commit: CommitSummary) throws(StorageError) -> Bool {
        if removedVersions == nil { removedVersions = try graph.removedVersions() }
        guard let removed = removedVersions, removed.covers(commit.dot) else { return false }
        hasRemoved = true
        return true
    }

    private mutating func check(_ commit: CommitSummary, against newest: UInt64) throws(StorageError) {
        guard let localHead, newest > 0 else { return }
        let forked = StorageError(.historyForked, place: "commit \(commit.name)")
        if commit.sequence <= newest {
            // Seen, and yet not here: another commit has its number, its author dropped it, or a compaction did.
            let isRemoved = try isRemoved(commit)
            if let found = try graph.commit(with: commit.dot, from: localHead) {
                // What leads to it is here again, so it may be the one that was removed.
                guard isRemoved, found == commit.name else { throw forked }
            }
            if isRemoved { return }
            guard try mayBeLeftBehind(commit) else { throw forked }
            return
        }
        let before = try graph.versions(of: commit.name, without: commit)[commit.instance]
        var sequence = newest
        while sequence > before {
            guard
                let name = try graph.commit(
                    with: Dot(instance: commit.instance, sequence: sequence), from: localHead)
            else { return }
            let skipped = try graph.summary(name)
            if !setAside.contains(name), try !mayBeLeftBehind(skipped) { throw forked }
            sequence = try graph.versions(of: name, without: skipped)[commit.instance]
        }
    }

    // MARK: Revocations

    /// A revoked device's commits count up to the commit that opened the epoch after its revocation.
    private mutating func judge(_ checked: [(CommitSummary, VerifiedCommit, VersionVector)]) throws(StorageError) {
        var epochs: [CommitSummary] = []
        for name in knownEpochs where try graph.contains(name) { epochs.append(try graph.summary(name)) }
        let newEpochs = checked.map { $0.0 }.filter { $0.flags.contains(.epoch) }
        epochs += newEpochs
        cuts = epochs.filter { signers.revocation(ofAuthorOf: $0.context) == nil }
        let judge = CutJudge(graph: graph, signers: signers, known: known, epochs: epochs, coming: checked.map(\.0))
        if !newEpochs.isEmpty { try judgeLocal(newEpochs, judge) }
        for (summary, verified, versions) in checked {
            var standing = CommitStanding.valid
            if summary.parents.contains(where: {
                setAside.contains($0) || commits[$0].map { $0.standing != .valid } ?? false
            }) {
                standing = .quarantined
            }
            if beginnings.unjudged.contains(summary.name) {
                standing = .quarantined
            } else if beginnings.roots.contains(summary.name) {
                switch try judge.isBuiltOnCutOff(summary) {
                case true?: standing = .quarantined
                case nil:
                    lacksCut = true
                    standing = .quarantined
                case false?: break
                }
            }
            switch try judge.isCutOff(summary) {
            case true?: standing = .revoked
            case nil:
                lacksCut = true
                standing = .revoked
            case false?: break
            }
            commits[summary.name] = CheckedCommit(
                verified: verified, summary: summary, versions: versions, standing: standing)
            order.append(summary.name)
        }
    }

    /// Judges anew what is here and what the cuts that came now have not seen.
    private mutating func judgeLocal(_ newEpochs: [CommitSummary], _ judge: CutJudge) throws(StorageError) {
        guard let localHead else { return }
        var seen = SeenCommits(graph: graph)
        var met: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = [(localHead, false)]
        while let (name, isDone) = stack.popLast() {
            guard isDone || !met.contains(name), try graph.contains(name) else { continue }
            let commit = try graph.summary(name)
            guard isDone else {
                met.insert(name)
                if try seen.contains(name, toAll: newEpochs) { continue }
                stack.append((name, true))
                for parent in commit.parents.reversed() { stack.append((parent, false)) }
                continue
            }
            var isCutOff = try judge.isCutOff(commit) ?? false
            if !isCutOff, try graph.lacksParent(commit) { isCutOff = try judge.isBuiltOnCutOff(commit) ?? false }
            if isCutOff || commit.parents.contains(where: setAside.contains) { setAside.insert(name) }
            rejudged.append(commit)
        }
    }

}
