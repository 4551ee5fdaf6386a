// When the files of which zone are fetched in the background. The one thing to keep true: files come after changes, but
// changes that never end do not keep them away; and what failed is tried ever more rarely, whatever happens meanwhile.

package import CoffretBase

/// Decides whose files are next. Pure: events and time in, a zone out. Times are milliseconds of a clock that counts sleep.
package struct FileSchedule<Zone: Hashable & Comparable> {
    /// Changes come in bursts; which files are not here is looked up behind them.
    package static var quietMilliseconds: Int64 { 300 }
    /// A burst that goes on for longer is none: then files have their turn in between.
    package static var unquietMilliseconds: Int64 { 2_000 }
    /// News that come after a failure shorten its pause to this at most: they say nothing of what failed.
    package static var newsMilliseconds: Int64 { 10_000 }

    private struct State {
        var at: Int64
        /// Since when something is to be looked up that had no turn.
        var since: Int64?
        /// Nothing that happens brings the next try before this time.
        var notBefore: Int64 = .min
        /// The same, where it is known that what it failed by is no more.
        var easedAt: Int64 = .min
        var backoff = SyncBackoff()
        /// Only time helps, and no news.
        var isHeld = false
    }

    private let random: any RandomSource
    private var zones: [Zone: State] = [:]

    package init(random: any RandomSource) { self.random = random }

    /// Something came that may name files, or bring those that were missing.
    package mutating func noticed(_ zone: Zone, at now: Int64) {
        var state = zones[zone] ?? State(at: now)
        if state.isHeld { return }
        let since = state.since ?? now
        state.since = since
        state.at = max(state.notBefore, min(now + Self.quietMilliseconds, since + Self.unquietMilliseconds))
        zones[zone] = state
    }

    /// All files are here, or none is wanted.
    package mutating func done(_ zone: Zone) { zones[zone] = nil }

    /// Changes went first; the rest goes on as soon as there is nothing else to do.
    package mutating func interrupted(_ zone: Zone, at now: Int64) {
        zones[zone]?.at = now
        zones[zone]?.since = now
        zones[zone]?.notBefore = .min
        zones[zone]?.isHeld = false
    }

    /// - Parameter isTransient: false for what news from the server do not change, such as a full disk.
    package mutating func failed(_ zone: Zone, isTransient: Bool, at now: Int64) {
        var state = zones[zone] ?? State(at: now)
        let pause = Int64(state.backoff.next(random))
        state.isHeld = !isTransient
        state.since = nil
        state.at = now + (isTransient ? pause : Int64(SyncBackoff.longestMilliseconds))
        state.notBefore = now + min(pause, Self.newsMilliseconds)
        state.easedAt = now + pause
        zones[zone] = state
    }

    /// What a zone was held for is no more, as far as one can see from here: it is tried again with the pauses of other
    /// failures.
    package mutating func eased(_ zone: Zone) {
        guard let state = zones[zone], state.isHeld else { return }
        zones[zone]?.at = min(state.at, state.easedAt)
    }

    /// The zone whose files are due; nil if there is none.
    package func due(at now: Int64) -> Zone? {
        zones.filter { $0.value.at <= now }.min { ($0.value.at, $0.key) < ($1.value.at, $1.key) }?.key
    }

    /// When the next one is due; nil for never.
    package var nextAt: Int64? { zones.values.map(\.at).min() }
}
