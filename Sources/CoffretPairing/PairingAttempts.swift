// How often pairing may be tried. Invariant: an attempt counts before its code is checked, so that ending the program
// does not take it back.

package import CoffretBase

/// The latest attempts at pairing on one device.
///
/// Layout where it is kept: deterministic CBOR [time...], milliseconds since 1970.
package struct PairingAttempts: Equatable, Sendable {
    /// Attempts that may be made within `pauseTime`.
    package static let countMax = 3
    /// Ten minutes.
    package static let pauseTime: Milliseconds = 600_000

    package private(set) var times: [Milliseconds]

    package init(times: [Milliseconds] = []) { self.times = times }

    /// When the next attempt may be made; nil if at once.
    package func pausedUntil(now: Milliseconds) -> Milliseconds? {
        let recent = recentTimes(now: now)
        guard recent.count >= Self.countMax else { return nil }
        return recent[recent.count - Self.countMax] &+ Self.pauseTime
    }

    /// The attempts that count from `now` on. Times in the future, of a clock that was ahead, would pause until they
    /// come.
    package func settled(now: Milliseconds) -> PairingAttempts {
        PairingAttempts(times: times.map { min($0, now) })
    }

    /// Counts an attempt. Throws `.paused` if it would be the fourth within ten minutes.
    package mutating func begin(now: Milliseconds) throws {
        guard pausedUntil(now: now) == nil else { throw PairingError(.paused) }
        times = recentTimes(now: now) + [now]
    }

    /// Forgets all attempts: one succeeded.
    package mutating func succeed() { times = [] }

    /// A time to come, after the clock was set back, counts as now.
    private func recentTimes(now: Milliseconds) -> [Milliseconds] {
        times.map { min($0, now) }.filter { now.subtractingReportingOverflow($0).partialValue < Self.pauseTime }
            .sorted()
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: times.count)
            for time in times { encoder.encode(signed: time) }
        }
    }

    /// Reads what `encoded` wrote; nil if it is something else.
    package init?(decoding bytes: [UInt8]) {
        let times = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            var times: [Milliseconds] = []
            for _ in 0..<(try decoder.readArrayHeader()) { times.append(try decoder.readSigned()) }
            return times
        }
        guard let times else { return nil }
        self.times = times
    }
}
