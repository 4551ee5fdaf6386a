// Where the time of day comes from. Invariant: wall-clock time is shown to people and never decides what is newer.

internal import Glibc

package protocol WallClock: Sendable {
    /// Milliseconds since 1970 as the clock shows them now; it may jump either way.
    var now: Milliseconds { get }
}

/// The operating system's real-time clock.
package struct SystemWallClock: WallClock {
    package init() {}

    package var now: Milliseconds {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_REALTIME, &time)
        precondition(status == 0, "the real-time clock is always readable")
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
