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
    package mutating func setAside() -> [InstanceID: [VerifiedEntry]] {
        var found: [InstanceID: [VerifiedEntry]] = [:]
        for instance in owners.keys where limit(of: instance) != nil {
            let entries = store.entries(of: instance).compactMap { store.entry(named: $0)?.entry }.filter {
                $0.number > accepted.number(of: instance) && !isApplied($0)
            }
            if !entries.isEmpty { found[instance] = entries.sorted { ($0.number, $0.name) < ($1.number, $1.name) } }
        }
        return found
    }

    /// Drops excluded entries whose log was closed 30 days ago or more, as this device saw it. Once in a sync.
    ///
    /// - Parameter kept: names that a person kept, and own entries that nobody else has.
    package mutating func dropSetAside(kept: Set<BlobName>, now: Milliseconds) {
        let staying = kept.union(evidenceNames).union(tips)
        for (instance, entries) in setAside() {
            guard let link = limit(of: instance)?.link,
                waits.passed(times.setAside, for: .setAside(link: link), now: now)
            else { continue }
            for entry in entries where !staying.contains(entry.name) { store.drop(entry.name) }
        }
    }

    /// S10: items of which a current value rests on words that do not count; ascending.
    package mutating func restsOnExcluded() -> [RestsOnExcluded] {
        var excluded: [FactKey: [Dot: Change]] = [:]
        for entry in setAside().values.joined() {
            for change in changes(of: entry) { excluded[change.key, default: [:]][entry.dot] = change }
        }
        return excluded.keys.sorted().compactMap { key in
            let current = facts(under: key).keys.filter { rests($0, under: key, on: excluded[key] ?? [:]) }.sorted()
            guard !current.isEmpty else { return nil }
            return RestsOnExcluded(
                key: key, current: current, before: newestCounting(below: current, key, excluded[key] ?? [:]))
        }
    }

    private func replaced(by dot: Dot, under key: FactKey, _ excluded: [Dot: Change]) -> [Dot] {
        if let change = excluded[dot] { return change.replaces }
        return store.entries(at: dot).filter { isApplied($0.entry) }
            .flatMap { changes(of: $0.entry) }.filter { $0.key == key }.flatMap(\.replaces)
    }

    private func rests(_ start: Dot, under key: FactKey, on excluded: [Dot: Change]) -> Bool {
        var (seen, rest) = (Set<Dot>(), [start])
        while let dot = rest.popLast() {
            guard seen.insert(dot).inserted else { continue }
            if excluded[dot] != nil { return true }
            rest += replaced(by: dot, under: key, excluded)
        }
        return false
    }

    private func newestCounting(below current: [Dot], _ key: FactKey, _ excluded: [Dot: Change]) -> Dot? {
        var (seen, rest, found) = (Set<Dot>(), current, [EntryRank]())
        while let dot = rest.popLast() {
            guard seen.insert(dot).inserted else { continue }
            rest += replaced(by: dot, under: key, excluded)
            guard !current.contains(dot), excluded[dot] == nil else { continue }
            if let fact = store.facts(under: key, inTree: baseRoot)[dot] {
                found.append(EntryRank(height: fact.height, dot: dot))
            }
            for stored in store.entries(at: dot) where isApplied(stored.entry) { found.append(stored.entry.rank) }
        }
        return found.max()?.dot
    }
}
