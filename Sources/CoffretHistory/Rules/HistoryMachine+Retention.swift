// How much history stays (Spec/history.md section 13, G3 to G7). The one thing to keep true: nothing goes that was not in
// the plan which a person, or the vault's setting, agreed to.

package import CoffretBase
package import CoffretStorage
internal import CoffretTrust

/// What would go. A person is shown it, and it is counted again before it goes (G4).
package struct DroppingPlan: Equatable, Sendable {
    /// The checkpoint below which history goes.
    package let link: Int
    package let entries: Set<BlobName>
}

/// Why history is not dropped.
package enum DroppingObstacle: Error, Equatable, Sendable {
    /// No base that is verified or believed covers the checkpoint (G1).
    case notSure
    /// More would go than the plan names.
    case grown(by: Int)
}

extension HistoryMachine {
    /// Roots at or below the base that this device did not refute, newest first.
    private var roots: [Int] {
        guard let base else { return [] }
        return (0...base).reversed().filter { members.chain.links[$0].checkpoint?.root != nil && !refuted.contains($0) }
    }

    /// G3: the newest checkpoint of at least this age; nil: there is none. Once in a sync.
    ///
    /// Its age counts from the greatest time that the chain stated up to it, and is never more than the time that passed
    /// since this device first saw it (N1): a clock that is wrong keeps more.
    /// - Parameter isSetting: of the vault, and no person's command: then the age is at least 30 days.
    package mutating func checkpoint(olderThan age: Milliseconds, isSetting: Bool, now: Milliseconds) -> Int? {
        let age = isSetting ? max(age, times.belief) : max(age, 0)
        var found: Int?
        for link in roots {
            let seen = waits.passed(age, for: .seen(link: link), now: now)
            let (stated, overflow) = now.subtractingReportingOverflow(members.chain.states[link].time)
            if found == nil, seen, !overflow, stated >= age { found = link }
        }
        return found
    }

    /// What would go below a checkpoint (G1, G2); nil: no base that is verified or believed covers it.
    ///
    /// - Parameter unacknowledged: own entries that the server has not acknowledged.
    package func droppingPlan(
        below link: Int, unacknowledged: Set<BlobName>
    ) throws(Store.Failure) -> DroppingPlan? {
        guard isSure, roots.contains(link) else { return nil }
        return DroppingPlan(
            link: link,
            entries: Set(try droppable(upTo: members.chain.states[link].accepted, unacknowledged: unacknowledged)))
    }

    /// Drops what was agreed to. Whoever calls it holds the writer's lock (G4).
    ///
    /// - Returns: why nothing went; nil: it went.
    package mutating func drop(
        _ agreed: DroppingPlan, unacknowledged: Set<BlobName>
    ) throws(Store.Failure) -> DroppingObstacle? {
        guard let now = try droppingPlan(below: agreed.link, unacknowledged: unacknowledged) else { return .notSure }
        let more = now.entries.subtracting(agreed.entries)
        guard more.isEmpty else { return .grown(by: more.count) }
        for name in now.entries { try store.drop(name) }
        droppedBelow = max(droppedBelow ?? 0, agreed.link)
        return nil
    }

    /// G7: the answer to a question about an entry that this device dropped: `.historyCompacted` with the number of the
    /// checkpoint; nil: it dropped no such entry.
    package func compaction(of dot: Dot) throws(Store.Failure) -> HistoryError? {
        guard let link = droppedBelow, members.chain.states[link].accepted.covers(dot),
            try store.entries(at: dot).isEmpty
        else { return nil }
        return HistoryError(.historyCompacted, place: "link \(link)")
    }

    /// G5: entries that this device may name in a collection at the server; nil: it may not collect below that checkpoint.
    ///
    /// - Parameter acknowledgedBy: who acknowledged what the checkpoint accepts.
    package mutating func collectable(
        below link: Int, acknowledgedBy: Set<MemberDevice>, unacknowledged: Set<BlobName>, now: Milliseconds
    ) throws(Store.Failure) -> Set<BlobName>? {
        let others = acknowledgedBy.filter {
            members.newestState.members.count > 1 ? $0.account != account : $0.device != device
        }
        let isOld = checkpoint(olderThan: times.belief, isSetting: true, now: now).map { link <= $0 } ?? false
        guard members.newestState.isOwner(account), mayWrite, !others.isEmpty || isOld,
            let plan = try droppingPlan(below: link, unacknowledged: unacknowledged)
        else { return nil }
        return Set(try plan.entries.keeping { (name) throws(Store.Failure) in try store.wasApplied(name) })
    }
}

extension LinkState {
    /// Whether the account is an owner and has accepted.
    func isOwner(_ account: ChainID) -> Bool { members[account].map { $0.role == .owner && $0.hasAccepted } ?? false }
}
