// Nodes of the tree as they are in memory. The one thing to keep true: a node never changes but for
// being stored; trees of different times share their nodes.

/// An entry of an inner node: one child.
package struct ChildReference: Equatable, Sendable {
    /// The greatest key below the child.
    package let lastKey: FactKey
    package let name: BlobName
    /// Facts below the child.
    package let factCount: UInt64
}

/// A node: the facts of a leaf, or the children of an inner node.
///
/// A node that was computed and not yet stored holds the children that are not stored either, so
/// that a tree can be used, and dropped, before any of it is written.
final class TreeNode {
    enum Entries {
        case leaf(LeafFacts)
        case inner(ChildList)
    }

    let name: BlobName
    /// 0 for leaves.
    let level: Int
    let entries: Entries
    /// Bytes of the node's encoding.
    let byteCount: Int
    /// Facts below the node.
    let factCount: UInt64
    /// The greatest key below the node; nil for the root of the empty tree.
    let lastKey: FactKey?
    let entryCount: Int
    private(set) var isStored: Bool
    /// As many as an inner node has children; nil where the child is stored.
    private var unstoredChildren: [TreeNode?]

    init(name: BlobName, level: Int, entries: Entries, byteCount: Int, isStored: Bool, children: [TreeNode?] = []) {
        self.name = name
        self.level = level
        self.entries = entries
        self.byteCount = byteCount
        self.isStored = isStored
        unstoredChildren = children
        switch entries {
        case .leaf(let facts):
            entryCount = facts.count
            factCount = UInt64(facts.count)
            lastKey = facts.isEmpty ? nil : facts.key(at: facts.count - 1)
        case .inner(let children):
            entryCount = children.count
            factCount = children.factCountSum
            lastKey = children.isEmpty ? nil : children.lastKey(at: children.count - 1)
        }
    }

    /// The child at `index` if it is in memory and nowhere else.
    func unstoredChild(at index: Int) -> TreeNode? {
        index < unstoredChildren.count ? unstoredChildren[index] : nil
    }

    /// Notes that the node and all below it are stored, and lets the children go.
    func markStored() {
        isStored = true
        unstoredChildren = []
    }
}

/// A root: enough to read a tree. Roots are inner nodes, so that their type is known before reading.
struct TreeRoot {
    let name: BlobName
    /// The node if it is in memory; it must be kept as long as it is not stored.
    let node: TreeNode?

    init(name: BlobName) {
        self.name = name
        node = nil
    }

    init(node: TreeNode) {
        name = node.name
        self.node = node
    }
}
