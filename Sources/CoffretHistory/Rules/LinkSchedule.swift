// When a device writes a link (Spec/history.md section 8). The one thing to keep true: several devices that find one link
// due do not write it at once.

package import CoffretBase
internal import CoffretStorage
internal import CoffretTrust

/// Times and sizes of links.
package enum LinkSchedule {
    /// A root is due when the newest one is this old and so many entries are behind it.
    package static let rootAge: Milliseconds = 30 * 86_400_000
    package static let entryCountMin: UInt64 = 256
    /// Or when so many entries, or bytes, are behind it.
    package static let entryCountMax: UInt64 = 65_536
    package static let byteCountMax = 64 << 20
    /// C3: between two plain checkpoints of one device.
    package static let plainInterval: Milliseconds = 3_600_000
    /// What others wait at most before they write a closing, an end or a better root, and before a root that is due.
    package static let closingDelayMax: Milliseconds = 60_000
    package static let rootDelayMax: Milliseconds = 3_600_000
}

extension HistoryMachine {
    /// Entries that are applied and not in the base.
    package var entryCountBehindBase: UInt64 {
        frontier.marks.reduce(0) { $0 + $1.value.number - min($1.value.number, accepted.number(of: $1.key)) }
    }

    /// Whether a checkpoint with a root is due by age or size. Without any root it is due behind 256 entries.
    ///
    /// - Parameter byteCount: of the entries behind the base, as they are stored.
    package func isRootDue(now: Milliseconds, byteCount: Int) -> Bool {
        guard members.takenCount > 0 else { return false }
        let count = entryCountBehindBase
        if count >= LinkSchedule.entryCountMax || byteCount >= LinkSchedule.byteCountMax { return true }
        guard let base, count >= LinkSchedule.entryCountMin else { return count >= LinkSchedule.entryCountMin }
        let (age, overflow) = now.subtractingReportingOverflow(members.chain.states[base].time)
        return overflow ? now > 0 : age >= LinkSchedule.rootAge
    }

    /// The random time that this device waits before it writes what is due; it looks again when that is over.
    package func delay(before due: DueLinks, _ random: some RandomSource) -> Milliseconds {
        // Devices of the account concerned write at once.
        due.closings.contains(account) ? 0 : Self.delay(upTo: LinkSchedule.closingDelayMax, random)
    }

    /// The same for a root that is due by age or size.
    package static func delayBeforeRoot(_ random: some RandomSource) -> Milliseconds {
        delay(upTo: LinkSchedule.rootDelayMax, random)
    }

    private static func delay(upTo most: Milliseconds, _ random: some RandomSource) -> Milliseconds {
        let word = random.bytes(count: 8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Milliseconds(word % UInt64(most + 1))
    }

    /// C3: whether this device wrote a plain checkpoint within the last hour, by the times that its links state.
    func wrotePlainCheckpoint(since now: Milliseconds) -> Bool {
        for link in members.chain.links.reversed() where link.signer == own && link.isPlain {
            guard let time = link.details?.time else { continue }
            let (age, overflow) = now.subtractingReportingOverflow(time)
            return !overflow && 0..<LinkSchedule.plainInterval ~= age
        }
        return false
    }

    // MARK: Checkpoints that are not proven (C5)

    /// Links above the base whose checkpoint was not proven for a day. Their authors, or the server, are named.
    package var unprovenLinks: [Int] {
        linksAboveBase.filter { waits.isOver(times.entries, for: .proof(link: $0)) }
    }

    /// Begins, goes on with, or ends the waits for proofs. Once in a sync.
    mutating func lookForProofs(now: Milliseconds) throws(Store.Failure) {
        for case .proof(let link) in waits.waits.keys {
            if linksAboveBase.contains(link), try !isProven(link) { continue }
            waits.end(.proof(link: link))
        }
        for link in linksAboveBase where members.chain.links[link].checkpoint != nil {
            if try isProven(link) { continue }
            _ = waits.passed(times.entries, for: .proof(link: link), now: now)
        }
    }

    private var linksAboveBase: Range<Int> { ((base ?? -1) + 1)..<max(members.takenCount, (base ?? -1) + 1) }
}

extension VerifiedMemberLink {
    /// A checkpoint and nothing else (C3).
    fileprivate var isPlain: Bool {
        guard let checkpoint else { return false }
        return effect.looksPlain && checkpoint.ends.isEmpty && checkpoint.purges.isEmpty && checkpoint.refutes.isEmpty
    }
}
