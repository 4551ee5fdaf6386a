// What goes from this device (Spec/history.md section 13). The one thing to keep true: what a reader needs to believe a
// checkpoint, and own words that nobody else has, never go.

package import CoffretBase
package import CoffretStorage
internal import CoffretTrust

extension HistoryMachine {
    /// G2: the tips of the base and of all checkpoints above it.
    package var tips: Set<BlobName> {
        var names: Set<BlobName> = []
        for link in max(base ?? 0, 0)..<max(members.takenCount, base ?? 0) {
            names.formUnion(members.chain.states[link].accepted.marks.values.map(\.name))
        }
        return names
    }

    /// G1: entries that may be dropped: those below a base that is verified or believed, without what G2 keeps.
    ///
    /// - Parameter unacknowledged: own entries that the server has not acknowledged.
    package func droppable(unacknowledged: Set<BlobName>) throws(Store.Failure) -> [BlobName] {
        guard base != nil, isSure else { return [] }
        return try droppable(upTo: accepted, unacknowledged: unacknowledged)
    }

    /// G2: links whose trees stay here: the one below which history was dropped, since moments begin there, and the newest one
    /// by which entries were deleted for good. What a dropped own entry wrote is in them, should its branch lose (I4).
    package var dropRoots: Set<Int> {
        Set([droppedBelow, purged.max()].compactMap(\.self)).filter { members.chain.links[$0].checkpoint?.root != nil }
    }

    /// Names that ends state (K6); what shows an end is not dropped.
    var evidenceNames: Set<BlobName> {
        guard members.takenCount > 0 else { return [] }
        return Set(members.newestState.ended.values.joined().flatMap { [$0.end.first, $0.end.second] })
    }

    /// The same up to a frontier that such a base covers.
    func droppable(upTo accepted: Frontier, unacknowledged: Set<BlobName>) throws(Store.Failure) -> [BlobName] {
        let kept = tips.union(unacknowledged).union(evidenceNames)
        var names: [BlobName] = []
        for (instance, mark) in accepted.marks {
            for entry in try entries(of: instance, upTo: mark.number) where !kept.contains(entry.name) {
                if try store.entries(at: entry.dot).count < 2 { names.append(entry.name) }
            }
        }
        return names
    }

    private func entries(
        of instance: InstanceID, upTo number: EntryNumber
    ) throws(Store.Failure) -> [VerifiedEntry] {
        try store.entries(of: instance).known { (name) throws(Store.Failure) in try store.entry(named: name)?.entry }
            .filter { $0.number <= number }
    }

    /// Drops history (G1).
    package mutating func drop(unacknowledged: Set<BlobName>) throws(Store.Failure) {
        for name in try droppable(unacknowledged: unacknowledged) { try store.drop(name) }
        if isSure { droppedBelow = base ?? droppedBelow }
    }

    // MARK: Deleting for good (P3)

    /// A purge that this device knows of.
    package enum PurgeState: Sendable {
        /// Its checkpoint is not below a base that is verified or believed, or its signer is no owner.
        case withoutEffect
        /// It waits for objections.
        case waiting
        case due
        case done
    }

    /// How a link's purge stands; nil: the link deletes nothing.
    package mutating func purgeState(of link: Int, refused: Set<Int>, now: Milliseconds) -> PurgeState? {
        let signed = members.chain.links[link]
        guard link > 0, let checkpoint = signed.checkpoint, !checkpoint.purges.isEmpty else { return nil }
        let signer = members.chain.states[link - 1].members[signed.accountID]
        guard !refused.contains(link), checkpoint.root != nil, let base, link <= base, isSure,
            signer?.role == .owner, signer?.hasAccepted == true
        else { return .withoutEffect }
        if purged.contains(link) { return .done }
        let isOwn = signed.signer == own
        guard isOwn || waits.passed(times.objection, for: .purge(link: link), now: now) else { return .waiting }
        return members.isRevoked(signed.deviceID, of: signed.accountID) ? .withoutEffect : .due
    }

    /// Purges by others that wait for objections, and for how long still.
    package mutating func waitingPurges(
        refused: Set<Int>, now: Milliseconds
    ) -> [(link: Int, remaining: Milliseconds)] {
        var found: [(link: Int, remaining: Milliseconds)] = []
        for link in members.chain.links.indices.prefix(members.takenCount) {
            guard case .waiting? = purgeState(of: link, refused: refused, now: now) else { continue }
            found.append((link, times.objection - (waits.waits[.purge(link: link)]?.passed ?? 0)))
        }
        return found
    }

    /// P3: a person at this device says yes to the purge of a link.
    package mutating func agreeToPurge(of link: Int, now: Milliseconds) {
        waits.fulfil(times.objection, for: .purge(link: link), now: now)
    }

    /// Drops what links deleted for good, where the wait for objections is over (P3, P4).
    ///
    /// - Parameters:
    ///   - unacknowledged: own entries that the server has not acknowledged; they go when it has.
    ///   - refused: links whose purge a person at this device refused.
    /// - Returns: whether an entry went.
    @discardableResult
    package mutating func purge(
        unacknowledged: Set<BlobName>, refused: Set<Int>, now: Milliseconds
    ) throws(Store.Failure) -> Bool {
        var hasGone = false
        for link in members.chain.links.indices.prefix(members.takenCount) {
            switch purgeState(of: link, refused: refused, now: now) {
            case .due, .done: hasGone = try purge(link, unacknowledged: unacknowledged) || hasGone
            case .withoutEffect, .waiting, nil: continue
            }
        }
        return hasGone
    }

    private mutating func purge(_ link: Int, unacknowledged: Set<BlobName>) throws(Store.Failure) -> Bool {
        guard let checkpoint = members.chain.links[link].checkpoint else { return false }
        var hasGone = false
        let (accepted, below) = (members.chain.states[link].accepted, self.accepted)
        for entity in checkpoint.purges {
            for name in try store.entries(changing: entity) {
                guard let entry = try store.entry(named: name)?.entry, let mark = accepted[entry.instance],
                    entry.number <= min(mark.number, below.number(of: entry.instance))
                else { continue }
                // The base's tip goes too where its bare form is listed. Links above it may name tips below what it accepts, which prove nothing.
                let isBared = checkpoint.bareTips[entry.instance] != nil && mark.name == name
                guard isBared || below[entry.instance]?.name != name, !unacknowledged.contains(name) else { continue }
                try store.dropForGood(name)
                hasGone = true
            }
        }
        purged.insert(link)
        return hasGone
    }
}
