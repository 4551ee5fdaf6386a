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

    /// Each of these failed once: history that one device dropped came again in part or lost the record that said so, or what a
    /// commit above it had seen was guessed, and a merge left out an acknowledged line.
    @Test(
        "history that one device drops breaks nobody: worlds that it broke once",
        arguments: [
            5_197_312_546_844_381_288, 1_962_693_729_307_009_913, 17_458_369_848_228_295_420, 5_369_871_147_081_176_659,
            5_084_676_216_767_221_986, 11_528_427_122_650_462_512, 2_753_314_182_090_351_789, 1_309_755_212_391_011_096,
            13_921_342_453_847_921_500, 12_298_228_864_827_898_295, 1_892_053_141_094_226_828,
            11_072_678_615_756_207_614, 16_812_602_405_052_713_790, 2_726_428_446_358_804_914, 180_772_147_947_717_705,
            8_130_768_022_806_410_489, 16_471_847_271_215_277_988,
            13_880_777_070_899_756_118, 16_548_839_718_177_822_301,
        ] as [UInt64])
    func droppedHistory(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), droppers: .first)
    }

    @Test(
        "history that several devices drop breaks nobody: worlds that it broke once",
        arguments: [
            3_708_463_106_875_567_581, 187_123_366_822_402_091, 2_668_398_098_325_860_767, 14_110_444_242_713_946_185,
            11_256_458_279_137_684_403,
        ] as [UInt64])
    func historyDroppedByAll(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), droppers: .all)
    }

    /// Each of these failed once: what was written on a revoked device's commits superseded what others wrote, honest commits
    /// below its head were left out, one cut was held against what had been done by another, or a new
    /// device was told a head that a revocation had taken out.
    @Test(
        "a device that is revoked at any moment takes nobody's work with it: worlds that it broke once",
        arguments: [
            18_311_315_392_751_765_623, 17_301_851_548_640_477_290, 2_837_762_253_601_638_878,
            4_599_490_196_416_921_023, 11_140_725_499_251_111_783, 17_227_961_878_993_411_870,
            17_694_793_665_170_464_025, 1_222_465_989_928_702_467, 6_345_403_591_265_404_968,
            2_644_894_186_124_168_039, 9_138_238_806_361_511_330,
        ] as [UInt64])
    func revocation(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), revokes: true)
    }

    @Test(
        "a device is revoked, and one device drops history: worlds that it broke once",
        arguments: [
            16_621_115_775_776_891_099, 13_275_948_609_867_574_730, 11_632_665_636_743_481_155,
        ] as [UInt64])
    func revocationAndDroppedHistory(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), droppers: .first, revokes: true)
    }

    /// In each of these something was judged by commits that were gone: what a history began with, what had been seen, who had written
    /// it, where the cut was.
    @Test(
        "a device is revoked, and several drop history: worlds that it broke once",
        arguments: [
            16_735_204_748_155_166_274, 2_204_249_899_794_935_301, 9_851_185_146_625_017_503,
            12_238_763_455_477_088_191,
            3_685_301_514_752_121_334, 6_408_117_721_803_246_241, 2_783_113_766_766_841_596, 10_536_922_875_199_002_771,
            9_145_853_939_323_143_175, 11_091_783_224_257_513_654, 1_675_956_196_237_218_426,
            9_981_817_886_790_432_823,
        ] as [UInt64])
    func revocationAndHistoryDroppedByAll(_ seed: UInt64) throws {
        try SimulatedWorld.run(SeededGenerator(seed: seed), droppers: .all, revokes: true)
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
