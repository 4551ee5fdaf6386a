// All facts of a vault at one commit. The one thing to keep true: a snapshot never changes, whatever is
// committed, checkpointed or refreshed after it was taken.

internal import CoffretBase

/// A state of the vault: a stored tree, and what commits since then put over it.
///
/// Not Sendable; it reads through its repository and belongs to the same isolation domain.
package final class Snapshot {
    /// The commit whose state this is; nil before the first commit.
    package let commitName: BlobName?
    let nodes: NodeStore
    private let editor: TreeEditor
    private let reader: any BlobReader
    let overlay: Overlay
    let base: TreeRoot
    private let sortedOverlayKeys: [FactKey]
    /// What the commit says the root is.
    private let statedRoot: BlobName?
    private var materializedRoot: TreeNode?
    private var baseNode: TreeNode?

    init(
        commitName: BlobName?, base: TreeRoot, overlay: Overlay, statedRoot: BlobName?, nodes: NodeStore,
        editor: TreeEditor, reader: any BlobReader
    ) {
        self.commitName = commitName
        self.base = base
        self.overlay = overlay
        self.statedRoot = statedRoot
        self.nodes = nodes
        self.editor = editor
        self.reader = reader
        sortedOverlayKeys = overlay.sortedKeys
    }

    /// The fact under `key`: of concurrent ones, the one that all devices show.
    ///
    /// - Complexity: one node per level.
    package func fact(_ key: FactKey) throws(StorageError) -> Fact? {
        try facts(under: key).winner
    }

    /// All facts under `key`, ascending by dot; more than one if they are concurrent.
    package func facts(under key: FactKey) throws(StorageError) -> [Fact] {
        if let facts = overlay.changes[key] { return facts }
        return try baseRoot().facts(of: key, in: nodes)
    }

    /// All facts about `entity`, ascending.
    package func facts(of entity: EntityID) throws(StorageError) -> [Fact] {
        var facts: [Fact] = []
        try forEachFact(withPrefix: entity.bytes) { (fact) throws(StorageError) in facts.append(fact) }
        return facts
    }

    /// Walks the facts whose encoded key begins with `prefix` (a kind, an entity, or nothing), ascending.
    package func cursor(withPrefix prefix: [UInt8] = []) throws(StorageError) -> SnapshotCursor {
        try SnapshotCursor(
            base: FactCursor(root: baseRoot(), store: nodes, from: prefix), overlay: overlay,
            sortedKeys: sortedOverlayKeys, prefix: prefix)
    }

    /// Calls `body` with each fact that `cursor(withPrefix:)` gives.
    package func forEachFact(
        withPrefix prefix: [UInt8] = [], _ body: (Fact) throws(StorageError) -> Void
    ) throws(StorageError) {
        var cursor = try cursor(withPrefix: prefix)
        while let fact = try cursor.next() { try body(fact) }
    }

    /// The value of a fact of this snapshot.
    ///
    /// - Throws: what reading blobs throws; `.factMalformedValue`.
    package func value(of fact: Fact) throws(StorageError) -> [UInt8] {
        if let bytes = fact.inlineValue { return bytes }
        return try values.value(of: fact)
    }

    /// How many facts there are.
    package func factCount() throws(StorageError) -> UInt64 { try root().factCount }

    /// The name of the tree's root, which says all of the state in 32 bytes.
    ///
    /// - Throws: `.treeRootMismatch` if the commit states another.
    /// - Complexity: applies what is not in the stored tree, once.
    package func rootName() throws(StorageError) -> BlobName { try root().name }

    var values: ValueReader { ValueReader(reader: reader, unstored: overlay.unstored) }

    func baseRoot() throws(StorageError) -> TreeNode {
        if let baseNode { return baseNode }
        let node = try nodes.node(of: base)
        baseNode = node
        return node
    }

    /// The tree of this state, computed and compared with what the commit states.
    func root() throws(StorageError) -> TreeNode {
        if let materializedRoot { return materializedRoot }
        let root = try editor.apply(overlay.replacements, to: baseRoot())
        if let statedRoot, statedRoot != root.name {
            throw StorageError(.treeRootMismatch, place: commitName?.description)
        }
        materializedRoot = root
        return root
    }
}

/// Walks facts of a snapshot in ascending order.
package struct SnapshotCursor {
    private var base: FactCursor
    private var baseFact: Fact?
    private let overlay: Overlay
    private let sortedKeys: [FactKey]
    private var keyIndex: Int
    private var pending: [Fact] = []
    private let prefix: [UInt8]

    init(
        base: FactCursor, overlay: Overlay, sortedKeys: [FactKey], prefix: [UInt8]
    ) throws(StorageError) {
        self.base = base
        self.overlay = overlay
        self.sortedKeys = sortedKeys
        self.prefix = prefix
        keyIndex = partitionPoint(sortedKeys.count) { sortedKeys[$0].isBelow(prefix) }
        try readBase()
    }

    package mutating func next() throws(StorageError) -> Fact? {
        while true {
            if let fact = pending.popLast() { return fact }
            let key: FactKey? = keyIndex < sortedKeys.count ? sortedKeys[keyIndex] : nil
            let changed = key.flatMap { $0.hasPrefix(prefix) ? $0 : nil }
            guard let fact = baseFact, changed.map({ fact.key < $0 }) ?? true else {
                guard let changed else { return nil }
                pending = (overlay.changes[changed] ?? []).reversed()
                keyIndex += 1
                while let fact = baseFact, fact.key == changed { try readBase() }
                continue
            }
            try readBase()
            return fact
        }
    }

    private mutating func readBase() throws(StorageError) {
        let fact = try base.next()
        baseFact = fact.flatMap { $0.key.hasPrefix(prefix) ? $0 : nil }
    }
}
