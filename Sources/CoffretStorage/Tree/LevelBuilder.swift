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

    /// Appends facts of a leaf.
    mutating func append(_ other: borrowing LeafFacts, _ range: Range<Int>) throws(StorageError) {
        var rest = range
        if facts.isEmpty, range.lowerBound == 0 {
            // This leaf begins where that one did, so what ended nothing there ends nothing here: the rule looks at
            // what lies between the beginning and a fact, and at nothing else. Only the last fact has to be asked.
            rest = min(range.upperBound, other.count - 1)..<range.upperBound
            facts.appendFirst(rest.lowerBound, of: other)
            for index in 0..<rest.lowerBound { addWeight(at: index) }
        }
        for index in rest {
            facts.append(other, at: index)
            try endNodeIfDue()
        }
    }

    private mutating func addWeight(at index: Int) {
        weight += facts.weight(at: index)
        let instance = facts.dot(at: index).instance
        if !instances.contains(instance) {
            instances.append(instance)
            weight += UniqueID.byteCount
        }
    }

    private mutating func endNodeIfDue() throws(StorageError) {
        let start = weight
        addWeight(at: facts.count - 1)
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

    /// Appends children of a node.
    mutating func append(childrenOf node: TreeNode, _ range: Range<Int>) throws(StorageError) {
        guard case .inner(let other) = node.entries else { preconditionFailure("leaves have no children") }
        var rest = range
        if children.isEmpty, range.lowerBound == 0 {
            // As with leaves.
            rest = min(range.upperBound, other.count - 1)..<range.upperBound
            children.appendFirst(rest.lowerBound, of: other)
            for index in 0..<rest.lowerBound {
                childNodes.append(node.unstoredChild(at: index))
                weight += children.weight(at: index)
            }
        }
        for index in rest {
            children.append(other, at: index)
            childNodes.append(node.unstoredChild(at: index))
            try endNodeIfDue()
        }
    }

    private mutating func endNodeIfDue() throws(StorageError) {
        let start = weight
        weight += children.weight(at: children.count - 1)
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
