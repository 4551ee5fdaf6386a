// What a writer has to write, and what his link accepts (Spec/history.md sections 7 and 8). The one thing to keep true: no
// link waits for what cannot be had, and none accepts more than its author applied.

package import CoffretBase
package import CoffretStorage
package import CoffretTrust

/// What is due at a device that may write links.
package struct DueLinks: Equatable, Sendable {
    /// K2, K3: accounts of which a device lost its right behind the heads that the newest epoch knew of. The link states
    /// their newest heads and opens an epoch. While there is one, nothing is pushed.
    package let closings: [ChainID]
    /// K6: forked logs that no link ended.
    package let ends: [InstanceID]
    /// C6, C9: a proven root is wrong, or leaves out what the base has, and this device can write a better one.
    package let betterRoot: Bool
    /// K8: links that wait for this account's word; a person is asked.
    package let unconfirmed: [Int]

    package var isEmpty: Bool { closings.isEmpty && ends.isEmpty && !betterRoot && unconfirmed.isEmpty }

    package init(closings: [ChainID], ends: [InstanceID], betterRoot: Bool, unconfirmed: [Int]) {
        self.closings = closings
        self.ends = ends
        self.betterRoot = betterRoot
        self.unconfirmed = unconfirmed
    }
}

/// What else a link is for, by which the rules for checkpoints differ.
package struct LinkPurpose: Sendable {
    package let changesRoles: Bool
    package let opensEpoch: Bool
    package let confirms: Bool
    package let purges: [EntityID]
    /// C6, C9: it gives a better root than one that is wrong, or leaves something out.
    package let refutes: Bool

    package init(
        changesRoles: Bool = false, opensEpoch: Bool = false, confirms: Bool = false, purges: [EntityID] = [],
        refutes: Bool = false
    ) {
        self.changesRoles = changesRoles
        self.opensEpoch = opensEpoch
        self.confirms = confirms
        self.purges = purges
        self.refutes = refutes
    }
}

/// Why no link is written now.
package enum LinkObstacle: Error, Equatable, Sendable {
    /// Links are known that this device has not taken.
    case behind
    case mayNotWrite
    /// E7: a program that met an entry it cannot read writes no link.
    case programTooOld
    /// C2: this proven checkpoint accepts entries of open logs that are not applied here.
    case lacks(link: Int)
    /// Sixteen epochs in a row are the most.
    case epochRow
    /// C3: this device wrote a plain checkpoint within the hour.
    case tooSoon
    /// P1: only an owner with a verified or believed base deletes for good.
    case mayNotPurge

    /// As errors say it.
    package var name: String {
        switch self {
        case .behind: "behind"
        case .mayNotWrite: "mayNotWrite"
        case .programTooOld: "programTooOld"
        case .lacks: "lacks"
        case .epochRow: "epochRow"
        case .tooSoon: "tooSoon"
        case .mayNotPurge: "mayNotPurge"
        }
    }
}

/// What a link's checkpoint says.
package struct CheckpointPlan: Sendable {
    package let base: UInt32?
    /// All that the link accepts.
    package let accepted: Frontier
    /// Whether that is everything applied here; else key 2 has no room for more (C1a).
    package let isWhole: Bool
    package let root: BlobName?
    /// Of the state at what is accepted.
    package let summary: StateSummary
    package let ends: [InstanceID: LogEnd]
    package let refutes: [UInt32]
    package let purges: [EntityID]
    /// P2: tips that name what is purged; the caller makes their bare forms and pushes them before the link.
    package let purgedTips: [InstanceID: BlobName]
}

extension HistoryMachine {
    /// K2, K6, K8, C6, C9.
    package mutating func due() throws(Store.Failure) -> DueLinks {
        // An end without both entries says nothing.
        var open: [InstanceID] = []
        for instance in forked.sorted() {
            if try limit(of: instance) == nil, try fork(of: instance) != nil { open.append(instance) }
        }
        let roots = try members.chain.links.indices.prefix(members.takenCount).keeping { (link) throws(Store.Failure) in
            guard members.chain.links[link].checkpoint?.root != nil else { return false }
            return try isProven(link)
        }
        let isWorse = passedOver != nil || roots.last.map { refuted.contains($0) } == true
        let betterRoot = if isWorse { try mayWriteRoot() } else { false }
        return DueLinks(
            closings: members.accountsDue, ends: open, betterRoot: betterRoot,
            unconfirmed: members.unconfirmedLinks(spokenForBy: account))
    }

