// Which checkpoint the state is built on (Spec/history.md section 8). The one thing to keep true: a root is believed for
// being computed here, or because nobody can compute it any more, and never for who signed it.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretTrust

extension HistoryMachine {
    /// C4: whether each tip that a link's full `accept` names is here, or was, with this number, or its bare form is.
    package func isProven(_ link: Int) throws(Store.Failure) -> Bool {
        for (instance, mark) in members.chain.states[link].accepted.marks {
            var dot = try store.dot(of: mark.name)
            if dot == nil { dot = try store.leftDot(of: mark.name) }
            if dot == Dot(instance, mark.number) { continue }
            guard try bareForm(of: mark, of: instance) != nil else { return false }
        }
        return true
    }

    /// Links above the base, newest first, with a root that is proven and was not refuted here.
    package func candidates() throws(Store.Failure) -> [Int] {
        try (((base ?? -1) + 1)..<max(members.takenCount, (base ?? -1) + 1)).reversed().keeping {
            (link) throws(Store.Failure) in
            guard members.chain.links[link].checkpoint?.root != nil, !refuted.contains(link) else { return false }
            return try isProven(link)
        }
    }

    /// C8, C9: looks at the checkpoints above the base.
    mutating func chooseBase(now: Milliseconds, isFresh: Bool, isCollected: (Int) -> Bool) throws(Store.Failure) {
        let doubted = firstDoubtedLink
        passedOver = nil
        for link in try candidates() {
            // K6: a root may rest on an end that is not shown here yet.
            if baseTrust == .verified, let doubted, link >= doubted { continue }
            if try raisesLimit(link) {
                refuted.insert(link)
                continue
            }
            switch try judge(link, now: now, isFresh: isFresh, isCollected: isCollected(link)) {
            case .passOver: continue
            case .take(let baseTrust):
                base = link
                self.baseTrust = baseTrust
            }
            break
        }
        guard base != nil, baseTrust == .unverified else { return }
        try verifyBase(now: now, isCollected: isCollected)
    }

    private enum Judgement {
        case take(BaseTrust)
        case passOver
    }

    private mutating func judge(
        _ link: Int, now: Milliseconds, isFresh: Bool, isCollected: Bool
    ) throws(Store.Failure) -> Judgement {
        let (accepted, other) = (self.accepted, members.chain.states[link].accepted)
        let unsure: Judgement = .take(believed.contains(link) ? .believed : .unverified)
        let leftOut = accepted.marks.filter { other.number(of: $0.key) < $0.value.number }.map(\.key)
        if !leftOut.isEmpty {
            if baseTrust != .verified, let base, let listed = members.chain.links[link].checkpoint?.refutes,
                listed.contains(UInt32(base))
            {
                return unsure
            }
            let isShutAlone = try leftOut.all { (instance) throws(Store.Failure) in try isShut(instance, at: link) }
            let mayGiveWay =
                isCollected || isShutAlone && waits.passed(times.entries, for: .leftOut(link: link), now: now)
            if mayGiveWay, try !canCover(link) { return unsure }
            passedOver = passedOver ?? link
            return .passOver
        }
        if try base != start(for: other) { return unsure }
        let root = try computedRoot(at: other, from: base)
        if let root, baseTrust == .verified {
            if root == members.chain.links[link].checkpoint?.root {
                try checkSummary(of: link)
                return .take(.verified)
            }
            refuted.insert(link)
            return .passOver
        }
        if baseTrust == .believed, root == members.chain.links[link].checkpoint?.root {
            believed.insert(link)
        }
        if isFresh || isCollected || baseTrust != .verified
            || waits.passed(times.entries, for: .base(link: link), now: now)
        {
            return .take(believed.contains(link) ? .believed : .unverified)
        }
        return .passOver
    }

    /// C9: what a checkpoint accepts that covers what is applied here and what another one accepts.
    func covering(_ link: Int) -> Frontier {
        var all = frontier
        for (instance, mark) in members.chain.states[link].accepted.marks where mark.number > all.number(of: instance) {
            all[instance] = mark
        }
        return all
    }

    /// C9: from which base the state at a frontier is computed. Entries of the base's tree may have replaced what a log says
    /// that was shut there, so what is accepted of it beyond the base is computed from the beginning.
    func start(for target: Frontier) throws(Store.Failure) -> Int? {
        guard let base else { return nil }
        let accepted = accepted
        for (instance, mark) in target.marks where mark.number > accepted.number(of: instance) {
            if try isShut(instance, at: base) { return nil }
        }
        return base
    }

