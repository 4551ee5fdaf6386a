// Wrong attempts: three free, then a growing pause that a restart does not shorten (R30).

import CoffretBase
import CoffretKeys
import Testing

@Suite("Attempt policy")
struct AttemptPolicyTests {
    static let boot: [UInt8] = [1]

    static func at(_ seconds: UInt64) -> BootInstant {
        BootInstant(nanoseconds: seconds * 1_000_000_000)
    }

    static func record(_ failedCount: UInt32, at second: UInt64) -> AttemptRecord {
        AttemptRecord(failedCount: failedCount, bootID: boot, lastAttempt: at(second))
    }

    @Test("three wrong attempts are free, then 5 s, doubling up to an hour")
    func pauses() {
        let pauses = (UInt32(0)...15).map { AttemptPolicy.pause(afterFailedCount: $0).components.seconds }
        #expect(pauses == [0, 0, 0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600])
        #expect(AttemptPolicy.pause(afterFailedCount: .max) == .seconds(3600))
    }

    @Test("the pause runs out by the boot clock and not a moment earlier")
    func runsOut() {
        let record = Self.record(4, at: 100)
        #expect(AttemptPolicy.remaining(record, bootID: Self.boot, now: Self.at(100)) == .seconds(10))
        #expect(AttemptPolicy.remaining(record, bootID: Self.boot, now: Self.at(109)) == .seconds(1))
        #expect(AttemptPolicy.remaining(record, bootID: Self.boot, now: Self.at(110)) == .zero)
    }

    @Test("a restart of the machine starts the pause anew instead of ending it (R30)")
    func restart() {
        let record = Self.record(4, at: 100)
        #expect(AttemptPolicy.remaining(record, bootID: [2], now: Self.at(5000)) == .seconds(10))
        #expect(AttemptPolicy.remaining(record, bootID: Self.boot, now: Self.at(99)) == .seconds(10))
    }

    @Test("an attempt is counted before it is judged")
    func counting() {
        var record = AttemptRecord.none
        for expected in UInt32(1)...3 {
            record = AttemptPolicy.counting(record, bootID: Self.boot, now: Self.at(UInt64(expected)))
            #expect(record.failedCount == expected)
        }
        #expect(AttemptPolicy.freeAttemptsLeft(record) == 0)
        #expect(AttemptPolicy.remaining(record, bootID: Self.boot, now: Self.at(3)) == .seconds(5))
        let full = AttemptRecord(failedCount: .max, bootID: Self.boot, lastAttempt: Self.at(0))
        #expect(AttemptPolicy.counting(full, bootID: Self.boot, now: Self.at(1)).failedCount == .max)
    }
}
