// When the files of which zone are fetched in the background. The one thing to keep true: files come after changes, and
// what failed is tried ever more rarely, whatever happens meanwhile.

package import CoffretBase

/// Decides whose files are next. Pure: events and time in, a zone out. Times are milliseconds of a clock that counts sleep.
package struct FileSchedule<Zone: Hashable & Comparable> {
    /// Changes come in bursts; which files are not here is looked up behind them.
    package static var quietMilliseconds: Int64 { 300 }

    private struct State {
        var at: Int64
        var backoff = SyncBackoff()
        /// Only time helps, and no news.
        var isHeld = false
    }

    private let random: any RandomSource
    private var zones: [Zone: State] = [:]

    package init(random: any RandomSource) { self.random = random }

    /// Something came that may name files, or bring those that were missing.
    package mutating func noticed(_ zone: Zone, at now: Int64) {
        guard let state = zones[zone] else {
            zones[zone] = State(at: now + Self.quietMilliseconds)
            return
        }
        if !state.isHeld { zones[zone]?.at = now + Self.quietMilliseconds }
    }

    /// All files are here, or none is wanted.
    package mutating func done(_ zone: Zone) { zones[zone] = nil }

    /// Changes went first; the rest goes on as soon as there is nothing else to do.
    package mutating func interrupted(_ zone: Zone, at now: Int64) {
        zones[zone]?.at = now
        zones[zone]?.isHeld = false
    }

    /// - Parameter isTransient: false for what news from the server do not change, such as a full disk.
    package mutating func failed(_ zone: Zone, isTransient: Bool, at now: Int64) {
        var state = zones[zone] ?? State(at: now)
        state.isHeld = !isTransient
        state.at = now + Int64(isTransient ? state.backoff.next(random) : SyncBackoff.longestMilliseconds)
        zones[zone] = state
    }

    /// The zone whose files are due; nil if there is none.
    package func due(at now: Int64) -> Zone? {
        zones.filter { $0.value.at <= now }.min { ($0.value.at, $0.key) < ($1.value.at, $1.key) }?.key
    }

    /// When the next one is due; nil for never.
    package var nextAt: Int64? { zones.values.map(\.at).min() }
}
