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

/// Bytes of bodies that are in memory at once.
final class MemoryBudget: Sendable {
    private let byteCountMax: Int
    private let used = Mutex(0)

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// - Returns: false if there is no room.
    func take(_ byteCount: Int) -> Bool {
        used.withLock { used in
            guard used + byteCount <= byteCountMax else { return false }
            used += byteCount
            return true
        }
    }

    func give(_ byteCount: Int) { used.withLock { $0 -= byteCount } }
    var byteCountUsed: Int { used.withLock { $0 } }
}
