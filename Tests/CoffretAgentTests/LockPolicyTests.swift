// The lock policy behind a clock seam: every order of events on a small grid of times, and the rules one by one.

import CoffretAgent
import CoffretBase
import Testing

@Suite("Lock policy")
struct LockPolicyTests {
    static let intervals = LockIntervals(validatingIdle: .seconds(10), absolute: .seconds(25))

    static func at(_ seconds: UInt64) -> BootInstant {
        BootInstant(nanoseconds: seconds * 1_000_000_000)
    }

    @Test("a store is locked until it is unlocked")
    func startsLocked() throws {
        var policy = LockPolicy(intervals: try #require(Self.intervals))
        #expect(policy.check(at: Self.at(5), isUse: true) == .neverUnlocked)
        #expect(policy.deadline == nil)
    }

    @Test("it locks on idle, at the very second, and use puts that off until the absolute end")
    func idleAndAbsolute() throws {
        var policy = LockPolicy(intervals: try #require(Self.intervals))
        policy.unlock(at: Self.at(100))
        #expect(policy.deadline == Self.at(110))
        #expect(policy.check(at: Self.at(109), isUse: true) == nil)
        #expect(policy.deadline == Self.at(119))
        #expect(policy.check(at: Self.at(118), isUse: true) == nil)
        #expect(policy.deadline == Self.at(125))
        #expect(policy.check(at: Self.at(125), isUse: true) == .absolute)
        policy.unlock(at: Self.at(200))
        #expect(policy.check(at: Self.at(210), isUse: true) == .idle)
        #expect(policy.check(at: Self.at(211), isUse: true) == .idle)
    }

    @Test("looking is not using")
    func lookingIsNotUsing() throws {
        var policy = LockPolicy(intervals: try #require(Self.intervals))
        policy.unlock(at: Self.at(0))
        for second in UInt64(1)..<10 { #expect(policy.check(at: Self.at(second), isUse: false) == nil) }
        #expect(policy.check(at: Self.at(10), isUse: false) == .idle)
    }

    @Test("a clock that goes back locks")
    func clockGoesBack() throws {
        var policy = LockPolicy(intervals: try #require(Self.intervals))
        policy.unlock(at: Self.at(100))
        #expect(policy.check(at: Self.at(105), isUse: true) == nil)
        #expect(policy.check(at: Self.at(104), isUse: true) == .clockWentBack)
        #expect(policy.check(at: Self.at(106), isUse: true) == .clockWentBack)
    }

    @Test("whatever comes in whatever order, the store is never open past its time", arguments: 0..<5)
    func exhaustive(first: Int) throws {
        // All sequences of five steps out of {use, look, wait 4 s, wait 11 s, screen lock}, against a model that
        // keeps the whole history.
        let intervals = try #require(Self.intervals)
        for code in 0..<625 {
            var steps = [first]
            var rest = code
            for _ in 0..<4 {
                steps.append(rest % 5)
                rest /= 5
            }
            var policy = LockPolicy(intervals: intervals)
            var now: UInt64 = 50
            policy.unlock(at: Self.at(now))
            var lastUse = now
            var isLocked = false
            for step in steps {
                switch step {
                case 0, 1:
                    let expected = isLocked || now >= lastUse + 10 || now >= 50 + 25
                    #expect((policy.check(at: Self.at(now), isUse: step == 0) != nil) == expected, "\(steps)")
                    if expected { isLocked = true } else if step == 0 { lastUse = now }
                case 2: now += 4
                case 3: now += 11
                default:
                    policy.lock(because: .screenLocked)
                    isLocked = true
                }
            }
        }
    }

    @Test("intervals below a second or above a week are refused")
    func intervalBounds() {
        #expect(LockIntervals(validatingIdle: .zero, absolute: .seconds(5)) == nil)
        #expect(LockIntervals(validatingIdle: .seconds(5), absolute: .seconds(8 * 24 * 3600)) == nil)
        #expect(LockIntervals(validatingIdle: .seconds(5), absolute: LockIntervals.longest) != nil)
    }
}
