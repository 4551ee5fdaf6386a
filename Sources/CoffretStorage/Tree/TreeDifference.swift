// What differs between two trees. The one thing to keep true: subtrees with equal names are not read.

/// A key whose facts differ between two states.
package struct FactDifference: Equatable, Sendable {
    package let key: FactKey
    /// Ascending by dot; empty if the key is new.
    package let oldFacts: [Fact]
    /// Ascending by dot; empty if the key was retracted.
    package let newFacts: [Fact]

    /// What a register showed before.
    package var old: Fact? { oldFacts.winner }
    /// What a register shows now.
    package var new: Fact? { newFacts.winner }
}

/// Compares two trees from left to right.
///
/// - Complexity: reads about twice the nodes on the paths to what differs.
struct TreeDifference {
    private let store: NodeStore
    private let oldRoot: TreeNode
    private let newRoot: TreeNode
    private var old: DifferenceSide
    private var new: DifferenceSide
    private var lastKey: FactKey?

    init(old: TreeNode, new: TreeNode, store: NodeStore) {
        self.store = store
        oldRoot = old
        newRoot = new
        self.old = DifferenceSide(root: old, store: store)
        self.new = DifferenceSide(root: new, store: store)
    }

    /// The next key that differs, ascending; nil at the end.
    mutating func next() throws(StorageError) -> FactDifference? {
        while true {
            try skipEqual()
            if old.passEqualFacts(&new) { continue }
            guard let order = old.compareKey(to: new) else { return nil }
            var touchesEdge = false
            let key = order <= 0 ? old.key : new.key
            var oldFacts = order <= 0 ? old.takeFacts(&touchesEdge) : []
            var newFacts = order >= 0 ? new.takeFacts(&touchesEdge) : []
            guard let key, oldFacts != newFacts, key != lastKey else { continue }
            if touchesEdge {
                // Concurrent facts of the key may lie in the neighbouring leaf, which one side or both
                // have passed by as equal.
                oldFacts = try oldRoot.facts(of: key, in: store)
                newFacts = try newRoot.facts(of: key, in: store)
                if oldFacts == newFacts { continue }
            }
            lastKey = key
            return FactDifference(key: key, oldFacts: oldFacts, newFacts: newFacts)
        }
    }

    /// Passes by equal subtrees and opens others, until both sides stand before a fact or the end.
    private mutating func skipEqual() throws(StorageError) {
        while true {
            switch (old.nodeLevel, new.nodeLevel) {
            case (nil, nil):
                return
            case (let oldLevel?, let newLevel?):
                if old.nodeName == new.nodeName {
                    old.passNode()
                    new.passNode()
                    continue
                }
                if oldLevel >= newLevel { try old.openNode() }
                if newLevel >= oldLevel { try new.openNode() }
            case (_?, nil):
                try old.openNode()
            case (nil, _?):
                try new.openNode()
            }
        }
    }
}

/// One tree in a comparison: a position before a subtree that is not opened, before a fact, or at the end.
private struct DifferenceSide {
    private let store: NodeStore
    /// Opened nodes from the root, each with the index of its next entry.
    private var stack: [(node: TreeNode, index: Int)] = []
    private var unopenedRoot: TreeNode?

    init(root: TreeNode, store: NodeStore) {
        self.store = store
        unopenedRoot = root
    }

    /// Level of the subtree ahead; nil before a fact and at the end.
    var nodeLevel: Int? {
        if let unopenedRoot { return unopenedRoot.level }
        guard let top = stack.last, top.node.level > 0 else { return nil }
        return top.node.level - 1
    }

    var nodeName: BlobName? {
        if let unopenedRoot { return unopenedRoot.name }
        guard let top = stack.last, case .inner(let children) = top.node.entries else { return nil }
        return children.name(at: top.index)
    }

    /// The leaf that holds the fact ahead, if no subtree is.
    private var leaf: (facts: LeafFacts, index: Int)? {
        guard let top = stack.last, case .leaf(let facts) = top.node.entries else { return nil }
        return (facts, top.index)
    }

    /// The key of the fact ahead.
    var key: FactKey? { leaf.map { $0.facts.key(at: $0.index) } }

    /// Negative, zero or positive, as the fact ahead has its key before, with or behind the one ahead of `other`;
    /// a side at its end comes last. Nil if both are.
    func compareKey(to other: DifferenceSide) -> Int? {
        switch (leaf, other.leaf) {
        case (nil, nil): nil
        case (_?, nil): -1
        case (nil, _?): 1
        case (let mine?, let its?): mine.facts.compareKey(at: mine.index, to: its.facts, at: its.index)
        }
    }

    /// Passes by facts that are ahead on both sides, key by key, where all of a key's facts in both leaves are equal.
    ///
    /// - Returns: whether there were any.
    mutating func passEqualFacts(_ other: inout DifferenceSide) -> Bool {
        guard let mine = leaf, let its = other.leaf else { return false }
        var index = mine.index
        var otherIndex = its.index
        while index < mine.facts.count, otherIndex < its.facts.count {
            let end = mine.facts.endOfKey(at: index)
            let factCount = end - index
            guard its.facts.endOfKey(at: otherIndex) - otherIndex == factCount,
                (0..<factCount).allSatisfy({
                    mine.facts.isEqual(at: index + $0, to: its.facts, at: otherIndex + $0)
                })
            else { break }
            index = end
            otherIndex += factCount
        }
        guard index > mine.index else { return false }
        step(by: index - mine.index)
        other.step(by: otherIndex - its.index)
        return true
    }

    mutating func passNode() {
        if unopenedRoot != nil { unopenedRoot = nil } else { step() }
    }

    mutating func openNode() throws(StorageError) {
        let node: TreeNode
        if let root = unopenedRoot {
            node = root
            unopenedRoot = nil
        } else {
            guard let top = stack.last else { return }
            node = try store.child(of: top.node, at: top.index)
        }
        if node.entryCount > 0 { stack.append((node, 0)) }
    }

    /// The facts ahead that share the key of the first, in this leaf; notes whether the leaf begins or ends with
    /// them.
    mutating func takeFacts(_ touchesEdge: inout Bool) -> [Fact] {
        guard let (facts, index) = leaf else { return [] }
        let end = facts.endOfKey(at: index)
        touchesEdge = touchesEdge || index == 0 || end == facts.count
        step(by: end - index)
        return Array(facts[index..<end])
    }

    /// Goes on by so many entries, which the node ahead still has.
    private mutating func step(by count: Int = 1) {
        stack[stack.count - 1].index += count
        while let top = stack.last, top.index == top.node.entryCount {
            stack.removeLast()
            if !stack.isEmpty { stack[stack.count - 1].index += 1 }
        }
    }
}
