// All entries that count, in one order. The one thing to keep true: an entry comes after all that build on it, and one read
// gives one entry.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage

/// Entries that count here, newest first: descending by height, instance and number, which no entry's predecessors precede.
///
/// It holds some records of each log; what is written meanwhile is not in it.
package struct EntryWalk {
    /// One log, from its newest entry down.
    private struct Log {
        let instance: InstanceID
        /// Everything above was given out.
        var end: EntryNumber
        var records: [LogIndex.Record] = []
    }

    private static let recordCount: EntryNumber = 64

    private let repository: LogRepository
    private var logs: [Log]

    init(_ repository: LogRepository) throws(StorageError) {
        self.repository = repository
        logs = try repository.ask { (machine) in
            machine.frontier.sorted.map { Log(instance: $0.instance, end: $0.mark.number) }
        }
    }

    /// The next entry; nil at the end of what is kept here.
    package mutating func next() throws(StorageError) -> VerifiedEntry? {
        var newest: Int?
        for index in logs.indices {
            try fill(&logs[index])
            guard let last = logs[index].records.last else { continue }
            if let other = newest.flatMap({ logs[$0].records.last }), rank(last) < rank(other) { continue }
            newest = index
        }
        guard let newest, let record = logs[newest].records.popLast() else { return nil }
        return try repository.ask { (machine) throws(StorageError) in try machine.store.read(record) }
    }

    private func rank(_ record: LogIndex.Record) -> EntryRank { EntryRank(height: record.height, dot: record.dot) }

    private func fill(_ log: inout Log) throws(StorageError) {
        while log.records.isEmpty, log.end > 0 {
            let start = log.end > Self.recordCount ? log.end - Self.recordCount + 1 : 1
            let (instance, end) = (log.instance, log.end)
            log.records = try repository.ask { (machine) throws(StorageError) in
                var listed: [LogIndex.Record] = []
                for record in try machine.store.index.records(of: instance, from: start, to: end)
                where try machine.counts(record) { listed.append(record) }
                return listed
            }
            log.end = start - 1
        }
    }
}

extension LogRepository {
    /// All entries that count here, newest first.
    package func walk() throws(StorageError) -> EntryWalk { try EntryWalk(self) }

    /// The entry of that name; nil: it is not kept here.
    package func entry(named name: BlobName) throws(StorageError) -> VerifiedEntry? {
        try ask { (machine) throws(StorageError) in try machine.store.entry(named: name)?.entry }
    }

    /// Calls `body` with each key that begins with `prefix` and that an entry changed, ascending, until it returns false.
    package func forEachChangedKey(
        of entry: VerifiedEntry, withPrefix prefix: [UInt8] = [], _ body: (FactKey) -> Bool
    ) throws(StorageError) {
        guard case .tree(let root, _) = entry.body.changes else {
            for change in entry.body.changes.list where change.key.bytes.starts(with: prefix) {
                guard body(change.key) else { return }
            }
            return
        }
        try files.changes.forEachFact(in: files.changes.stored(root), from: prefix) { fact in
            fact.key.bytes.starts(with: prefix) && body(fact.key)
        }
    }

    /// The names of kept entries that begin with these hex digits.
    ///
    /// - Complexity: reads the index.
    package func entryNames(beginningWith digits: String) throws(StorageError) -> [BlobName] {
        try ask { (machine) throws(StorageError) in
            var names: [BlobName] = []
            try machine.store.index.forEachRecord { (record) in
                if !record.isBare, record.name.description.hasPrefix(digits) { names.append(record.name) }
            }
            return names
        }
    }

    /// The entry of a dot; nil: it is not here.
    package func entry(at dot: Dot) throws(StorageError) -> VerifiedEntry? {
        try ask { (machine) throws(StorageError) in try machine.store.entries(at: dot).first?.entry }
    }

    /// When the entries of these dots were written, by their authors' clocks; those that are not here are left out.
    package func times(of dots: Set<Dot>) throws(StorageError) -> [Dot: Milliseconds] {
        try ask { (machine) throws(StorageError) in
            var times: [Dot: Milliseconds] = [:]
            for dot in dots { times[dot] = try machine.store.entries(at: dot).first?.entry.body.time }
            return times
        }
    }

