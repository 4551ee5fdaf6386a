// When continuous sync acts and when it waits, driven by a clock that the test moves.

import CoffretSync
import CoffretTestSupport
import Testing

@Suite("The schedule of continuous sync")
struct SyncScheduleTests {
    private static func makeSchedule(_ seed: UInt64 = 1) -> SyncSchedule<String> {
        SyncSchedule(random: SeededGenerator(seed: seed))
    }

    @Test("failures wait from 1 s to 15 min, each between half and all, and a steady connection forgets them")
    func backoff() {
        for seed in UInt64(0)..<50 {
            var schedule = Self.makeSchedule(seed)
            #expect(schedule.next(at: 0) == .connect)
            var (now, whole) = (Int64(0), Int64(1_000))
            for _ in 0..<16 {
                let until = schedule.lost(at: now)
                #expect((whole / 2...whole).contains(until - now), "\(until - now) of \(whole)")
                #expect(schedule.next(at: until - 1) == .wait(until: until))
                #expect(schedule.next(at: until) == .connect)
                (now, whole) = (until, min(whole * 2, 900_000))
            }
            // One that is lost again at once was none.
            schedule.connected([], at: now)
            #expect(schedule.lost(at: now + 1_000) - now > 400_000)
            schedule.connected([], at: now)
            #expect(schedule.lost(at: now + 60_000) <= now + 61_000)
        }
    }

    @Test("what trying again does not help is tried every 15 minutes; a change of the network shortens only waiting")
    func hopeless() {
        var schedule = Self.makeSchedule()
        #expect(schedule.lost(isTransient: false, at: 0) == 900_000)
        schedule.networkChanged(at: 5)
        #expect(schedule.next(at: 5) == .wait(until: 1_005))
    }

    @Test("each zone is looked at once after connecting, then only what was noticed; words wait for quiet")
    func zones() {
        var schedule = Self.makeSchedule()
        schedule.connected(["a", "b"], at: 0)
        for zone in ["a", "b"] {
            #expect(schedule.next(at: 0) == .sync(zone, .whole))
            schedule.began(zone)
            schedule.succeeded(zone, .whole, didChange: true, at: 0)
        }
        #expect(schedule.next(at: 0) == .wait(until: 100_000))
        schedule.noticed("b", .push)
        schedule.noticed("b", .pull)
        schedule.noticed("unknown", .push)
        #expect(schedule.next(at: 10) == .sync("b", .pull))
        schedule.began("b")
        // Noticed while it ran: not forgotten.
        schedule.noticed("b", .push)
        schedule.succeeded("b", .pull, didChange: true, at: 20)
        #expect(schedule.next(at: 20) == .sync("b", .push))
        schedule.began("b")
        schedule.succeeded("b", .push, didChange: true, at: 30)
        #expect(schedule.next(at: 30) == .wait(until: 2_030))
        #expect(schedule.next(at: 2_030) == .sync("b", .acknowledge))
        schedule.began("b")
        schedule.succeeded("b", .acknowledge, didChange: false, at: 2_040)
        schedule.heard(at: 2_040)
        #expect(schedule.next(at: 2_040) == .wait(until: 102_040))
    }

    @Test("somebody who writes all the time is acknowledged every half minute all the same")
    func unquiet() {
        var schedule = Self.makeSchedule()
        schedule.connected(["a"], at: 0)
        schedule.began("a")
        schedule.succeeded("a", .whole, didChange: false, at: 0)
        var words = 0
        for now in stride(from: Int64(0), to: 120_000, by: 500) {
            schedule.heard(at: now)
            if case .sync("a", .acknowledge) = schedule.next(at: now) {
                schedule.began("a")
                schedule.succeeded("a", .acknowledge, didChange: false, at: now)
                words += 1
            }
            schedule.noticed("a", .push)
            schedule.began("a")
            schedule.succeeded("a", .push, didChange: true, at: now)
        }
        #expect((3...4).contains(words))
    }

