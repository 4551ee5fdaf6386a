// How often somebody may ask. The one thing to keep true: the table of askers is bounded, and a flood from one
// takes nothing from the others.

internal import Synchronization

/// Token buckets by asker.
final class RateLimiter: Sendable {
    struct Rate: Sendable {
        /// Requests that may come at once.
        let burst: Double
        let perSecond: Double
    }

    private struct Bucket {
        var tokens: Double
        var updated: Int64
    }

    private let rate: Rate
    private let bucketCountMax: Int
    private let buckets = Mutex<[[UInt8]: Bucket]>([:])

    init(_ rate: Rate, bucketCountMax: Int = 65_536) {
        self.rate = rate
        self.bucketCountMax = bucketCountMax
    }

    /// Takes `cost` tokens of `asker`.
    ///
    /// - Parameter now: milliseconds of a clock that does not jump.
    /// - Returns: 0 if there were enough, else seconds after which there will be.
    func take(_ asker: [UInt8], cost: Double = 1, now: Int64) -> Int {
        buckets.withLock { buckets in
            if buckets.count >= bucketCountMax, buckets[asker] == nil {
                // Those that are full again need no memory; if none is, all start anew.
                let rate = rate
                buckets = buckets.filter {
                    $0.value.tokens + Double(now - $0.value.updated) / 1_000 * rate.perSecond < rate.burst
                }
                if buckets.count >= bucketCountMax { buckets = [:] }
            }
            var bucket = buckets[asker] ?? Bucket(tokens: rate.burst, updated: now)
            bucket.tokens = min(rate.burst, bucket.tokens + Double(now - bucket.updated) / 1_000 * rate.perSecond)
            bucket.updated = now
            defer { buckets[asker] = bucket }
            guard bucket.tokens >= cost else { return Int(((cost - bucket.tokens) / rate.perSecond).rounded(.up)) }
            bucket.tokens -= cost
            return 0
        }
    }
}

/// Bytes of bodies and streams that are in memory at once. Nobody gets more than an eighth, so that one asker's
/// half-open uploads leave room for the others.
final class MemoryBudget: Sendable {
    private struct State {
        var used = 0
        var byAsker: [[UInt8]: Int] = [:]
    }

    private let byteCountMax: Int
    private let state = Mutex(State())

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// - Returns: false if there is no room, or `asker` has his share.
    func take(_ byteCount: Int, for asker: [UInt8]) -> Bool {
        state.withLock { state in
            let share = state.byAsker[asker, default: 0] + byteCount
            guard state.used + byteCount <= byteCountMax, share <= byteCountMax / 8 else { return false }
            state.used += byteCount
            state.byAsker[asker] = share
            return true
        }
    }

    func give(_ byteCount: Int, from asker: [UInt8]) {
        guard byteCount > 0 else { return }
        state.withLock { state in
            state.used -= byteCount
            let share = state.byAsker[asker, default: 0] - byteCount
            state.byAsker[asker] = share > 0 ? share : nil
        }
    }

    var byteCountUsed: Int { state.withLock { $0.used } }
}
