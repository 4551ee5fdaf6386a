// What people were shown, entry by entry. Invariant: where devices wrote at one time, each state has one value under a key,
// and every value that anybody wrote is in the state of its entry.

internal import CoffretBase
internal import CoffretCore
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage

/// The history of a vault as one line of states, oldest first.
struct ShownHistory {
    /// One state after another.
    struct Step {
        let time: Milliseconds
        /// Who wrote it, for information.
        let instance: UniqueID
        /// Nil for the state that history begins with.
        let entry: BlobName?
    }

    private let repository: LogRepository
    private let records: RecordTable
    private let unreadable: UnreadableValues
    /// The facts that history begins with, ascending; empty where all of it is here.
    private let start: [Fact]
    let steps: [Step]

    init(of vault: Vault, records: RecordTable) throws {
        repository = vault.repository
        self.records = records
        unreadable = vault.unreadable
        var (steps, kept): ([Step], Set<Dot>) = ([], [])
        var walk = try repository.walk()
        let dropped = try repository.droppedFrontier()
        while let entry = try walk.next() {
            if dropped.covers(entry.dot) { continue }
            kept.insert(entry.dot)
            steps.append(Step(time: entry.body.time, instance: entry.instance, entry: entry.name))
        }
        start = try repository.beginning(without: kept)
        if let first = start.first {
            let time = try repository.timeBelowHistory() ?? steps.last?.time ?? 0
            steps.append(Step(time: time, instance: first.dot.instance, entry: nil))
        }
        self.steps = steps.reversed()
    }

    /// Calls `body` for each step with what changed under keys that begin with `prefix`, ascending: the value that is shown
    /// from then on, nil for none.
    ///
    /// - Complexity: memory for the places of all facts that stand.
    func forEachStep(
        withPrefix prefix: [UInt8] = [], _ body: (Step, [(key: FactKey, value: [UInt8]?)]) throws -> Void
    ) throws {
        var standing: [FactKey: [Dot]] = [:]
        for step in steps {
            var changes: [(key: FactKey, value: [UInt8]?)] = []
            guard let name = step.entry else {
                for fact in start where fact.key.bytes.starts(with: prefix) {
                    standing[fact.key, default: []].append(fact.dot)
                }
                for (key, dots) in standing.sorted(by: { $0.key < $1.key }) {
                    changes.append((key, try shown(dots, under: key)))
                }
                try body(step, changes)
                continue
            }
            guard let entry = try repository.entry(named: name) else { continue }
            for change in try repository.changes(of: entry, withPrefix: prefix) {
                let before = standing[change.key] ?? []
                var after = before.filter { !change.replaces.contains($0) }
                if change.content != .retraction { after.append(entry.dot) }
                standing[change.key] = after.isEmpty ? nil : after
                if before.count <= 1, after.count <= 1 {
                    if before.isEmpty, after.isEmpty { continue }
                    let value =
                        change.content == .retraction
                        ? nil
                        : try readable(change.key) { () throws(StorageError) in
                            try repository.value(of: change.content, under: change.key)
                        }
                    if value != nil || !before.isEmpty { changes.append((change.key, value)) }
                } else {
                    let value = try shown(after, under: change.key)
                    if try value != shown(before, under: change.key) { changes.append((change.key, value)) }
                }
            }
            try body(step, changes)
        }
    }

    /// - Returns: nil for what no writer may store: it is noted, and keeps nobody from the rest.
    private func readable(
        _ key: FactKey, _ value: () throws(StorageError) -> [UInt8]?
    ) throws(StorageError) -> [UInt8]? {
        do throws(StorageError) { return try value() } catch {
            guard error.isMalformedValue else { throw error }
            unreadable.note(key.attribute.name, of: key.entity)
            return nil
        }
    }

    private func shown(_ dots: [Dot], under key: FactKey) throws -> [UInt8]? {
        try readable(key) { () throws(StorageError) in try readShown(dots, under: key) }
    }

    private func readShown(_ dots: [Dot], under key: FactKey) throws(StorageError) -> [UInt8]? {
        guard dots.count != 1 else { return try repository.value(at: dots[0], under: key) }
        var facts: [Fact] = []
        for dot in dots {
            if let fact = try repository.fact(at: dot, under: key) { facts.append(fact) }
        }
        guard !facts.isEmpty else { return nil }
        if ItemTexts.isText(key) { return try repository.shownText(under: key, of: facts.sorted()).text }
        let fact = try shownFact(of: facts.sorted(), records: records) { (fact) throws(StorageError) in
            try repository.value(at: fact.dot, under: key) ?? []
        }
        guard let fact else { return nil }
        return try repository.value(at: fact.dot, under: key)
    }
}
