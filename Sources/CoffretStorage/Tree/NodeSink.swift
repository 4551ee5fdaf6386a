// Where new nodes go. The one thing to keep true: a node has the same name whether it is only computed
// or also written.

/// Names nodes, and writes them if it has a writer.
///
/// Between checkpoints nodes are only named: the tree of a commit is computed to know its root.
struct NodeSink {
    /// Nil: nodes stay in memory.
    let writer: (any BlobWriter)?

    func makeLeaf(_ facts: LeafFacts) throws(StorageError) -> TreeNode {
        let content = LeafCodec.encode(facts)
        let name = try emit(.treeLeaf, content)
        return TreeNode(
            name: name, level: 0, entries: .leaf(facts), byteCount: content.count, isStored: writer != nil)
    }

    /// - Parameter nodes: the children themselves where they are in memory.
    func makeInner(
        level: Int, _ children: ChildList, nodes: [TreeNode?]
    ) throws(StorageError) -> TreeNode {
        let content = InnerCodec.encode(level: level, children)
        let name = try emit(.treeInner, content)
        let unstored = nodes.map { node in node.flatMap { $0.isStored ? nil : $0 } }
        return TreeNode(
            name: name, level: level, entries: .inner(children), byteCount: content.count,
            isStored: writer != nil, children: writer == nil ? unstored : [])
    }

    private func emit(_ type: BlobType, _ content: [UInt8]) throws(StorageError) -> BlobName {
        if let writer { return try writer.writeBlob(type: type, bytes: content) }
        return BlobName.derive(type: type, content: content.span)
    }
}
