// Property tests. The one thing to keep true: every case has a seed of its own, printed when the case
// fails, so that one case is repeated without those before it.

internal import CoffretBase
internal import Foundation
package import Testing

/// Runs `body` with `count` generators of different seeds; a failure names the seed.
///
/// With `COFFRET_TEST_SEED` set only that case runs.
package func forAll(
    count: Int = 100, sourceLocation: SourceLocation = #_sourceLocation, _ body: (SeededGenerator) throws -> Void
) {
    let seeds: [UInt64]
    if let replayed = SeededGenerator.replayedSeed {
        seeds = [replayed]
    } else {
        let first = SeededGenerator.fromEnvironment()
        seeds = (0..<count).map { _ in first.next() }
    }
    for seed in seeds {
        var isFailing = false
        withKnownSeed(seed, sourceLocation: sourceLocation, isFailing: &isFailing) {
            try body(SeededGenerator(seed: seed))
        }
        // One seed is enough to find the fault; more only hide it.
        if isFailing { return }
    }
}

private func withKnownSeed(
    _ seed: UInt64, sourceLocation: SourceLocation, isFailing: inout Bool, _ body: () throws -> Void
) {
    do {
        try body()
    } catch {
        isFailing = true
        Issue.record("seed \(seed) (COFFRET_TEST_SEED=\(seed)): \(error)", sourceLocation: sourceLocation)
    }
}

/// A condition that did not hold; thrown by `require` inside `forAll`.
package struct PropertyFailure: Error, CustomStringConvertible {
    package let description: String
}

/// Throws unless `condition` holds, so that `forAll` can name the seed.
package func require(
    _ condition: Bool, _ message: @autoclosure () -> String = "property does not hold", line: UInt = #line
) throws {
    if !condition { throw PropertyFailure(description: "line \(line): \(message())") }
}

/// Runs `body` on `bytes` with every bit flipped in turn.
package func withEveryFlippedBit(_ bytes: [UInt8], _ body: (_ changed: [UInt8], _ bitOffset: Int) throws -> Void)
    rethrows
{
    var changed = bytes
    for bit in 0..<bytes.count * 8 {
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        try body(changed, bit)
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
    }
}

/// Runs a parser on mutations of `samples`: bits flipped, bytes cut out, doubled, inserted, replaced.
///
/// The parser must return or throw; a crash is the failure. `Scripts/fuzz` sets COFFRET_FUZZ_FACTOR, which
/// multiplies the rounds: the short form runs with every test, the long one when somebody asks for it. `Scripts/fuzz-imports` sets
/// COFFRET_FUZZ_SECONDS, for which it goes on in any case.
///
/// - Returns: the rounds.
@discardableResult
package func fuzz(
    _ samples: [[UInt8]], rounds: Int = 2_000, _ parse: (_ bytes: [UInt8]) -> Void
) -> Int {
    let environment = ProcessInfo.processInfo.environment
    let roundCount = rounds * max(environment["COFFRET_FUZZ_FACTOR"].flatMap(Int.init) ?? 1, 1)
    let end = environment["COFFRET_FUZZ_SECONDS"].flatMap(Double.init).map { Date().addingTimeInterval($0) }
    let generator = SeededGenerator.fromEnvironment()
    var round = 0
    while round < roundCount || end.map({ Date() < $0 }) ?? false {
        round += 1
        var bytes = generator.element(of: samples.isEmpty ? [[]] : samples)
        for _ in 0..<generator.int(in: 1...4) {
            let start = generator.int(in: 0...bytes.count)
            let end = min(bytes.count, start + generator.int(in: 0...8))
            switch generator.int(in: 0...4) {
            case 0 where start < bytes.count: bytes[start] ^= 1 << UInt8(generator.int(in: 0...7))
            case 1: bytes.removeSubrange(start..<end)
            case 2: bytes.insert(contentsOf: Array(bytes[start..<end]), at: start)
            case 3: bytes.insert(contentsOf: generator.bytes(count: 0...8), at: start)
            default: bytes.replaceSubrange(start..<end, with: generator.bytes(count: end - start))
            }
        }
        parse(bytes)
    }
    return round
}
