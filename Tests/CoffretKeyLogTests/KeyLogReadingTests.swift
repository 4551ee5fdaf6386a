// What a reader of a log notices (R85).

import CoffretBase
import CoffretKeyLog
import CoffretTestSupport
import Testing

@Suite("Reading a key log")
struct KeyLogReadingTests {
    private func expect<Result>(
        _ code: KeyLogError.Code, _ body: () throws -> Result, _ place: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: KeyLogError.self, sourceLocation: place) { try body() }
        #expect(error?.code == code, sourceLocation: place)
    }

    @Test("an honest log is read once, and then as far as it grew")
    func honest() throws {
        let log = TestLog()
        for number in 0..<600 {
            log.append("a\(number)", of: number % 2 == 0 ? "alice" : "bob", at: UInt64(number / 2))
        }
        var links = stride(from: 0, to: 600, by: 2).map { "a\($0)" }
        var bundles = 0
        var view = try log.read(
            KeyLogView(verifier: log.verifier, begunAt: 0), [TestLog.chain("alice", links)], bundles: &bundles)
        #expect(bundles == 3)
        #expect(view.checkpoint?.size == 600)
        #expect(!view.isDue(for: [TestLog.chain("alice", links)], rest: 1_000, now: 0))
        log.append("a600", of: "alice", at: 300)
        links.append("a600")
        #expect(view.isDue(for: [TestLog.chain("alice", links)], rest: 1_000, now: 0))
        bundles = 0
        view = try log.read(view, [TestLog.chain("alice", links)], bundles: &bundles)
        #expect(bundles == 1)
        // A chain that was not followed before is looked for from the beginning.
        bundles = 0
        let both = [
            TestLog.chain("alice", links), TestLog.chain("bob", stride(from: 1, to: 600, by: 2).map { "a\($0)" }),
        ]
        view = try log.read(view, both, bundles: &bundles)
        #expect(bundles == 3)
        #expect(view.isDue(for: both, rest: 1_000, now: 1_000), "a day passed")
        #expect(view.isDue(for: both, rest: 1_000, now: -1), "a clock that went back")
    }

    @Test("a log that forks, shrinks, or has other entries than its root is not believed (R85)")
    func views() throws {
        let log = TestLog()
        for number in 0..<5 { log.append("a\(number)", of: "alice", at: UInt64(number)) }
        let alice = TestLog.chain("alice", (0..<5).map { "a\($0)" })
        let view = try log.read(KeyLogView(verifier: log.verifier, begunAt: 0), [alice])
        let honest = log.entries
        log.entries.removeLast()
        expect(.rolledBack) { try log.read(view, [alice]) }
        log.append("other", of: "bob", at: 0)
        expect(.forked) { try log.read(view, [alice]) }
        // The other history goes on: the tree has another beginning.
        log.append("more", of: "bob", at: 1)
        expect(.forked) { try log.read(view, [alice]) }
        // A reader who starts anew at some chain compares where he was.
        expect(.forked) { try log.read(view, [alice, TestLog.chain("bob", ["other", "more"])]) }
        // True entries do not make a false root.
        log.entries = honest
        log.append("b0", of: "bob", at: 0)
        var reading = try KeyLogReading(view, note: log.checkpoint().note, chains: [alice])
        let tile = try #require(reading.wanted)
        var bundle = KeyLogBundle.encode(log.entries.map(\.encoded))
        #expect(tile.count == 6)
        bundle[bundle.count - 1] ^= 1
        try reading.take(bundle)
        expect(.forked) { try reading.finished(now: 0, isFollowed: true) }
        var second = try KeyLogReading(view, note: log.checkpoint().note, chains: [alice])
        expect(.checkpointInvalid) { try second.take(Array(bundle.dropLast())) }
        let stranger = TestLog()
        stranger.entries = honest
        expect(.checkpointInvalid) { try KeyLogReading(view, note: stranger.checkpoint().note, chains: [alice]) }
    }

    @Test("links that a log has otherwise, has alone, or has not are named (R85)")
    func links() throws {
        let log = TestLog()
        log.append("a0", of: "alice", at: 0)
        log.append("a1", of: "alice", at: 1)
        let new = KeyLogView(verifier: log.verifier, begunAt: 0)
        expect(.entryDiffers) { try log.read(new, [TestLog.chain("alice", ["a0", "x1"])]) }
        // A link that came behind the last look is no fault; that it does not come is one.
        let ahead = try log.read(new, [TestLog.chain("alice", ["a0"])])
        expect(.linkWithheld) { try log.read(ahead, [TestLog.chain("alice", ["a0"])]) }
        #expect(try log.read(ahead, [TestLog.chain("alice", ["a0"])], isFollowed: false).checkpoint?.size == 2)
        expect(.entryDiffers) { try log.read(ahead, [TestLog.chain("alice", ["a0", "x1"])]) }
        let came = try log.read(ahead, [TestLog.chain("alice", ["a0", "a1"])])
        // A link that is not in the log has ten minutes to come.
        let longer = TestLog.chain("alice", ["a0", "a1", "a2"])
        let missed = try log.read(came, [longer], now: 1_000)
        _ = try log.read(missed, [longer], now: 600_999)
        expect(.entryMissing) { try log.read(missed, [longer], now: 601_000) }
        log.append("a2", of: "alice", at: 2)
        _ = try log.read(missed, [longer], now: 601_000)
    }

    @Test("a recovery may write numbers of a device chain again")
    func recovery() throws {
        let log = TestLog()
        for (text, number) in [("a0", 0), ("a1", 1), ("a2", 2), ("r1", 1), ("r2", 2)] as [(String, UInt64)] {
            log.append(text, of: "alice", at: number)
        }
        let view = KeyLogView(verifier: log.verifier, begunAt: 0)
        _ = try log.read(view, [TestLog.chain("alice", ["a0", "r1", "r2"], replaced: ["a0", "a1", "a2"])])
        expect(.entryDiffers) { try log.read(view, [TestLog.chain("alice", ["a0", "r1", "r2"])]) }
    }
}
