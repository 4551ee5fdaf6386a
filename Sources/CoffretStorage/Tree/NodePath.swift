// The way from a root to a node. The one thing to keep true: it holds the nodes of one root, which
// never change, so a path stays valid however the tree is edited.

/// A position on one level of a tree.
struct NodePath {
    private let store: NodeStore
    private let root: TreeNode
    private let level: Int
    /// The inner nodes above `node`, from the root, each with the index of the child taken.
    private var ancestors: [(node: TreeNode, index: Int)] = []
    private(set) var node: TreeNode

    /// The node of `level` that `seek` finds for `key`.
    init(root: TreeNode, level: Int, store: NodeStore, seeking key: [UInt8] = []) throws(StorageError) {
        self.store = store
        self.root = root
        self.level = level
        node = root
        try seek(key)
    }

    /// Moves to the first node of the level whose greatest key is not below `key`, or to the last one.
    mutating func seek(_ key: [UInt8]) throws(StorageError) {
        ancestors.removeAll(keepingCapacity: true)
        node = root
        try descend { children in min(children.firstIndex(notBelow: key), children.count - 1) }
    }

    /// Moves to the next node of the level; false if there is none.
    mutating func advance() throws(StorageError) -> Bool {
        while let (parent, index) = ancestors.popLast() {
            guard index + 1 < parent.entryCount else { continue }
            ancestors.append((parent, index + 1))
            node = try store.child(of: parent, at: index + 1)
            try descend { _ in 0 }
            return true
        }
        return false
    }

    var isLast: Bool {
        ancestors.allSatisfy { $0.index + 1 == $0.node.entryCount }
    }

    private mutating func descend(
        _ choose: (ChildList) -> Int
    ) throws(StorageError) {
        while node.level > level, case .inner(let children) = node.entries, !children.isEmpty {
            let index = choose(children)
            let child = try store.child(of: node, at: index)
            ancestors.append((node, index))
            node = child
        }
    }
}

/// The first index of 0..<`count` at which `isBelow`, true for a beginning of it, is false.
package func partitionPoint(_ count: Int, _ isBelow: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
        let middle = (low + high) / 2
        if isBelow(middle) { low = middle + 1 } else { high = middle }
    }
    return low
}
