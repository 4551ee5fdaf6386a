// Heads that a zone shows (Spec/history.md section 9). The one thing to keep true: a bad head hides nothing and stops
// nobody; only what the server does not give any more ends a sync.

package import CoffretBase
package import CoffretStorage

/// The steps of a device with a head before it pushes its own over it (F3).
package enum HeadReplacement: Equatable, Sendable {
    /// It names nothing that did not come.
    case replace
    /// Entries are pushed, and the head stays for an hour.
    case leave
    /// It is replaced; these numbers were missing (key 6). Server and pusher are named (`sync.entry.missing`).
    case replaceNaming([InstanceID: EntryNumber])
}

/// What a head that does not cover the remembered frontier says (F5).
package enum RefusedHead: Equatable, Sendable {
    /// `sync.head.refused`: all is there that it lacks. The pusher is named, alone or beside the server.
    case refused(isPusherAlone: Bool)
    /// `sync.head.rolled-back`: the server does not give what it acknowledged, and shows nothing new.
    case rolledBack
    /// `sync.head.forked`: the same, and it shows what was not there before.
    case forked
}

extension HistoryMachine {
    /// F3: entries that a head names, that did not come and are not covered.
    ///
    /// A log that was closed or ended makes nobody wait.
    private mutating func missing(in head: Frontier) throws(Store.Failure) -> [InstanceID: EntryNumber] {
        var missing: [InstanceID: EntryNumber] = [:]
        for (instance, mark) in head.marks
        where mark.number > max(frontier.number(of: instance), accepted.number(of: instance)) {
            guard try store.dot(of: mark.name) == nil, try limit(of: instance) == nil else { continue }
            missing[instance] = mark.number
        }
        return missing
    }

    /// F3: whether the head that was read is replaced now. Once in a sync.
    package mutating func replacement(
        of head: Frontier, now: Milliseconds
    ) throws(Store.Failure) -> HeadReplacement {
        let missing = try missing(in: head)
        guard !missing.isEmpty else {
            waits.end(.head)
            return .replace
        }
        return waits.passed(times.head, for: .head, now: now) ? .replaceNaming(missing) : .leave
    }

    /// F4: marks of the remembered frontier that a shown head does not cover; empty: the head is good.
    ///
    /// - Parameter remembered: what this server took from here or gave.
    package mutating func notCovered(
        by head: Frontier, remembered: Frontier
    ) throws(Store.Failure) -> Frontier {
        var lacking = Frontier()
        for (instance, mark) in remembered.marks
        where mark.number > max(head.number(of: instance), accepted.number(of: instance)) {
            let isRevoked = owners[instance].map { members.isRevoked($0.deviceID, of: $0.accountID) } ?? false
            guard !isRevoked, !forked.contains(instance), try limit(of: instance) == nil else { continue }
            lacking[instance] = mark
        }
        return lacking
    }

    /// F5: what such a head says, after the server was asked, by address, for what it lacks.
    ///
    /// - Parameters:
    ///   - lacking: as `notCovered` said.
    ///   - isGiven: whether the server gave an entry, or a signed collection names it.
    ///   - expected: the head that the pusher replaced, by his signature; nil: no valid signature is there.
    ///   - last: the head that this device saw last.
    package func judge(
        _ head: Frontier, lacking: Frontier, remembered: Frontier, isGiven: (BlobName) -> Bool, expected: BlobName?,
        last: BlobName?
    ) -> RefusedHead {
        if lacking.marks.values.allSatisfy({ isGiven($0.name) }) {
            return .refused(isPusherAlone: expected != nil && expected == last)
        }
        return remembered.covers(head) ? .rolledBack : .forked
    }
}
