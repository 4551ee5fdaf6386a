// Changes a tree. The one thing to keep true: the result is the tree that `TreeBuilder` makes of the
// changed facts, node for node.

/// Applies a batch of changes to a tree and shares every node that did not change.
///
/// Level by level: cutting starts again at the beginning of each node that changes and goes on until
/// it meets an old boundary; what was replaced on one level is a change on the level above.
///
/// - Complexity: reads and makes about one node per level for one change; batches share the upper ones.
struct TreeEditor {
    private let store: NodeStore
    private let splitHash: SplitHash
    private let sink = NodeSink(writer: nil)

    init(store: NodeStore, splitHash: SplitHash) {
        self.store = store
        self.splitHash = splitHash
    }

    /// Nodes of one level that give way to others.
    private struct NodeEdit {
        /// Successive nodes of the old tree, at least one.
        var removed: [ChildReference]
        var inserted: [TreeNode]
    }

    /// - Parameter changes: ascending by key, each key once.
    /// - Returns: the new root, whose new nodes are in memory only; `TreeWriter` stores them.
    func apply(_ changes: [Replacement], to root: TreeNode) throws(StorageError) -> TreeNode {
        if root.entryCount == 0 {
            var builder = TreeBuilder(splitHash: splitHash, sink: sink)
            for change in changes {
                for fact in change.facts { try builder.append(fact) }
            }
            return try builder.finish()
        }
        var edits = try editLeaves(changes, root: root)
        for level in 1..<root.level where !edits.isEmpty {
            edits = try editInner(level: level, edits, root: root)
        }
        guard !edits.isEmpty else { return root }
        return try makeRoot(level: root.level, edits, root: root)
    }

    private func editLeaves(_ changes: [Replacement], root: TreeNode) throws(StorageError) -> [NodeEdit] {
        guard let first = changes.first else { return [] }
        var path = try NodePath(root: root, level: 0, store: store, seeking: first.key.bytes)
        var edits: [NodeEdit] = []
        var next = 0
        while next < changes.count {
            try path.seek(changes[next].key.bytes)
            var builder = LeafBuilder(rule: BoundaryRule(splitHash: splitHash, level: 0), sink: sink)
            var removed: [ChildReference] = []
            repeat {
                removed.append(path.node.reference)
                let goesOn = try rewriteLeaf(path, changes, &next, into: &builder)
                if builder.isAtBoundary && !goesOn { break }
            } while try path.advance()
            try builder.finish()
            let inserted = builder.takeNodes()
            if inserted.map(\.name) != removed.map(\.name) {
                edits.append(NodeEdit(removed: removed, inserted: inserted))
            }
        }
        return edits
    }

    /// Copies the facts of one leaf, changed, into `builder`.
    ///
    /// - Returns: whether facts of a key that is being replaced follow in the next leaf.
    private func rewriteLeaf(
        _ path: NodePath, _ changes: [Replacement], _ next: inout Int, into builder: inout LeafBuilder
    ) throws(StorageError) -> Bool {
        guard case .leaf(let facts) = path.node.entries, let lastKey = path.node.lastKey else {
            preconditionFailure("a leaf of a tree that is not empty has facts")
        }
        var index = 0
        while index < facts.count {
            let end =
                next < changes.count
                ? facts.firstIndex(notBelow: changes[next].key.bytes, from: index) : facts.count
            try builder.append(facts, index..<end)
            index = end
            guard index < facts.count else { break }
            // Here the change has its place: before the fact, or instead of those of its key.
            if facts.compareKey(at: index, to: changes[next].key.bytes) == 0 { index = facts.endOfKey(at: index) }
            // At the leaf's end the key may go on in the next one.
            guard index < facts.count else { break }
            for new in changes[next].facts { try builder.append(new) }
            next += 1
        }
        let isLast = path.isLast
        if next < changes.count, changes[next].key == lastKey, !isLast {
            var following = path
            if try following.advance(), case .leaf(let others) = following.node.entries,
                others.compareKey(at: 0, to: lastKey.bytes) == 0
            {
                return true
            }
        }
        while next < changes.count, isLast || !(lastKey < changes[next].key) {
            for new in changes[next].facts { try builder.append(new) }
            next += 1
        }
        return false
    }

    private func editInner(
        level: Int, _ edits: [NodeEdit], root: TreeNode
    ) throws(StorageError) -> [NodeEdit] {
        guard let first = edits.first?.removed.first else { return [] }
        var path = try NodePath(root: root, level: level, store: store, seeking: first.lastKey.bytes)
        var result: [NodeEdit] = []
        var next = 0
        while next < edits.count {
            try seek(&path, to: edits[next].removed[0])
            var builder = InnerBuilder(
                rule: BoundaryRule(splitHash: splitHash, level: level), sink: sink, level: level)
            var removed: [ChildReference] = []
            var skipCount = 0
            repeat {
                removed.append(path.node.reference)
                try rewriteInner(path.node, edits, &next, &skipCount, into: &builder)
                if builder.isAtBoundary && skipCount == 0 { break }
            } while try path.advance()
            try builder.finish()
            result.append(NodeEdit(removed: removed, inserted: builder.takeNodes()))
        }
        return result
    }

    /// Moves to the node that holds `child`: where one key fills several leaves, not the first one that
    /// may hold it.
    private func seek(_ path: inout NodePath, to child: ChildReference) throws(StorageError) {
        try path.seek(child.lastKey.bytes)
        while true {
            guard case .inner(let children) = path.node.entries else { break }
            if (0..<children.count).contains(where: { children.isChild(child, at: $0) }) { return }
            guard try path.advance() else { break }
        }
        preconditionFailure("an edited node has a parent")
    }

    private func rewriteInner(
        _ node: TreeNode, _ edits: [NodeEdit], _ next: inout Int, _ skipCount: inout Int,
        into builder: inout InnerBuilder
    ) throws(StorageError) {
        guard case .inner(let children) = node.entries else { preconditionFailure("an inner node is rewritten") }
        var index = 0
        while true {
            let skippedCount = min(skipCount, children.count - index)
            skipCount -= skippedCount
            index += skippedCount
            guard index < children.count else { return }
            var end = children.count
            if next < edits.count, let first = edits[next].removed.first {
                end = (index..<end).first { children.isChild(first, at: $0) } ?? end
            }
            try builder.append(childrenOf: node, index..<end)
            index = end
            guard index < children.count else { return }
            for new in edits[next].inserted { try builder.append(new) }
            skipCount = edits[next].removed.count
            next += 1
        }
    }

    /// Rewrites the root's level and adds or takes away levels until one node is at the top.
    private func makeRoot(
        level: Int, _ edits: [NodeEdit], root: TreeNode
    ) throws(StorageError) -> TreeNode {
        var builder = InnerBuilder(
            rule: BoundaryRule(splitHash: splitHash, level: level), sink: sink, level: level)
        var next = 0
        var skipCount = 0
        try rewriteInner(root, edits, &next, &skipCount, into: &builder)
        if builder.isAtBoundary && builder.nodes.isEmpty { return try sink.makeInner(level: 1, ChildList(), nodes: []) }
        try builder.finish()
        var nodes = builder.takeNodes()
        var top = level
        while nodes.count > 1 {
            top += 1
            var upper = InnerBuilder(rule: BoundaryRule(splitHash: splitHash, level: top), sink: sink, level: top)
            for node in nodes { try upper.append(node) }
            try upper.finish()
            nodes = upper.takeNodes()
        }
        var node = nodes[0]
        while node.level > 1, node.entryCount == 1 { node = try store.child(of: node, at: 0) }
        return node
    }
}
