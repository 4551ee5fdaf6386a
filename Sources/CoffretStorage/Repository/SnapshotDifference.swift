// What differs between two states. The one thing to keep true: every key that differs is told once, in
// ascending order, and nothing is read that both states share.

/// Walks the keys whose facts differ between two snapshots of one vault.
package struct SnapshotDifference {
    private enum Source {
        /// Both states stand over the same stored tree: only what lies over it can differ.
        case overlays(keys: [FactKey], index: Int)
        case trees(TreeDifference)
    }

    private let old: Snapshot
    private let new: Snapshot
    private var source: Source

    init(old: Snapshot, new: Snapshot) throws(StorageError) {
        self.old = old
        self.new = new
        if old.base.name == new.base.name {
            let keys = Set(old.overlay.changes.keys).union(new.overlay.changes.keys)
            source = .overlays(keys: keys.sorted(), index: 0)
        } else {
            source = .trees(TreeDifference(old: try old.root(), new: try new.root(), store: new.nodes))
        }
    }

    package mutating func next() throws(StorageError) -> FactDifference? {
        switch source {
        case .trees(var difference):
            let result = try difference.next()
            source = .trees(difference)
            return result
        case .overlays(let keys, var index):
            while index < keys.count {
                let key = keys[index]
                index += 1
                let difference = FactDifference(
                    key: key, oldFacts: try old.facts(under: key), newFacts: try new.facts(under: key))
                if difference.oldFacts != difference.newFacts {
                    source = .overlays(keys: keys, index: index)
                    return difference
                }
            }
            source = .overlays(keys: keys, index: index)
            return nil
        }
    }
}
