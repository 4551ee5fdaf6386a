// A few simulated worlds with every run; `Scripts/simulate` runs thousands. The one thing to keep true: a failing
// seed fails again with COFFRET_TEST_SEED.

import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite("Simulated devices")
struct SimulationTests {
    @Test("whatever breaks on the way, all devices come to one state, and nothing acknowledged is lost or doubled")
    func everythingBreaks() {
        var settledCount = 0
        forAll(count: 12) { random in
            try SimulatedWorld.run(random, isTold: SeededGenerator.replayedSeed != nil)
            settledCount += 1
        }
        #expect(settledCount > 0)
    }

    /// Each of these failed once: history that one device dropped came again in part, or lost the record that said so.
    @Test(
        "history that one device drops breaks nobody: worlds that it broke once",
        arguments: [
            5_197_312_546_844_381_288, 1_962_693_729_307_009_913, 17_458_369_848_228_295_420, 5_369_871_147_081_176_659,
            5_084_676_216_767_221_986, 11_528_427_122_650_462_512, 2_753_314_182_090_351_789, 1_309_755_212_391_011_096,
        ] as [UInt64])
    func droppedHistory(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), dropsHistory: true)
    }

    @Test("a device that is let go leaves no keys in memory")
    func nothingStays() throws {
        weak var repository: VaultRepository?
        weak var world: SimulatedWorld?
        do {
            let made = try SimulatedWorld(SeededGenerator(seed: 1))
            for _ in 0..<20 { try made.step() }
            try made.settle()
            repository = made.devices[0].repository
            world = made
        }
        #expect(world == nil)
        #expect(repository == nil)
    }
}
