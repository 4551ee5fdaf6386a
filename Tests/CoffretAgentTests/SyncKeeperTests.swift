// When the process that syncs starts again, driven by a clock that the test moves.

import CoffretAgent
import CoffretBase
import CoffretTestSupport
import Testing

@Suite("The keeper of continuous sync")
struct SyncKeeperTests {
    private let random = SeededGenerator(seed: 5)

    private func at(_ milliseconds: UInt64) -> BootInstant { BootInstant(nanoseconds: milliseconds * 1_000_000) }

    /// Runs it for a while.
    ///
    /// - Returns: the pause after its end, in milliseconds.
    private func pause(
        _ keeper: inout SyncKeeper, from now: inout UInt64, living time: UInt64, keys: (Int, Int) = (1, 1),
        isStale: Bool = false
    ) throws -> UInt64? {
        keeper.isStarting()
        #expect(keeper.startAt == nil)
        keeper.began(keyCount: keys.0, at: at(now))
        now += time
        keeper.ended(isStale: isStale, keyCount: keys.1, at: at(now), random: random)
        return keeper.startAt.map { $0.nanoseconds / 1_000_000 - now }
    }

    @Test(
        "ends that follow each other wait from 1 s to 15 min; one after a good time waits a second, whatever was before"
    )
    func backoff() throws {
        var keeper = SyncKeeper()
        var now: UInt64 = 5_000
        for round in 0..<3 {
            var whole: UInt64 = 1_000
            for number in 0..<14 {
                // The first end of each round but the first comes after a good time.
                let time: UInt64 = round > 0 && number == 0 ? 60_000 : 59_999
                let pause = try #require(try pause(&keeper, from: &now, living: time))
                #expect((whole / 2...whole).contains(pause), "\(pause) of \(whole)")
                (now, whole) = (now + pause, min(whole * 2, 900_000))
            }
        }
    }

    @Test("a key that opens nothing any more waits for another one, and starts at once if that is there")
    func stale() throws {
        var keeper = SyncKeeper()
        var now: UInt64 = 5_000
        #expect(try pause(&keeper, from: &now, living: 10, isStale: true) == nil)
        keeper.start(at: at(now))
        #expect(try pause(&keeper, from: &now, living: 10, keys: (1, 2), isStale: true) == 0)
    }
}
