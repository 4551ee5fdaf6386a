// How often somebody may ask. The one thing to keep true: the table of askers is bounded, and a flood from one
// takes nothing from the others.

internal import Synchronization

/// How often somebody may ask: a bucket of tokens that fills again.
///
/// - Concurrency: any thread; a connection holds its asker's and asks no table.
final class RateBucket: Sendable {
    /// Nanoseconds at which the bucket will be full.
    private let fullAt = Atomic<Int64>(0)

    /// Takes one token.
    ///
    /// - Parameter now: nanoseconds of a clock that does not jump.
    /// - Returns: 0 if there was one, else seconds after which there will be.
    func take(_ rate: RateLimiter.Rate, now: Int64) -> Int {
        var before = fullAt.load(ordering: .relaxed)
        while true {
            let after = max(before, now) + rate.nanosecondsPerToken
            let excess = after - now - rate.nanosecondsToFill
            if excess > 0 { return Int((excess + 999_999_999) / 1_000_000_000) }
            let (isDone, seen) = fullAt.compareExchange(expected: before, desired: after, ordering: .relaxed)
            if isDone { return 0 }
            before = seen
        }
    }

    fileprivate func isFull(now: Int64) -> Bool { fullAt.load(ordering: .relaxed) <= now }
}

/// The buckets of all askers.
final class RateLimiter: Sendable {
    struct Rate: Sendable {
        let nanosecondsPerToken: Int64
        let nanosecondsToFill: Int64

        /// - Parameter burst: requests that may come at once.
        init(burst: Double, perSecond: Double) {
            nanosecondsPerToken = max(1, Int64(1e9 / perSecond))
            nanosecondsToFill = Int64(burst * 1e9 / perSecond)
        }
    }

    let rate: Rate
    private let bucketCountMax: Int
    private let buckets = Mutex<[[UInt8]: RateBucket]>([:])

    init(_ rate: Rate, bucketCountMax: Int = 65_536) {
        self.rate = rate
        self.bucketCountMax = bucketCountMax
    }

    /// An asker's bucket.
    func bucket(_ asker: [UInt8], now: Int64) -> RateBucket {
        buckets.withLock { buckets in
            if let bucket = buckets[asker] { return bucket }
            if buckets.count >= bucketCountMax {
                // Those that are full again say nothing that a new one would not; if none is, all start anew.
                buckets = buckets.filter { !$0.value.isFull(now: now) }
                if buckets.count >= bucketCountMax { buckets = [:] }
            }
            let bucket = RateBucket()
            buckets[asker] = bucket
            return bucket
        }
    }
}

/// Bytes of bodies and streams that are in memory at once. Nobody gets more than a quarter of what is free with him, so that
/// however many take all they get, the next finds room for what is usual.
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
            guard share <= (byteCountMax - state.used) / 4 else { return false }
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

/// What one asker holds of a budget.
///
/// - Concurrency: one thread at a time.
// SAFETY: it belongs to a request, and the HTTP library serves a request's connection on one thread at a time.
final class BudgetShare: @unchecked Sendable {
    private let budget: MemoryBudget
    let asker: [UInt8]
    private(set) var byteCount = 0

    init(_ budget: MemoryBudget, _ asker: [UInt8]) {
        self.budget = budget
        self.asker = asker
    }

    deinit { budget.give(byteCount, from: asker) }

    /// Takes more, or gives some back.
    ///
    /// - Returns: false if there is no room for more.
    func set(_ wanted: Int) -> Bool {
        guard wanted <= byteCount || budget.take(wanted - byteCount, for: asker) else { return false }
        if wanted < byteCount { budget.give(byteCount - wanted, from: asker) }
        byteCount = wanted
        return true
    }
}
