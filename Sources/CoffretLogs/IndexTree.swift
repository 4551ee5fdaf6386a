// An index in a tree of facts. The one thing to keep true: what it answers is the tree with everything that was put over
// it, so that nobody sees whether a change is stored yet.

internal import CoffretBase
internal import CoffretStorage

/// Records under keys of facts, in order; a value, whose changes lie in memory until they are written.
///
/// The tree is sealed, verified and stored with the state like all others, so that a crash leaves both or none.
struct IndexTree {
    private let trees: FactTrees
    private(set) var tree: FactTree
    private var pending: [EntityID: PendingFacts] = [:]

    init(trees: FactTrees, tree: FactTree) {
        self.trees = trees
        self.tree = tree
    }

    /// The facts under a key; empty: none.
    func facts(under key: FactKey) throws(StorageError) -> [Fact] {
        if let facts = pending[key.entity]?.facts[key] { return facts }
        return try trees.facts(under: key, in: tree)
    }

    /// Puts these facts under a key; none takes it out.
    mutating func set(_ facts: [Fact], under key: FactKey) {
        pending[key.entity, default: PendingFacts()].set(facts, under: key)
    }

    /// The facts of an entity whose key is not below `start`, ascending, up to the first that `isWanted` refuses.
    ///
    /// - Complexity: what is found, and a node for each level.
    func facts(
        of entity: EntityID, from start: FactKey? = nil, while isWanted: (Fact) -> Bool = { _ in true }
    ) throws(StorageError) -> [Fact] {
        let changed = pending[entity]
        var found: [Fact] = []
        try trees.forEachFact(in: tree, from: start?.bytes ?? entity.bytes) { (fact) throws(StorageError) in
            guard fact.key.entity == entity, isWanted(fact) else { return false }
            if changed?.facts[fact.key] == nil { found.append(fact) }
            return true
        }
        guard let changed else { return found }
        var added: [Fact] = []
        walk: for key in changed.keys(from: start) {
            for fact in changed.facts[key] ?? [] {
                guard isWanted(fact) else { break walk }
                added.append(fact)
            }
        }
        guard !added.isEmpty else { return found }
        return found.isEmpty ? added : (found + added).sorted()
    }

    /// The entities of a kind of which there are facts, each once.
    ///
    /// - Complexity: a node for each level and entity.
    func entities(kind: UInt8) throws(StorageError) -> [EntityID] {
        var found: Set<EntityID> = []
        for (entity, changed) in pending where entity.kind == kind {
            if changed.facts.values.contains(where: { !$0.isEmpty }) { found.insert(entity) }
        }
        var start: [UInt8] = [kind]
        while true {
            var next: EntityID?
            try trees.forEachFact(in: tree, from: start) { (fact) throws(StorageError) in
                if fact.key.entity.kind == kind { next = fact.key.entity }
                return false
            }
            guard let next else { return found.sorted() }
            if !found.contains(next), try !facts(of: next).isEmpty { found.insert(next) }
            // Behind every key of the entity.
            start = next.bytes + [0xFF]
        }
    }

    /// The entities whose ids begin with `prefix` and of which there are facts, ascending.
    ///
    /// - Complexity: a node for each level and entity, and what is not stored yet.
    func entities(withPrefix prefix: [UInt8]) throws(StorageError) -> [EntityID] {
        var found: Set<EntityID> = []
        for (entity, changed) in pending where entity.bytes.starts(with: prefix) {
            if changed.facts.values.contains(where: { !$0.isEmpty }) { found.insert(entity) }
        }
        var start = prefix
        while true {
            var next: EntityID?
            try trees.forEachFact(in: tree, from: start) { (fact) throws(StorageError) in
                if fact.key.entity.bytes.starts(with: prefix) { next = fact.key.entity }
                return false
            }
            guard let next else { return found.sorted() }
            if !found.contains(next), try !facts(of: next).isEmpty { found.insert(next) }
            start = next.bytes + [0xFF]
        }
    }

    /// All facts, ascending by key; for checks.
    func forEachFact(_ body: (Fact) throws(StorageError) -> Void) throws(StorageError) {
        var copy = self
        try copy.flush()
        try trees.forEachFact(in: copy.tree) { (fact) throws(StorageError) in
            try body(fact)
            return true
        }
    }

    /// Puts the changes into the tree; what is answered stays the same.
    mutating func flush() throws(StorageError) {
        var changes: [FactKey: [Fact]] = [:]
        for facts in pending.values { changes.merge(facts.facts) { $1 } }
        tree = try trees.changing(tree, changes)
        pending = [:]
    }
}

/// What changed of one entity. Records of a log come in its order, so that keys are mostly appended.
private struct PendingFacts {
    private(set) var facts: [FactKey: [Fact]] = [:]
    /// Ascending.
    private var keys: [FactKey] = []

    mutating func set(_ facts: [Fact], under key: FactKey) {
        guard self.facts.updateValue(facts, forKey: key) == nil else { return }
        if let last = keys.last, key < last {
            keys.insert(key, at: place(of: key))
        } else {
            keys.append(key)
        }
    }

    func keys(from start: FactKey?) -> ArraySlice<FactKey> { start.map { keys[place(of: $0)...] } ?? keys[...] }

    private func place(of key: FactKey) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
