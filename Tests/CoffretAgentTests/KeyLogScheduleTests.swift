// When the server's log is read while a store is unlocked.

import CoffretAgent
import Testing

@Suite("When the log of keys is read")
struct KeyLogScheduleTests {
    @Test("with news of a link, once all chains were followed, and a day later again")
    func news() {
        var log = KeyLogSchedule()
        #expect(!log.isDue(at: 0) && log.nextAt == .max, "before there is a connection")
        log.noticed(["a", "b"], at: 0)
        log.followed("a")
        #expect(!log.isDue(at: 0), "b may have a link that the log has")
        log.followed("b")
        #expect(log.isDue(at: 0) && log.isReady)
        log.wasRead(at: 10)
        #expect(!log.isDue(at: 10) && log.nextAt == 10 + KeyLogSchedule.restMilliseconds)
        // A day later chains are followed first.
        #expect(log.isDue(at: log.nextAt) && !log.isReady)
        let day = log.nextAt
        log.noticed(["a"], at: day)
        #expect(!log.isDue(at: day), "a vault that does not sync keeps nobody busy")
        log.followed("a")
        #expect(log.isReady)
    }

    @Test("a failure that may pass is tried again, and any other is told once")
    func failures() {
        var log = KeyLogSchedule()
        log.noticed([String](), at: 0)
        #expect(log.isReady)
        func isTold(_ code: String, isTransient: Bool = false, at now: Int64) -> Bool {
            log.failed(code, isTransient: isTransient, at: now)
        }
        #expect(!isTold("http.unreachable", isTransient: true, at: 5))
        #expect(log.nextAt == 5 + KeyLogSchedule.retryMilliseconds && !log.isReady)
        #expect(isTold("log.forked", at: 6))
        #expect(!isTold("log.forked", at: 7))
        log.wasRead(at: 8)
        #expect(isTold("log.forked", at: 9), "in order meanwhile")
    }
}
