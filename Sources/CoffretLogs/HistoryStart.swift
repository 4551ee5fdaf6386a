// The tree with which history begins here. The one thing to keep true: what was deleted for good is in none of the trees
// that stay, and what stood beside it is still the start of moments.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretStorage

/// A tree in the place of that of the link below which history was dropped.
struct HistoryStart: Equatable, Sendable {
    let link: Int
    let root: BlobName
}

extension HistoryMachine<DiskHistoryStore> {
    /// The root of the tree with which history begins: that of the link below which it was dropped, without what links behind
    /// it deleted for good; nil: none was dropped.
    var startRoot: BlobName? {
        guard let link = droppedBelow else { return nil }
        if let start = store.start, start.link == link { return start.root }
        return members.chain.links[link].checkpoint?.root
    }

    /// G2a: the trees that stay besides that of the base.
    var keptRoots: [BlobName] {
        dropRoots.sorted().compactMap { $0 == droppedBelow ? startRoot : members.chain.links[$0].checkpoint?.root }
    }

    /// P3: takes what was deleted for good out of the tree with which history begins.
    ///
    /// - Complexity: a node for each level and entity.
    mutating func trimStart() throws(StorageError) {
        let files = store.files
        guard let link = droppedBelow, let root = startRoot else { return }
        let gone = Set(purged.filter { $0 > link }.flatMap { members.chain.links[$0].checkpoint?.purges ?? [] })
        guard !gone.isEmpty else { return }
        if files.computedTree(root) == nil, try !files.blobs.containsBlob(root) { return }
        var changes: [FactKey: [Fact]] = [:]
        for entity in gone {
            try files.facts.forEachFact(in: files.tree(root), from: entity.bytes) { (fact) throws(StorageError) in
                guard fact.key.entity == entity else { return false }
                changes[fact.key] = []
                return true
            }
        }
        guard !changes.isEmpty else { return }
        let trimmed = try files.facts.changing(files.tree(root), changes)
        files.keep(trimmed, values: [:])
        store.start = HistoryStart(link: link, root: trimmed.name)
    }
}