    /// Of each log the newest entry that is not behind this one in the order of `walk`: what all devices that have the same
    /// entries take for the state at it.
    ///
    /// - Complexity: some reads of the index for each log.
    package func frontier(upTo rank: EntryRank) throws(StorageError) -> Frontier {
        try ask { (machine) throws(StorageError) in
            var result = Frontier()
            for (instance, mark) in machine.frontier.marks {
                var (low, high) = (EntryNumber(0), mark.number)
                var found: EntryMark?
                while low < high {
                    let middle = high - (high - low) / 2
                    var record: LogIndex.Record?
                    for found in try machine.store.index.records(of: instance, from: middle, to: middle)
                    where record == nil {
                        if try machine.counts(found) { record = found }
                    }
                    // Heights ascend in a log. What is not here was dropped, and lies below what is.
                    guard let record else {
                        low = middle
                        found = nil
                        continue
                    }
                    if EntryRank(height: record.height, dot: record.dot) <= rank {
                        low = middle
                        found = EntryMark(number: middle, name: record.name)
                    } else {
                        high = middle - 1
                    }
                }
                if found == nil, low > 0 {
                    // The tip of a checkpoint is kept, or its name is in the link.
                    found = machine.accepted[instance].flatMap { $0.number == low ? $0 : nil }
                }
                result[instance] = found
            }
            return result
        }
    }

    /// Whether nothing is missing of what lies above the tree below which history was dropped.
    ///
    /// - Complexity: reads the index of entries below the base.
    package func isPastWhole() throws(StorageError) -> Bool {
        try ask { (machine) throws(StorageError) in
            let floor = machine.droppedBelow.map { machine.members.chain.states[$0].accepted } ?? Frontier()
            var dropped: Set<Dot>?
            for (instance, mark) in machine.accepted.marks where mark.number > floor.number(of: instance) {
                let first = floor.number(of: instance) + 1
                let records = try machine.store.index.records(of: instance, from: first, to: mark.number)
                let known = Set(records.map(\.dot.number))
                if UInt64(known.count) == mark.number - first + 1 { continue }
                // What was deleted for good comes from nowhere.
                if dropped == nil {
                    var dots: Set<Dot> = []
                    try machine.store.index.forEachDropped { (_, entry) in dots.insert(entry.dot) }
                    dropped = dots
                }
                for number in first...mark.number where !known.contains(number) {
                    if dropped?.contains(Dot(instance, number)) != true { return false }
                }
            }
            return true
        }
    }
}

extension LogRepository {
    /// The root of the tree below which history was dropped; nil: none was.
    package func droppedRoot() throws(StorageError) -> BlobName? {
        try ask { (machine) in machine.startRoot }
    }

    /// What the checkpoint with that root accepts, if history was dropped below it.
    package func droppedFrontier(root: BlobName) throws(StorageError) -> Frontier? {
        try ask { (machine) in
            guard let link = machine.droppedBelow, machine.startRoot == root else { return nil }
            return machine.members.chain.states[link].accepted
        }
    }
}

extension LogRepository {
    /// How many entries are kept here.
    ///
    /// - Complexity: reads the index.
    package func entryCount() throws(StorageError) -> Int {
        try ask { (machine) throws(StorageError) in
            var count = 0
            try machine.store.index.forEachRecord { (record) in if !record.isBare { count += 1 } }
            return count
        }
    }

    /// Of each log the newest entry at or before a time, closed under what was seen.
    package func frontier(at time: Milliseconds) throws(StorageError) -> Frontier {
        try ask { (machine) throws(StorageError) in try machine.frontier(at: time) }
    }

    /// Whether an entry is kept that a frontier covers, and that no base needs as its tip.
    package func hasEntries(below frontier: Frontier) throws(StorageError) -> Bool {
        try ask { (machine) throws(StorageError) in
            guard frontier.covers(machine.accepted) else { return false }
            let tips = machine.tips
            for (instance, mark) in frontier.marks {
                let records = try machine.store.index.records(of: instance, from: 1, to: mark.number)
                if records.contains(where: { !$0.isBare && !tips.contains($0.name) && $0.name != mark.name }) {
                    return true
                }
            }
            return false
        }
    }

    /// The entities whose ids begin with these bytes and that entries changed which are kept here.
    package func changedEntities(withPrefix prefix: [UInt8]) throws(StorageError) -> [EntityID] {
        try ask { (machine) throws(StorageError) in try machine.store.items.entities(withPrefix: prefix) }
    }

    /// The changes of an entry, ascending by key.
    package func changes(of entry: VerifiedEntry) throws(StorageError) -> [Change] { try files.changes(of: entry) }

    /// Those whose keys begin with `prefix`.
    package func changes(of entry: VerifiedEntry, withPrefix prefix: [UInt8]) throws(StorageError) -> [Change] {
        try files.changes(of: entry, withPrefix: prefix)
    }

