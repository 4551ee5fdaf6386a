// What an adoption writes: blobs as they lie, merge commits, and the state. The one thing to keep true: a merge
// commit carries all that it changes against its first parent, so that reading it needs no merge code.

internal import CoffretBase
internal import CoffretCrypto

extension Adoption {
    /// Takes a commit from the pool, with its context, its values and its tree of changes.
    ///
    /// - Throws: `.blobMissing` naming what is not there.
    func keep(_ commit: CommitSummary) throws(StorageError) {
        var failure: StorageError?
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: .none)
        var names: [BlobName] = []
        try walk.walk(commit) { name in
            names.append(name)
            return true
        } visitFact: { (_) throws(StorageError) in
        }
        // The commit comes first in the walk, and last into the store.
        for name in names.reversed() where failure == nil {
            do throws(StorageError) { try incoming.keep(name) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Takes the tree of a commit with which the history begins.
    ///
    /// - Throws: `.blobMissing` naming what is not there.
    func keepTree(of commit: CommitSummary) throws(StorageError) {
        let tree = ReachableBlobs(history: history, nodes: nodes, kinds: .none)
        for name in try tree.namesOfTree(commit.commit.root) { try incoming.keep(name) }
    }

    /// Writes a merge commit for two heads.
    func write(
        _ outcome: StateMerge.Outcome, of left: MergeSide, _ right: MergeSide, time: Milliseconds
    ) throws(StorageError) -> MergeSide {
        var versions = left.versions
        versions.merge(right.versions)
        let annotation = try RepositoryAnnotation.decode(repository.backend.state.annotation)
        let used = max(annotation.usedSequences[author.instanceID], droppedOwn[author.instanceID])
        let dot = Dot(instance: author.instanceID, sequence: max(versions[author.instanceID], used) + 1)
        let previous = try previousCommit(in: left, right)
        versions.advance(dot)

        var changes: [CommitChange] = []
        for replacement in outcome.replacements {
            if replacement.facts.isEmpty {
                changes.append(CommitChange(key: replacement.key, content: .retraction))
            }
            for fact in replacement.facts {
                changes.append(
                    CommitChange(
                        key: fact.key, content: try committed(fact, outcome, left, right), dot: fact.dot))
            }
        }
        let context = repository.context(for: author, epoch: max(left.commit.context.epoch, right.commit.context.epoch))
        let contextName = try transaction.writeBlob(type: .commitContext, bytes: context.encode())
        let parents = [left.commit.name, right.commit.name]
        var commit = Commit(
            context: contextName, root: outcome.root.name, parents: parents, sequence: dot.sequence,
            timeMilliseconds: time, flags: [.merge], changes: .list(changes),
            previousOfInstance: previous.flatMap { parents.contains($0) ? nil : $0 }, versionVector: versions)
        var unstored = left.state.overlay.unstored.merging(right.state.overlay.unstored) { one, _ in one }
        if isLarge(changes) {
            try storeTree(of: changes, in: &commit, dot: dot)
        } else {
            for change in changes {
                guard let content = change.content.unstoredBlob else { continue }
                if case .stored(let value) = change.fact(ownDot: dot).content { unstored[value.name] = content }
            }
        }
        let content = commit.sign(with: author, vaultID: context.vaultID)
        let name = try transaction.writeBlob(type: .commit, bytes: content)
        mergeCount += 1
        let summary = CommitSummary(name: name, commit: commit, context: context)
        graph.note(versions, of: name)
        return MergeSide(
            commit: summary, versions: versions, state: state(of: name, root: outcome.root, unstored: unstored))
    }

    /// This instance's commit before.
    private func previousCommit(in left: MergeSide, _ right: MergeSide) throws(StorageError) -> BlobName? {
        let newest = left.versions[author.instanceID] >= right.versions[author.instanceID] ? left : right
        let dot = Dot(instance: author.instanceID, sequence: newest.versions[author.instanceID])
        guard dot.sequence > 0 else { return nil }
        return try graph.commit(with: dot, from: newest.commit.name)
    }

    func isLarge(_ changes: [CommitChange]) -> Bool {
        var byteCount = 0
        for change in changes {
            byteCount += change.key.bytes.count
            switch change.content {
            case .inline(let bytes), .salted(_, let bytes): byteCount += bytes.count
            case .stored, .retraction: byteCount += 40
            }
        }
        return changes.count > VaultRepository.listedChangeCountMax
            || byteCount > VaultRepository.listedByteCountMax
    }

    /// A fact's content as a commit carries it. Values up to 4 KiB lie in the commit, whatever lies in blobs
    /// here, since what is stored on one device need not be on another.
    private func committed(
        _ fact: Fact, _ outcome: StateMerge.Outcome, _ left: MergeSide, _ right: MergeSide
    ) throws(StorageError) -> CommittedContent {
        switch fact.content {
        case .retraction: return .retraction
        case .inline(let bytes): return .inline(bytes)
        case .stored(let value):
            if value.byteCount <= FactLimits.commitValueByteCountMax {
                let known = outcome.contents[value.name]?.content ?? left.state.overlay.unstored[value.name]
                let content: [UInt8]
                if let known { content = known } else { content = try incoming.blobBytes(value.name, type: .value) }
                let salt = Array(content.prefix(FactLimits.saltByteCount))
                return .salted(salt: salt, bytes: Array(content.dropFirst(FactLimits.saltByteCount)))
            }
            try store(value, outcome)
            return .stored(value)
        }
    }

    /// Writes the blobs of a value that this merge made; what others wrote is stored with their commits.
    private func store(_ value: StoredValue, _ outcome: StateMerge.Outcome) throws(StorageError) {
        guard let made = outcome.contents[value.name] else { return }
        try transaction.writeBlob(type: made.type, bytes: made.content)
        guard made.type == .valueList,
            let list = ValueCodec.decodeList(made.content.span, byteCount: value.byteCount)
        else { return }
        for piece in list.pieces {
            guard let content = outcome.contents[piece.name] else { continue }
            try transaction.writeBlob(type: content.type, bytes: content.content)
        }
    }

    /// Puts many changes into a tree of their own, with all values in blobs.
    func storeTree(of changes: [CommitChange], in commit: inout Commit, dot: Dot) throws(StorageError) {
        var builder = TreeBuilder(splitHash: repository.splitHash, sink: NodeSink(writer: transaction))
        for change in changes {
            if let content = change.content.unstoredBlob {
                try transaction.writeBlob(type: .value, bytes: content)
            }
            try builder.append(change.fact(ownDot: dot))
        }
        commit.changes = .tree(try builder.finish().name)
        commit.flags.insert(.bulk)
    }

    // MARK: The state

    /// So many blobs are not left to be found by their headers.
    private static var indexedBlobCountMin: Int { 256 }

    /// Makes everything durable with `head` as the only head.
    func finish(_ head: MergeSide?, state: inout RepositoryState) throws(StorageError) {
        var nodesWritten = TreeWriter()
        if let head, state.heads != [head.commit.name] {
            state.heads = [head.commit.name]
            let line = try line(to: head)
            if line.changeCount > repository.checkpointPolicy.factCountMax
                || line.byteCount > repository.checkpointPolicy.byteCountMax
            {
                try nodesWritten.write(head.state.root(), to: transaction)
                for value in nodesWritten.storedValues {
                    if let content = head.state.overlay.unstored[value.name] {
                        try transaction.writeBlob(type: .value, bytes: content)
                    }
                }
                try VaultRepository.setCheckpoint(&state, head: head.commit, versions: head.versions)
            } else {
                try begin(at: line.base, tail: line.commits, in: &state)
            }
        }
        guard state != repository.backend.state else { return transaction.cancel() }
        // Behind much that came the next opening would read all its headers once more.
        let isCheckpoint = nodesWritten.nodeCount > 0 || incoming.keptCount > Self.indexedBlobCountMin
        try transaction.commit(state: state, isCheckpoint: isCheckpoint)
        nodesWritten.markStored(in: repository.nodes)
        guard let head else { return repository.forget() }
        repository.adopt(headRoot: try head.state.root())
    }

    /// The commits from the nearest stored tree to `head` along first parents.
    private func line(
        to head: MergeSide
    ) throws(StorageError) -> (base: CommitSummary?, commits: [BlobName], changeCount: Int, byteCount: Int) {
        var commits: [BlobName] = []
        var (changeCount, byteCount) = (0, 0)
        var next: CommitSummary? = head.commit
        while let commit = next {
            // What was offered and not kept is not stored.
            if try transaction.containsBlob(commit.commit.root) { break }
            commits.append(commit.name)
            switch commit.commit.changes {
            case .list(let changes):
                changeCount += changes.count
                for change in changes {
                    if case .salted(_, let bytes) = change.content { byteCount += bytes.count }
                    if case .inline(let bytes) = change.content { byteCount += bytes.count }
                }
            case .tree: changeCount = .max >> 1
            }
            guard let parent = commit.firstParent else { return (nil, commits.reversed(), changeCount, byteCount) }
            next = try graph.summary(parent)
        }
        return (next, commits.reversed(), changeCount, byteCount)
    }

    private func begin(
        at base: CommitSummary?, tail: [BlobName], in state: inout RepositoryState
    ) throws(StorageError) {
        state.tailCommits = tail
        guard let base else {
            state.checkpoint = nil
            state.previousCheckpoint = nil
            try state.annotate { $0.checkpointVersions = VersionVector() }
            return
        }
        if base.name != state.checkpoint?.commit {
            if let old = state.checkpoint { state.previousCheckpoint = old }
            state.checkpoint = RepositoryState.Checkpoint(commit: base.name, root: base.commit.root)
        }
        let versions = try graph.versions(of: base.name)
        try state.annotate { $0.checkpointVersions = versions }
    }

    // MARK: Evidence

    /// The sealed commit, and its context, that do not fit what is here.
    func evidence(at place: String?) throws(StorageError) -> [SealedEvidence] {
        guard let place, let digits = place.split(separator: " ").last, let bytes = try? Hex.decode(String(digits)),
            let name = BlobName(bytes: bytes)
        else { return [] }
        let commit = try history.commit(name)
        return [
            SealedEvidence(type: .commitContext, content: commit.context.encode()),
            SealedEvidence(type: .commit, content: try incoming.blobBytes(name, type: .commit)),
        ]
    }
}

/// A blob that proves a fork.
struct SealedEvidence {
    let type: BlobType
    let content: [UInt8]
}

extension VaultRepository {
    /// Begins to take blobs from elsewhere.
    ///
    /// - Throws: `.readOnly` without an author or the writer's lock; `.unusable` if the backend cannot take blobs.
    package func beginAdoption(rule: any ValueMergeRule = NoValueMerge()) throws(StorageError) -> Adoption {
        try Adoption(repository: self, rule: rule)
    }

    /// Commits that prove that an instance wrote two with one number.
    package func forkEvidence() throws(StorageError) -> [BlobName] {
        try RepositoryAnnotation.decode(backend.state.annotation).evidence
    }

    /// Heads that are kept and not merged, because they build on a commit that is not valid.
    package func quarantinedHeads() throws(StorageError) -> [BlobName] {
        try RepositoryAnnotation.decode(backend.state.annotation).quarantined
    }

    func keepEvidence(_ blobs: [SealedEvidence]) throws(StorageError) {
        var state = backend.state
        try transact { (transaction) throws(StorageError) in
            var names: Set<BlobName> = Set(try RepositoryAnnotation.decode(state.annotation).evidence)
            for blob in blobs {
                let name = try transaction.writeBlob(type: blob.type, bytes: blob.content)
                if blob.type == .commit, names.count < RepositoryAnnotation.nameCountMax { names.insert(name) }
            }
            let sorted = names.sorted()
            try state.annotate { $0.evidence = sorted }
            try transaction.commit(state: state, isCheckpoint: false)
        }
    }
}
