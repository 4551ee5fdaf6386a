// Facts: applying, taking back, computing anew (Spec/history.md section 4). The one thing to keep true: what stands under a
// key follows from the base's facts and the applied entries that touch the key, in whatever order they were applied.

package import CoffretStorage
internal import CoffretTrust

extension HistoryMachine {
    func changes(of entry: VerifiedEntry) throws(Store.Failure) -> [Change] {
        if case .tree(let root, _) = entry.body.changes { return try store.changes(inTree: root) }
        return entry.body.changes.list
    }

    /// The change that an entry makes of a key; nil: none.
    func change(of key: FactKey, by entry: VerifiedEntry) throws(Store.Failure) -> Change? {
        if case .tree(let root, _) = entry.body.changes { return try store.change(of: key, inTree: root) }
        return entry.body.changes.list.first { $0.key == key }
    }

    /// Applies an entry whose past is applied (S1).
    mutating func apply(_ entry: VerifiedEntry) throws(Store.Failure) {
        let dot = entry.dot
        for change in try changes(of: entry) {
            let old = try facts(under: change.key)
            var facts = old
            for replaced in change.replaces {
                guard try hasEffect(on: replaced, by: entry) else { continue }
                // An entry at or below the base never comes.
                if facts.removeValue(forKey: replaced) == nil, !accepted.covers(replaced) {
                    replacedEarly[change.key, default: []].insert(replaced)
                }
            }
            if change.content != .retraction {
                if replacedEarly[change.key]?.contains(dot) != true {
                    facts[dot] = CurrentFact(height: entry.height, content: change.content)
                }
            }
            forget(dot, under: change.key)
            try put(facts, under: change.key, insteadOf: old)
        }
        frontier[entry.instance] = entry.mark
        try store.noteApplied(entry.name)
    }

    private mutating func forget(_ dot: Dot, under key: FactKey) {
        guard replacedEarly[key]?.remove(dot) != nil, replacedEarly[key]?.isEmpty == true else { return }
        replacedEarly[key] = nil
    }

    /// K6: a replacement above the last common number of an ended log has no effect by an entry of another instance that
    /// did not know of the end, unless the base that the ending link names covers it.
    package func hasEffect(on dot: Dot, by entry: VerifiedEntry) throws(Store.Failure) -> Bool {
        guard entry.instance != dot.instance, let ended = try end(of: dot.instance, at: members.newest),
            dot.number > ended.end.lastCommonNumber, entry.context.memberHead.number < UInt64(ended.link)
        else { return true }
        guard let base = members.chain.links[ended.link].checkpoint?.base else { return false }
        return members.chain.states[Int(base)].accepted.covers(entry.dot)
    }

    // MARK: Computing anew

    /// The root of the base's tree; nil: no base.
    package var baseRoot: BlobName? { base.flatMap { members.chain.links[$0].checkpoint?.root } }

    /// The state from the base on (S11).
    mutating func rebuild() throws(Store.Failure) {
        try store.begin(atTree: baseRoot)
        overlay = [:]
        contested = []
        summary = try store.summary(ofTree: baseRoot)
        replacedEarly = [:]
        frontier = accepted
        waiting = [:]
        pending = []
        limits = [:]
        limitChains = [:]
        try advance(store.instances())
        try settleLimits()
    }

    private mutating func settleLimits() throws(Store.Failure) {
        settledLimits = [:]
        for instance in owners.keys { settledLimits[instance] = try limit(of: instance) }
    }

    /// Brings the state up to date after links and devices that came: for those keys only that an instance with another
    /// verdict wrote or replaced (S11).
    mutating func reconcile() throws(Store.Failure) {
        let before = settledLimits
        var keys: Set<FactKey> = []
        var woken: Set<InstanceID> = []
        for instance in owners.keys {
            let now = try limit(of: instance)
            guard now != before[instance] else { continue }
            if now != nil { keys.formUnion(try takeBack(instance)) }
            woken.insert(instance)
            woken.formUnion((waiting.removeValue(forKey: instance) ?? []).map(\.instance))
        }
        for key in keys { try recompute(key) }
        // An instance may end before an entry of it came.
        for instance in members.newestState.ended.keys where owners[instance] == nil {
            guard try limit(of: instance) != nil else { continue }
            woken.formUnion((waiting.removeValue(forKey: instance) ?? []).map(\.instance))
        }
        try advance(pending.union(woken).union(arrived))
        try settleLimits()
    }

    /// Takes entries of a log back that count no more, and says which keys they touched.
    private mutating func takeBack(_ instance: InstanceID) throws(Store.Failure) -> Set<FactKey> {
        var keys: Set<FactKey> = []
        if let ended = try end(of: instance, at: members.newest) {
            // Replacements of what lay behind the fork lose or keep their effect with the end, also of what was
            // replaced before it came.
            for name in try store.entries(of: instance) {
                guard let entry = try store.entry(named: name)?.entry, entry.number > ended.end.lastCommonNumber else {
                    continue
                }
                keys.formUnion(try changes(of: entry).map(\.key))
            }
            for (key, dots) in replacedEarly {
                let isBehind = dots.contains { $0.instance == instance && $0.number > ended.end.lastCommonNumber }
                if isBehind { keys.insert(key) }
            }
        }
        guard let applied = frontier[instance] else { return keys }
        let floor = accepted[instance]
        var mark: EntryMark? = applied
        while let at = mark, at.number > floor?.number ?? 0, let stored = try store.entry(named: at.name) {
            if case .counts = try verdict(on: stored) { break }
            keys.formUnion(try changes(of: stored.entry).map(\.key))
            mark = stored.entry.body.before.map { EntryMark(number: at.number - 1, name: $0) }
        }
        frontier[instance] = mark
        return keys
    }

    /// What stands under a key by the base and all applied entries above it.
    private mutating func recompute(_ key: FactKey) throws(Store.Failure) {
        var facts = try store.facts(under: key, inTree: baseRoot)
        var replaced: Set<Dot> = []
        var written: CurrentFacts = [:]
        for name in try store.entries(touching: key) {
            guard let entry = try store.entry(named: name)?.entry, try isApplied(entry) else { continue }
            if let change = try change(of: key, by: entry) {
                replaced.formUnion(
                    try change.replaces.keeping { (dot) throws(Store.Failure) in try hasEffect(on: dot, by: entry) })
                if change.content != .retraction {
                    written[entry.dot] = CurrentFact(height: entry.height, content: change.content)
                }
            }
        }
        let early = replaced.filter { !frontier.covers($0) && !accepted.covers($0) }
        replacedEarly[key] = early.isEmpty ? nil : early
        facts.merge(written) { $1 }
        try put(facts.filter { !replaced.contains($0.key) }, under: key, insteadOf: try self.facts(under: key))
    }

    /// Whether an entry above the base is applied. Of a log with two entries of one number that needs its chain.
    package func isApplied(_ entry: VerifiedEntry) throws(Store.Failure) -> Bool {
        guard entry.number > accepted.number(of: entry.instance), let mark = frontier[entry.instance],
            entry.number <= mark.number
        else { return false }
        guard forked.contains(entry.instance) else { return true }
        let chain = try LogChain(from: mark, downTo: entry.number - 1) { (mark) throws(Store.Failure) in
            try self.entry(mark, of: entry.instance)
        }
        return chain.contains(entry) ?? false
    }
}
