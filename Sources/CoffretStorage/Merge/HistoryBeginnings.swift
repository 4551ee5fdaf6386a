// Where a history from elsewhere begins. The one thing to keep true: a commit stands for what led to it only if a signed
// record, which counts, says that this was removed and what the commit has seen, and if the whole tree that the commit
// states is there.

internal import CoffretBase

/// Commits that lost parents to a compaction, among those that lead to heads from elsewhere.
struct HistoryBeginnings {
    /// Commits whose removed parents are not asked for: their trees stand for them, and are asked for.
    private(set) var roots: Set<BlobName> = []
    /// The roots of those trees.
    private(set) var trees: Set<BlobName> = []
    /// Parents that are gone, and which commits say so.
    private(set) var removed: [BlobName: Set<BlobName>] = [:]
    /// Records of commits that are not known yet.
    private(set) var records: [BlobName: CompactionRecord] = [:]
    /// Those, and the ones that are known and lead to `heads` as well: others need not have heard of a removal that nobody has
    /// sent yet.
    private var all: [BlobName: CompactionRecord] = [:]
    /// Records that do not count: nothing begins by their word.
    private var uncounted: [BlobName: CompactionRecord] = [:]
    /// Commits that lost a parent by the word of such a record alone, and what led to them is not here: nobody can tell whether
    /// they count. They are among `roots`.
    private(set) var unjudged: Set<BlobName> = []

    /// Whether a parent is one that a compaction removed, and that nobody asks for.
    func isRemoved(_ parent: BlobName, of commit: BlobName) -> Bool {
        guard roots.contains(commit) else { return false }
        return removed[parent] != nil || unjudged.contains(commit) && isUnsaid(parent)
    }

    private func isUnsaid(_ parent: BlobName) -> Bool {
        uncounted.values.contains { $0.removedParents.contains(parent) }
    }

    /// Commits that say that something was removed, known ones among them.
    var recording: Set<BlobName> { Set(all.keys) }

    /// The commits whose records say that the history begins with a commit; those from before records told it say only
    /// that a parent is gone.
    func stating(_ commit: Commit, _ name: BlobName) -> [BlobName] {
        let stating = all.filter { $0.value.beginnings?[name] != nil }.map(\.key)
        return stating.isEmpty ? listingOnly(commit) : stating
    }

    private func listingOnly(_ commit: Commit) -> [BlobName] {
        commit.parents.flatMap { removed[$0] ?? [] }.filter { all[$0]?.beginnings == nil }
    }

    /// Looks through all commits that lead to `heads`, as far as they are there.
    ///
    /// - Parameter recorded: what compactions that are known here removed; asked for only where a parent is missing or
    ///   what they removed has come again.
    /// - Parameter leavingOut: commits whose records do not count, as was found with the same heads.
    /// - Parameter isWhole: whether a commit is here with all that leads to it; asked for what these removed.
    init(
        _ heads: [BlobName], incoming: IncomingBlobs, known: KnownCommits, leavingOut: Set<BlobName> = [],
        isWhole: (BlobName, HistoryBeginnings) throws(StorageError) -> Bool = { (_, _) throws(StorageError) in true },
        recorded: () throws(StorageError) -> [BlobName: CompactionRecord]
    ) throws(StorageError) {
        var commits: [BlobName: Commit] = [:]
        var pending = heads
        var knownNames: Set<BlobName> = []
        var isRecordNeeded = false
        while let name = pending.popLast() {
            guard commits[name] == nil else { continue }
            guard try incoming.containsBlob(name) else {
                isRecordNeeded = true
                continue
            }
            let commit = try UnverifiedCommit.decode(incoming.blobBytes(name, type: .commit), name: name).commit
            if try known.contains(name) {
                knownNames.insert(name)
                continue
            }
            if try known.graph.contains(name), known.removed.covers(try known.graph.summary(name).dot) {
                isRecordNeeded = true
            }
            commits[name] = commit
            if let record = commit.compaction { records[name] = record }
            pending += commit.parents
        }
        all = records
        if isRecordNeeded {
            for (name, record) in try recorded() where records[name] == nil {
                for leading in knownNames where try known.graph.isAncestor(name, of: leading) { all[name] = record }
            }
        }
        for name in leavingOut { uncounted[name] = all.removeValue(forKey: name) }
        for (name, record) in all {
            for parent in record.removedParents {
                removed[parent, default: []].insert(name)
            }
        }
        guard !removed.isEmpty || !uncounted.isEmpty else { return }
        var reached: Set<BlobName> = []
        pending = heads
        while let name = pending.popLast() {
            guard reached.insert(name).inserted, let commit = commits[name] else { continue }
            for parent in commit.parents {
                if removed[parent] != nil, !knownNames.contains(parent),
                    try isBeginning(commit, name, without: parent, incoming)
                {
                    roots.insert(name)
                    trees.insert(commit.root)
                } else {
                    pending.append(parent)
                }
            }
        }
        let counted = self
        for name in reached.sorted() where uncounted.values.contains(where: { $0.beginnings?[name] != nil }) {
            guard let commit = commits[name] else { continue }
            for parent in commit.parents where !counted.isRemoved(parent, of: name) && isUnsaid(parent) {
                // What is here after all says itself what it is.
                guard try !isWhole(parent, counted) else { continue }
                unjudged.insert(name)
                roots.insert(name)
                trees.insert(commit.root)
            }
        }
    }

    /// Whether the history begins with a commit that lost a parent.
    private func isBeginning(
        _ commit: Commit, _ name: BlobName, without parent: BlobName, _ incoming: IncomingBlobs
    ) throws(StorageError) -> Bool {
        // The tree lies where the record came from.
        if all.values.contains(where: { $0.beginnings?[name] != nil }) { return true }
        // Who wrote it did not know that the parent was removed, and left it there; or the records do not tell.
        guard !listingOnly(commit).isEmpty else { return false }
        let hasTree = try incoming.containsBlob(commit.root)
        let hasParent = try incoming.containsBlob(parent)
        return hasTree || !hasParent
    }
}
