// Where a history from elsewhere begins. The one thing to keep true: a commit stands for what led to it only if a signed
// record, which counts, says that this was removed, and if the whole tree that the commit states is there.

internal import CoffretBase

/// Commits that lost parents to a compaction, among those that lead to heads from elsewhere.
struct HistoryBeginnings {
    /// Commits whose removed parents are not asked for: their trees stand for them.
    private(set) var roots: Set<BlobName> = []
    /// Commits of which neither a removed parent nor the tree is here: a server may have either.
    private(set) var undecided: Set<BlobName> = []
    /// What each of them lost, and which commits say so.
    private(set) var removed: [BlobName: Set<BlobName>] = [:]
    /// Records of commits that are not known yet.
    private(set) var records: [BlobName: CompactionRecord] = [:]

    /// Whether a parent is one that a compaction removed, and that nobody asks for.
    func isRemoved(_ parent: BlobName, of commit: BlobName) -> Bool {
        roots.contains(commit) && removed[parent] != nil
    }

    /// Looks through all commits that lead to `heads`, as far as they are there.
    ///
    /// - Parameter recorded: what compactions that are known here removed; asked for only where a parent is missing.
    init(
        _ heads: [BlobName], incoming: IncomingBlobs, known: KnownCommits,
        recorded: () throws(StorageError) -> [BlobName: CompactionRecord]
    ) throws(StorageError) {
        var commits: [BlobName: Commit] = [:]
        var pending = heads
        var isParentMissing = false
        var knownNames: Set<BlobName> = []
        while let name = pending.popLast() {
            guard commits[name] == nil else { continue }
            guard try incoming.containsBlob(name) else {
                isParentMissing = true
                continue
            }
            let commit = try UnverifiedCommit.decode(incoming.blobBytes(name, type: .commit), name: name).commit
            // What was staged may lack its context as yet, without which it cannot be known.
            if try incoming.containsBlob(commit.context), try known.contains(name) {
                knownNames.insert(name)
                continue
            }
            commits[name] = commit
            if let record = commit.compaction { records[name] = record }
            pending += commit.parents
        }
        var all = records
        if isParentMissing { all.merge(try recorded()) { one, _ in one } }
        for (name, record) in all {
            for parent in record.removedParents {
                removed[parent, default: []].insert(name)
            }
        }
        guard !removed.isEmpty else { return }
        for (name, commit) in commits {
            for parent in commit.parents where removed[parent] != nil && !knownNames.contains(parent) {
                // A server that keeps the old history and not the tree is as good.
                if try incoming.containsBlob(commit.root) {
                    roots.insert(name)
                } else if try !incoming.containsBlob(parent) {
                    undecided.insert(name)
                }
            }
        }
    }
}
