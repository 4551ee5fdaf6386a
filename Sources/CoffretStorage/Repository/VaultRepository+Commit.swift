// Writing. The one thing to keep true: nothing in memory changes before the transaction is durable, so a
// commit that failed has not happened.

package import CoffretBase
internal import CoffretCrypto

extension VaultRepository {
    /// Above these a commit puts its changes into a tree of their own, and stores the vault's tree with it.
    static let listedChangeCountMax = 512
    static let listedByteCountMax = 256 << 10

    /// Writes one commit: one transaction, one sync.
    ///
    /// - Parameter changes: at least one, in any order; a key that occurs twice takes the last.
    /// - Parameter time: for show.
    /// - Throws: `.readOnly` without an author; `.factValueTooLarge`; what transactions throw. Then nothing
    ///   has changed.
    /// - Complexity: one node per level of the tree, a signature and a sync; the tree's new nodes are
    ///   computed and stay in memory until a checkpoint stores them.
    @discardableResult
    package func commit(_ changes: [FactChange], time: Milliseconds) throws(StorageError) -> CommitSummary {
        let bulk = try beginBulk()
        do throws(StorageError) {
            for change in changes { try bulk.add(change) }
            return try bulk.commit(time: time)
        } catch {
            bulk.cancel()
            throw error
        }
    }

    /// Writes the commit by which a revocation, or a new key epoch, takes effect in this vault: it changes nothing,
    /// and states the newest chain heads and the newest epoch (protocol 3).
    @discardableResult
    package func commitEpoch(time: Milliseconds) throws(StorageError) -> CommitSummary {
        let bulk = try beginBulk()
        do throws(StorageError) {
            return try bulk.commit(time: time, flags: [.epoch])
        } catch {
            bulk.cancel()
            throw error
        }
    }

    /// Begins a commit that is filled piece by piece; long values go to disk as they come.
    package func beginBulk() throws(StorageError) -> BulkCommit {
        guard let author else { throw StorageError(.readOnly) }
        let root = try headRoot()
        let tail = try tail()
        return BulkCommit(
            repository: self, author: author, tail: tail, root: root, transaction: try backend.beginTransaction())
    }

    /// Stores the tree of the head if it is not stored.
    ///
    /// - Returns: whether there was anything to store.
    @discardableResult
    package func checkpoint() throws(StorageError) -> Bool {
        guard backend.state.checkpoint?.commit != backend.state.heads.first else { return false }
        let root = try headRoot()
        var tail = try tail()
        guard let head = tail.head else { return false }
        var state = backend.state
        var nodes = TreeWriter()
        try transact { (transaction) throws(StorageError) in
            try write(root, values: tail.overlay.unstored, with: &nodes, to: transaction)
            try Self.setCheckpoint(&state, head: head, versions: tail.versionVector)
            try transaction.commit(state: state, isCheckpoint: true)
        }
        nodes.markStored(in: self.nodes)
        tail.startAnew(from: root.name)
        adopt(tail: tail, headRoot: root)
        return true
    }

    /// Writes the nodes of a tree, and of the values that only commits carry, those it refers to.
    func write(
        _ root: TreeNode, values: [BlobName: [UInt8]], with nodes: inout TreeWriter,
        to transaction: any BlobTransactionWriter
    ) throws(StorageError) {
        try nodes.write(root, to: transaction)
        guard !values.isEmpty else { return }
        // What refers to an unstored value lies in a leaf that is not stored either.
        for value in nodes.storedValues {
            if let content = values[value.name] { try transaction.writeBlob(type: .value, bytes: content) }
        }
    }

    static func setCheckpoint(
        _ state: inout RepositoryState, head: CommitSummary, versions: VersionVector
    ) throws(StorageError) {
        state.previousCheckpoint = state.checkpoint
        state.checkpoint = RepositoryState.Checkpoint(commit: head.name, root: head.commit.root)
        state.tailCommits = []
        try state.annotate { $0.checkpointVersions = versions }
    }

    /// - Parameter epoch: a later one than the own keys have is an error of who calls.
    func context(for author: CommitAuthor, epoch: UInt32? = nil) -> CommitContext {
        CommitContext(
            vaultID: keys.vaultID.bytes, epoch: max(keys.currentEpoch, epoch ?? 0), treeGeneration: Self.treeGeneration,
            author: author, formatFloor: CommitContext.formatVersion)
    }

    /// The newest commit of `instance` among `head` and its ancestors; nil if there is none.
    func lastCommit(
        of instance: UniqueID, versions: VersionVector, head: CommitSummary?
    ) throws(StorageError) -> BlobName? {
        guard versions[instance] > 0, let head else { return nil }
        if head.instance == instance { return head.name }
        let graph = try graph()
        return try graph.commit(with: Dot(instance: instance, sequence: versions[instance]), from: head.name)
    }
}

extension RepositoryState {
    /// Changes the annotation.
    mutating func annotate(_ change: (inout RepositoryAnnotation) -> Void) throws(StorageError) {
        var changed = try RepositoryAnnotation.decode(annotation)
        change(&changed)
        annotation = changed.encode()
    }
}

extension RepositoryTail {
    /// What is left of a tail when its tree was stored.
    mutating func startAnew(from root: BlobName) {
        baseRoot = root
        overlay = Overlay()
        factCount = 0
        byteCount = 0
    }
}
