// Values between threads: in order, with bounded room, and no side waits for one that is gone.

import CoffretBase
import Testing

@Suite("Threads")
struct ThreadTests {
    private final class Log: @unchecked Sendable {
        // SAFETY: written by one thread, read after it was joined.
        var values: [Int] = []
        var acceptedCount = 0
    }

    @Test("all values arrive in order, however little room there is", arguments: [1, 7, 1_000_000])
    func order(room: Int) {
        let handoff = Handoff<Int>(costMax: room)
        let log = Log()
        let receiver = WorkerThread {
            while let values = handoff.take() { log.values += values }
        }
        for value in 0..<5_000 { #expect(handoff.put(value, cost: value % 3 + 1)) }
        handoff.end()
        receiver.join()
        #expect(log.values == Array(0..<5_000))
        #expect(handoff.take() == nil)
    }

    @Test("a sender that waits for room goes on when the receiver stops")
    func stopping() {
        let handoff = Handoff<Int>(costMax: 2)
        let log = Log()
        let sender = WorkerThread {
            while log.acceptedCount < 1_000_000, handoff.put(log.acceptedCount, cost: 1) { log.acceptedCount += 1 }
        }
        #expect(handoff.take()?.first == 0)
        handoff.stop()
        sender.join()
        #expect(log.acceptedCount < 1_000_000)
        #expect(!handoff.put(1, cost: 1))
        #expect(handoff.take() == nil)
    }

    @Test("what costs more than the room there is passes alone")
    func large() {
        let handoff = Handoff<Int>(costMax: 10)
        #expect(handoff.put(1, cost: 1_000))
        #expect(handoff.take() == [1])
        handoff.end()
        #expect(handoff.take() == nil)
    }
}