    @Test("a zone that fails keeps the others from nothing, and comes back ever more rarely")
    func failures() {
        var schedule = Self.makeSchedule()
        schedule.connected(["a", "b"], at: 0)
        schedule.began("a")
        let until = schedule.failed("a", isTransient: true, at: 0)
        #expect((500...1_000).contains(until))
        #expect(schedule.next(at: 0) == .sync("b", .whole))
        schedule.began("b")
        schedule.succeeded("b", .whole, didChange: false, at: 0)
        // Events do not bring it forward.
        schedule.noticed("a", .pull)
        #expect(schedule.next(at: 1) == .wait(until: until))
        #expect(schedule.next(at: until) == .sync("a", .whole))
        schedule.began("a")
        #expect(schedule.failed("a", isTransient: false, at: until) == until + 900_000)
    }

    @Test(
        "a zone that only a person can help waits 15 minutes; once he did it is tried with the pauses of other failures"
    )
    func eased() {
        var schedule = Self.makeSchedule()
        schedule.connected(["a"], at: 0)
        var (now, whole) = (Int64(0), Int64(1_000))
        for _ in 0..<12 {
            schedule.heard(at: now)
            #expect(schedule.next(at: now) == .sync("a", .whole))
            schedule.began("a")
            #expect(schedule.failed("a", isTransient: false, at: now) == now + 900_000)
            // However often it is said.
            for _ in 0..<3 { schedule.eased("a") }
            for (time, isDue) in [(now + whole / 2 - 1, false), (now + whole, true)] {
                schedule.heard(at: time)
                #expect((schedule.next(at: time) == .sync("a", .whole)) == isDue, "\(time - now) of \(whole)")
            }
            (now, whole) = (now + whole, min(whole * 2, 900_000))
        }
        schedule.began("a")
        schedule.succeeded("a", .whole, didChange: false, at: now)
        for zone in ["a", "unknown"] { schedule.eased(zone) }
        #expect(schedule.next(at: now) == .wait(until: now + 100_000), "nothing is to be tried again")
    }

    @Test("silence is asked about, and no answer ends the connection; an hour of nothing wakes up once in 100 s")
    func silence() {
        var schedule = Self.makeSchedule()
        schedule.connected([], at: 0)
        #expect(schedule.next(at: 0) == .wait(until: 100_000))
        #expect(schedule.next(at: 100_000) == .ping)
        schedule.pinged(at: 100_000)
        #expect(schedule.next(at: 100_000) == .wait(until: 110_000))
        #expect(schedule.next(at: 110_000) == .drop)
        schedule.heard(at: 110_000)
        #expect(schedule.next(at: 110_000) == .wait(until: 210_000))
        // After a night's sleep the connection is asked about first of all.
        #expect(schedule.next(at: 30_000_000) == .ping)
        schedule.heard(at: 30_000_000)
        schedule.networkChanged(at: 30_000_001)
        #expect(schedule.next(at: 30_000_001) == .ping)

        var (wakes, now) = (0, Int64(40_000_000))
        let end = now + 3_600_000
        schedule.heard(at: now)
        while now < end {
            switch schedule.next(at: now) {
            case .wait(let until?): now = until
            case .ping:
                schedule.pinged(at: now)
                schedule.heard(at: now + 1)
            default: Issue.record("nothing else is to do")
            }
            wakes += 1
        }
        #expect(wakes <= 2 * 36)
    }

    @Test("files that find no room are tried again ever more rarely, and edits do not hasten that")
    func waitingFiles() {
        var schedule = Self.makeSchedule()
        schedule.connected(["a"], at: 0)
        var (now, whole) = (Int64(0), Int64(1_000))
        for _ in 0..<12 {
            #expect(schedule.next(at: now) == .sync("a", .whole))
            schedule.began("a")
            schedule.succeeded("a", .whole, didChange: false, hasWaitingFiles: true, at: now)
            schedule.noticed("a", .push)
            #expect(schedule.next(at: now) == .sync("a", .push))
            schedule.began("a")
            schedule.succeeded("a", .push, didChange: false, hasWaitingFiles: true, at: now)
            schedule.heard(at: now)
            var until = now
            while case .wait(let next?) = schedule.next(at: until) {
                until = next
                if schedule.next(at: until) == .ping { schedule.heard(at: until) }
            }
            #expect((whole / 2...whole).contains(until - now), "\(until - now) of \(whole)")
            (now, whole) = (until, min(whole * 2, 900_000))
        }
        schedule.began("a")
        schedule.succeeded("a", .whole, didChange: false, at: now)
        schedule.heard(at: now)
        #expect(schedule.next(at: now) == .wait(until: now + 100_000), "nothing waits any more")
    }
}

