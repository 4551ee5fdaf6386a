// Trees of facts with heights, for histories of entries. The one thing to keep true: a tree never changes; what is changed is
// another tree that shares its nodes, in memory until somebody writes it.

package import CoffretCrypto

/// A tree of facts: stored, or in memory with what of it is stored.
package struct FactTree {
    fileprivate let root: TreeRoot

    package var name: BlobName { root.name }
}

/// Reads, changes and writes the trees of one vault.
///
/// Not Sendable; it belongs to the isolation domain of its reader.
package final class FactTrees {
    /// Of the rule that cuts trees and values (Spec/tree.md).
    static let generation: UInt32 = 1

    private let nodes: NodeStore
    private let editor: TreeEditor
    private let splitHash: SplitHash

    /// - Parameter allowsRetractions: for trees of changes; else a retraction makes a leaf malformed.
    package init(reader: any BlobReader, keys: VaultKeys, allowsRetractions: Bool = false) {
        nodes = NodeStore(reader: reader, allowsRetractions: allowsRetractions, hasHeights: true)
        splitHash = SplitHash(keys: keys, treeGeneration: FactTrees.generation)
        editor = TreeEditor(store: nodes, splitHash: splitHash)
    }

    /// Nodes that were read as blobs, for tests of costs.
    package var nodeReadCount: Int { nodes.nodeReadCount }

    /// The tree without facts; in memory.
    package func empty() throws(StorageError) -> FactTree {
        FactTree(root: TreeRoot(node: try NodeSink(writer: nil).makeInner(level: 1, ChildList(), nodes: [])))
    }

    /// A stored tree; nothing is read yet.
    package func stored(_ root: BlobName) -> FactTree { FactTree(root: TreeRoot(name: root)) }

    // MARK: Reading

    /// The facts under a key, ascending by dot.
    ///
    /// - Complexity: one node for each level.
    package func facts(under key: FactKey, in tree: FactTree) throws(StorageError) -> [Fact] {
        try nodes.node(of: tree.root).facts(of: key, in: nodes)
    }

    package func factCount(of tree: FactTree) throws(StorageError) -> UInt64 { try nodes.node(of: tree.root).factCount }

    /// Calls `body` with each fact whose encoded key is not below `start`, ascending, until it returns false.
    package func forEachFact(
        in tree: FactTree, from start: [UInt8] = [], _ body: (Fact) throws(StorageError) -> Bool
    ) throws(StorageError) {
        var cursor = try FactCursor(root: nodes.node(of: tree.root), store: nodes, from: start)
        while let fact = try cursor.next() {
            guard try body(fact) else { return }
        }
    }

    /// Stands before the first fact whose encoded key is not below `prefix`, and gives those that begin with it.
    package func walk(of tree: FactTree, withPrefix prefix: [UInt8]) throws(StorageError) -> FactWalk {
        FactWalk(cursor: try FactCursor(root: nodes.node(of: tree.root), store: nodes, from: prefix), prefix: prefix)
    }

    /// Calls `body` with each key whose facts differ, ascending.
    ///
    /// - Complexity: reads about twice the nodes on the paths to what differs.
    package func forEachDifference(
        from old: FactTree, to new: FactTree, _ body: (FactDifference) throws(StorageError) -> Void
    ) throws(StorageError) {
        var walk = TreeDifference(old: try nodes.node(of: old.root), new: try nodes.node(of: new.root), store: nodes)
        while let difference = try walk.next() { try body(difference) }
    }

    /// Names every node of a stored tree.
    ///
    /// - Parameters:
    ///   - visit: called with each name; says whether it was new: only then its node is looked into.
    ///   - visitFact: called with each fact of the leaves that were new.
    package func walk(
        _ tree: FactTree, visit: (BlobName) -> Bool, visitFact: (Fact) throws(StorageError) -> Void
    ) throws(StorageError) {
        guard visit(tree.name) else { return }
        try walkBelow(nodes.node(of: tree.root), visit: visit, visitFact: visitFact)
    }

    private func walkBelow(
        _ node: TreeNode, visit: (BlobName) -> Bool, visitFact: (Fact) throws(StorageError) -> Void
    ) throws(StorageError) {
        switch node.entries {
        case .leaf(let facts):
            for fact in facts { try visitFact(fact) }
        case .inner(let children):
            for index in 0..<children.count where visit(children.name(at: index)) {
                try walkBelow(nodes.child(of: node, at: index), visit: visit, visitFact: visitFact)
            }
        }
    }

    // MARK: Changing

    /// The tree with these facts under these keys; none takes the key out.
    ///
    /// - Parameter facts: under each key ascending by dot.
    /// - Complexity: one node for each level and key; keys beside each other share them.
    package func changing(_ tree: FactTree, _ facts: [FactKey: [Fact]]) throws(StorageError) -> FactTree {
        guard !facts.isEmpty else { return tree }
        let changes = facts.map { Replacement(key: $0.key, facts: $0.value) }.sorted { $0.key < $1.key }
        return FactTree(root: TreeRoot(node: try editor.apply(changes, to: nodes.node(of: tree.root))))
    }

    /// Writes the tree of facts that come in ascending order, node by node.
    package func build(
        _ facts: some Sequence<Fact>, to writer: any BlobWriter
    ) throws(StorageError) -> FactTree {
        var builder = TreeBuilder(splitHash: splitHash, sink: NodeSink(writer: writer))
        for fact in facts { try builder.append(fact) }
        return FactTree(root: TreeRoot(node: try builder.finish()))
    }

    /// Writes the nodes of a tree that are not stored yet, and the values that they refer to.
    ///
    /// - Parameter values: content of values that lie in entries alone.
    /// - Returns: what is to be marked once the transaction is durable.
    package func write(
        _ tree: FactTree, values: [BlobName: [UInt8]] = [:], to writer: any BlobWriter
    ) throws(StorageError) -> WrittenTree {
        var written = TreeWriter()
        guard let root = tree.root.node else { return WrittenTree(written: written, nodes: nodes) }
        try written.write(root, to: writer)
        guard !values.isEmpty else { return WrittenTree(written: written, nodes: nodes) }
        // What refers to an unstored value lies in a leaf that is not stored either.
        for value in written.storedValues {
            if let content = values[value.name] { try writer.writeBlob(type: .value, bytes: content) }
        }
        return WrittenTree(written: written, nodes: nodes)
    }
}

/// Facts of a tree whose keys begin with some bytes, in ascending order.
package struct FactWalk {
    fileprivate var cursor: FactCursor
    fileprivate let prefix: [UInt8]

    package mutating func next() throws(StorageError) -> Fact? {
        guard let fact = try cursor.next(), fact.key.bytes.starts(with: prefix) else { return nil }
        return fact
    }
}

/// Nodes of a tree that are in a transaction.
package struct WrittenTree {
    fileprivate var written: TreeWriter
    fileprivate let nodes: NodeStore

    package var nodeCount: Int { written.nodeCount }

    /// To be called when the transaction is durable.
    package mutating func markStored() { written.markStored(in: nodes) }
}
