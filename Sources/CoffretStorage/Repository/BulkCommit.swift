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
    /// Where the tail stands, without what its commits put over the tree.
    private let tail: RepositoryTail
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
        self.tail = tail.withoutOverlay
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
        if isBulk { try storeValues() }
        let order = changes.orderByKey()
        // A large commit's changes go from here to the trees one by one; lists of them would be as large again.
        let sorted = isBulk ? [] : order.map { changes[$0] }
        let facts = sorted.map { $0.fact(ownDot: dot) }
        let newRoot = try newRoot(facts, order)

        let context = repository.context(for: author)
        let contextBytes = context.encode()
        let contextName = BlobName.derive(type: .commitContext, content: contextBytes.span)
        if tail.head?.commit.context != contextName {
            try transaction.writeBlob(type: .commitContext, bytes: contextBytes)
        }
        let newFactCount = tail.factCount + order.count
        var commit = Commit(
            context: contextName, root: newRoot.name, parents: repository.headNames, sequence: dot.sequence,
            timeMilliseconds: time, flags: flags, changes: .list(sorted), compaction: compaction)
        if isBulk {
            commit.flags.insert(.bulk)
            commit.changes = .tree(try changeTree(order, root: newRoot))
        }
        changes = []
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
        commit.statement = repository.statements?.next()
        return try write(commit, context: context, facts: facts, changes: sorted, root: newRoot)
    }

    /// - Parameter facts: empty for a large commit, whose changes are taken in `order`.
    private func newRoot(_ facts: [Fact], _ order: [Int]) throws(StorageError) -> TreeNode {
        if root.entryCount == 0 && isBulk {
            // The first tree of a vault is written as it is built.
            return try buildTree(order, keepsRetractions: false)
        }
        let replacements =
            isBulk
            ? order.map { Replacement(changes[$0].fact(ownDot: dot)) } : facts.map { Replacement($0) }
        return try repository.editor.apply(replacements, to: root)
    }

    /// Writes the tree of the facts of the changes, in the order given.
    private func buildTree(_ order: [Int], keepsRetractions: Bool) throws(StorageError) -> TreeNode {
        // Read from here, a change is not copied for each look at it.
        let changes = changes
        var builder = TreeBuilder(splitHash: repository.splitHash, sink: NodeSink(writer: transaction))
        for index in order where keepsRetractions || !changes[index].isRetraction {
            try builder.append(changes[index].fact(ownDot: dot))
        }
        return try builder.finish()
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
        var nodes = TreeWriter()
        if isCheckpoint || commit.flags.contains(.epoch) {
            var state = repository.backend.state
            state.append(head: name)
            if commit.flags.contains(.epoch) {
                try state.annotate { $0.epochs = RepositoryAnnotation.bounded(Set($0.epochs + [name])) }
            }
            if let record = commit.compaction {
                try state.annotate { $0.removedVersions?.merge(record.removedVersions) }
            }
            if isCheckpoint {
                let values = try repository.tail().overlay.unstored.merging(unstored) { old, _ in old }
                try repository.write(root, values: values, with: &nodes, to: transaction)
                let versions = commit.versionVector ?? tail.versionVector.advanced(by: dot)
                try VaultRepository.setCheckpoint(&state, head: summary, versions: versions)
            }
            try transaction.commit(state: state, isCheckpoint: isCheckpoint)
        } else {
            try transaction.commit(appendingHead: name)
        }
        if commit.statement != nil { repository.statements?.written() }
        nodes.markStored(in: repository.nodes)
        repository.extendTail(headRoot: root) { tail in
            tail.add(summary, facts: isCheckpoint ? [] : facts, unstored: unstored, byteCount: content.count)
            if isCheckpoint { tail.startAnew(from: root.name) }
        }
        return summary
    }

    /// Gives up the commit.
    package func cancel() { transaction.cancel() }

    /// Values that were to lie in the commit before it grew too large.
    private func storeValues() throws(StorageError) {
        for index in changes.indices {
            guard case .salted(_, let bytes) = changes[index].content,
                let content = changes[index].content.unstoredBlob
            else { continue }
            let name = try transaction.writeBlob(type: .value, bytes: content)
            let stored = StoredValue(name: name, byteCount: bytes.count)
            changes[index] = CommitChange(key: changes[index].key, content: .stored(stored))
        }
    }

    /// Stores the changes as a tree. The first commit of a vault changes all there is: then it is the
    /// vault's tree, and costs nothing.
    private func changeTree(_ order: [Int], root newRoot: TreeNode) throws(StorageError) -> BlobName {
        if root.entryCount == 0 && !order.contains(where: { changes[$0].isRetraction }) { return newRoot.name }
        return try buildTree(order, keepsRetractions: true).name
    }
}

extension Replacement {
    /// The fact of a change; a retraction leaves nothing.
    fileprivate init(_ fact: Fact) {
        self.init(key: fact.key, facts: fact.isRetraction ? [] : [fact])
    }
}

extension [CommitChange] {
    /// The indices, ascending by key; of several changes of one key the last stays.
    fileprivate func orderByKey() -> [Int] {
        // Twenty-four bytes, an entity and the beginning of an attribute, decide nearly always, and comparing them
        // touches no other memory.
        var order = indices.map { self[$0].key.sortPrefix(index: $0) }
        order.sort { left, right in
            if left.word0 != right.word0 { return left.word0 < right.word0 }
            if left.word1 != right.word1 { return left.word1 < right.word1 }
            if left.word2 != right.word2 { return left.word2 < right.word2 }
            let comparison = self[left.index].key.compare(to: self[right.index].key)
            return comparison != 0 ? comparison < 0 : left.index < right.index
        }
        var result: [Int] = []
        result.reserveCapacity(count)
        var last: KeyPrefix?
        for entry in order {
            if let last, last.hasSameWords(as: entry), self[last.index].key == self[entry.index].key {
                result.removeLast()
            }
            last = entry
            result.append(entry.index)
        }
        return result
    }
}

/// The first bytes of a key as numbers that sort as they do, and whose key it is.
private struct KeyPrefix {
    let word0, word1, word2: UInt64
    let index: Int

    func hasSameWords(as other: KeyPrefix) -> Bool {
        word0 == other.word0 && word1 == other.word1 && word2 == other.word2
    }
}

extension FactKey {
    /// - Parameter index: of the change that the key belongs to.
    fileprivate func sortPrefix(index: Int) -> KeyPrefix {
        KeyPrefix(word0: word(at: 0), word1: word(at: 8), word2: word(at: 16), index: index)
    }

    /// Eight bytes, with zeros for those that the key does not have: it ends with a zero or random bytes, and what
    /// these leave equal is compared in full.
    private func word(at start: Int) -> UInt64 {
        let span = bytes.span
        var word: UInt64 = 0
        for index in start..<start + 8 { word = word << 8 | (index < span.count ? UInt64(span[index]) : 0) }
        return word
    }
}
