// How commits descend from each other. The one thing to keep true: whatever is found depends on the commits
// alone, so that all devices that have them find the same.

internal import CoffretBase

/// Questions about ancestry, answered by version vectors, which say without a walk what a commit has seen.
final class CommitGraph {
    let history: HistoryReader
    private let compactions: () throws(StorageError) -> [BlobName: CompactionRecord]
    /// Of commits that are on their way in.
    var incomingCompactions: [BlobName: CompactionRecord] = [:]
    private var vectors: [BlobName: VersionVector]
    /// Commits of which it is only known what they have seen at most: a compaction removed what lies below them, and none
    /// on the way up to them states it.
    private var vague: Set<BlobName> = []
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

    /// All vectors that are known by now, and are more than bounds.
    var knownVersions: [BlobName: VersionVector] { vectors.filter { !vague.contains($0.key) } }

    /// Notes the vector of a commit that was verified.
    func note(_ versions: VersionVector, of name: BlobName, isVague: Bool) {
        vectors[name] = versions
        if isVague { vague.insert(name) } else { vague.remove(name) }
    }

    /// Whether `versions(of:)` gives a bound and no more.
    func isVague(_ name: BlobName) throws(StorageError) -> Bool {
        _ = try versions(of: name)
        return vague.contains(name)
    }

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

    /// What a commit and its ancestors are; where a compaction removed what says it, what they are at most.
    ///
    /// - Complexity: walks back to the nearest commit that states it, which all merges and checkpoints do.
    func versions(of name: BlobName) throws(StorageError) -> VersionVector {
        var pending: [CommitSummary] = []
        var next: BlobName? = name
        var vector = VersionVector()
        var isVague = false
        while let name = next {
            if let known = vectors[name] {
                vector = known
                isVague = vague.contains(name)
                break
            }
            guard try contains(name) else {
                // Below a compaction only what it and those before it say is known.
                vector = try allRemovedVersions()
                isVague = true
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
            note(vector, of: commit.name, isVague: isVague)
        }
        return vector
    }

    /// What compactions have removed, of those that count here and those on their way in.
    ///
    /// - Complexity: reads all commits.
    func allRemovedVersions() throws(StorageError) -> VersionVector {
        var versions = try removedVersions()
        for record in incomingCompactions.values { versions.merge(record.removedVersions) }
        return versions
    }

    /// What compactions that count here have removed.
    ///
    /// - Complexity: reads all commits.
    func removedVersions() throws(StorageError) -> VersionVector {
        var versions = VersionVector()
        for record in try compactions().values { versions.merge(record.removedVersions) }
        return versions
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
