// Worlds by seed, a few of each kind; `Scripts/simulate` plays as many as one likes.

import CoffretSimulation
import CoffretTestSupport
import Testing

@Suite("Simulated worlds of logs")
struct LogWorldTests {
    @Test("devices come to one state, and no acknowledged line of a trusted device is lost", arguments: 0..<4)
    func worlds(part: Int) throws {
        let generator = SeededGenerator(seed: SeededGenerator.replayedSeed ?? 1)
        for _ in 0..<6 * part { _ = generator.next() }
        for _ in 0..<6 {
            let seed = generator.next()
            do { try LogWorld.run(SeededGenerator(seed: seed)) } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    /// In the first two a head that lacks entries was looked at once, within the minute in which a device replaces no second
    /// one, and never again. In the third a copy forked the log, and the original had deleted the tip for good that was to be
    /// written again. In the fourth all that a device saw of another copy was the bare form of its tip. In the fifth a compaction
    /// took part of an older tree, which fsck then took for whole. In the sixth entries that had left a log were not asked for
    /// again.
    @Test(
        "worlds that failed once do so no more",
        arguments: [
            5_241_453_231_618_208_013, 17_039_155_623_547_237_397, 8_314_390_133_696_604_387,
            12_789_352_350_874_282_769, 12_466_725_665_361_891_742, 12_164_234_105_041_142_351,
        ])
    func mended(seed: UInt64) throws { try LogWorld.run(SeededGenerator(seed: seed)) }
}
