// Facts of a tree in order. The one thing to keep true: a cursor reads what lies ahead of it and
// nothing else.

/// Walks the facts of one tree in ascending order.
struct FactCursor {
    private var path: NodePath
    private var facts: LeafFacts
    private var index: Int

    /// Stands before the first fact whose key is not below `bytes`, a key or a prefix of keys.
    ///
    /// - Complexity: one node per level.
    init(root: TreeNode, store: NodeStore, from bytes: [UInt8] = []) throws(StorageError) {
        guard root.entryCount > 0 else {
            path = try NodePath(root: root, level: root.level, store: store)
            facts = LeafFacts()
            index = 0
            return
        }
        path = try NodePath(root: root, level: 0, store: store, seeking: bytes)
        facts = path.node.facts
        index = facts.firstIndex(notBelow: bytes)
    }

    mutating func next() throws(StorageError) -> Fact? {
        while index == facts.count {
            guard try path.advance() else { return nil }
            facts = path.node.facts
            index = 0
        }
        defer { index += 1 }
        return facts[index]
    }
}

extension TreeNode {
    /// The facts of a leaf; none for an inner node.
    var facts: LeafFacts {
        if case .leaf(let facts) = entries { facts } else { LeafFacts() }
    }

    /// The facts under `key` in the tree with this root, ascending by dot.
    func facts(of key: FactKey, in store: NodeStore) throws(StorageError) -> [Fact] {
        var cursor = try FactCursor(root: self, store: store, from: key.bytes)
        var result: [Fact] = []
        while let fact = try cursor.next(), fact.key == key { result.append(fact) }
        return result
    }
}
