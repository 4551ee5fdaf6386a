// Checking commits in the order in which they were made. The one thing to keep true: a commit is compared
// with what its parents lead to, never with what it says of itself.

internal import CoffretBase
internal import CoffretCrypto

/// The part of `fsck` that is about commits: signatures, sequences, version vectors, roots.
struct HistoryCheck {
    private let repository: VaultRepository
    private let verifier: CommitVerifier?
    /// Oldest first.
    private(set) var commits: [CommitSummary] = []
    private(set) var problems: [StorageError] = []
    private(set) var removals: [FsckReport.Removal] = []
    private(set) var signatureCount = 0
    private(set) var rootCount = 0
    /// Of commits of which it is known: nothing says what one has seen that was removed and came again in part.
    private var vectors: [BlobName: VersionVector] = [:]
    private var removedVersions = VersionVector()
    /// What commits with which the history begins have seen, and which commit says so.
    private var beginnings: [BlobName: [(record: BlobName, versions: VersionVector)]] = [:]
    /// The trees of commits that still have children to come.
    private var roots: [BlobName: TreeNode] = [:]
    private var childCounts: [BlobName: Int] = [:]
    private var byDot: [Dot: BlobName] = [:]

    /// With which the history begins until the rest has arrived.
    private var present: PresentMark?

    var commitCount: Int { commits.count }
    var isHistoryPending: Bool { present != nil }

    init(repository: VaultRepository, signers: (any CommitSignerDirectory)?) {
        self.repository = repository
        verifier = signers.map { CommitVerifier(vaultID: repository.keys.vaultID.bytes, signers: $0) }
    }

    mutating func run(progress: (FsckProgress) throws -> Void) rethrows {
        readHistory()
        for (index, commit) in commits.enumerated() {
            if index % 64 == 0 {
                try progress(FsckProgress(phase: .commits, doneCount: index, totalCount: commits.count))
            }
            collect(commit) { (check) throws(StorageError) in try check.checkSignature(commit) }
            collect(commit) { (check) throws(StorageError) in try check.checkSequence(commit) }
            collect(commit) { (check) throws(StorageError) in try check.checkRoot(commit) }
            release(commit)
        }
    }

    private mutating func collect(
        _ commit: CommitSummary, _ body: (inout HistoryCheck) throws(StorageError) -> Void
    ) {
        do throws(StorageError) { try body(&self) } catch { problems.append(error) }
    }

    private mutating func readHistory() {
        do throws(StorageError) {
            present = try repository.pendingPresent()
            var cursor = try repository.log()
            while let commit = try cursor.next() { commits.append(commit) }
        } catch {
            if present == nil || error.code != .historyPending { problems.append(error) }
        }
        commits.reverse()
        for commit in commits {
            if let record = commit.commit.compaction {
                removals.append(
                    FsckReport.Removal(commit: commit.name, removedCommitCount: record.removedCommitCount))
                removedVersions.merge(record.removedVersions)
                for (name, versions) in record.beginnings ?? [:] {
                    beginnings[name, default: []].append((commit.name, versions))
                }
            }
            for parent in commit.parents { childCounts[parent, default: 0] += 1 }
        }
    }

    private mutating func checkSignature(_ commit: CommitSummary) throws(StorageError) {
        guard let verifier else { return }
        let unverified = try repository.history.unverified(commit.name).commit
        _ = try verifier.verify(unverified, context: commit.context)
        signatureCount += 1
    }

    /// One commit per instance and number, each after the one before; and the stated version vector.
    private mutating func checkSequence(_ commit: CommitSummary) throws(StorageError) {
        let place = "commit \(commit.name)"
        guard byDot.updateValue(commit.name, forKey: commit.dot) == nil else {
            throw StorageError(.historyForked, place: place)
        }
        if let present, commit.name == present.head {
            // By what it was made from it is compared when that has arrived.
            guard commit.commit.versionVector ?? present.versions == present.versions else {
                throw StorageError(.commitMalformed, place: place)
            }
            vectors[commit.name] = present.versions
            return
        }
        let stated = commit.commit.versionVector ?? beginnings[commit.name]?.first?.versions
        var vector = VersionVector()
        var isWhole = true
        for parent in commit.parents {
            if let known = vectors[parent] { vector.merge(known) } else { isWhole = false }
        }
        if isWhole { try checkPrevious(commit, before: vector[commit.instance]) }
        vector.advance(commit.dot)
        // Below a compaction it is known what a commit has seen at least and at most.
        var most = vector
        if !isWhole { most.merge(removedVersions) }
        if let stated {
            guard most.covers(stated), stated.covers(vector) else {
                throw StorageError(.commitMalformed, place: place)
            }
            vectors[commit.name] = stated
        } else if isWhole {
            vectors[commit.name] = vector
        }
        for (record, versions) in beginnings[commit.name] ?? [] where versions != vectors[commit.name] {
            throw StorageError(.commitMalformed, place: "commit \(record)")
        }
    }

    private func checkPrevious(_ commit: CommitSummary, before: UInt64) throws(StorageError) {
        let forked = StorageError(.historyForked, place: "commit \(commit.name)")
        guard commit.sequence > before else { throw forked }
        guard before > 0 else { return }
        let dot = Dot(instance: commit.instance, sequence: before)
        let isRemoved = removedVersions.covers(dot)
        guard let previous = byDot[dot] else {
            // A number may be missing: its merge was dropped for an equal one, or a compaction removed it.
            guard isRemoved || commit.commit.previousOfInstance == nil else { throw forked }
            return
        }
        // Whoever had removed the commit before had nothing to name.
        let isNamed =
            commit.commit.previousOfInstance.map { $0 == previous } ?? (isRemoved || commit.parents.contains(previous))
        guard isNamed else { throw forked }
    }

    /// Applies what the commit changed to the tree of its first parent.
    private mutating func checkRoot(_ commit: CommitSummary) throws(StorageError) {
        let base: TreeNode
        if let parent = commit.firstParent {
            guard let root = roots[parent] else {
                // The parent was removed: its child's tree is stored, and read.
                roots[commit.name] = try repository.nodes.node(of: TreeRoot(name: commit.commit.root))
                return
            }
            base = root
        } else {
            base = try repository.emptyRoot()
        }
        let changes = try repository.history.changes(of: commit)
        var overlay = Overlay()
        overlay.add(changes.facts, unstored: [:])
        let root = try repository.editor.apply(overlay.replacements, to: base)
        guard root.name == commit.commit.root else {
            throw StorageError(.treeRootMismatch, place: "commit \(commit.name)")
        }
        rootCount += 1
        roots[commit.name] = root
    }

    /// Forgets trees that no commit to come builds on.
    private mutating func release(_ commit: CommitSummary) {
        for parent in commit.parents {
            guard let count = childCounts[parent] else { continue }
            childCounts[parent] = count - 1
            if count == 1 { roots[parent] = nil }
        }
    }
}
