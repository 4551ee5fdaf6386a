// Builds a whole tree from sorted facts. The one thing to keep true: this is the definition of the
// root; the editor must come to the same.

/// The tree of facts that arrive in ascending order.
///
/// - Complexity: one pass; holds one open node per level and the references of the level below.
struct TreeBuilder {
    private let splitHash: SplitHash
    private let sink: NodeSink
    private var leaves: LeafBuilder
    /// `inner[0]` builds level 1.
    private var inner: [InnerBuilder] = []

    init(splitHash: SplitHash, sink: NodeSink) {
        self.splitHash = splitHash
        self.sink = sink
        leaves = LeafBuilder(rule: BoundaryRule(splitHash: splitHash, level: 0), sink: sink)
    }

    mutating func append(_ fact: Fact) throws(StorageError) {
        try leaves.append(fact)
        if leaves.isAtBoundary { try lift(leaves.takeNodes(), to: 1) }
    }

    /// Ends all levels; returns the root.
    mutating func finish() throws(StorageError) -> TreeNode {
        try leaves.finish()
        try lift(leaves.takeNodes(), to: 1)
        if inner.isEmpty { return try sink.makeInner(level: 1, ChildList(), nodes: []) }
        var level = 1
        while true {
            // A level that ended no node yet has all its children still open: it becomes the root,
            // unless the level below has one node and is the root itself.
            let isTop = level == inner.count
            if isTop, level > 1, let root = inner[level - 1].onlyOpenChild { return root }
            try inner[level - 1].finish()
            let nodes = inner[level - 1].takeNodes()
            if isTop, nodes.count == 1 { return nodes[0] }
            try lift(nodes, to: level + 1)
            level += 1
        }
    }

    private mutating func lift(_ nodes: [TreeNode], to level: Int) throws(StorageError) {
        for node in nodes {
            if inner.count < level {
                inner.append(
                    InnerBuilder(
                        rule: BoundaryRule(splitHash: splitHash, level: level), sink: sink, level: level))
            }
            try inner[level - 1].append(node)
            if inner[level - 1].isAtBoundary { try lift(inner[level - 1].takeNodes(), to: level + 1) }
        }
    }
}
