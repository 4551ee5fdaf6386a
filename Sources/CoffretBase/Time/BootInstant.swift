// Time that counts suspend and that nobody sets: what pauses and locks are measured by.

/// A point on the boot-time clock (CLOCK_BOOTTIME): it never goes back, counts suspend, and starts anew with
/// the machine.
package struct BootInstant: Comparable, Hashable, Sendable {
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// This instant moved by `duration`; a sum beyond the clock's range stays at its end.
    package func advanced(by duration: Duration) -> BootInstant {
        let (seconds, attoseconds) = duration.components
        precondition(seconds >= 0 && attoseconds >= 0, "deadlines lie ahead")
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = nanoseconds.addingReportingOverflow(whole + UInt64(attoseconds / 1_000_000_000))
        return BootInstant(nanoseconds: overflow || carried ? .max : sum)
    }

    /// From this instant to a later one; zero if it is not later.
    package func duration(to later: BootInstant) -> Duration {
        .nanoseconds(later.nanoseconds > nanoseconds ? Int64(clamping: later.nanoseconds - nanoseconds) : 0)
    }
}
