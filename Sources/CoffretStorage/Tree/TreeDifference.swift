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
            let oldKey = old.fact?.key
            let newKey = new.fact?.key
            guard let key = [oldKey, newKey].compactMap(\.self).min() else { return nil }
            var touchesEdge = false
            var oldFacts = oldKey == key ? old.takeFacts(of: key, &touchesEdge) : []
            var newFacts = newKey == key ? new.takeFacts(of: key, &touchesEdge) : []
            if oldFacts == newFacts || key == lastKey { continue }
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
        return children[top.index].name
    }

    /// The fact ahead, if no subtree is.
    var fact: Fact? {
        guard let top = stack.last, case .leaf(let facts) = top.node.entries else { return nil }
        return facts[top.index]
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

    /// The facts ahead under `key` in this leaf; notes whether the leaf begins or ends with them.
    mutating func takeFacts(of key: FactKey, _ touchesEdge: inout Bool) -> [Fact] {
        guard let top = stack.last, case .leaf(let facts) = top.node.entries else { return [] }
        let end = facts[top.index...].firstIndex { $0.key != key } ?? facts.count
        touchesEdge = touchesEdge || top.index == 0 || end == facts.count
        for _ in top.index..<end { step() }
        return Array(facts[top.index..<end])
    }

    private mutating func step() {
        stack[stack.count - 1].index += 1
        while let top = stack.last, top.index == top.node.entryCount {
            stack.removeLast()
            if !stack.isEmpty { stack[stack.count - 1].index += 1 }
        }
    }
}
