// What a repository refers to. The one thing to keep true: the walk is closed: if it names a blob it names
// everything that reading the blob's content can lead to.

/// The entities whose facts somebody wants to see, by their first byte.
package enum EntityKinds: Sendable {
    case none
    case all
    case only(UInt8)

    func contains(_ kind: UInt8) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .only(let wanted): kind == wanted
        }
    }
}

/// Walks blobs from commits and trees.
///
/// `visit` is called with each name and says whether it was new; the walk goes below only then.
/// `visitFact` is called with each fact of each change and leaf on the way that is about an entity of one of `kinds`.
struct ReachableBlobs {
    typealias Visit = (BlobName) -> Bool
    typealias VisitFact = (Fact) throws(StorageError) -> Void

    let history: HistoryReader
    let nodes: NodeStore
    let kinds: EntityKinds

    /// A commit, its context, its changes and their values; not its parents, and not its tree.
    func walk(_ summary: CommitSummary, visit: Visit, visitFact: VisitFact) throws(StorageError) {
        guard visit(summary.name) else { return }
        _ = visit(summary.commit.context)
        switch summary.commit.changes {
        case .list(let changes):
            for change in changes {
                if kinds.contains(change.key.entityKind) { try visitFact(change.fact(ownDot: summary.dot)) }
                // A value inside the commit becomes a blob only at a checkpoint; the tree leads to it.
                if case .stored(let value) = change.content { try walk(value, visit: visit) }
            }
        case .tree(let root):
            guard visit(root) else { return }
            let node = try history.changeNodes.node(of: TreeRoot(name: root))
            try walkBelow(node, store: history.changeNodes, visit: visit, visitFact: visitFact)
        }
    }

    /// The blobs of a tree, each once, what a blob leads to before it.
    func namesOfTree(
        _ root: BlobName, visitFact: (Fact) throws(StorageError) -> Void = { (_) throws(StorageError) in }
    ) throws(StorageError) -> [BlobName] {
        var names: [BlobName] = []
        var seen: Set<BlobName> = []
        try walkTree(
            root,
            visit: { name in
                guard seen.insert(name).inserted else { return false }
                names.append(name)
                return true
            }, visitFact: visitFact)
        return names.reversed()
    }

    /// A stored tree and its values.
    func walkTree(_ root: BlobName, visit: Visit, visitFact: VisitFact) throws(StorageError) {
        guard visit(root) else { return }
        try walkBelow(nodes.node(of: TreeRoot(name: root)), store: nodes, visit: visit, visitFact: visitFact)
    }

    private func walkBelow(
        _ node: TreeNode, store: NodeStore, visit: Visit, visitFact: VisitFact
    ) throws(StorageError) {
        switch node.entries {
        case .leaf(let facts):
            for index in 0..<facts.count {
                if kinds.contains(facts.entityKind(at: index)) { try visitFact(facts[index]) }
                if let value = facts.storedValue(at: index) { try walk(value, visit: visit) }
            }
        case .inner(let children):
            for index in 0..<children.count where visit(children.name(at: index)) {
                try walkBelow(store.child(of: node, at: index), store: store, visit: visit, visitFact: visitFact)
            }
        }
    }

    private func walk(_ value: StoredValue, visit: Visit) throws(StorageError) {
        guard visit(value.name), value.isList else { return }
        let list = try ValueReader(reader: history.reader, unstored: [:]).list(value)
        for piece in list.pieces { _ = visit(piece.name) }
    }
}
