// How long something was waited for. The one thing to keep true: a clock that jumps can neither end a wait nor lengthen it
// by more than eight hours (N1).

package import CoffretBase

/// The waits of one device, by rule and by what is waited for. They are stored with the vault's state.
package struct Waits: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// C7: the entries below the root of this link.
        case base(link: Int)
        /// C9: a checkpoint that covers what this link leaves out.
        case leftOut(link: Int)
        /// C7: another root than that of this base.
        case unverified(link: Int)
        /// P3: an objection to the purge of this link.
        case purge(link: Int)
        /// C2: entries of closed instances up to their limits.
        case closedLogs
        /// Section 8, Keys: the key of this epoch.
        case key(epoch: UInt32)
        /// F3: what a head named and did not come.
        case head
        /// K6: the two entries of ends that this device stated.
        case ends(device: MemberDevice)
        /// C5: what proves the checkpoint of this link.
        case proof(link: Int)
        /// G3: since this link's checkpoint was a base or below one here.
        case seen(link: Int)
        /// Section 6: somebody who keeps words that this link closed.
        case setAside(link: Int)
    }

    package struct Wait: Hashable, Sendable {
        package let passed: Milliseconds
        package let lastClock: Milliseconds

        package init(passed: Milliseconds, lastClock: Milliseconds) {
            self.passed = passed
            self.lastClock = lastClock
        }

        /// The same wait as a clock shows it later (N1).
        package func grown(to now: Milliseconds) -> Wait {
            let (step, overflow) = now.subtractingReportingOverflow(lastClock)
            let grown = overflow ? (now > 0 ? stepMax : 0) : min(max(step, 0), stepMax)
            return Wait(passed: passed + grown, lastClock: now)
        }
    }

    /// From one look to the next a wait grows by no more than this.
    package static let stepMax: Milliseconds = 8 * 3_600_000

    package private(set) var waits: [Subject: Wait]

    package init(_ waits: [Subject: Wait] = [:]) { self.waits = waits }

    /// Whether this was waited for so long. The first look begins the wait.
    package mutating func passed(_ duration: Milliseconds, for subject: Subject, now: Milliseconds) -> Bool {
        let wait = (waits[subject] ?? Wait(passed: 0, lastClock: now)).grown(to: now)
        waits[subject] = wait
        return wait.passed >= duration
    }

    /// The same, without a look at the clock.
    package func isOver(_ duration: Milliseconds, for subject: Subject) -> Bool {
        waits[subject].map { $0.passed >= duration } ?? false
    }

    package mutating func end(_ subject: Subject) { waits[subject] = nil }

    /// A person does not wait.
    mutating func fulfil(_ duration: Milliseconds, for subject: Subject, now: Milliseconds) {
        waits[subject] = Wait(passed: duration, lastClock: now)
    }
}

/// The durations of the rules. Tests play worlds that are shorter.
package struct HistoryTimes: Sendable {
    private static let day: Milliseconds = 86_400_000

    /// C2, C7, C9, K6: for entries, and for a checkpoint that covers both.
    package let entries: Milliseconds
    /// C7: until an unverified base is believed; G3, G5: the least age of a checkpoint.
    package let belief: Milliseconds
    /// P3: for an objection to a purge.
    package let objection: Milliseconds
    /// F3: for what a head names.
    package let head: Milliseconds
    /// Section 6: for a person who keeps words that were set aside.
    package let setAside: Milliseconds

    package init(
        entries: Milliseconds = day, belief: Milliseconds = 30 * day, objection: Milliseconds = 7 * day,
        setAside: Milliseconds = 30 * day, head: Milliseconds = 3_600_000
    ) {
        self.entries = entries
        self.belief = belief
        self.objection = objection
        self.setAside = setAside
        self.head = head
    }
}
