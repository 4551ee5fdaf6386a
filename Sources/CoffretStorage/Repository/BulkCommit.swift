// One commit in the making. The one thing to keep true: small and large commits go through the same
// code, so they mean the same.

package import CoffretBase

/// Collects changes and writes them as one commit.
///
/// Long values are handed to the transaction at once, so that memory holds about 200 bytes per
/// change. End it with `commit` or `cancel`; the repository takes no other commit in between.
package final class BulkCommit {
    let repository: VaultRepository
    private let author: CommitAuthor
    private var tail: RepositoryTail
    private let root: TreeNode
    let transaction: any BlobTransactionWriter
    private let dot: Dot
    /// As they came; sorted, and thinned to one per key, when the commit is written.
    private var changes: [CommitChange] = []
    private var listedByteCount = 0
    /// Set when the changes became too many for a list: from then on all long values are stored.
    private var isBulk = false

    init(
        repository: VaultRepository, author: CommitAuthor, tail: RepositoryTail, root: TreeNode,
        transaction: any BlobTransactionWriter
    ) {
        self.repository = repository
        self.author = author
        self.tail = tail
        self.root = root
        self.transaction = transaction
        dot = tail.nextDot(of: author.instanceID)
    }

    /// Takes a change; a later one of the same key wins.
    ///
    /// - Throws: `.factValueTooLarge`, and what writing blobs throws.
    package func add(_ change: FactChange) throws(StorageError) {
        let content = try content(change)
        changes.append(CommitChange(key: change.key, content: content))
        listedByteCount += change.key.bytes.count
        switch content {
        case .inline(let bytes), .salted(_, let bytes): listedByteCount += bytes.count
        case .stored, .retraction: listedByteCount += 40
        }
        isBulk =
            isBulk || changes.count > VaultRepository.listedChangeCountMax
            || listedByteCount > VaultRepository.listedByteCountMax
    }

    private func content(_ change: FactChange) throws(StorageError) -> CommittedContent {
        guard let value = change.value else { return .retraction }
        if value.count <= FactLimits.inlineValueByteCountMax { return .inline(value) }
        if value.count <= FactLimits.commitValueByteCountMax && !isBulk {
            return .salted(salt: repository.random.bytes(count: FactLimits.saltByteCount), bytes: value)
        }
        var salt: [UInt8]?
        if value.count > FactLimits.wholeValueByteCountMax {
            let before = try root.facts(of: change.key, in: repository.nodes).winner
            if case .stored(let stored)? = before?.content, stored.isList {
                salt = try ValueReader(reader: transaction, unstored: [:]).list(stored).salt
            }
        }
        let writer = ValueWriter(
            writer: transaction, cutter: repository.valueCutter(), random: repository.random)
        return .stored(try writer.write(value, previousSalt: salt))
    }

    /// Writes the commit and makes it durable.
    ///
    /// - Throws: what transactions throw; then the commit has not happened, and `cancel` is due.
    @discardableResult
    package func commit(
        time: Milliseconds, flags: CommitFlags = [], compaction: CompactionRecord? = nil
    ) throws(StorageError) -> CommitSummary {
        precondition(
            !changes.isEmpty || compaction != nil || flags.contains(.epoch), "a commit changes something")
        var sorted = changes.sortedByKey()
        changes = []
        if isBulk { try storeValues(of: &sorted) }
        let facts = sorted.map { $0.fact(ownDot: dot) }
        let newRoot = try newRoot(facts)

        let context = repository.context(for: author)
        let contextBytes = context.encode()
        let contextName = BlobName.derive(type: .commitContext, content: contextBytes.span)
        if tail.head?.commit.context != contextName {
            try transaction.writeBlob(type: .commitContext, bytes: contextBytes)
        }
        let newFactCount = tail.factCount + facts.count
        var commit = Commit(
            context: contextName, root: newRoot.name, parents: repository.headNames, sequence: dot.sequence,
            timeMilliseconds: time, flags: flags, changes: .list(isBulk ? [] : sorted), compaction: compaction)
        if isBulk {
            commit.flags.insert(.bulk)
            commit.changes = .tree(try changeTree(facts, isWholeState: root.entryCount == 0, root: newRoot))
        }
        let isCheckpoint =
            isBulk || flags.contains(.checkpoint)
            || newFactCount >= repository.checkpointPolicy.factCountMax
            || tail.byteCount + listedByteCount >= repository.checkpointPolicy.byteCountMax
        if isCheckpoint { commit.flags.insert(.checkpoint) }
        if compaction != nil { commit.flags.insert(.compaction) }
        // So that nobody has to walk further back than to the newest checkpoint to know it.
        if isCheckpoint { commit.versionVector = tail.versionVector.advanced(by: dot) }
        let previous = try repository.lastCommit(
            of: author.instanceID, versions: tail.versionVector, head: tail.head)
        commit.previousOfInstance = previous.flatMap { commit.parents.contains($0) ? nil : $0 }
        return try write(commit, context: context, facts: facts, changes: sorted, root: newRoot)
    }

    private func newRoot(_ facts: [Fact]) throws(StorageError) -> TreeNode {
        if root.entryCount == 0 && isBulk {
            // The first tree of a vault is written as it is built.
            var builder = TreeBuilder(splitHash: repository.splitHash, sink: NodeSink(writer: transaction))
            for fact in facts where !fact.isRetraction { try builder.append(fact) }
            return try builder.finish()
        }
        let replacements = facts.map { Replacement(key: $0.key, facts: $0.isRetraction ? [] : [$0]) }
        return try repository.editor.apply(replacements, to: root)
    }

    private func write(
        _ commit: Commit, context: CommitContext, facts: [Fact], changes: [CommitChange], root: TreeNode
    ) throws(StorageError) -> CommitSummary {
        let content = commit.sign(with: author, vaultID: context.vaultID)
        let name = try transaction.writeBlob(type: .commit, bytes: content)
        let summary = CommitSummary(name: name, commit: commit, context: context)
        var unstored: [BlobName: [UInt8]] = [:]
        for (change, fact) in zip(changes, facts) {
            if let content = change.content.unstoredBlob, case .stored(let value) = fact.content {
                unstored[value.name] = content
            }
        }
        let isCheckpoint = commit.flags.contains(.checkpoint)
        // A tail that is about to end needs no more than the values that the tree may refer to.
        tail.add(summary, facts: isCheckpoint ? [] : facts, unstored: unstored, byteCount: content.count)
        var state = repository.backend.state
        state.heads = [name]
        state.tailCommits.append(name)
        if commit.flags.contains(.epoch) {
            try state.annotate { $0.epochs = RepositoryAnnotation.bounded(Set($0.epochs + [name])) }
        }
        var nodes = TreeWriter()
        if isCheckpoint {
            try repository.write(root, values: tail.overlay.unstored, with: &nodes, to: transaction)
            try VaultRepository.setCheckpoint(&state, head: summary, versions: tail.versionVector)
        }
        try transaction.commit(state: state, isCheckpoint: isCheckpoint)
        nodes.markStored(in: repository.nodes)
        if isCheckpoint { tail.startAnew(from: root.name) }
        repository.adopt(tail: tail, headRoot: root)
        return summary
    }

    /// Gives up the commit.
    package func cancel() { transaction.cancel() }

    /// Values that were to lie in the commit before it grew too large.
    private func storeValues(of changes: inout [CommitChange]) throws(StorageError) {
        for index in changes.indices {
            guard let content = changes[index].content.unstoredBlob,
                case .salted(_, let bytes) = changes[index].content
            else { continue }
            let name = try transaction.writeBlob(type: .value, bytes: content)
            let stored = StoredValue(name: name, byteCount: bytes.count)
            changes[index] = CommitChange(key: changes[index].key, content: .stored(stored))
        }
    }

    /// Stores the changes as a tree. The first commit of a vault changes all there is: then it is the
    /// vault's tree, and costs nothing.
    private func changeTree(
        _ facts: [Fact], isWholeState: Bool, root: TreeNode
    ) throws(StorageError) -> BlobName {
        if isWholeState && !facts.contains(where: \.isRetraction) { return root.name }
        var builder = TreeBuilder(splitHash: repository.splitHash, sink: NodeSink(writer: transaction))
        for fact in facts { try builder.append(fact) }
        return try builder.finish().name
    }
}

extension [CommitChange] {
    /// Ascending by key; of several changes of one key the last stays.
    fileprivate func sortedByKey() -> [CommitChange] {
        // Eight bytes decide nearly always, and comparing them touches no other memory.
        var order = indices.map { (prefix: self[$0].key.sortPrefix, index: $0) }
        order.sort { left, right in
            if left.prefix != right.prefix { return left.prefix < right.prefix }
            let comparison = self[left.index].key.compare(to: self[right.index].key)
            return comparison != 0 ? comparison < 0 : left.index < right.index
        }
        var result: [CommitChange] = []
        result.reserveCapacity(count)
        var last: UInt64?
        for entry in order {
            let change = self[entry.index]
            if last == entry.prefix, result.last?.key == change.key { result.removeLast() }
            last = entry.prefix
            result.append(change)
        }
        return result
    }
}

extension FactKey {
    /// The first eight bytes, as a number that sorts as they do.
    fileprivate var sortPrefix: UInt64 {
        bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
