// Wrong passphrases and PINs slow down further ones. Invariant: an attempt is counted, and the count is on disk,
// before the secret is looked at; only a right one takes it back.

package import CoffretBase

/// How often a secret was wrong, and until when the next attempt has to wait.
///
/// The record is what survives: restarts of the program, of the machine (`bootID` differs: the pause starts
/// anew, since the boot clock did), and other processes that read the same file.
package struct AttemptRecord: Equatable, Sendable {
    package var failedCount: UInt32
    /// The kernel's random id of the boot in which the last attempt was made.
    package var bootID: [UInt8]
    package var lastAttempt: BootInstant

    package static let none = AttemptRecord(failedCount: 0, bootID: [], lastAttempt: BootInstant(nanoseconds: 0))

    package init(failedCount: UInt32, bootID: [UInt8], lastAttempt: BootInstant) {
        self.failedCount = failedCount
        self.bootID = bootID
        self.lastAttempt = lastAttempt
    }
}

/// The rule: three wrong attempts are free, then 5 s, doubling with each further one up to an hour.
package enum AttemptPolicy {
    package static let freeCount: UInt32 = 3
    package static let firstPause = Duration.seconds(5)
    package static let longestPause = Duration.seconds(3600)

    /// The pause that follows the `failedCount`-th wrong attempt.
    package static func pause(afterFailedCount failedCount: UInt32) -> Duration {
        guard failedCount >= freeCount else { return .zero }
        let doublings = min(failedCount - freeCount, 16)
        return min(firstPause * (1 << Int(doublings)), longestPause)
    }

    /// The rest of the pause; zero when an attempt may be made now.
    package static func remaining(_ record: AttemptRecord, bootID: [UInt8], now: BootInstant) -> Duration {
        let pause = pause(afterFailedCount: record.failedCount)
        guard pause > .zero else { return .zero }
        // After a restart nobody knows how long the machine was off, and the wall clock can be set.
        let start = record.bootID == bootID && record.lastAttempt <= now ? record.lastAttempt : nil
        guard let start else { return pause }
        let end = start.advanced(by: pause)
        return now < end ? now.duration(to: end) : .zero
    }

    /// The record to write down before an attempt is checked: as if it were wrong.
    package static func counting(_ record: AttemptRecord, bootID: [UInt8], now: BootInstant) -> AttemptRecord {
        AttemptRecord(
            failedCount: record.failedCount == .max ? .max : record.failedCount + 1, bootID: bootID, lastAttempt: now)
    }

    /// Attempts that are left before the next pause; zero while pausing.
    package static func freeAttemptsLeft(_ record: AttemptRecord) -> UInt32 {
        record.failedCount < freeCount ? freeCount - record.failedCount : 0
    }
}
