// Looking back. The one thing to keep true: an old state is computed from what is stored of it and
// compared with the root that its commit states, or refused.

package import CoffretBase

extension VaultRepository {
    /// Commits from `head` back, newest first; a commit comes before its parents.
    ///
    /// - Parameter head: nil for the present head; a vault without commits has an empty log.
    package func log(from head: BlobName? = nil) throws(StorageError) -> CommitCursor {
        CommitCursor(heads: head.map { [$0] } ?? headNames, end: history.beginning) { (name) throws(StorageError) in
            try self.commitIfKept(name)
        }
    }

    /// One commit.
    ///
    /// - Throws: `.historyCompacted`, `.historyPending` or `.historyBroken` if it is not there.
    package func commit(named name: BlobName) throws(StorageError) -> CommitSummary {
        guard let commit = try history.commitIfThere(name) else { throw try missing(name) }
        return commit
    }

    /// One commit; nil if it was compacted away.
    ///
    /// - Throws: `.historyPending` if it has not arrived yet.
    package func commitIfKept(_ name: BlobName) throws(StorageError) -> CommitSummary? {
        do throws(StorageError) {
            return try history.commit(name)
        } catch {
            guard error.code == .blobMissing else { throw error }
            // What was removed and came again in part may lack its context.
            let missing = try missing(name)
            if missing.code == .historyCompacted { return nil }
            throw try backend.containsBlob(name) ? error : missing
        }
    }

    /// What a commit changed against its first parent, of keys that begin with `prefix`.
    ///
    /// - Complexity: for commits with very many changes, reads only what lies below `prefix`.
    package func changes(
        of summary: CommitSummary, withPrefix prefix: [UInt8] = []
    ) throws(StorageError) -> CommitChanges {
        let changes = try history.changes(of: summary, prefix: prefix)
        return CommitChanges(
            facts: changes.facts, values: ValueReader(reader: backend, unstored: changes.unstored))
    }

    /// Goes through what a commit changed against its first parent, of keys that begin with `prefix`, until `body` says no.
    package func forEachChange(
        of summary: CommitSummary, withPrefix prefix: [UInt8] = [], _ body: (Fact) -> Bool
    ) throws(StorageError) {
        try history.forEachChange(of: summary, prefix: prefix, body)
    }

    /// All facts as of a commit.
    ///
    /// - Throws: `.historyCompacted` if what it takes was removed on purpose; `.historyBroken` naming
    ///   a commit that is missing; `.treeRootMismatch` if the commits do not make the root that is stated.
    /// - Complexity: reads the commits since the nearest stored tree and applies them in one batch.
    package func snapshot(at name: BlobName) throws(StorageError) -> Snapshot {
        if let known = knownSnapshot(at: name) { return known }
        return try stateLoader().state(of: name)
    }

    func stateLoader() throws(StorageError) -> StateLoader {
        StateLoader(
            history: history, nodes: nodes, editor: editor, reader: backend, emptyRoot: try emptyRoot(),
            containsTree: backend.containsBlob,
            missing: { (name) throws(StorageError) in try self.missing(name) })
    }

    /// The newest commit at or before `time` by the clocks of its author, following first parents.
    ///
    /// Clocks may have jumped: the first commit found going back is taken.
    package func commit(atOrBefore time: Milliseconds) throws(StorageError) -> CommitSummary? {
        guard var commit = try tail().head else { return nil }
        while commit.timeMilliseconds > time {
            guard let parent = commit.firstParent else { return nil }
            commit = try self.commit(named: parent)
        }
        return commit
    }

    /// Walks the keys that differ between two states.
    package func difference(from old: Snapshot, to new: Snapshot) throws(StorageError) -> SnapshotDifference {
        try SnapshotDifference(old: old, new: new)
    }

    /// Calls `body` with each key that differs between two states, ascending.
    package func diff(
        from old: Snapshot, to new: Snapshot, _ body: (FactDifference) throws(StorageError) -> Void
    ) throws(StorageError) {
        var difference = try difference(from: old, to: new)
        while let entry = try difference.next() { try body(entry) }
    }

    /// The error for a commit that is not there.
    func missing(_ name: BlobName) throws(StorageError) -> StorageError {
        if try history.isHidden(name) { return StorageError(.historyPending, place: "commit \(name)") }
        let records = try compactions()
        if let commit = records.first(where: { $0.value.removedParents.contains(name) })?.key {
            return StorageError(.historyCompacted, place: "commit \(commit)")
        }
        if try RepositoryAnnotation.decode(backend.state.annotation).isHistoryPartial {
            return StorageError(.historyPending, place: "commit \(name)")
        }
        // What was removed and came again may have come in part; it goes once more.
        if let commit = records.keys.min(), try isBelowRemoved(name, records) {
            return StorageError(.historyCompacted, place: "commit \(commit)")
        }
        return StorageError(.historyBroken, place: "commit \(name)")
    }

