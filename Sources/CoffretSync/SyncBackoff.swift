// How long to wait before trying again. The one thing to keep true: devices that lost a server together do not come
// back together, and nobody tries more often than once in half a second.

package import CoffretBase

/// Waiting times after failures: 1 s, twice as long each time up to 15 min, each time between half and all of it.
///
/// Source: Spec/sync.md.
package struct SyncBackoff: Equatable, Sendable {
    package static let firstMilliseconds = 1_000
    package static let longestMilliseconds = 15 * 60 * 1_000

    /// Failures in a row.
    package private(set) var failureCount = 0

    package init() {}

    /// The time to wait after one more failure.
    package mutating func next(_ random: any RandomSource) -> Int {
        let doublings = min(failureCount, 10)
        failureCount += 1
        let whole = min(Self.firstMilliseconds << doublings, Self.longestMilliseconds)
        let fraction = random.bytes(count: 4).reduce(0) { $0 << 8 | Int($1) }
        return whole / 2 + (whole - whole / 2) * fraction / Int(UInt32.max)
    }

    package mutating func reset() { failureCount = 0 }
}