    /// Section 8, Keys: whether an hour passed since a link whose key nobody gave, or whose history object lacks keys that are
    /// here, so that another epoch is opened.
    package mutating func lacksKey(ofEpoch epoch: UInt32, now: Milliseconds) -> Bool {
        waits.passed(3_600_000, for: .key(epoch: epoch), now: now)
    }

    /// Why this device may not write a link now; nil: it may (C2, C3, E7, P1 and the bound of epochs).
    ///
    /// - Parameter hasUnreadable: an entry of a newer format is here.
    package mutating func obstacle(
        to purpose: LinkPurpose, hasUnreadable: Bool, now: Milliseconds
    ) throws(Store.Failure) -> LinkObstacle? {
        guard members.takenCount == members.chain.count else { return .behind }
        guard mayWrite else { return .mayNotWrite }
        let due = try due()
        let closes = !due.closings.isEmpty
        // Who loses a right could not keep it by an entry that nobody reads.
        guard !hasUnreadable || closes || purpose.opensEpoch || purpose.changesRoles else { return .programTooOld }
        guard purpose.purges.isEmpty || members.newestState.isOwner(account) && isSure else { return .mayNotPurge }
        if purpose.opensEpoch, !closes, members.chain.epochRow(of: own) >= VerifiedMemberRights.epochRowMax {
            return .epochRow
        }
        let isPlain =
            !purpose.changesRoles && !purpose.opensEpoch && !purpose.confirms && !closes && due.ends.isEmpty
        guard isPlain else { return nil }
        if purpose.purges.isEmpty, !purpose.refutes, wrotePlainCheckpoint(since: now) { return .tooSoon }
        for link in try candidates() {
            for (instance, mark) in members.chain.states[link].accepted.marks
            where frontier.number(of: instance) < mark.number {
                if try limit(of: instance) != nil { continue }
                return .lacks(link: link)
            }
        }
        return nil
    }

    /// C1, C2, K6: whether a root may be written now, as of the last `settle`. Else the checkpoint is rootless.
    package mutating func mayWriteRoot() throws(Store.Failure) -> Bool {
        guard isSure, firstDoubtedLink == nil else { return false }
        if waits.isOver(times.entries, for: .closedLogs) { return true }
        return try !lacksClosedLogs()
    }

    /// C2: whether entries of closed logs are missing, up to limits that were set behind the base.
    private mutating func lacksClosedLogs() throws(Store.Failure) -> Bool {
        for link in ((base ?? -1) + 1)..<max(members.takenCount, (base ?? -1) + 1) {
            for instance in members.chain.states[link].accepted.marks.keys {
                if let limit = try limit(of: instance), limit.number > frontier.number(of: instance),
                    let owner = owners[instance], let closing = members.closingLink(of: owner), closing > base ?? -1
                {
                    return true
                }
            }
        }
        return false
    }

    /// Begins the wait for closed logs, or ends it. Once in a sync.
    mutating func lookForClosedLogs(now: Milliseconds) throws(Store.Failure) {
        if try lacksClosedLogs() {
            _ = waits.passed(times.entries, for: .closedLogs, now: now)
        } else {
            waits.end(.closedLogs)
        }
    }

    /// What the checkpoint of an own link says, by the rules with this link (C1, C1a, K6, P2).
    ///
    /// - Parameters:
    ///   - preview: the link as `VerifiedMembers.preview` gives it, without a checkpoint.
    ///   - writesRoot: as `mayWriteRoot` said. There is no root where the link itself makes several facts current under a
    ///     key, or others than before (T6).
    ///   - covers: the link is for a better root (C9): it accepts what `passedOver` accepts, too. Where that is not here, the
    ///     plan has no root, and no link is written.
    ///   - frontier: what is accepted, of what is applied; nil: all.
    ///   - accounts: devices, where the link states heads that this device has not followed; nil: those that it has.
    ///   - room: the instances that key 2 has room for.
    package func plan(
        for preview: VerifiedMemberLink, purges: [EntityID] = [], writesRoot: Bool, covers: Bool = false,
        upTo frontier: Frontier? = nil, accounts: [ChainID: AccountDevices]? = nil,
        room: Int = Checkpoint.changedInstanceCountMax
    ) throws(Store.Failure) -> CheckpointPlan {
        try plan(
            for: preview, purges: purges, writesRoot: writesRoot, covers: covers, upTo: frontier, accounts: accounts,
            room: room, order: <)
    }

