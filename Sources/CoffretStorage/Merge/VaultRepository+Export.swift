// What others need of this repository. The one thing to keep true: who has the known commits with all that they
// need, and takes what is listed, has the head with all that it needs (protocol 4).

internal import CoffretBase
internal import CoffretCrypto

/// The blobs that lead from commits that somebody has to a head.
package struct ExportContents: Equatable, Sendable {
    /// What a commit needs comes before it, and parents before children.
    package let names: [BlobName]
    package let commitCount: Int
    /// The newest of the commits that says what a compaction removed.
    package let compaction: BlobName?
}

/// How two heads are related.
package enum HeadRelation: Equatable, Sendable {
    case same
    /// The first is an ancestor of the second.
    case ancestor
    /// The second is an ancestor of the first.
    case descendant
    case unrelated
}

extension VaultRepository {
    /// - Parameters:
    ///   - known: commits that the other side has with all that they need; those that are not here are ignored.
    ///   - head: nil for the present head.
    ///   - visitFact: called with each fact about an entity of one of `kinds` that a commit on the way changed.
    package func contents(
        from known: [BlobName], to head: BlobName? = nil, visiting kinds: EntityKinds = .none,
        visitFact: (Fact) throws(StorageError) -> Void = { (_) throws(StorageError) in }
    ) throws(StorageError) -> ExportContents {
        guard let head = head ?? headNames.first else {
            return ExportContents(names: [], commitCount: 0, compaction: nil)
        }
        if let present = try pendingPresent(), !known.contains(present.head) { try requireHistory() }
        let graph = try graph()
        var versions = VersionVector()
        for name in known where try graph.contains(name) { versions.merge(try graph.versions(of: name)) }
        let commits = try commits(upTo: head, beyond: versions, of: known, graph)
        var before: [Snapshot]?
        var names: [BlobName] = []
        var seen: Set<BlobName> = []
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: kinds)
        for commit in commits {
            let kept = try keptPieces(of: commit) { () throws(StorageError) in
                // A state takes its whole tail to read, and few changes ask for it.
                if let before { return before }
                var states: [Snapshot] = []
                for name in known where try graph.contains(name) {
                    if let state = try? stateLoader().state(of: name) { states.append(state) }
                }
                before = states
                return states
            }
            var own: [BlobName] = []
            try walk.walk(commit) { name in
                guard !kept.contains(name), seen.insert(name).inserted else { return false }
                own.append(name)
                return true
            } visitFact: { (fact) throws(StorageError) in
                try visitFact(fact)
            }
            names += own.reversed()
        }
        // Who has nothing of a removed history begins with these trees.
        for root in try rootsOfBeginnings(for: commits) {
            var own: [BlobName] = []
            try walk.walkTree(root) { name in
                guard seen.insert(name).inserted else { return false }
                own.append(name)
                return true
            } visitFact: { (_) throws(StorageError) in
            }
            names += own.reversed()
        }
        return ExportContents(
            names: names, commitCount: commits.count,
            compaction: commits.last { $0.commit.compaction != nil }?.name)
    }

    /// The blobs that a server needs to hold for others: all commits that are kept, with what they changed, and the trees
    /// with which the history begins.
    ///
    /// - Returns: nil if such a tree is not here, so that nobody can tell what it needs.
    /// - Complexity: reads all commits and those trees.
    package func neededNames(
        visiting kinds: EntityKinds, visitFact: (Fact) throws(StorageError) -> Void
    ) throws(StorageError) -> Set<BlobName>? {
        var names: Set<BlobName> = []
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: kinds)
        let beginnings = Set(try historyBeginnings().map(\.name))
        // What was set aside is kept for what it changed; nothing begins with it.
        var commits = try setAsideSummaries()
        var cursor = try log()
        while let commit = try cursor.next() { commits.append(commit) }
        for commit in commits {
            try walk.walk(commit) {
                names.insert($0).inserted
            } visitFact: { (fact) throws(StorageError) in
                try visitFact(fact)
            }
            guard beginnings.contains(commit.name) else { continue }
            guard try backend.containsBlob(commit.commit.root) else { return nil }
            try walk.walkTree(commit.commit.root) {
                names.insert($0).inserted
            } visitFact: {
                (fact) throws(StorageError) in
                try visitFact(fact)
            }
        }
        return names
    }

    /// Whether a commit has seen another one, as far as both are here.
    package func hasSeen(_ name: BlobName, by other: BlobName) throws(StorageError) -> Bool {
        if name == other { return true }
        let graph = try graph()
        guard try graph.contains(name), try graph.contains(other) else { return false }
        return try graph.isAncestor(name, of: other)
    }

    /// The trees with which the history begins, where one of some commits says that it was cut, or begins it itself.
    private func rootsOfBeginnings(for commits: [CommitSummary]) throws(StorageError) -> [BlobName] {
        var beginnings: [CommitSummary] = []
        if commits.contains(where: { $0.commit.compaction != nil }) {
            beginnings = try historyBeginnings()
        } else {
            for commit in commits where try lacksParent(commit) { beginnings.append(commit) }
        }
        var roots: [BlobName] = []
        for root in beginnings.map(\.commit.root) where !roots.contains(root) {
            if try backend.containsBlob(root) { roots.append(root) }
        }
        return roots
    }

    /// Commits of which a parent was removed, or is to be.
    ///
    /// - Complexity: reads all commits.
    package func historyBeginnings() throws(StorageError) -> [CommitSummary] {
        var commits: [CommitSummary] = []
        var cursor = try log()
        while let commit = try cursor.next() { commits.append(commit) }
        return try historyBeginnings(among: commits)
    }

    /// The same, of all commits that are here.
    private func historyBeginnings(among commits: [CommitSummary]) throws(StorageError) -> [CommitSummary] {
        var stated: Set<BlobName> = []
        for commit in commits { stated.formUnion((commit.commit.compaction?.beginnings ?? [:]).keys) }
        var found: [CommitSummary] = []
        for commit in commits {
            let lacksParent = try lacksParent(commit)
            if lacksParent || stated.contains(commit.name) { found.append(commit) }
        }
        return found
    }

    private func lacksParent(_ commit: CommitSummary) throws(StorageError) -> Bool {
        for parent in commit.parents where try !backend.containsBlob(parent) { return true }
        return false
    }

    /// A blob as it goes to others: under the current epoch (protocol 8).
    package func sealedBlob(_ name: BlobName) throws(StorageError) -> SealedBlob {
        guard let exchange = backend as? any SealedBlobExchange else { throw StorageError(.unusable) }
        return try exchange.sealedBlob(name)
    }

    /// Whether everything about a blob from elsewhere verifies; nothing is kept of it.
    package func verifies(_ blob: SealedBlob) throws(StorageError) -> Bool {
        guard let exchange = backend as? any SealedBlobExchange else { throw StorageError(.unusable) }
        return try exchange.openSealed(blob) { (_, _, _) in true } ?? false
    }

    /// Where a blob of this name may lie, the newest epoch first.
    package func addresses(of name: BlobName) throws(StorageError) -> [BlobAddress] {
        guard let exchange = backend as? any SealedBlobExchange else { throw StorageError(.unusable) }
        return exchange.addresses(of: name)
    }

    /// The commit at an address, if it is here.
    package func commitName(at address: BlobAddress) throws(StorageError) -> BlobName? {
        guard let exchange = backend as? any SealedBlobExchange else { throw StorageError(.unusable) }
        return try backend.commitName(among: exchange.names(of: address))
    }

    /// The newest key epoch that this device has.
    package var currentEpoch: UInt32 { keys.currentEpoch }

    /// The context that a commit of `author` would state now; the repository may be open for reading only.
    package func contextBytes(of author: CommitAuthor) -> [UInt8] { context(for: author).encode() }

    /// The number of a commit; nil for one that is not here, or of which only a part has come.
    package func dot(ofCommit name: BlobName) throws(StorageError) -> Dot? {
        let graph = try graph()
        return try graph.contains(name) ? graph.summary(name).dot : nil
    }

    /// Whether a compaction that counts here has removed the commit with a number.
    ///
    /// - Complexity: reads all commits.
    package func hasRemoved(_ dot: Dot) throws(StorageError) -> Bool {
        try graph().removedVersions().covers(dot)
    }

    /// How two commits that are here are related.
    package func relation(of first: BlobName, to second: BlobName) throws(StorageError) -> HeadRelation {
        if first == second { return .same }
        let graph = try graph()
        if try graph.isAncestor(first, of: second) { return .ancestor }
        return try graph.isAncestor(second, of: first) ? .descendant : .unrelated
    }

    /// Whether `name` is a commit of the verified history of `head`.
    ///
    /// What lies here of others may be a commit whose context or parents have not come: of it only itself is read.
    package func isKnown(_ name: BlobName, to head: BlobName) throws(StorageError) -> Bool {
        let unverified = try UnverifiedCommit.decode(backend.blobBytes(name, type: .commit), name: name)
        guard try backend.containsBlob(unverified.commit.context) else { return false }
        return try graph().isAncestor(name, of: head)
    }

    /// What a commit that is here, and its ancestors, are.
    package func versions(of name: BlobName) throws(StorageError) -> VersionVector {
        try graph().versions(of: name)
    }

    /// Bytes of who syncs the vault, kept with the state.
    package func syncNote() throws(StorageError) -> [UInt8] {
        try RepositoryAnnotation.decode(backend.state.annotation).note
    }

    /// The most bytes that `setSyncNote` takes.
    package static var syncNoteByteCountMax: Int { RepositoryAnnotation.noteByteCountMax }

    /// Replaces the bytes that `syncNote` gives.
    ///
    /// - Throws: `.blobTooLarge` above 32 KiB, with nothing changed; whoever reads them would take none of them.
    package func setSyncNote(_ note: [UInt8]) throws(StorageError) {
        guard note.count <= Self.syncNoteByteCountMax else { throw StorageError(.blobTooLarge, place: "sync note") }
        var state = backend.state
        try state.annotate { $0.note = note }
        guard state != backend.state else { return }
        let changed = state
        try transact { (transaction) throws(StorageError) in
            try transaction.commit(state: changed, isCheckpoint: false)
        }
    }

    /// Parents before children.
    private func commits(
        upTo head: BlobName, beyond versions: VersionVector, of known: [BlobName], _ graph: CommitGraph
    ) throws(StorageError) -> [CommitSummary] {
        var order: [CommitSummary] = []
        var seen: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = [(head, false)]
        while let (name, isDone) = stack.popLast() {
            if isDone {
                order.append(try graph.summary(name))
                continue
            }
            guard !seen.contains(name), try graph.contains(name) else { continue }
            let commit = try graph.summary(name)
            if versions.covers(commit.dot) {
                // The number of a merge may be covered by who never had it: its author dropped it then.
                guard commit.flags.contains(.merge) else { continue }
                var isThere = false
                for other in known where try graph.contains(other) {
                    if try graph.isAncestor(name, of: other) { isThere = true }
                }
                if isThere { continue }
            }
            seen.insert(name)
            stack.append((name, true))
            for parent in commit.parents.reversed() { stack.append((parent, false)) }
        }
        return order
    }

    /// Pieces of long values that stood under the same key in a known state: an edit sends what it changed.
    private func keptPieces(
        of commit: CommitSummary, before: () throws(StorageError) -> [Snapshot]
    ) throws(StorageError) -> Set<BlobName> {
        var kept: Set<BlobName> = []
        guard case .list(let changes) = commit.commit.changes else { return kept }
        for change in changes {
            guard case .stored(let value) = change.content, value.isList else { continue }
            for state in try before() {
                for fact in try state.facts(under: change.key) {
                    guard case .stored(let old) = fact.content, old.isList else { continue }
                    kept.formUnion(try state.values.list(old).pieces.map(\.name))
                }
            }
        }
        return kept
    }
}
