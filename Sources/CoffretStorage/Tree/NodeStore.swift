// Nodes by name. The one thing to keep true: what comes from disk is decoded strictly, so a node that
// is in memory is one that our encoder would have written.

internal import CoffretBase

/// Reads nodes, keeps the recently used ones decoded, and counts what it reads.
final class NodeStore {
    /// Bytes of encoded nodes kept decoded; in memory they take about four times as much.
    static let cacheByteCountMax = 4 << 20

    private let reader: any BlobReader
    /// Whether leaves may hold retractions: in the trees of changes of large commits.
    let allowsRetractions: Bool
    /// Whether the trees are of a history of entries.
    let hasHeights: Bool
    /// Two generations instead of a list ordered by use: when the young one is full it becomes the
    /// old one, and what nobody asked for since the last time goes. A hit moves a node to the young.
    private var young: [BlobName: TreeNode] = [:]
    private var old: [BlobName: TreeNode] = [:]
    private var youngByteCount = 0
    /// Nodes that were read as blobs, for benchmarks and tests.
    private(set) var nodeReadCount = 0

    init(reader: any BlobReader, allowsRetractions: Bool = false, hasHeights: Bool = false) {
        self.reader = reader
        self.hasHeights = hasHeights
        self.allowsRetractions = allowsRetractions
    }

    /// The node behind a root, which is always an inner node.
    func node(of root: TreeRoot) throws(StorageError) -> TreeNode {
        if let node = root.node { return node }
        if let node = cached(root.name) { return node }
        return try read(root.name, type: .treeInner)
    }

    /// The child of `parent` at `index`.
    func child(of parent: TreeNode, at index: Int) throws(StorageError) -> TreeNode {
        if let node = parent.unstoredChild(at: index) { return node }
        guard case .inner(let children) = parent.entries else { preconditionFailure("leaves have no children") }
        let name = children.name(at: index)
        let node: TreeNode
        if let known = cached(name) {
            node = known
        } else {
            node = try read(name, type: parent.level == 1 ? .treeLeaf : .treeInner)
        }
        guard node.level == parent.level - 1, node.factCount == children.factCount(at: index),
            let lastKey = node.lastKey, children.compareKey(at: index, to: lastKey.bytes) == 0
        else { throw StorageError(.treeMalformedNode, place: name.description) }
        return node
    }

    /// Keeps a node that was just stored.
    func insert(_ node: TreeNode) {
        if young.updateValue(node, forKey: node.name) == nil { youngByteCount += node.byteCount }
        if youngByteCount > Self.cacheByteCountMax / 2 {
            old = young
            young = [:]
            youngByteCount = 0
        }
    }

    private func cached(_ name: BlobName) -> TreeNode? {
        if let node = young[name] { return node }
        guard let node = old[name] else { return nil }
        insert(node)
        return node
    }

    private func read(_ name: BlobName, type: BlobType) throws(StorageError) -> TreeNode {
        let (allowsRetractions, hasHeights) = (allowsRetractions, hasHeights)
        let node: TreeNode? = try reader.readBlob(name, type: type) { (content) throws(StorageError) in
            if type == .treeLeaf {
                return LeafCodec.decode(
                    content, allowsRetractions: allowsRetractions, hasHeights: hasHeights
                ).map { facts in
                    TreeNode(
                        name: name, level: 0, entries: .leaf(facts), byteCount: content.count, isStored: true)
                }
            }
            return InnerCodec.decode(content).map { decoded in
                TreeNode(
                    name: name, level: decoded.level, entries: .inner(decoded.children),
                    byteCount: content.count, isStored: true)
            }
        }
        nodeReadCount += 1
        guard let node else { throw StorageError(.treeMalformedNode, place: name.description) }
        insert(node)
        return node
    }
}
