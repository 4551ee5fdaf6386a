// What revocations take out of a history. The one thing to keep true: it is told by commits and version vectors alone, so that
// who has removed history finds the same as who has all of it.

internal import CoffretBase

/// Judges commits by where revocations took effect (protocol 3).
final class CutJudge {
    private let graph: CommitGraph
    private let signers: any CommitSignerDirectory
    private let known: KnownCommits
    /// Commits that opened an epoch: those that are known and those that come.
    private let epochs: [CommitSummary]
    private let coming: [CommitSummary]
    private var loadedContexts: [UniqueID: CommitContext]?

    /// - Parameter coming: commits from elsewhere, of which all but this was checked.
    init(
        graph: CommitGraph, signers: any CommitSignerDirectory, known: KnownCommits, epochs: [CommitSummary],
        coming: [CommitSummary]
    ) {
        self.graph = graph
        self.signers = signers
        self.known = known
        self.epochs = epochs
        self.coming = coming
    }

    /// Whether a commit is by a revoked device and behind the cut; nil if there is no cut.
    func isCutOff(_ commit: CommitSummary) throws(StorageError) -> Bool? {
        guard let position = signers.revocation(ofAuthorOf: commit.context) else { return false }
        guard let cut = try cut(of: position, account: commit.accountID) else { return nil }
        return try !graph.versions(of: cut.name).covers(commit.dot)
    }

    /// Whether a commit of which a parent is not here has seen one that is by a revoked device and behind the cut; nil if
    /// there is no cut.
    func isBuiltOnCutOff(_ commit: CommitSummary) throws(StorageError) -> Bool? {
        var lacksCut = false
        for (instance, sequence) in try graph.versions(of: commit.name).sorted {
            guard let context = try context(of: instance), let position = signers.revocation(ofAuthorOf: context)
            else { continue }
            guard let cut = try cut(of: position, account: context.accountID) else {
                // What the own head has seen is not held against who built on it.
                if known.versions[instance] < sequence { lacksCut = true }
                continue
            }
            if try graph.versions(of: cut.name)[instance] < sequence { return true }
        }
        return lacksCut ? nil : false
    }

    /// The commit by which a revocation took effect here: of several, the one that states the lowest link, then
    /// the one that came first.
    private func cut(of revocation: UInt64, account: [UInt8]) throws(StorageError) -> CommitSummary? {
        var best: (key: (UInt64, UInt64), commit: CommitSummary)?
        for epoch in epochs where epoch.accountID == account && signers.revocation(ofAuthorOf: epoch.context) == nil {
            guard let position = signers.chainPosition(of: epoch.context), position >= revocation else { continue }
            let key = (position, try graph.versions(of: epoch.name).generation)
            if let best, (best.key.0, best.key.1, best.commit.name) < (key.0, key.1, epoch.name) { continue }
            best = (key, epoch)
        }
        return best?.commit
    }

    /// Whose an instance is: by its commits, or where all of them were removed by what the records say that did it, those of
    /// trusted devices first; nil if that is from before it was told.
    private func context(of instance: UniqueID) throws(StorageError) -> CommitContext? {
        if let loadedContexts { return loadedContexts[instance] }
        let contexts = try contexts()
        loadedContexts = contexts
        return contexts[instance]
    }

    /// - Complexity: reads all commits.
    private func contexts() throws(StorageError) -> [UniqueID: CommitContext] {
        var found: [UniqueID: CommitContext] = [:]
        var records: [(rank: Int, commit: CommitSummary)] = []
        func note(_ commit: CommitSummary) {
            if found[commit.instance] == nil { found[commit.instance] = commit.context }
            guard commit.commit.compaction?.authors != nil else { return }
            records.append((signers.revocation(ofAuthorOf: commit.context) == nil ? 0 : 1, commit))
        }
        try graph.forEachCommit(from: known.heads, note)
        for commit in coming { note(commit) }
        records.sort { ($0.rank, $0.commit.name) < ($1.rank, $1.commit.name) }
        for (_, commit) in records {
            for (instance, author) in commit.commit.compaction?.authors ?? [:] where found[instance] == nil {
                found[instance] = author.context(of: instance, toldBy: commit.context)
            }
        }
        return found
    }
}
