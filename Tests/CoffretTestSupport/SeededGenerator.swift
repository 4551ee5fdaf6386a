// Randomness that can be repeated. The one thing to keep true: a failing property names a seed, and
// that seed alone makes it fail again.

internal import CoffretBase
internal import Foundation

/// SplitMix64: small, fast, and the same on every machine. Not for secrets.
package final class SeededGenerator: RandomNumberGenerator, RandomSource, @unchecked Sendable {
    // SAFETY: `state` is read and written under `lock` only.
    private let lock = NSLock()
    private var state: UInt64
    /// What this generator started from.
    package let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// A generator from `COFFRET_TEST_SEED`, or else from the system's randomness.
    package static func fromEnvironment() -> SeededGenerator {
        SeededGenerator(seed: replayedSeed ?? SystemRandomSource().uint64())
    }

    /// The seed to repeat, if the environment names one.
    package static var replayedSeed: UInt64? {
        ProcessInfo.processInfo.environment["COFFRET_TEST_SEED"].flatMap { UInt64($0) }
    }

    package func next() -> UInt64 {
        lock.withLock {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    package func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { unsafe buffer[index] = UInt8(truncatingIfNeeded: next()) }
    }

    /// A number in `range`.
    package func int(in range: ClosedRange<Int>) -> Int {
        var generator = self
        return Int.random(in: range, using: &generator)
    }

    package func bool() -> Bool { next() & 1 == 1 }

    /// Random bytes of a random count in `counts`.
    package func bytes(count counts: ClosedRange<Int>) -> [UInt8] { bytes(count: int(in: counts)) }

    package func element<Element>(of elements: [Element]) -> Element { elements[int(in: 0...elements.count - 1)] }

    /// Text of any scalars, of them many that need care: controls, quotes, combining marks, emoji.
    package func text(countMax: Int) -> String {
        var text = ""
        for _ in 0..<int(in: 0...countMax) {
            let scalar: Unicode.Scalar? =
                switch int(in: 0...9) {
                case 0: Unicode.Scalar(UInt32(int(in: 0...0x1F)))
                case 1: element(of: ["\"", "\\", "/", "\u{7F}", "\u{301}", "\u{2028}"])
                case 2: Unicode.Scalar(UInt32(int(in: 0x80...0xD7FF)))
                case 3: Unicode.Scalar(UInt32(int(in: 0x1F300...0x1F6FF)))
                default: Unicode.Scalar(UInt32(int(in: 0x20...0x7E)))
                }
            if let scalar { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