    /// C9: whether this device can write a root that covers both.
    ///
    /// - Complexity: reads each entry between the base, or the beginning, and what both accept.
    private func canCover(_ link: Int) throws(Store.Failure) -> Bool {
        guard mayWrite, isSure else { return false }
        let all = covering(link)
        return try changedFacts(at: all, from: start(for: all)) != nil
    }

    /// C6: the root of the state at a frontier, by the entries between it and a base; nil: one is missing.
    ///
    /// - Complexity: reads each entry between them once.
    func computedRoot(at target: Frontier, from base: Int?) throws(Store.Failure) -> BlobName? {
        guard let facts = try changedFacts(at: target, from: base) else { return nil }
        return try store.root(of: tree(of: base), with: facts)
    }

    /// The digest and the count of the same state.
    func computedSummary(at target: Frontier, from base: Int?) throws(Store.Failure) -> StateSummary? {
        guard let facts = try changedFacts(at: target, from: base) else { return nil }
        return try summary(ofTree: tree(of: base), with: facts)
    }

    private func tree(of base: Int?) -> BlobName? { base.flatMap { members.chain.links[$0].checkpoint?.root } }

    /// S9: a digest that does not fit a root which does is told, and stops nothing.
    private mutating func checkSummary(of link: Int) throws(Store.Failure) {
        guard let checkpoint = members.chain.links[link].checkpoint,
            let found = try computedSummary(at: members.chain.states[link].accepted, from: base)
        else { return }
        if found != StateSummary(digest: StateDigest(checkpoint.digest), factCount: checkpoint.factCount) {
            misstated.insert(link)
        }
    }

    private func changedFacts(at target: Frontier, from base: Int?) throws(Store.Failure) -> [FactKey: CurrentFacts]? {
        let from = base.map { members.chain.states[$0].accepted } ?? Frontier()
        guard target.covers(from) else { return nil }
        var facts: [FactKey: CurrentFacts] = [:]
        var replaced: [FactKey: Set<Dot>] = [:]
        let tree = tree(of: base)
        for (instance, tip) in target.marks {
            var mark: EntryMark? = tip
            let floor = from[instance]
            while let at = mark, at != floor {
                guard at.number > floor?.number ?? 0, let stored = try store.entry(named: at.name), stored.isSupported,
                    stored.entry.dot == Dot(instance, at.number)
                else { return nil }
                try collect(stored.entry, &facts, &replaced, tree)
                mark = stored.entry.body.before.map { EntryMark(number: at.number - 1, name: $0) }
            }
            guard mark == floor else { return nil }
        }
        for (key, dots) in replaced { facts[key] = facts[key]?.filter { !dots.contains($0.key) } }
        return facts
    }

    private func collect(
        _ entry: VerifiedEntry, _ facts: inout [FactKey: CurrentFacts], _ replaced: inout [FactKey: Set<Dot>],
        _ tree: BlobName?
    ) throws(Store.Failure) {
        for change in try changes(of: entry) {
            if facts[change.key] == nil { facts[change.key] = try store.facts(under: change.key, inTree: tree) }
            replaced[change.key, default: []].formUnion(
                try change.replaces.keeping { (dot) throws(Store.Failure) in try hasEffect(on: dot, by: entry) })
            guard change.content != .retraction else { continue }
            facts[change.key]?[entry.dot] = CurrentFact(height: entry.height, content: change.content)
        }
    }

    /// C7: an unverified base is verified by all older entries, or comes to be believed.
    private mutating func verifyBase(now: Milliseconds, isCollected: (Int) -> Bool) throws(Store.Failure) {
        guard let link = base else { return }
        switch try isTrue(link) {
        case true?:
            baseTrust = .verified
            return
        case false?:
            refuted.insert(link)
            base = nil
            baseTrust = .verified
            try chooseBase(now: now, isFresh: false, isCollected: isCollected)
            return
        case nil: break
        }
        if waits.passed(times.belief, for: .unverified(link: link), now: now) {
            believed.insert(link)
            baseTrust = .believed
        }
    }

    /// Whether the base's root is what all older entries give; nil: it cannot be told.
    private func isTrue(_ link: Int) throws(Store.Failure) -> Bool? {
        guard !accepted.isEmpty else { return nil }
        if try raisesLimit(link) { return false }
        if let doubted = firstDoubtedLink, doubted <= link { return nil }
        return try computedRoot(at: accepted, from: nil).map { $0 == members.chain.links[link].checkpoint?.root }
    }
}
