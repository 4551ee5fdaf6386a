// Words that do not count, and what was made on them (section 6, S10). The one thing to keep true: they are shown to a
// person, and no program decides.

package import CoffretBase
package import CoffretStorage

/// An item that stands and replaced, directly or through versions, a fact that does not count (S10).
package struct RestsOnExcluded: Hashable, Sendable {
    package let key: FactKey
    /// The current facts that it is true of; ascending.
    package let current: [Dot]
    /// The newest version below them that counts; nil: none is here.
    package let before: Dot?
}

extension HistoryMachine {
    /// Entries above the base that are here and have no effect, since their log was closed or ended: the list for rescue.
    /// Ascending in each log.
    ///
    /// - Complexity: reads the kept entries of closed and ended logs.
    package mutating func setAside() throws(Store.Failure) -> [InstanceID: [VerifiedEntry]] {
        var found: [InstanceID: [VerifiedEntry]] = [:]
        for instance in owners.keys {
            guard try limit(of: instance) != nil else { continue }
            let entries = try store.entries(of: instance).known { (name) throws(Store.Failure) -> VerifiedEntry? in
                guard let entry = try store.entry(named: name)?.entry, entry.number > accepted.number(of: instance),
                    try !isApplied(entry)
                else { return nil }
                return entry
            }
            if !entries.isEmpty { found[instance] = entries.sorted { ($0.number, $0.name) < ($1.number, $1.name) } }
        }
        return found
    }

    /// Drops excluded entries whose log was closed 30 days ago or more, as this device saw it. Once in a sync.
    ///
    /// - Parameter kept: own entries that nobody else has.
    package mutating func dropSetAside(kept: Set<BlobName>, now: Milliseconds) throws(Store.Failure) {
        let staying = kept.union(evidenceNames).union(tips)
        for (instance, entries) in try setAside() {
            guard let link = try limit(of: instance)?.link,
                waits.passed(times.setAside, for: .setAside(link: link), now: now)
            else { continue }
            for entry in entries where !staying.contains(entry.name) { try store.drop(entry.name) }
        }
    }

    /// S10: items of which a current value rests on words that do not count; ascending.
    package mutating func restsOnExcluded() throws(Store.Failure) -> [RestsOnExcluded] {
        var excluded: [FactKey: [Dot: Change]] = [:]
        for entry in try setAside().values.joined() {
            for change in try changes(of: entry) { excluded[change.key, default: [:]][entry.dot] = change }
        }
        var found: [RestsOnExcluded] = []
        for (key, changes) in excluded.sorted(by: { $0.key < $1.key }) {
            let current = try facts(under: key).keys.keeping { (dot) throws(Store.Failure) in
                try rests(dot, under: key, on: changes)
            }.sorted()
            guard !current.isEmpty else { continue }
            let before = try newestCounting(below: current, key, changes)
            found.append(RestsOnExcluded(key: key, current: current, before: before))
        }
        return found
    }

    private func replaced(by dot: Dot, under key: FactKey, _ excluded: [Dot: Change]) throws(Store.Failure) -> [Dot] {
        if let change = excluded[dot] { return change.replaces }
        var dots: [Dot] = []
        for stored in try store.entries(at: dot) {
            guard try isApplied(stored.entry) else { continue }
            if let change = try change(of: key, by: stored.entry) { dots += change.replaces }
        }
        return dots
    }

    private func rests(_ start: Dot, under key: FactKey, on excluded: [Dot: Change]) throws(Store.Failure) -> Bool {
        var (seen, rest) = (Set<Dot>(), [start])
        while let dot = rest.popLast() {
            guard seen.insert(dot).inserted else { continue }
            if excluded[dot] != nil { return true }
            rest += try replaced(by: dot, under: key, excluded)
        }
        return false
    }

    private func newestCounting(below current: [Dot], _ key: FactKey, _ excluded: [Dot: Change]) throws(Store.Failure)
        -> Dot?
    {
        var (seen, rest, found) = (Set<Dot>(), current, [EntryRank]())
        while let dot = rest.popLast() {
            guard seen.insert(dot).inserted else { continue }
            rest += try replaced(by: dot, under: key, excluded)
            guard !current.contains(dot), excluded[dot] == nil else { continue }
            if let fact = try store.facts(under: key, inTree: baseRoot)[dot] {
                found.append(EntryRank(height: fact.height, dot: dot))
            }
            for stored in try store.entries(at: dot) {
                if try isApplied(stored.entry) { found.append(stored.entry.rank) }
            }
        }
        return found.max()?.dot
    }
}
