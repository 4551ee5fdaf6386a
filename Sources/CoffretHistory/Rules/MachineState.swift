// What of a machine is stored, so that a store opens in the same time however long its history is. The one thing to keep
// true: bytes of the disk are checked against the chain and the entries that are here; they are never believed.

package import CoffretBase
internal import CoffretStorage
package import CoffretTrust

/// One log as the state knows it.
package struct LogState: Equatable, Sendable {
    let instance: InstanceID
    /// Of its context; nil: no entry of it came.
    var owner: InstanceOwner?
    var applied: EntryMark?
    /// The link that closed or ended it, where the state was computed by that.
    var limitLink: UInt32?
    var limitMark: EntryMark?
    /// Whether its next entry is here and not applied.
    var isPending: Bool
    var isForked: Bool
}

/// Facts under one key that were replaced before they came (S1).
package struct EarlyReplacements: Equatable, Sendable {
    var key: FactKey
    var dots: [Dot]
}

extension EndPlace: Comparable {
    package static func < (left: EndPlace, right: EndPlace) -> Bool {
        left.link != right.link ? left.link < right.link : left.instance < right.instance
    }
}

/// The state of a `HistoryMachine` between two of its steps. Spec: Spec/history.md section 15, L1.
package struct MachineState: Equatable, Sendable {
    package internal(set) var takenCount: UInt32
    var base: UInt32?
    var baseTrust: BaseTrust
    var passedOver: UInt32?
    /// Ascending by instance.
    var logs: [LogState]
    var replacedEarly: [EarlyReplacements]
    /// Keys with several current facts.
    var contested: [FactKey]
    package var summary: StateSummary
    var droppedBelow: UInt32?
    var lackedEnds: [EndPlace]
    var refuted: [UInt32]
    var believed: [UInt32]
    var purged: [UInt32]
    var waits: Waits

    /// The newest applied entry of each log.
    package var appliedMarks: Frontier {
        Frontier(Dictionary(uniqueKeysWithValues: logs.compactMap { log in log.applied.map { (log.instance, $0) } }))
    }
}

extension HistoryMachine {
    /// What has to be stored, after the facts that changed were put into a tree. Not while a plan is held (K8).
    ///
    /// - Complexity: linear in the logs, whatever their lengths; `flush` is linear in the keys that changed.
    package mutating func suspend() throws(Store.Failure) -> MachineState {
        precondition(heldFrom == nil && !needsRebuilding, "a plan is not stored")
        try flush()
        let all = Set(owners.keys).union(frontier.marks.keys).union(settledLimits.keys)
        var logs: [LogState] = []
        for instance in all.sorted() {
            let limit = settledLimits[instance]
            // An own entry is applied when it is written.
            var isPending = pending.contains(instance)
            if !isPending, arrived.contains(instance) {
                isPending = try !store.entries(at: Dot(instance, frontier.number(of: instance) + 1)).isEmpty
            }
            logs.append(
                LogState(
                    instance: instance, owner: owners[instance], applied: frontier[instance],
                    limitLink: limit.map { UInt32($0.link) }, limitMark: limit?.mark, isPending: isPending,
                    isForked: forked.contains(instance)))
        }
        func links(_ links: Set<Int>) -> [UInt32] { links.sorted().map { UInt32($0) } }
        return MachineState(
            takenCount: UInt32(members.takenCount), base: base.map { UInt32($0) }, baseTrust: baseTrust,
            passedOver: passedOver.map { UInt32($0) }, logs: logs,
            replacedEarly: replacedEarly.sorted { $0.key < $1.key }.map {
                EarlyReplacements(key: $0.key, dots: $0.value.sorted())
            },
            contested: contested.sorted(), summary: summary, droppedBelow: droppedBelow.map { UInt32($0) },
            lackedEnds: lackedEnds.sorted(), refuted: links(refuted), believed: links(believed), purged: links(purged),
            waits: waits)
    }

    /// Goes on from a stored state. Entries that were stored behind it are told by `receive`.
    ///
    /// - Parameters:
    ///   - store: its newest tree is the one that was there when the state was stored.
    ///   - chain: all links that are here, verified; those that the state calls taken among them.
    /// - Returns: `.stateMalformed` for a state that does not fit links or entries: it is computed anew.
    /// - Complexity: linear in the logs; two reads of the store for each.
    package static func resumed(
        from state: MachineState, store: Store, account: ChainID, device: UniqueID,
        accounts: [ChainID: AccountDevices], chain: MemberState, times: HistoryTimes = HistoryTimes()
    ) throws(Store.Failure) -> Result<HistoryMachine, HistoryError> {
        var machine = HistoryMachine(store: store, account: account, device: device, times: times)
        guard let fault = try machine.resume(state, accounts, chain) else { return .success(machine) }
        return .failure(HistoryError(.stateMalformed, place: fault))
    }

    /// - Returns: what does not fit.
    private mutating func resume(
        _ state: MachineState, _ accounts: [ChainID: AccountDevices], _ chain: MemberState
    ) throws(Store.Failure) -> String? {
        guard state.takenCount <= chain.count else { return "links taken" }
        for (links, what) in [(state.refuted, "refuted"), (state.believed, "believed"), (state.purged, "purges")]
        where links.contains(where: { $0 >= state.takenCount }) { return what }
        members = MemberView(accounts: accounts, chain: chain, takenCount: Int(state.takenCount))
        if let link = state.base {
            guard link < state.takenCount, chain.links[Int(link)].checkpoint?.root != nil else { return "base" }
            base = Int(link)
        }
        if let link = state.passedOver {
            guard link < state.takenCount, Int(link) > base ?? -1 else { return "passed over" }
            passedOver = Int(link)
        }
        if let link = state.droppedBelow, Int(link) > base ?? -1 { return "dropped history" }
        for end in state.lackedEnds {
            guard end.link < members.takenCount, chain.links[end.link].checkpoint?.ends[end.instance] != nil else {
                return "ends"
            }
        }
        for log in state.logs { if let fault = try resume(log) { return fault } }
        guard frontier.covers(accepted) else { return "frontier" }
        (baseTrust, waits) = (state.baseTrust, state.waits)
        (refuted, believed, purged) = (links(state.refuted), links(state.believed), links(state.purged))
        droppedBelow = state.droppedBelow.map { Int($0) }
        lackedEnds = Set(state.lackedEnds)
        for early in state.replacedEarly { replacedEarly[early.key] = Set(early.dots) }
        (contested, summary) = (Set(state.contested), state.summary)
        isStale = members.takenCount > 0
        return nil
    }

    private func links(_ numbers: [UInt32]) -> Set<Int> { Set(numbers.map { Int($0) }) }

    private mutating func resume(_ log: LogState) throws(Store.Failure) -> String? {
        let instance = log.instance
        if let mark = log.applied, accepted[instance] != mark {
            guard try store.dot(of: mark.name) == Dot(instance, mark.number), try store.wasApplied(mark.name) else {
                return "frontier of \(instance)"
            }
        }
        // What it says of the device is believed for a log alone of which the newest entry is not kept.
        if let mark = log.applied, let entry = try store.entry(named: mark.name)?.entry {
            guard log.owner == InstanceOwner(entry.context) else { return "owner of \(instance)" }
        }
        frontier[instance] = log.applied
        owners[instance] = log.owner
        if log.isPending { pending.insert(instance) }
        if log.isForked { forked.insert(instance) }
        guard let link = log.limitLink else { return nil }
        guard link < members.takenCount else { return "limit of \(instance)" }
        settledLimits[instance] = Limit(link: Int(link), mark: log.limitMark)
        return nil
    }
}
