// What a device asks for, and how much it takes before its past is here (Spec/history.md sections 10 and 12). The one thing
// to keep true: the bound is each device's, so that new instances give nobody more room.

internal import CoffretBase
package import CoffretStorage

/// How much may still be stored of each device whose entries cannot be applied yet. Made for one batch.
package struct UnappliedAllowance {
    package static let entryCountMax = 65_536
    package static let byteCountMax = 64 << 20

    private var held: [MemberDevice: (count: Int, byteCount: Int)]

    fileprivate init(_ held: [MemberDevice: (count: Int, byteCount: Int)]) { self.held = held }

    /// Whether an entry of this batch is taken; one that is not stays at the server.
    package mutating func admits(_ entry: VerifiedEntry, byteCount: Int) -> Bool {
        let device = entry.context.author
        let (count, bytes) = held[device] ?? (0, 0)
        guard count < Self.entryCountMax, bytes + byteCount <= Self.byteCountMax else { return false }
        held[device] = (count + 1, bytes + byteCount)
        return true
    }
}

extension HistoryMachine {
    /// The room for a batch.
    ///
    /// - Complexity: one question to the store for each instance.
    package func unappliedAllowance() throws(Store.Failure) -> UnappliedAllowance {
        var held: [MemberDevice: (count: Int, byteCount: Int)] = [:]
        for (instance, owner) in owners {
            let (count, bytes) = try store.unapplied(of: instance, above: frontier.number(of: instance))
            guard count > 0 else { continue }
            let before = held[owner.author] ?? (0, 0)
            held[owner.author] = (before.count + count, before.byteCount + bytes)
        }
        return UnappliedAllowance(held)
    }

    /// Entries that lie here unapplied, of closed and ended logs those up to their limit: something before them, or that they
    /// have seen, is missing. They are looked at in each sync.
    ///
    /// - Complexity: one question to the store for each instance.
    package mutating func unappliedNames() throws(Store.Failure) -> [BlobName] {
        var names: [BlobName] = []
        for instance in owners.keys.sorted() {
            let limit = try limit(of: instance)
            let last = limit.map { $0.mark?.number ?? 0 } ?? .max
            guard last > frontier.number(of: instance) else { continue }
            guard try store.unapplied(of: instance, above: frontier.number(of: instance)).count > 0 else { continue }
            for name in try store.entries(of: instance) {
                guard let entry = try store.entry(named: name)?.entry, entry.number > frontier.number(of: instance),
                    entry.number <= last
                else { continue }
                names.append(name)
            }
        }
        return names
    }

    /// N3: names that are asked for by address: of the head, of tips of roots and limits above the base, of ends, and what these
    /// entries come after or have seen, down to the base.
    ///
    /// - Parameters:
    ///   - head: the frontier that the zone's head names.
    ///   - names: entries that came last; ask again with those that come of it.
    package func missingNames(head: Frontier?, behind names: [BlobName]) throws(Store.Failure) -> Set<BlobName> {
        var missing = try missingEvidence()
        func ask(_ marks: Frontier) throws(Store.Failure) {
            for (instance, mark) in marks.marks
            where mark.number > accepted.number(of: instance) {
                // Of a tip that was deleted for good nobody asks for more than the bare form, below.
                guard try store.dot(of: mark.name) == nil, bareName(of: mark, of: instance) == nil else { continue }
                missing.insert(mark.name)
            }
        }
        if let head { try ask(head) }
        for link in ((base ?? -1) + 1)..<max(members.takenCount, (base ?? -1) + 1) {
            let (made, accepted) = (members.chain.links[link], members.chain.states[link].accepted)
            guard made.checkpoint?.root != nil else {
                // Limits count only with the entries up to them, whatever later links accept.
                if made.mayShut || link == members.newest { try ask(accepted) }
                continue
            }
            for (instance, mark) in accepted.marks
            where try store.dot(of: mark.name) == nil {
                // Of a tip that was deleted for good its bare form is asked for.
                let bare = bareName(of: mark, of: instance)
                if try bareForm(of: mark, of: instance) == nil { missing.insert(bare ?? mark.name) }
            }
        }
        for name in names {
            guard let entry = try store.entry(named: name)?.entry else { continue }
            if let before = entry.body.before {
                try ask(Frontier([entry.instance: EntryMark(number: entry.number - 1, name: before)]))
            }
            try ask(entry.body.seen)
        }
        return missing
    }
}
