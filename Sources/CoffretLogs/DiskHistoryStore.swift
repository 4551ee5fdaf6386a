// What the rules of histories ask for, answered from the disk. The one thing to keep true: a copy is a plan: what a copy
// changes, nobody else sees, and nothing is written before a transaction takes it.

internal import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Entries and trees of one vault over its blobs, its indexes, and what of both is in memory alone.
package struct DiskHistoryStore: HistoryStore {
    package typealias Failure = StorageError

    let files: LogFiles
    package internal(set) var index: LogIndex
    package internal(set) var items: ItemIndex
    /// The newest tree: the base's, with what `write` put over it.
    private(set) var tree: FactTree
    /// Where history begins with another tree than that of the link below which it was dropped.
    var start: HistoryStart?
    /// Content of values that entries carry, and that the tree names by their blobs; until the tree is stored.
    private(set) var unstored: [BlobName: [UInt8]] = [:]

    init(files: LogFiles, index: LogIndex, items: ItemIndex, tree: FactTree) {
        self.files = files
        self.index = index
        self.items = items
        self.tree = tree
    }

    /// A store without entries and facts.
    init(files: LogFiles) throws(StorageError) {
        self.init(
            files: files, index: LogIndex(trees: files.indexes, tree: try files.indexes.empty()),
            items: ItemIndex(trees: files.indexes, tree: try files.indexes.empty()), tree: try files.facts.empty())
    }

    // MARK: Taking entries in

    /// Keeps an entry, or a bare form, whose blobs are stored.
    ///
    /// - Parameter byteCount: of its content.
    mutating func put(_ entry: VerifiedEntry, byteCount: Int, wasApplied: Bool = false) throws(StorageError) {
        files.remember(entry)
        let isBare = if case .gone = entry.body.changes { true } else { false }
        let isNew = try index.add(
            LogIndex.Record(
                name: entry.name, dot: entry.dot, height: entry.height, byteCount: byteCount, isBare: isBare,
                wasApplied: wasApplied))
        if isNew { try items.put(entry.rank, for: entities(of: entry)) }
    }

    /// After the index was made anew: entries up to these marks, on their hash chains, were applied.
    mutating func noteApplied(_ entries: [VerifiedEntry], upTo marks: Frontier) throws(StorageError) {
        let known = Dictionary(entries.map { ($0.name, $0) }) { first, _ in first }
        let logs = Dictionary(grouping: entries, by: \.instance)
        for (instance, mark) in marks.marks {
            // Below what was deleted for good the chain goes on where one entry alone has the next lower number.
            func newest(below number: EntryNumber) -> VerifiedEntry? {
                let lower = (logs[instance] ?? []).filter { $0.number < number }
                guard let last = lower.max(by: { $0.number < $1.number }) else { return nil }
                return lower.count { $0.number == last.number } == 1 ? last : nil
            }
            var next = known[mark.name] ?? newest(below: mark.number)
            while let entry = next {
                try index.noteApplied(entry.name, at: entry.dot)
                next = entry.body.before.flatMap { known[$0] ?? newest(below: entry.number) }
            }
        }
    }

    private func entities(of entry: VerifiedEntry) throws(StorageError) -> [EntityID] {
        var found: [EntityID] = []
        // Changes ascend by key, so those of an entity lie beside each other.
        for change in try files.changes(of: entry) where found.last != change.key.entity {
            found.append(change.key.entity)
        }
        return found
    }

    /// As above, without what another branch of a forked log says at the same place.
    private func entitiesOnly(of entry: VerifiedEntry) throws(StorageError) -> Set<EntityID> {
        var found = Set(try entities(of: entry))
        for other in try entries(at: entry.dot).map(\.entry)
        where other.name != entry.name && other.height == entry.height {
            found.subtract(try entities(of: other))
        }
        return found
    }

    // MARK: Entries

    package func entry(named name: BlobName) throws(StorageError) -> StoredEntry? {
        try kept(name).map { StoredEntry($0.entry) }
    }

    /// An entry that the index names, with its record; nil for a bare form.
    private func kept(_ name: BlobName) throws(StorageError) -> (entry: VerifiedEntry, record: LogIndex.Record)? {
        guard let entry = try files.entry(named: name), let record = try index.record(of: name, at: entry.dot),
            !record.isBare
        else { return nil }
        return (entry, record)
    }

    package func entries(at dot: Dot) throws(StorageError) -> [StoredEntry] {
        var found: [StoredEntry] = []
        for record in try index.records(at: dot) where !record.isBare { found.append(StoredEntry(try read(record))) }
        return found
    }

    /// - Throws: `.blobMissing` for an entry that the index names and that is not here.
    func read(_ record: LogIndex.Record) throws(StorageError) -> VerifiedEntry {
        guard let entry = try files.entry(named: record.name) else {
            throw StorageError(.blobMissing, place: record.name.description)
        }
        return entry
    }

    package func bareForm(named name: BlobName) throws(StorageError) -> VerifiedEntry? {
        guard let entry = try files.entry(named: name), let record = try index.record(of: name, at: entry.dot),
            record.isBare
        else { return nil }
        return entry
    }

    package func entries(touching key: FactKey) throws(StorageError) -> [BlobName] {
        var found: [BlobName] = []
        for rank in try items.versions(of: key.entity) {
            for stored in try entries(at: rank.dot) where stored.entry.height == rank.height {
                if try files.change(of: key, by: stored.entry) != nil { found.append(stored.entry.name) }
            }
        }
        return found
    }

    package func entries(changing entity: EntityID) throws(StorageError) -> [BlobName] {
        var found: [BlobName] = []
        for rank in try items.versions(of: entity) {
            for stored in try entries(at: rank.dot) where stored.entry.height == rank.height {
                let changes = try files.changes(of: stored.entry, withPrefix: entity.bytes)
                if !changes.isEmpty { found.append(stored.entry.name) }
            }
        }
        return found
    }

    package func instances() throws(StorageError) -> [InstanceID] {
        var found: [InstanceID] = []
        for instance in try index.instances() {
            if try index.records(of: instance).contains(where: { !$0.isBare }) { found.append(instance) }
        }
        return found
    }

    package func entries(of instance: InstanceID) throws(StorageError) -> [BlobName] {
        try index.records(of: instance).filter { !$0.isBare }.map(\.name)
    }

    package func unapplied(
        of instance: InstanceID, above number: EntryNumber
    ) throws(StorageError) -> (count: Int, byteCount: Int) {
        let above = try index.records(of: instance, from: number + 1).filter { !$0.isBare }
        return (above.count, above.reduce(0) { $0 + $1.byteCount })
    }

    package func changes(inTree root: BlobName) throws(StorageError) -> [Change] { try files.changes(inTree: root) }

    package func change(of key: FactKey, inTree root: BlobName) throws(StorageError) -> Change? {
        try files.change(of: key, inTree: root)
    }

    package func dot(of name: BlobName) throws(StorageError) -> Dot? {
        if let dropped = try index.dropped(name) { return dropped.dot }
        return try kept(name)?.entry.dot
    }

    package func leftDot(of name: BlobName) throws(StorageError) -> Dot? { try index.leftDot(of: name) }

    package func wasApplied(_ name: BlobName) throws(StorageError) -> Bool {
        if let dropped = try index.dropped(name) { return dropped.wasApplied }
        return try kept(name)?.record.wasApplied ?? false
    }

    package mutating func noteApplied(_ name: BlobName) throws(StorageError) {
        guard let entry = try files.entry(named: name) else { return }
        try index.noteApplied(name, at: entry.dot)
    }

    // MARK: Facts

    package func facts(under key: FactKey) throws(StorageError) -> CurrentFacts {
        CurrentFacts(try files.facts.facts(under: key, in: tree))
    }

    package func facts(under key: FactKey, inTree root: BlobName?) throws(StorageError) -> CurrentFacts {
        guard let root else { return [:] }
        return CurrentFacts(try files.facts.facts(under: key, in: files.tree(root)))
    }

    package func summary(ofTree root: BlobName?) throws(StorageError) -> StateSummary {
        guard let root else { return StateSummary() }
        return try files.summary(of: root, in: files.tree(root))
    }

    package func digestTerm(
        of fact: CurrentFact, at dot: Dot, under key: FactKey
    ) throws(StorageError) -> StateDigest {
        files.digestTerm(of: Fact(key: key, content: fact.content.inTree, dot: dot, height: fact.height))
    }

    package mutating func begin(atTree root: BlobName?) throws(StorageError) {
        tree = if let root { files.tree(root) } else { try files.facts.empty() }
        unstored = root.flatMap { files.computedTree($0)?.values } ?? [:]
    }

    package mutating func write(_ facts: [FactKey: CurrentFacts]) throws(StorageError) {
        unstored.merge(facts.unstored) { $1 }
        tree = try files.facts.changing(tree, facts.asFacts)
    }

    package func root(of tree: BlobName?, with facts: [FactKey: CurrentFacts]) throws(StorageError) -> BlobName {
        let base = if let tree { files.tree(tree) } else { try files.facts.empty() }
        let changed = try files.facts.changing(base, facts.asFacts)
        files.keep(changed, values: facts.unstored)
        return changed.name
    }

    /// The tree is stored now, and the values that it names are.
    mutating func treeWasStored() { unstored = [:] }

    // MARK: Taking entries out

    package mutating func drop(_ name: BlobName) throws(StorageError) { try drop(name, isForGood: false) }

    package mutating func dropForGood(_ name: BlobName) throws(StorageError) { try drop(name, isForGood: true) }

    private mutating func drop(_ name: BlobName, isForGood: Bool) throws(StorageError) {
        guard let (entry, record) = try kept(name) else { return }
        try items.remove(entry.rank, for: entitiesOnly(of: entry))
        try index.drop(record, isForGood: isForGood)
        files.forget(name)
    }

    package func wasDroppedForGood(_ name: BlobName) throws(StorageError) -> Bool {
        try index.dropped(name)?.isForGood ?? false
    }

    /// Takes over what the kept index says of dropped entries, if it can be read.
    mutating func takeDropped(of kept: KeptState) throws(StorageError) {
        do throws(StorageError) {
            try index.takeDropped(from: LogIndex(trees: files.indexes, tree: files.indexes.stored(kept.index)))
        } catch {
            guard error.isDamage else { throw error }
        }
    }

    package mutating func withdraw(_ name: BlobName) throws(StorageError) {
        guard let (entry, record) = try kept(name) else { return }
        try items.remove(entry.rank, for: entitiesOnly(of: entry))
        try index.withdraw(record)
        files.forget(name)
    }

    /// Puts what changed in the indexes into their trees.
    mutating func flushIndexes() throws(StorageError) {
        try index.flush()
        try items.flush()
    }
}

extension CurrentFacts {
    init(_ facts: [Fact]) {
        self.init(
            uniqueKeysWithValues: facts.map { fact in
                (fact.dot, CurrentFact(height: fact.height, content: fact.content.inEntry))
            })
    }
}

extension [FactKey: CurrentFacts] {
    /// Content of the values that entries carry, by the names of the blobs that they will lie in.
    var unstored: [BlobName: [UInt8]] {
        var found: [BlobName: [UInt8]] = [:]
        for fact in values.joined() {
            guard let content = fact.value.content.unstored, let name = fact.value.content.blobName else { continue }
            found[name] = content
        }
        return found
    }

    /// As trees have them.
    var asFacts: [FactKey: [Fact]] {
        var result: [FactKey: [Fact]] = [:]
        result.reserveCapacity(count)
        for (key, facts) in self {
            result[key] = facts.map { dot, fact in
                Fact(key: key, content: fact.content.inTree, dot: dot, height: fact.height)
            }.sorted()
        }
        return result
    }
}