    /// Whether all commits here that were made from one that is not were removed by a compaction themselves.
    private func isBelowRemoved(
        _ name: BlobName, _ records: [BlobName: CompactionRecord]
    ) throws(StorageError) -> Bool {
        var removed = VersionVector()
        for record in records.values { removed.merge(record.removedVersions) }
        var childCount = 0
        var seen = Set(headNames)
        var pending = headNames
        while let next = pending.popLast() {
            guard let commit = try history.commitIfWhole(next) else { continue }
            if commit.parents.contains(name) {
                guard removed.covers(commit.dot) else { return false }
                childCount += 1
            }
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
        return childCount > 0
    }

    /// What compactions removed, by the commit that says so, of those that can still be reached.
    func compactions() throws(StorageError) -> [BlobName: CompactionRecord] {
        var records: [BlobName: CompactionRecord] = [:]
        var seen = Set(headNames)
        var pending = headNames
        while let name = pending.popLast() {
            guard let commit = try history.commitIfWhole(name) else { continue }
            if let record = commit.commit.compaction { records[name] = record }
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
        return records
    }
}

/// Reads states from what is stored of them and the commits since.
struct StateLoader {
    let history: HistoryReader
    let nodes: NodeStore
    let editor: TreeEditor
    let reader: any BlobReader
    let emptyRoot: TreeNode
    /// Whether the whole tree of a root is here.
    let containsTree: (BlobName) throws(StorageError) -> Bool
    /// The error for a commit that is not there.
    let missing: (BlobName) throws(StorageError) -> StorageError

    /// All facts as of a commit, compared with the root that it states.
    func state(of name: BlobName) throws(StorageError) -> Snapshot {
        let head = try commit(name)
        var overlay = Overlay()
        var commit = head
        var base = TreeRoot(node: emptyRoot)
        while true {
            if try containsTree(commit.commit.root) {
                base = TreeRoot(name: commit.commit.root)
                break
            }
            let changes = try history.changes(of: commit)
            overlay.addEarlier(changes.facts, unstored: changes.unstored)
            guard let parent = commit.firstParent else { break }
            commit = try self.commit(parent)
        }
        let snapshot = Snapshot(
            commitName: head.name, base: base, overlay: overlay, statedRoot: head.commit.root, nodes: nodes,
            editor: editor, reader: reader)
        _ = try snapshot.root()
        return snapshot
    }

    private func commit(_ name: BlobName) throws(StorageError) -> CommitSummary {
        guard try reader.containsBlob(name) else { throw try missing(name) }
        return try history.commit(name)
    }
}

/// Walks a history from its heads to its beginning.
///
/// While there is one line of commits it follows that; where lines meet it takes the whole rest of the
/// history into account, so that no commit comes after one of its ancestors.
package struct CommitCursor {
    /// A commit behind which the history has not arrived yet.
    private let end: BlobName?
    private var isCut = false
    /// Reads a commit; nil if it was compacted away.
    private let load: (BlobName) throws(StorageError) -> CommitSummary?
    /// Commits of which all children have been given.
    private var ready: [BlobName]
    /// Once lines meet: for each commit, how many children have not been given yet.
    private var childCounts: [BlobName: Int]?
    private var summaries: [BlobName: CommitSummary] = [:]

    init(
        heads: [BlobName], end: BlobName? = nil,
        load: @escaping (BlobName) throws(StorageError) -> CommitSummary?
    ) {
        self.end = end
        self.load = load
        ready = heads
    }

    /// The next commit; nil at the beginning of the history, or where a compaction removed the rest.
    ///
    /// - Throws: `.historyBroken` naming a parent that is missing; `.historyPending` where the rest has not arrived yet;
    ///   what reading commits throws.
    package mutating func next() throws(StorageError) -> CommitSummary? {
        if ready.count > 1 && childCounts == nil { try countChildren() }
        guard let name = try takeReady() else {
            if isCut, let end { throw StorageError(.historyPending, place: "commit \(end)") }
            return nil
        }
        guard let summary = try read(name) else { return try next() }
        if name == end, !summary.parents.isEmpty {
            isCut = true
            return summary
        }
        if childCounts == nil, summary.parents.count > 1 {
            ready = [name]
            try countChildren()
            ready = []
        }
        for parent in summary.parents {
            guard let count = childCounts?[parent] else {
                ready.append(parent)
                continue
            }
            childCounts?[parent] = count - 1
            if count == 1 { ready.append(parent) }
        }
        return summary
    }

    /// Of several, the latest by the clock, then the greater name: for show only.
    private mutating func takeReady() throws(StorageError) -> BlobName? {
        guard ready.count > 1 else { return ready.popLast() }
        var best = 0
        for index in ready.indices {
            guard let candidate = try read(ready[index]) else { continue }
            guard let other = try read(ready[best]) else { best = index; continue }
            if (candidate.timeMilliseconds, candidate.name) > (other.timeMilliseconds, other.name) { best = index }
        }
        return ready.remove(at: best)
    }

    private mutating func countChildren() throws(StorageError) {
        var counts: [BlobName: Int] = [:]
        var pending = ready
        while let name = pending.popLast() {
            guard name != end, let summary = try read(name) else { continue }
            for parent in summary.parents {
                if counts[parent] == nil { pending.append(parent) }
                counts[parent, default: 0] += 1
            }
        }
        ready.removeAll { counts[$0] != nil }
        childCounts = counts
    }

    private mutating func read(_ name: BlobName) throws(StorageError) -> CommitSummary? {
        if let summary = summaries[name] { return summary }
        guard let summary = try load(name) else { return nil }
        // Kept only where lines meet; a single line may be long.
        if childCounts != nil || ready.count > 1 { summaries[name] = summary }
        return summary
    }
}
