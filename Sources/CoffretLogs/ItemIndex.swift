// Which entries changed an item. The one thing to keep true: it holds one record for each entry and entity, in the order in
// which versions are shown, so that an item's history costs what the item has, however long all histories are.

internal import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Entries of one vault by the entities that they changed (Spec/history.md section 13, "History of an item"). Derived.
package struct ItemIndex {
    private var index: IndexTree

    init(trees: FactTrees, tree: FactTree) { index = IndexTree(trees: trees, tree: tree) }

    /// Of what was flushed.
    var tree: FactTree { index.tree }

    mutating func flush() throws(StorageError) { try index.flush() }

    /// The entries that changed an entity, ascending by (height, instance, number).
    ///
    /// - Complexity: linear in what is returned.
    package func versions(of entity: EntityID) throws(StorageError) -> [EntryRank] {
        try index.facts(of: entity).map { EntryRank(height: $0.height, dot: $0.dot) }.sorted()
    }

    /// The entities whose ids begin with these bytes and that an entry changed, ascending.
    package func entities(withPrefix prefix: [UInt8]) throws(StorageError) -> [EntityID] {
        try index.entities(withPrefix: prefix)
    }

    mutating func put(_ rank: EntryRank, for entities: some Sequence<EntityID>) throws(StorageError) {
        for entity in entities {
            let (key, fact) = Self.fact(rank, entity)
            let others = try index.facts(under: key)
            if !others.contains(fact) { index.set((others + [fact]).sorted(), under: key) }
        }
    }

    mutating func remove(_ rank: EntryRank, for entities: some Sequence<EntityID>) throws(StorageError) {
        for entity in entities {
            let (key, fact) = Self.fact(rank, entity)
            index.set(try index.facts(under: key).filter { $0 != fact }, under: key)
        }
    }

    /// Calls `body` with every record; for checks.
    package func forEachRecord(_ body: (EntityID, EntryRank) throws(StorageError) -> Void) throws(StorageError) {
        try index.forEachFact { (fact) throws(StorageError) in
            try body(fact.key.entity, EntryRank(height: fact.height, dot: fact.dot))
        }
    }

    /// Element: height (8) ‖ number (8); several logs may share it.
    private static func fact(_ rank: EntryRank, _ entity: EntityID) -> (FactKey, Fact) {
        let element = rank.height.bigEndianBytes + rank.dot.number.bigEndianBytes
        let key = FactKey(entity: entity, attribute: "v", element: element)
        return (key, Fact(key: key, content: .inline([]), dot: rank.dot, height: rank.height))
    }
}
