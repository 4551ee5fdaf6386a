// The state at a time. The one thing to keep true: it is the state of a frontier, closed under what its entries had seen,
// computed by the same rule as the present (S1).

package import CoffretBase
package import CoffretHistory
package import CoffretStorage

extension LogRepository {
    /// The state at a time, by the authors' clocks: of each log the newest entry at or before it, lowered until all that was
    /// seen is in it (Spec/history.md section 13, "Moments").
    ///
    /// - Throws: `.historyCompacted` with the number of the checkpoint, where history before that time was dropped (G7).
    /// - Complexity: reads the entries behind the time, and those of the items that they touched.
    package func moment(at time: Milliseconds) throws(StorageError) -> LogSnapshot {
        try moment(at: ask { (machine) throws(StorageError) in try machine.frontier(at: time) })
    }

    /// The state of a frontier that is closed under what its entries had seen.
    ///
    /// - Throws: as above; `.historyPending` where entries are on their way that it needs.
    package func moment(at frontier: Frontier) throws(StorageError) -> LogSnapshot {
        let present = try present()
        guard try isPastWhole() else { throw StorageError(.historyPending, place: directory) }
        let changed = try ask { (machine) throws(StorageError) in
            if let link = machine.droppedBelow {
                guard frontier.covers(machine.members.chain.states[link].accepted) else {
                    throw StorageError(.historyCompacted, place: "link \(link)")
                }
            }
            return try machine.changedFacts(behind: frontier)
        }
        let values = present.unstored.merging(changed.unstored) { $1 }
        var summary = present.summary
        for (key, facts) in changed {
            let now = CurrentFacts(try present.facts(under: key))
            try summary.replace(now, by: facts) { (dot, fact) throws(StorageError) in
                files.digestTerm(of: Fact(key: key, content: fact.content.inTree, dot: dot, height: fact.height))
            }
        }
        return LogSnapshot(
            files: files, tree: try files.facts.changing(present.tree, changed.asFacts), unstored: values,
            summary: summary)
    }
}

extension HistoryMachine<DiskHistoryStore> {
    /// Of each log the newest applied entry at or before a time, closed under `seen`.
    ///
    /// - Complexity: reads the entries behind the time, and lowers each log at most by its own entries.
    package func frontier(at time: Milliseconds) throws(StorageError) -> Frontier {
        var result = Frontier()
        for (instance, mark) in frontier.marks {
            result[instance] = try newest(of: instance, from: mark) { (entry) in entry.body.time <= time }
        }
        var isClosed = false
        while !isClosed {
            isClosed = true
            for (instance, mark) in result.marks {
                let lowered = try newest(of: instance, from: mark) { (entry) in
                    entry.body.seen.marks.allSatisfy { other, seen in
                        // What is not applied here made nobody wait (S7).
                        min(seen.number, frontier.number(of: other)) <= result.number(of: other)
                    }
                }
                guard lowered != mark else { continue }
                result[instance] = lowered
                isClosed = false
            }
        }
        return result
    }

    /// The newest entry of a log, from a mark down, of which and of all before it `isIn` is true as far as they are looked
    /// at: an author's clock may jump, and a log has no gaps.
    private func newest(
        of instance: InstanceID, from mark: EntryMark, where isIn: (VerifiedEntry) -> Bool
    ) throws(StorageError) -> EntryMark? {
        var next: EntryMark? = mark
        while let at = next {
            var found = try store.entry(named: at.name)?.entry
            if found == nil { found = try store.bareForm(named: at.name) }
            guard let entry = found else {
                guard try store.wasDroppedForGood(at.name) else { return at }
                next = try newestKept(of: instance, below: at.number)
                continue
            }
            if isIn(entry) { return at }
            next = entry.body.before.map { EntryMark(number: at.number - 1, name: $0) }
        }
        return nil
    }

    /// The newest entry of a log below a number, where what names it was deleted for good; nil: none is kept above the tree
    /// below which history was dropped.
    private func newestKept(
        of instance: InstanceID, below number: EntryNumber
    ) throws(StorageError) -> EntryMark? {
        let floor = droppedBelow.flatMap { members.chain.states[$0].accepted[instance]?.number } ?? 1
        guard floor < number else { return nil }
        for lower in (floor..<number).reversed() {
            for record in try store.index.records(at: Dot(instance, lower)) where record.wasApplied {
                return EntryMark(number: lower, name: record.name)
            }
        }
        return nil
    }

    /// The facts at an older frontier under each key that entries behind it touched.
    fileprivate func changedFacts(behind older: Frontier) throws(StorageError) -> [FactKey: CurrentFacts] {
        var keys: Set<FactKey> = []
        for (instance, mark) in frontier.marks where older[instance] != mark {
            for record in try store.index.records(
                of: instance, from: older.number(of: instance) + 1, to: mark.number)
            where !record.isBare {
                keys.formUnion(try store.files.changes(of: store.read(record)).map(\.key))
            }
        }
        var found: [FactKey: CurrentFacts] = [:]
        for key in keys { found[key] = try facts(under: key, at: older) }
        return found
    }

    /// What stood under a key: by the tree below which history was dropped, and all entries that are kept above it.
    private func facts(under key: FactKey, at older: Frontier) throws(StorageError) -> CurrentFacts {
        let floor = droppedBelow.map { members.chain.states[$0].accepted } ?? Frontier()
        var facts = try store.facts(under: key, inTree: startRoot)
        var replaced: Set<Dot> = []
        for name in try store.entries(touching: key) {
            guard let entry = try store.entry(named: name)?.entry, older.covers(entry.dot), !floor.covers(entry.dot),
                try store.wasApplied(name)
            else { continue }
            guard let change = try store.files.change(of: key, by: entry) else { continue }
            for dot in change.replaces where try hasEffect(on: dot, by: entry) { replaced.insert(dot) }
            guard change.content != .retraction else { continue }
            facts[entry.dot] = CurrentFact(height: entry.height, content: change.content)
        }
        return facts.filter { !replaced.contains($0.key) }
    }
}
