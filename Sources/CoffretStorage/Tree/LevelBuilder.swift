// Cuts one level of a tree into nodes. The one thing to keep true: bulk builds and edits cut with the
// same code, so that they cannot disagree.

internal import CoffretBase

/// Collects the facts of leaves, in order, and ends leaves where the rule says so.
struct LeafBuilder {
    private let rule: BoundaryRule
    private let sink: NodeSink
    private var facts = LeafFacts()
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
        facts.append(fact)
        try endNodeIfDue()
    }

    /// Appends a fact of another list.
    mutating func append(_ other: borrowing LeafFacts, at index: Int) throws(StorageError) {
        facts.append(other, at: index)
        try endNodeIfDue()
    }

    private mutating func endNodeIfDue() throws(StorageError) {
        let start = weight
        weight += facts.lastWeight
        let instance = facts.dot(at: facts.count - 1).instance
        if !instances.contains(instance) {
            instances.append(instance)
            weight += UniqueID.byteCount
        }
        if rule.endsNode(after: facts, start: start, end: weight) { try endNode() }
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
        facts.removeAll()
        instances.removeAll(keepingCapacity: true)
        weight = 0
    }
}

/// Collects the children of inner nodes of one level, as `LeafBuilder` does facts.
struct InnerBuilder {
    private let rule: BoundaryRule
    private let sink: NodeSink
    private let level: Int
    private var children = ChildList()
    private var childNodes: [TreeNode?] = []
    private var weight = 0
    private(set) var nodes: [TreeNode] = []

    init(rule: BoundaryRule, sink: NodeSink, level: Int) {
        self.rule = rule
        self.sink = sink
        self.level = level
    }

    var isAtBoundary: Bool { children.isEmpty }

    /// Appends a child of another list.
    mutating func append(_ other: borrowing ChildList, at index: Int, node: TreeNode?) throws(StorageError) {
        children.append(other, at: index)
        childNodes.append(node)
        try endNodeIfDue()
    }

    private mutating func endNodeIfDue() throws(StorageError) {
        let start = weight
        weight += children.lastWeight
        // At least two children, or levels might never come to an end.
        if children.count > 1, rule.endsNode(after: children, start: start, end: weight) { try endNode() }
    }

    mutating func append(_ node: TreeNode) throws(StorageError) {
        children.append(node.reference)
        childNodes.append(node)
        try endNodeIfDue()
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
        children.removeAll()
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