    func plan(
        for preview: VerifiedMemberLink, purges: [EntityID], writesRoot: Bool, covers: Bool,
        upTo older: Frontier? = nil, accounts: [ChainID: AccountDevices]? = nil, room: Int,
        order: (InstanceID, InstanceID) -> Bool
    ) throws(Store.Failure) -> CheckpointPlan {
        var planned = self
        let ends = try planned.due().ends
        var logEnds: [InstanceID: LogEnd] = [:]
        for instance in ends { logEnds[instance] = try fork(of: instance) }
        let draft = preview.with(
            Checkpoint(
                base: base.map { UInt32($0) }, accepted: frontier, root: nil, digest: Bytes32(0, 0, 0, 0), factCount: 0,
                ends: logEnds))
        var chain = members.chain
        chain.append(draft)
        try planned.takeOwn(accounts: accounts ?? members.accounts, chain: chain, isRoot: false)
        // T6: what the link brings together nobody has merged yet.
        let news = try planned.contested.keeping { (key) throws(Store.Failure) in
            try planned.facts(under: key) != facts(under: key)
        }
        let whole = covers ? passedOver.map(planned.covering) : older
        let accepted = try planned.fitting(whole ?? planned.frontier, room: room, order: order)
        let start = try planned.start(for: accepted)
        let entities = Set(purges)
        var tips: [InstanceID: BlobName] = [:]
        for (instance, mark) in accepted.marks where !entities.isEmpty {
            guard let entry = try store.entry(named: mark.name)?.entry,
                try changes(of: entry).contains(where: { entities.contains($0.key.entity) })
            else { continue }
            tips[instance] = mark.name
        }
        let isWhole = accepted == planned.frontier
        let summary = isWhole ? planned.summary : try planned.computedSummary(at: accepted, from: start)
        return CheckpointPlan(
            base: base.map { UInt32($0) }, accepted: accepted, isWhole: isWhole,
            root: writesRoot && news.isEmpty ? try planned.computedRoot(at: accepted, from: start) : nil,
            summary: summary ?? planned.summary,
            ends: logEnds,
            refutes: refuted.sorted().map { UInt32($0) }, purges: purges.sorted(), purgedTips: tips)
    }

    /// The last common number of a forked log, and two entries behind it.
    func fork(of instance: InstanceID) throws(Store.Failure) -> LogEnd? {
        let entries = try store.entries(of: instance).known { (name) throws(Store.Failure) in
            try store.entry(named: name)?.entry
        }
        let twice = Dictionary(grouping: entries, by: \.number).filter { $0.value.count > 1 }
        guard let number = twice.keys.min(), let names = twice[number]?.map(\.name).sorted() else { return nil }
        return LogEnd(lastCommonNumber: number - 1, first: names[0], second: names[1])
    }

    /// C1a: what key 2 has room for: first what is shut, then, in ascending order, each further log with all that its
    /// entries have seen. Others keep the base's number.
    private mutating func fitting(
        _ whole: Frontier, room: Int, order: (InstanceID, InstanceID) -> Bool
    ) throws(Store.Failure) -> Frontier {
        let accepted = accepted
        let differing = whole.differing(from: accepted).marks.keys.sorted(by: order)
        guard differing.count > room else { return whole }
        var chosen: Set<InstanceID> = []
        for instance in differing where chosen.count < room {
            if try limit(of: instance) != nil { chosen.insert(instance) }
        }
        var seen: [InstanceID: Set<InstanceID>] = [:]
        for instance in differing { seen[instance] = try seenInstances(of: instance, upTo: whole) }
        for instance in differing {
            var group: Set<InstanceID> = []
            var rest = [instance]
            while let next = rest.popLast() {
                guard seen[next] != nil, group.insert(next).inserted else { continue }
                rest += seen[next] ?? []
            }
            if chosen.union(group).count <= room { chosen.formUnion(group) }
        }
        var result = accepted
        for instance in chosen { result[instance] = whole[instance] }
        return result
    }

    /// Whose entries the entries of a log above the base have seen.
    private func seenInstances(of instance: InstanceID, upTo whole: Frontier) throws(Store.Failure) -> Set<InstanceID> {
        guard let mark = whole[instance] else { return [] }
        let floor = accepted.number(of: instance)
        var seen: Set<InstanceID> = []
        for name in try store.entries(of: instance) {
            guard let entry = try store.entry(named: name)?.entry, entry.number > floor, entry.number <= mark.number
            else { continue }
            seen.formUnion(entry.body.seen.marks.keys)
        }
        return seen
    }
}
