// Own entries: where the next one stands, and which are written again (Spec/history.md sections 3 and 12). The one thing to
// keep true: an instance never uses a number twice, and no own word that nobody else has is lost.

package import CoffretStorage
internal import CoffretTrust

/// What an own entry begins with (E1, E2, E5).
package struct EntryPlace: Equatable, Sendable {
    package let number: EntryNumber
    package let before: BlobName?
    package let height: Height
    /// At most 4,096 instances.
    package let seen: Frontier
    /// Whether `seen` has all that is to be said; else an entry without changes comes first (E2).
    package let isSeenWhole: Bool
    /// The member link that it states, and its epoch.
    package let link: Int
    package let epoch: UInt32
}

extension HistoryMachine {
    /// I1: whether an own instance goes on; else a new one begins. It is asked before each own entry (E8).
    package mutating func mayGoOn(_ instance: InstanceID) throws(Store.Failure) -> Bool {
        guard try limit(of: instance) == nil, !forked.contains(instance) else { return false }
        // Behind the greatest height this log has no entry (E2a).
        if let mark = frontier[instance], let newest = try entry(mark, of: instance),
            newest.height >= HistoryLimits.numberMax
        {
            return false
        }
        return try store.unapplied(of: instance, above: frontier.number(of: instance)).count == 0
    }

    /// Where the next entry of an own instance stands; nil: no key of an epoch that it may have is here.
    ///
    /// - Parameters:
    ///   - firstLink: of its context.
    ///   - said: of each other instance the newest mark that this log has told before (E2).
    ///   - hasKey: whether the key of an epoch is here.
    /// - Complexity: one read for each log that is open.
    package func nextPlace(
        of instance: InstanceID, firstLink: Int, said: Frontier, hasKey: (UInt32) -> Bool
    ) throws(Store.Failure) -> EntryPlace? {
        var before: VerifiedEntry?
        if let mark = frontier[instance] { before = try entry(mark, of: instance) }
        let lowest = max(firstLink, before.map { Int($0.context.memberHead.number) } ?? 0)
        let oldEpoch = before?.context.epoch ?? 1
        var place: (link: Int, epoch: UInt32)?
        for link in (lowest...max(lowest, members.newest)).reversed() where place == nil {
            place = epoch(at: link, notBelow: oldEpoch, hasKey).map { (link, $0) }
        }
        guard let place else { return nil }
        var height = before?.height ?? 0
        for (other, mark) in frontier.marks {
            // A height that no vault reaches leads nobody on: behind the greatest there is no entry.
            guard let newest = try entry(mark, of: other), newest.height <= HistoryLimits.followedHeightMax else {
                continue
            }
            height = max(height, newest.height)
        }
        guard height < HistoryLimits.numberMax else { return nil }
        let unsaid = frontier.marks.filter { $0.key != instance && said[$0.key] != $0.value }
            .sorted { $0.key < $1.key }
        let seen = unsaid.prefix(HistoryLimits.referenceCountMax)
        return EntryPlace(
            number: frontier.number(of: instance) + 1, before: frontier[instance]?.name, height: height + 1,
            seen: Frontier(Dictionary(uniqueKeysWithValues: seen.map { ($0.key, $0.value) })),
            isSeenWhole: seen.count == unsaid.count, link: place.link, epoch: place.epoch)
    }

    /// E5: the newest epoch open at a link whose key is here (S5).
    private func epoch(at link: Int, notBelow oldest: UInt32, _ hasKey: (UInt32) -> Bool) -> UInt32? {
        guard link < members.takenCount else { return nil }
        let state = members.chain.states[link]
        let first = max(state.oldestEpoch, oldest)
        return first <= state.epoch ? (first...state.epoch).reversed().first(where: hasKey) : nil
    }

    // MARK: Writing again (I4)

