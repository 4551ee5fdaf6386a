// Cuts one level of a tree into nodes. The one thing to keep true: bulk builds and edits cut with the
// same code, so that they cannot disagree.

internal import CoffretBase

/// Collects the facts of leaves, in order, and ends leaves where the rule says so.
struct LeafBuilder {
    private let rule: BoundaryRule
    private let sink: NodeSink
    private var facts: [Fact] = []
    private var instances: [UniqueID] = []
    private var weight = 0
    private(set) var nodes: [TreeNode] = []

    init(rule: BoundaryRule, sink: NodeSink) {
        self.rule = rule
        self.sink = sink
    }

    /// Whether the next fact starts a leaf.
    var isAtBoundary: Bool { facts.isEmpty }

    mutating func append(_ fact: Fact) throws(StorageError) {
        let isNewInstance = !instances.contains(fact.dot.instance)
        if isNewInstance { instances.append(fact.dot.instance) }
        let start = weight
        weight += LeafCodec.weight(of: fact, after: facts.last?.key, isNewInstance: isNewInstance)
        facts.append(fact)
        if rule.endsNode(after: fact.key, start: start, end: weight) { try endNode() }
    }

    /// Ends the last leaf of the level.
    mutating func finish() throws(StorageError) {
        if !facts.isEmpty { try endNode() }
    }

    /// The nodes so far, which are forgotten here.
    mutating func takeNodes() -> [TreeNode] {
        defer { nodes = [] }
        return nodes
    }

    private mutating func endNode() throws(StorageError) {
        nodes.append(try sink.makeLeaf(facts))
        facts.removeAll(keepingCapacity: true)
        instances.removeAll(keepingCapacity: true)
        weight = 0
    }
}

/// Collects the children of inner nodes of one level, as `LeafBuilder` does facts.
struct InnerBuilder {
    private let rule: BoundaryRule
    private let sink: NodeSink
    private let level: Int
    private var children: [ChildReference] = []
    private var childNodes: [TreeNode?] = []
    private var weight = 0
    private(set) var nodes: [TreeNode] = []

    init(rule: BoundaryRule, sink: NodeSink, level: Int) {
        self.rule = rule
        self.sink = sink
        self.level = level
    }

    var isAtBoundary: Bool { children.isEmpty }

    mutating func append(_ child: ChildReference, node: TreeNode?) throws(StorageError) {
        let start = weight
        weight += InnerCodec.weight(of: child, after: children.last?.lastKey)
        children.append(child)
        childNodes.append(node)
        // At least two children, or levels might never come to an end.
        if children.count > 1, rule.endsNode(after: child.lastKey, start: start, end: weight) { try endNode() }
    }

    mutating func append(_ node: TreeNode) throws(StorageError) {
        try append(node.reference, node: node)
    }

    /// The child of an open node that has no other.
    var onlyOpenChild: TreeNode? {
        children.count == 1 ? childNodes[0] : nil
    }

    mutating func finish() throws(StorageError) {
        if !children.isEmpty { try endNode() }
    }

    mutating func takeNodes() -> [TreeNode] {
        defer { nodes = [] }
        return nodes
    }

    private mutating func endNode() throws(StorageError) {
        nodes.append(try sink.makeInner(level: level, children, nodes: childNodes))
        children.removeAll(keepingCapacity: true)
        childNodes.removeAll(keepingCapacity: true)
        weight = 0
    }
}

extension TreeNode {
    /// How a parent refers to this node, which is not empty.
    var reference: ChildReference {
        guard let lastKey else { preconditionFailure("the empty tree has no parent") }
        return ChildReference(lastKey: lastKey, name: name, factCount: factCount)
    }
}
