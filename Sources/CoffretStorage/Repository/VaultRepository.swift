// A vault's facts with their history. The one thing to keep true: what `commit` returned is on disk,
// signed, and states the root of exactly the facts that readers see.

package import CoffretBase
package import CoffretCrypto

/// The facts of one vault: read, written in commits, looked at as of any commit.
///
/// Not Sendable: one isolation domain owns it. One process writes at a time; readers in other
/// processes see complete commits, and newer ones after `refresh()`.
package final class VaultRepository {
    let backend: any BlobRepositoryBackend
    /// The vault whose facts these are, and its keys.
    package let keys: VaultKeys
    let author: CommitAuthor?
    let random: any RandomSource
    let history: HistoryReader
    let nodes: NodeStore
    let splitHash: SplitHash
    let editor: TreeEditor
    /// When commits store the tree; may be changed at any time.
    package var checkpointPolicy: CheckpointPolicy
    /// What commits say of other vaults; nil where nothing is ever to be said.
    package var statements: (any CommitStatementSource)?
    /// Whether a commit here says of each revocation that is known where it takes effect; asked when such a commit is removed.
    package var areCutsKnown: (VaultRepository) -> Bool = { _ in true }

    private var loadedTail: RepositoryTail?
    /// The head's tree; the writer keeps it, with the nodes that are not stored, to go on from.
    private var headNode: TreeNode?
    private var cutter: ValueCutter?
    private var knownGraph: CommitGraph?
    /// The state of the head, until something is committed.
    private var knownPresent: Snapshot?
    /// The state of the head before others went on from there.
    private var knownPast: Snapshot?

    static let treeGeneration: UInt32 = 1

    /// - Parameter author: nil to read only.
    package init(
        backend: any BlobRepositoryBackend, keys: VaultKeys, author: CommitAuthor?, random: any RandomSource,
        checkpointPolicy: CheckpointPolicy = .shortLived
    ) {
        self.backend = backend
        self.keys = keys
        self.author = author
        self.random = random
        self.checkpointPolicy = checkpointPolicy
        history = HistoryReader(reader: backend, vaultID: keys.vaultID.bytes)
        nodes = NodeStore(reader: backend)
        splitHash = SplitHash(keys: keys, treeGeneration: Self.treeGeneration)
        editor = TreeEditor(store: nodes, splitHash: splitHash)
        history.beginning = (try? pendingPresent())?.head
    }

    /// The commits that have no child here, ascending; empty before the first commit.
    package var headNames: [BlobName] { backend.state.heads }
    package var isWritable: Bool { backend.isWritable && author != nil }
    /// Tree nodes read as blobs since the repository was opened.
    package var nodeReadCount: Int { nodes.nodeReadCount }

    /// The state of the head.
    ///
    /// - Complexity: reads the commits since the last checkpoint once, a few microseconds each.
    package var present: Snapshot {
        get throws(StorageError) {
            if let knownPresent { return knownPresent }
            let tail = try tail()
            let made: Snapshot
            if let headNode {
                let values = Overlay(unstored: tail.overlay.unstored)
                made = snapshot(of: tail.head, base: TreeRoot(node: headNode), overlay: values)
            } else {
                made = snapshot(of: tail.head, base: try baseRoot(tail), overlay: tail.overlay)
            }
            knownPresent = made
            return made
        }
    }

    /// Picks up what other processes committed; snapshots taken before stay as they are.
    ///
    /// - Returns: whether anything is new.
    @discardableResult
    package func refresh() throws(StorageError) -> Bool {
        let before = backend.state
        guard try backend.refresh() else { return false }
        // What cannot be read now is read by who needs it, and told then.
        let (tail, past) = (try? extendedTail(since: before), knownPresent ?? knownPast)
        forget()
        if let tail { (loadedTail, knownPast) = (tail, past) }
        return true
    }

    /// The tail with what was committed since; nil if it was not read, or more has changed than that.
    private func extendedTail(since before: RepositoryState) throws(StorageError) -> RepositoryTail? {
        guard var tail = loadedTail, backend.state.goesOn(from: before),
            try RepositoryAnnotation.decode(backend.state.annotation)
                .isSameHistory(as: RepositoryAnnotation.decode(before.annotation))
        else { return nil }
        for name in backend.state.tailCommits.dropFirst(before.tailCommits.count) {
            let (_, summary, byteCount) = try history.unverified(name)
            try tail.add(summary, byteCount: byteCount, history: history)
        }
        return tail
    }

    /// The newest keyring generation recorded in this vault, 0 if none was.
    package var recordedKeyringGeneration: UInt64 { backend.state.keyringGeneration }

    /// Records a keyring generation, so that an older keyring put back is noticed.
    package func recordKeyringGeneration(_ generation: UInt64) throws(StorageError) {
        var state = backend.state
        state.keyringGeneration = generation
        try transact { (transaction) throws(StorageError) in
            try transaction.commit(state: state, isCheckpoint: false)
        }
    }

    // MARK: For the other files of this type.

    func tail() throws(StorageError) -> RepositoryTail {
        if let loadedTail { return loadedTail }
        let tail = try RepositoryTail(state: backend.state, history: history)
        loadedTail = tail
        return tail
    }

    /// The root of the stored tree below the tail.
    func baseRoot(_ tail: RepositoryTail) throws(StorageError) -> TreeRoot {
        if let name = tail.baseRoot { return TreeRoot(name: name) }
        return TreeRoot(node: try emptyRoot())
    }

    func emptyRoot() throws(StorageError) -> TreeNode {
        try NodeSink(writer: nil).makeInner(level: 1, ChildList(), nodes: [])
    }

    /// The head's tree; computed from the tail once, and compared with what the head states.
    func headRoot() throws(StorageError) -> TreeNode {
        if let headNode { return headNode }
        let root = try present.root()
        headNode = root
        return root
    }

    /// Questions about ancestry, over the commits that are here.
    func graph() throws(StorageError) -> CommitGraph {
        if let knownGraph { return knownGraph }
        var known: [BlobName: VersionVector] = [:]
        if let checkpoint = backend.state.checkpoint {
            known[checkpoint.commit] = try RepositoryAnnotation.decode(backend.state.annotation).checkpointVersions
        }
        if let present = try pendingPresent() {
            known[present.head] = present.versions
        } else if let loadedTail, let head = loadedTail.head {
            known[head.name] = loadedTail.versionVector
        }
        // Kept by this object, so it must not keep it: keys would never leave the memory.
        let graph = CommitGraph(history: history, known: known) { [unowned self] () throws(StorageError) in
            try compactions()
        }
        knownGraph = graph
        return graph
    }

    /// The state of the head, or of the one before others went on, if it was looked at.
    func knownSnapshot(at name: BlobName) -> Snapshot? {
        [knownPresent, knownPast].compactMap(\.self).first { $0.commitName == name }
    }

    /// Goes over to a state that an adoption made durable; its tail is read by who needs it.
    func adopt(headRoot: TreeNode) {
        forget()
        headNode = headRoot
    }

    /// Remembers what a transaction that is durable now made of the head.
    func adopt(tail: RepositoryTail, headRoot: TreeNode) {
        loadedTail = tail
        headNode = headRoot
        knownPresent = nil
    }

    /// Remembers a commit that is durable now.
    ///
    /// The tail is changed where it lies: a copy of it for each commit would cost more than the commit does.
    func extendTail(headRoot: TreeNode, _ change: (inout RepositoryTail) -> Void) {
        headNode = headRoot
        knownPresent = nil
        if loadedTail != nil { change(&loadedTail!) }
    }

    func forget() {
        history.beginning = (try? pendingPresent())?.head
        knownGraph = nil
        loadedTail = nil
        headNode = nil
        knownPresent = nil
        knownPast = nil
    }

    func valueCutter() -> ValueCutter {
        if let cutter { return cutter }
        let made = ValueCutter(key: keys.shortHashKey(.valuePiece, treeGeneration: Self.treeGeneration))
        cutter = made
        return made
    }

    func snapshot(of head: CommitSummary?, base: TreeRoot, overlay: Overlay) -> Snapshot {
        Snapshot(
            commitName: head?.name, base: base, overlay: overlay, statedRoot: head?.commit.root, nodes: nodes,
            editor: editor, reader: backend)
    }

    /// Runs `body` in a transaction, which it commits; cancels it if `body` throws.
    func transact<Result>(
        _ body: (any BlobTransactionWriter) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let transaction = try backend.beginTransaction()
        do throws(StorageError) {
            return try body(transaction)
        } catch {
            transaction.cancel()
            throw error
        }
    }
}
