// When an unlocked store locks by itself. The one thing to keep true: time comes from a clock that counts
// suspend and cannot be set, and it is compared on every request, so a timer that fires late unlocks nothing.

package import CoffretBase
internal import CoffretMessages
internal import CoffretScripting

/// How long a store stays unlocked. Changing it needs the PIN or presence, like unlocking.
package struct LockIntervals: Equatable, Sendable {
    /// Locked when nothing was asked for this long.
    package let idle: Duration
    /// Locked this long after unlocking, whatever happens.
    package let absolute: Duration

    /// The longest of either interval.
    package static let longest = Duration.seconds(7 * 24 * 3600)
    package static let standard = LockIntervals(idle: .seconds(10 * 60), absolute: .seconds(12 * 3600))

    /// - Returns: nil for intervals below one second or above a week.
    package init?(validatingIdle idle: Duration, absolute: Duration) {
        let allowed = Duration.seconds(1)...Self.longest
        guard allowed.contains(idle), allowed.contains(absolute) else { return nil }
        self.init(idle: idle, absolute: absolute)
    }

    /// - Returns: nil for intervals below one second or above a week.
    package init?(idleSeconds: UInt64, absoluteSeconds: UInt64) {
        let longest = UInt64(Self.longest.components.seconds)
        guard idleSeconds <= longest, absoluteSeconds <= longest else { return nil }
        self.init(validatingIdle: .seconds(Int64(idleSeconds)), absolute: .seconds(Int64(absoluteSeconds)))
    }

    package var idleSeconds: UInt64 { UInt64(idle.components.seconds) }
    package var absoluteSeconds: UInt64 { UInt64(absolute.components.seconds) }

    private init(idle: Duration, absolute: Duration) {
        self.idle = idle
        self.absolute = absolute
    }
}

/// Why a store was locked; told to the person by `coffret status`.
package enum LockReason: String, Sendable, CaseIterable {
    case neverUnlocked = "not-unlocked"
    case command
    case idle
    case absolute
    case screenLocked = "screen-locked"
    case sleep
    case clockWentBack = "clock-went-back"
    /// The agent was told to end.
    case stopping
    /// Somebody else changed who may open the store.
    case keysChanged = "keys-changed"
    /// The TPM that had the keys while nobody used them does not give them back.
    case tpmGone = "tpm-gone"
}

/// The state machine that decides whether one store is unlocked. It does no I/O and owns no key.
///
/// Whoever owns the keys calls `check` before each use, and drops the keys when the answer is a reason.
package struct LockPolicy: Sendable {
    private enum State: Equatable {
        case locked(LockReason)
        case unlocked(since: BootInstant, lastUse: BootInstant)
    }

    package private(set) var intervals: LockIntervals
    private var state = State.locked(.neverUnlocked)
    private var newestSeen = BootInstant(nanoseconds: 0)

    package init(intervals: LockIntervals) {
        self.intervals = intervals
    }

    /// Other intervals for the same time of being unlocked.
    package mutating func change(to intervals: LockIntervals) { self.intervals = intervals }

    /// The secret was right: the store is open from now on.
    package mutating func unlock(at now: BootInstant) {
        newestSeen = max(newestSeen, now)
        state = .unlocked(since: now, lastUse: now)
    }

    /// Locks now, for a reason from outside. The first reason stays.
    package mutating func lock(because reason: LockReason) {
        if case .unlocked = state { state = .locked(reason) }
    }

    /// Whether the store may be used now; a use within its time starts the idle interval anew.
    ///
    /// - Returns: nil when it is unlocked, otherwise why it is locked.
    package mutating func check(at now: BootInstant, isUse: Bool) -> LockReason? {
        guard case .unlocked(let since, let lastUse) = state else {
            if case .locked(let reason) = state { return reason }
            return .neverUnlocked
        }
        // The kernel never does this; a program that fakes the clock for this process might.
        if now < newestSeen {
            state = .locked(.clockWentBack)
            return .clockWentBack
        }
        newestSeen = now
        if now >= since.advanced(by: intervals.absolute) {
            state = .locked(.absolute)
            return .absolute
        }
        if now >= lastUse.advanced(by: intervals.idle) {
            state = .locked(.idle)
            return .idle
        }
        if isUse { state = .unlocked(since: since, lastUse: now) }
        return nil
    }

    /// When the store was used last; nil while locked.
    package var lastUse: BootInstant? {
        guard case .unlocked(_, let lastUse) = state else { return nil }
        return lastUse
    }

    /// When a timer should look next, if nothing happens until then; nil while locked.
    package var deadline: BootInstant? {
        guard case .unlocked(let since, let lastUse) = state else { return nil }
        return min(since.advanced(by: intervals.absolute), lastUse.advanced(by: intervals.idle))
    }
}
