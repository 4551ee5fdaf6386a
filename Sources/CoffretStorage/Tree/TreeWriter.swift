// Stores what is in memory of a tree. The one thing to keep true: a node counts as stored only after
// the transaction that holds it is durable.

/// Writes the nodes of a tree that are not stored yet.
struct TreeWriter {
    private var written: [TreeNode] = []

    var nodeCount: Int { written.count }

    /// The values in blobs of their own that the leaves that were written refer to.
    var storedValues: [StoredValue] {
        written.flatMap { node in
            let facts = node.facts
            return (0..<facts.count).compactMap { facts.storedValue(at: $0) }
        }
    }

    /// Writes the nodes below `root` and `root` itself, children first.
    mutating func write(_ root: TreeNode, to writer: any BlobWriter) throws(StorageError) {
        if root.isStored { return }
        let content: [UInt8]
        let type: BlobType
        switch root.entries {
        case .leaf(let facts):
            content = LeafCodec.encode(facts)
            type = .treeLeaf
        case .inner(let children):
            for index in children.indices {
                if let child = root.unstoredChild(at: index) { try write(child, to: writer) }
            }
            content = InnerCodec.encode(level: root.level, children)
            type = .treeInner
        }
        let name = try writer.writeBlob(type: type, bytes: content)
        precondition(name == root.name, "a node has one name")
        written.append(root)
    }

    /// To be called when the transaction is durable.
    mutating func markStored(in store: NodeStore) {
        for node in written {
            node.markStored()
            store.insert(node)
        }
        written = []
    }
}