    /// Own entries of an instance that was left: those above the remembered frontier, and those on a branch that lost. In
    /// their order.
    ///
    /// - Parameters:
    ///   - remembered: what the server has, of what was pushed from here.
    ///   - isOwn: whether this copy of the store wrote it.
    package func entriesToWriteAgain(
        of instance: InstanceID, remembered: Frontier, isOwn: (VerifiedEntry) -> Bool
    ) throws(Store.Failure) -> [VerifiedEntry] {
        var found: [VerifiedEntry] = []
        for name in try store.entries(of: instance) {
            guard let entry = try store.entry(named: name)?.entry, isOwn(entry) else { continue }
            let isCovered = entry.number <= accepted.number(of: instance)
            let isSent = entry.number <= remembered.number(of: instance)
            let stands = try isCovered ? isOnBase(entry) : isApplied(entry)
            if !isSent || !stands { found.append(entry) }
        }
        return found.sorted { $0.number < $1.number }
    }

    /// I4: where current facts are of own entries that lie on a branch which lost, and are not kept any more; nil: there are
    /// none. It is the newest root here that accepts that branch: `dropRoots` says which trees stay for it.
    ///
    /// - Complexity: one read for each entry of the branch that won, above the fork.
    package mutating func lostTree(of instance: InstanceID) throws(Store.Failure) -> LostTree? {
        guard let ended = try end(of: instance, at: members.newest) else { return nil }
        let last = ended.end.lastCommonNumber
        var won = LogChain()
        if let tip = try limit(of: instance)?.mark {
            won = try LogChain(from: tip, downTo: last) { (mark) throws(Store.Failure) in
                try self.entry(mark, of: instance)
            }
        }
        var found: LostTree?
        for link in dropRoots.sorted() {
            let accepted = members.chain.states[link].accepted
            guard let checkpoint = members.chain.links[link].checkpoint, let root = checkpoint.root,
                let mark = accepted[instance], mark.number > last, won.name(at: mark.number) != mark.name
            else { continue }
            var purges = found?.purges ?? [:]
            for entity in checkpoint.purges { purges[entity] = accepted }
            found = LostTree(
                link: link, root: root, dots: Dot(instance, last + 1)...Dot(instance, mark.number), purges: purges)
        }
        return found
    }

    /// The last number that the two branches of an ended log have in common; nil: no end holds.
    package func lastCommonNumber(of instance: InstanceID) throws(Store.Failure) -> EntryNumber? {
        try end(of: instance, at: members.newest)?.end.lastCommonNumber
    }

    /// Whether an entry at or below the base's `accept` lies on its hash chain; where that cannot be told, it does not.
    private func isOnBase(_ entry: VerifiedEntry) throws(Store.Failure) -> Bool {
        guard let mark = accepted[entry.instance] else { return false }
        let chain = try LogChain(from: mark, downTo: entry.number - 1) { (mark) throws(Store.Failure) in
            try self.entry(mark, of: entry.instance)
        }
        return chain.contains(entry) ?? false
    }
}

/// A tree with facts of entries that are kept no more, and of which a link took the branch (I4).
package struct LostTree: Sendable {
    package let link: Int
    package let root: BlobName
    /// Of the branch, as far as the root accepts it.
    package let dots: ClosedRange<Dot>
    /// What links that accepted the branch deleted for good, and what these accepted.
    package let purges: [EntityID: Frontier]
}

/// Dots of entries that are written again, and what they become.
package struct Rewriting: Sendable {
    private var newDots: [Dot: Dot] = [:]

    package init() {}

    /// The changes of an entry as the new one has them: what it replaced of entries that were written again is told by the
    /// new dots. Values stay.
    ///
    /// - Parameters:
    ///   - old: the entry that is written again.
    ///   - new: the dot of the entry that does it.
    package mutating func rewrite(_ changes: [Change], of old: Dot, as new: Dot) -> [Change] {
        newDots[old] = new
        return changes.map { change in
            let dots = Set(change.replaces.map { newDots[$0] ?? $0 })
            let own = dots.filter { $0.instance == new.instance }.sorted()
            return Change(key: change.key, content: change.content, replaces: own + dots.subtracting(own).sorted())
        }
    }
}
