// When continuous sync does what. The one thing to keep true: whatever happens and however often, attempts that fail come
// ever more rarely, and between steps there is nothing to do but to wait.

package import CoffretBase

/// What a zone needs.
package enum SyncNeed: Int, Comparable, Sendable {
    /// This device's word about what it has, and a look at those of the others.
    case acknowledge
    /// Something was written here.
    case push
    /// The server said that something is new there.
    case pull
    /// Whatever differs.
    case whole

    package static func < (left: SyncNeed, right: SyncNeed) -> Bool { left.rawValue < right.rawValue }
}

/// Decides what to do next. Pure: events and time in, steps out. Times are milliseconds of a clock that counts sleep.
package struct SyncSchedule<Zone: Hashable & Comparable> {
    package enum Step: Equatable {
        case connect
        case sync(Zone, SyncNeed)
        /// Asks the other side for a sign of life.
        case ping
        /// The other side gave none.
        case drop
        /// Nothing before this time, nil for never, unless something happens.
        case wait(until: Int64?)
    }

    /// The server pings after a minute of silence.
    package static var silenceMilliseconds: Int64 { 100_000 }
    package static var pongMilliseconds: Int64 { 10_000 }
    /// Acknowledgements wait for quiet, but not for ever.
    package static var quietMilliseconds: Int64 { 2_000 }
    package static var unquietMilliseconds: Int64 { 30_000 }
    /// A connection that lived so long was a good one.
    package static var steadyMilliseconds: Int64 { 60_000 }

    private enum Link {
        case down(until: Int64)
        case up(since: Int64, heardAt: Int64, pingedAt: Int64?)
    }

    private struct State {
        var need: SyncNeed? = .whole
        var notBefore: Int64 = 0
        /// The same, where it is known that what it failed by is no more.
        var easedAt: Int64 = 0
        var backoff = SyncBackoff()
        var acknowledgeAt: Int64?
        var changedSince: Int64?
        /// When files that found no room are tried again.
        var filesAt: Int64?
        var fileBackoff = SyncBackoff()
    }

    private let random: any RandomSource
    private var link = Link.down(until: .min)
    private var backoff = SyncBackoff()
    private var zones: [Zone: State] = [:]

    package init(random: any RandomSource) { self.random = random }

    package var isUp: Bool { if case .up = link { true } else { false } }

    // MARK: Events

    /// There is a connection that tells of changes; what happened before is not known.
    package mutating func connected(_ zones: [Zone], at now: Int64) {
        link = .up(since: now, heardAt: now, pingedAt: nil)
        var states: [Zone: State] = [:]
        for zone in zones {
            var state = self.zones[zone] ?? State()
            state.need = .whole
            states[zone] = state
        }
        self.zones = states
    }

    /// Nothing is to be done in a zone.
    package mutating func rests(_ zone: Zone) { zones[zone]?.need = nil }

    /// There is no connection, or none any more.
    ///
    /// - Parameter isTransient: false waits as long as it ever does: trying again does not help.
    /// - Returns: when to try again.
    @discardableResult
    package mutating func lost(isTransient: Bool = true, at now: Int64) -> Int64 {
        if case .up(let since, _, _) = link, now - since >= Self.steadyMilliseconds { backoff.reset() }
        let pause = isTransient ? backoff.next(random) : SyncBackoff.longestMilliseconds
        let until = now + Int64(pause)
        link = .down(until: until)
        return until
    }

    /// The addresses of this machine changed.
    package mutating func networkChanged(at now: Int64) {
        switch link {
        case .down(let until):
            backoff.reset()
            link = .down(until: min(until, now + Int64(SyncBackoff.firstMilliseconds)))
        case .up(let since, let heardAt, nil):
            link = .up(since: since, heardAt: heardAt - Self.silenceMilliseconds, pingedAt: nil)
        case .up: break
        }
    }

    /// Something came over the connection.
    package mutating func heard(at now: Int64) {
        if case .up(let since, _, _) = link { link = .up(since: since, heardAt: now, pingedAt: nil) }
    }

    package mutating func pinged(at now: Int64) {
        if case .up(let since, let heardAt, _) = link { link = .up(since: since, heardAt: heardAt, pingedAt: now) }
    }

    package mutating func noticed(_ zone: Zone, _ need: SyncNeed) {
        guard let known = zones[zone]?.need else {
            zones[zone]?.need = need
            return
        }
        zones[zone]?.need = max(known, need)
    }

    /// A step `sync` is under way: what is noticed from now on comes after it.
    package mutating func began(_ zone: Zone) { zones[zone]?.need = nil }

    /// - Parameter hasWaitingFiles: files are here that the server has no room for; with the need `.whole` they were tried.
    package mutating func succeeded(
        _ zone: Zone, _ need: SyncNeed, didChange: Bool, hasWaitingFiles: Bool = false, at now: Int64
    ) {
        guard var state = zones[zone] else { return }
        if !hasWaitingFiles {
            state.filesAt = nil
            state.fileBackoff.reset()
        } else if need == .whole || state.filesAt == nil {
            state.filesAt = now + Int64(state.fileBackoff.next(random))
        }
        state.backoff.reset()
        state.notBefore = 0
        if need == .whole || need == .acknowledge {
            state.acknowledgeAt = nil
            state.changedSince = nil
        } else if didChange {
            let since = state.changedSince ?? now
            state.changedSince = since
            state.acknowledgeAt = min(now + Self.quietMilliseconds, since + Self.unquietMilliseconds)
        }
        zones[zone] = state
    }

    /// - Parameter isTransient: false for what only a person can put right.
    /// - Returns: when to try again.
    @discardableResult
    package mutating func failed(_ zone: Zone, isTransient: Bool, at now: Int64) -> Int64 {
        guard var state = zones[zone] else { return now }
        let pause = Int64(state.backoff.next(random))
        state.need = .whole
        state.easedAt = now + pause
        state.notBefore = isTransient ? state.easedAt : now + Int64(SyncBackoff.longestMilliseconds)
        zones[zone] = state
        return state.notBefore
    }

    /// What a zone failed by is no more, as far as one can see from here: it is tried again with the pauses of failures that
    /// may pass.
    package mutating func eased(_ zone: Zone) {
        guard let state = zones[zone] else { return }
        zones[zone]?.notBefore = min(state.notBefore, state.easedAt)
    }

    // MARK: Steps

    package func next(at now: Int64) -> Step {
        guard case .up(_, let heardAt, let pingedAt) = link else {
            guard case .down(let until) = link, now < until else { return .connect }
            return .wait(until: until)
        }
        if let pingedAt, now >= pingedAt + Self.pongMilliseconds { return .drop }
        if pingedAt == nil, now >= heardAt + Self.silenceMilliseconds { return .ping }
        var until = pingedAt.map { $0 + Self.pongMilliseconds } ?? heardAt + Self.silenceMilliseconds
        var due: (zone: Zone, need: SyncNeed)?
        for (zone, state) in zones.sorted(by: { $0.key < $1.key }) {
            if let need = state.need {
                if state.notBefore > now {
                    until = min(until, state.notBefore)
                } else if due.map({ $0.need < need }) ?? true {
                    due = (zone, need)
                }
                continue
            }
            if let filesAt = state.filesAt {
                if filesAt > now {
                    until = min(until, filesAt)
                } else if due.map({ $0.need < .whole }) ?? true {
                    due = (zone, .whole)
                }
            }
            if let acknowledgeAt = state.acknowledgeAt {
                if acknowledgeAt > now {
                    until = min(until, acknowledgeAt)
                } else if due == nil {
                    due = (zone, .acknowledge)
                }
            }
        }
        if let due { return .sync(due.zone, due.need) }
        return .wait(until: until)
    }
}
