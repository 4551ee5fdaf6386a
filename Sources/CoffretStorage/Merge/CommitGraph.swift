// How commits descend from each other. The one thing to keep true: whatever is found depends on the commits
// alone, so that all devices that have them find the same.

internal import CoffretBase

/// Questions about ancestry, answered by version vectors, which say without a walk what a commit has seen.
final class CommitGraph {
    let history: HistoryReader
    private let compactions: () throws(StorageError) -> [BlobName: CompactionRecord]
    /// Of commits that are on their way in.
    var incomingCompactions: [BlobName: CompactionRecord] = [:]
    private var localCompactions: [BlobName: CompactionRecord]?
    /// All vectors that are known by now.
    private(set) var vectors: [BlobName: VersionVector]
    private var summaries: [BlobName: CommitSummary] = [:]

    /// - Parameter known: vectors that are known already.
    init(
        history: HistoryReader, known: [BlobName: VersionVector],
        compactions: @escaping () throws(StorageError) -> [BlobName: CompactionRecord]
    ) {
        self.history = history
        self.compactions = compactions
        vectors = known
    }

    /// Notes the vector of a commit that was verified.
    func note(_ versions: VersionVector, of name: BlobName) { vectors[name] = versions }

    func summary(_ name: BlobName) throws(StorageError) -> CommitSummary {
        if let known = summaries[name] { return known }
        let summary = try history.commit(name)
        summaries[name] = summary
        return summary
    }

    /// Whether a commit is here with its context: of one that a compaction removed there may be the one without the other.
    func contains(_ name: BlobName) throws(StorageError) -> Bool {
        if summaries[name] != nil { return true }
        guard let commit = try history.commitIfWhole(name) else { return false }
        summaries[name] = commit
        return true
    }

    func lacksParent(_ commit: CommitSummary) throws(StorageError) -> Bool {
        for parent in commit.parents where try !contains(parent) { return true }
        return false
    }

    /// What a commit and its ancestors are.
    ///
    /// - Complexity: walks back to the nearest commit that states it, which all merges and checkpoints do, or of which a
    ///   compaction's record does.
    func versions(of name: BlobName) throws(StorageError) -> VersionVector {
        var pending: [CommitSummary] = []
        var next: BlobName? = name
        var vector = VersionVector()
        while let name = next {
            if let known = vectors[name] {
                vector = known
                break
            }
            guard try contains(name) else {
                // Of what was removed and came again in part, the commit that the record states may not be the lowest.
                let line = pending
                while let lowest = pending.last {
                    if let stated = try statedVersions(ofBeginning: lowest.name) {
                        vector = stated
                        break
                    }
                    pending.removeLast()
                }
                guard !pending.isEmpty else { return try unstatedVersions(line) }
                break
            }
            let commit = try summary(name)
            pending.append(commit)
            if let stated = commit.commit.versionVector {
                vector = stated
                break
            }
            next = commit.firstParent
        }
        for commit in pending.reversed() {
            vector = commit.commit.versionVector ?? vector.advanced(by: commit.dot)
            note(vector, of: commit.name)
        }
        return vector
    }

    /// What commits may have seen at most, by records from before these told what each commit has seen. Not remembered:
    /// a record that comes may tell it.
    private func unstatedVersions(_ line: [CommitSummary]) throws(StorageError) -> VersionVector {
        var versions = try allRemovedVersions()
        for commit in line { versions.advance(commit.dot) }
        return versions
    }

    /// What a commit that lost a parent has seen, by the record of a compaction.
    ///
    /// - Complexity: reads all commits, once.
    func statedVersions(ofBeginning name: BlobName) throws(StorageError) -> VersionVector? {
        for records in [try recorded(), incomingCompactions] {
            for (_, record) in records.sorted(by: { $0.key < $1.key }) {
                if let stated = record.beginnings?[name] { return stated }
            }
        }
        return nil
    }

    /// The records of compactions that count here.
    ///
    /// - Complexity: reads all commits, once.
    func recorded() throws(StorageError) -> [BlobName: CompactionRecord] {
        if let localCompactions { return localCompactions }
        let records = try compactions()
        localCompactions = records
        return records
    }

    /// What compactions have removed, of those that count here and those on their way in.
    ///
    /// - Complexity: reads all commits, once.
    func allRemovedVersions() throws(StorageError) -> VersionVector {
        var versions = try removedVersions()
        for record in incomingCompactions.values { versions.merge(record.removedVersions) }
        return versions
    }