@Suite("Files in the background")
struct FileScheduleTests {
    private let random = SeededGenerator(seed: 3)

    @Test("files come behind a burst of changes, make way, and go on at once")
    func turns() {
        var files = FileSchedule<String>(random: random)
        #expect(files.due(at: 0) == nil && files.nextAt == nil)
        for now in stride(from: Int64(0), through: 200, by: 100) { files.noticed("a", at: now) }
        #expect(files.due(at: 499) == nil && files.nextAt == 500)
        #expect(files.due(at: 500) == "a")
        files.interrupted("a", at: 700)
        #expect(files.due(at: 700) == "a")
        files.done("a")
        #expect(files.nextAt == nil)
    }

    @Test("what failed is tried ever more rarely, sooner with news; a full disk is left alone whatever comes")
    func failures() throws {
        var files = FileSchedule<String>(random: random)
        var now: Int64 = 1_000
        var pauses: [Int64] = []
        files.noticed("a", at: now)
        for _ in 0..<12 {
            files.failed("a", isTransient: true, at: now)
            let next = try #require(files.nextAt)
            pauses.append(next - now)
            now = next
        }
        #expect(pauses[0] <= 1_000 && pauses[11] >= 400_000 && pauses.allSatisfy { $0 <= 900_000 })
        files.failed("a", isTransient: true, at: now)
        files.noticed("a", at: now)
        #expect(files.nextAt == now + FileSchedule<String>.newsMilliseconds)
        files.noticed("a", at: now + 60_000)
        #expect(files.nextAt == now + 10_000, "that was not put off")
        files.failed("a", isTransient: true, at: now)
        files.noticed("a", at: now + 60_000)
        #expect(files.nextAt == now + 60_300, "it has waited for long enough")
        files.failed("a", isTransient: false, at: now)
        files.noticed("a", at: now)
        #expect(files.due(at: now + 899_999) == nil && files.due(at: now + 900_000) == "a")
    }

    @Test("changes that never end keep files away for two seconds at most, also behind one that was broken off")
    func steadyChanges() {
        var files = FileSchedule<String>(random: random)
        var tries: [Int64] = []
        for now in stride(from: Int64(0), to: 60_000, by: 200) {
            files.noticed("a", at: now)
            guard files.due(at: now) == "a" else { continue }
            tries.append(now)
            files.interrupted("a", at: now + 200)
        }
        #expect(tries.first == 2_000)
        #expect(zip(tries, tries.dropFirst()).allSatisfy { (1_000...2_400).contains($1 - $0) }, "\(tries)")
    }

    @Test("with changes that never end a file that fails is asked for every ten seconds at most")
    func steadyFailures() {
        var files = FileSchedule<String>(random: random)
        var tries: [Int64] = []
        for now in stride(from: Int64(0), to: 600_000, by: 200) {
            files.noticed("a", at: now)
            guard files.due(at: now) == "a" else { continue }
            tries.append(now)
            files.failed("a", isTransient: true, at: now)
        }
        #expect((50...70).contains(tries.count), "\(tries)")
        #expect(
            zip(tries, tries.dropFirst()).dropFirst(8).allSatisfy { (10_000...10_200).contains($1 - $0) }, "\(tries)")
    }

    @Test("once there is room a file is tried again, with growing pauses if the room was none")
    func room() {
        var files = FileSchedule<String>(random: random)
        files.noticed("a", at: 0)
        files.eased("a")
        #expect(files.nextAt == 300, "nothing was held")
        var (now, whole) = (Int64(0), Int64(1_000))
        for _ in 0..<12 {
            files.failed("a", isTransient: false, at: now)
            for _ in 0..<3 { files.eased("a") }
            files.eased("b")
            #expect(files.due(at: now + whole / 2 - 1) == nil && files.due(at: now + whole) == "a")
            (now, whole) = (now + whole, min(whole * 2, 900_000))
        }
        files.done("a")
        files.eased("a")
        #expect(files.nextAt == nil)
    }
}