    /// Calls `body` with each value that an entry, or a tree of a checkpoint, has under keys that begin with `prefix`.
    ///
    /// - Complexity: reads the entries that changed such entities.
    package func forEachKeptValue(
        withPrefix prefix: [UInt8], where isWanted: (FactKey) -> Bool,
        _ body: (FactKey, [UInt8]) throws(StorageError) -> Void
    ) throws(StorageError) {
        var found: [(key: FactKey, content: ChangeContent)] = []
        try ask { (machine) throws(StorageError) in
            var ranks: Set<EntryRank> = []
            for entity in try machine.store.items.entities(withPrefix: prefix) {
                ranks.formUnion(try machine.store.items.versions(of: entity))
            }
            for rank in ranks.sorted() {
                for stored in try machine.store.entries(at: rank.dot) {
                    for change in try files.changes(of: stored.entry, withPrefix: prefix)
                    where change.content != .retraction && isWanted(change.key) {
                        found.append((change.key, change.content))
                    }
                }
            }
            for root in Set([machine.startRoot, machine.baseRoot].compactMap(\.self)) {
                try files.facts.forEachFact(in: files.tree(root), from: prefix) { (fact) throws(StorageError) in
                    guard fact.key.bytes.starts(with: prefix) else { return false }
                    if isWanted(fact.key) { found.append((fact.key, fact.content.inEntry)) }
                    return true
                }
            }
        }
        for (key, content) in found { try body(key, value(of: content, under: key)) }
    }
}

extension LogRepository {
    /// The facts that history begins with, ascending: those of the tree below which history was dropped, and those of the
    /// base's tree whose entries are not among the kept ones, since they were deleted for good or did not come yet.
    ///
    /// - Parameter kept: places of entries that are not behind `droppedFrontier`.
    package func beginning(without kept: Set<Dot>) throws(StorageError) -> [Fact] {
        try ask { (machine) throws(StorageError) in
            try beginning(machine, withPrefix: [], without: kept).values.flatMap(\.self).sorted()
        }
    }

    func beginning(
        _ machine: Machine, withPrefix prefix: [UInt8], without kept: Set<Dot>
    ) throws(StorageError) -> [FactKey: [Fact]] {
        func facts(inTree root: BlobName?) throws(StorageError) -> [FactKey: [Fact]] {
            guard let root else { return [:] }
            var found: [FactKey: [Fact]] = [:]
            try files.facts.forEachFact(in: files.tree(root), from: prefix) { (fact) throws(StorageError) in
                guard fact.key.bytes.starts(with: prefix) else { return false }
                if !kept.contains(fact.dot) { found[fact.key, default: []].append(fact) }
                return true
            }
            return found
        }
        var found = try facts(inTree: machine.startRoot)
        guard machine.base != machine.droppedBelow else { return found }
        for (key, newer) in try facts(inTree: machine.baseRoot) {
            let known = Set((found[key] ?? []).map(\.dot))
            if newer.contains(where: { !known.contains($0.dot) }) { found[key] = newer }
        }
        return found
    }

    /// Of each log the newest entry that lies below the tree with which history begins.
    package func droppedFrontier() throws(StorageError) -> Frontier {
        try ask { (machine) in machine.droppedBelow.map { machine.members.chain.states[$0].accepted } ?? Frontier() }
    }

    /// When that checkpoint was written, as its link states it.
    package func timeBelowHistory() throws(StorageError) -> Milliseconds? {
        try ask { (machine) in
            (machine.droppedBelow ?? machine.base).flatMap { machine.members.chain.links[$0].details?.time }
        }
    }
}

extension LogRepository {
    /// The fact that an entry wrote under a key, or that the tree below which history was dropped has of it.
    package func fact(at dot: Dot, under key: FactKey) throws(StorageError) -> Fact? {
        try ask { (machine) throws(StorageError) in
            for stored in try machine.store.entries(at: dot) {
                for change in try files.changes(of: stored.entry, withPrefix: key.bytes)
                where change.key == key && change.content != .retraction {
                    return Fact(key: key, content: change.content.inTree, dot: dot, height: stored.entry.height)
                }
            }
            for root in [machine.startRoot, machine.baseRoot].compactMap(\.self) {
                if let fact = try machine.store.facts(under: key, inTree: root)[dot] {
                    return Fact(key: key, content: fact.content.inTree, dot: dot, height: fact.height)
                }
            }
            return nil
        }
    }

    /// The value of such a fact.
    package func value(at dot: Dot, under key: FactKey) throws(StorageError) -> [UInt8]? {
        let content = try ask { (machine) throws(StorageError) -> ChangeContent? in
            for stored in try machine.store.entries(at: dot) {
                for change in try files.changes(of: stored.entry, withPrefix: key.bytes)
                where change.key == key && change.content != .retraction { return change.content }
            }
            return nil
        }
        if let content { return try value(of: content, under: key) }
        guard let fact = try fact(at: dot, under: key) else { return nil }
        return try value(of: fact.content.inEntry, under: key)
    }
}

extension LogRepository {
    /// The checkpoint below which history was dropped, by the hash of its link, and how many entries of this copy went.
    package func dropping() throws(StorageError) -> (link: Bytes32, count: Int)? {
        try ask { (machine) throws(StorageError) -> (link: Bytes32, count: Int)? in
            guard let link = machine.droppedBelow else { return nil }
            var count = 0
            try machine.store.index.forEachDropped { (_, dropped) in if dropped.wasApplied { count += 1 } }
            return (machine.members.chain.links[link].hash, count)
        }
    }
}