    /// What compactions that count here have removed.
    ///
    /// - Complexity: reads all commits, once.
    func removedVersions() throws(StorageError) -> VersionVector {
        var versions = VersionVector()
        for record in try recorded().values { versions.merge(record.removedVersions) }
        return versions
    }

    /// Calls `body` with all commits from `heads` down that are here, children before parents only along one line.
    func forEachCommit(
        from heads: [BlobName], _ body: (CommitSummary) throws(StorageError) -> Void
    ) throws(StorageError) {
        var seen = Set(heads)
        var pending = heads
        while let name = pending.popLast() {
            guard try contains(name) else { continue }
            let commit = try summary(name)
            try body(commit)
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
    }

    /// The commit with a dot among `name` and its ancestors; nil if there is none, or it is not here.
    ///
    /// A vector may cover the number of a merge that its author dropped, and that another line still has: so all
    /// parents that cover the dot are looked into.
    func commit(with dot: Dot, from name: BlobName) throws(StorageError) -> BlobName? {
        var pending = [name]
        var seen: Set<BlobName> = [name]
        while let name = pending.popLast() {
            let commit = try summary(name)
            if commit.dot == dot { return name }
            for parent in commit.parents.reversed() where !seen.contains(parent) {
                guard try contains(parent), try versions(of: parent).covers(dot) else { continue }
                seen.insert(parent)
                pending.append(parent)
            }
        }
        return nil
    }

    /// Whether `ancestor` is `name` or an ancestor of it.
    func isAncestor(_ ancestor: BlobName, of name: BlobName) throws(StorageError) -> Bool {
        if ancestor == name { return true }
        let dot = try summary(ancestor).dot
        guard try versions(of: name).covers(dot) else { return false }
        return try commit(with: dot, from: name) == ancestor
    }

    /// The common ancestor of two commits with the greatest (generation, name); nil if none is here.
    ///
    /// - Complexity: reads what either has and the other has not.
    func base(of left: BlobName, _ right: BlobName) throws(StorageError) -> BlobName? {
        var sides: [BlobName: UInt8] = [:]
        // Ascending, so that the greatest is taken from the end. An ancestor's generation is always less.
        var queue: [(generation: UInt64, name: BlobName)] = []
        func add(_ name: BlobName, _ side: UInt8) throws(StorageError) {
            guard try contains(name) else { return }
            if let known = sides[name] {
                sides[name] = known | side
                return
            }
            sides[name] = side
            let entry = (generation: try versions(of: name).generation, name: name)
            let index = partitionPoint(queue.count) {
                (queue[$0].generation, queue[$0].name) < (entry.generation, entry.name)
            }
            queue.insert(entry, at: index)
        }
        try add(left, 1)
        try add(right, 2)
        while let next = queue.popLast() {
            let side = sides[next.name] ?? 0
            if side == 3 { return next.name }
            for parent in try summary(next.name).parents { try add(parent, side) }
        }
        return nil
    }
}

extension VersionVector {
    /// Grows along every line of descent: how many numbers have been used up to here.
    var generation: UInt64 { sequences.values.reduce(0) { $0 &+ $1 } }
}

extension CommitGraph {
    /// What the parents of a commit had seen together.
    func versions(of name: BlobName, without commit: CommitSummary) throws(StorageError) -> VersionVector {
        var versions = VersionVector()
        for parent in commit.parents {
            if try contains(parent) {
                versions.merge(try self.versions(of: parent))
            } else {
                // Which number of the instance came before the commit's is not known: at most the one below it.
                versions.merge(try self.versions(of: name).with(commit.sequence - 1, of: commit.instance))
            }
        }
        return versions
    }
}

/// Which commits lead to some others. A number that a vector covers may be one that its author left behind.
struct SeenCommits {
    let graph: CommitGraph
    private var names: [BlobName: Set<BlobName>] = [:]

    init(graph: CommitGraph) { self.graph = graph }

    /// Whether a commit is one of `commits`, or an ancestor, of each.
    ///
    /// - Complexity: where that is so, the way between; once it is not, all that leads to them is read, once.
    mutating func contains(_ name: BlobName, toAll commits: [CommitSummary]) throws(StorageError) -> Bool {
        for commit in commits {
            if let known = names[commit.name] {
                guard known.contains(name) else { return false }
            } else if try !graph.isAncestor(name, of: commit.name) {
                var found: Set<BlobName> = []
                try graph.forEachCommit(from: [commit.name]) { found.insert($0.name) }
                names[commit.name] = found
                return false
            }
        }
        return true
    }
}
