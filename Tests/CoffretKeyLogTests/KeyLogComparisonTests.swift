// Two people of one server, and what each was shown of its log (R85).

import CoffretBase
import CoffretKeyLog
import CoffretTestSupport
import Testing

@Suite("Comparing key logs")
struct KeyLogComparisonTests {
    private static func log(_ count: Int, from start: Int = 0, _ name: String = "a") -> TestLog {
        let log = TestLog()
        for number in start..<count { log.append("\(name)\(number)", of: "alice", at: UInt64(number)) }
        return log
    }

    /// What somebody who read all of a log keeps of it.
    private static func view(_ log: TestLog) throws -> KeyLogView {
        try log.read(KeyLogView(verifier: log.verifier, begunAt: 0), [])
    }

    /// Compares a note, with tiles and entries as `log` has them.
    ///
    /// - Returns: how many tiles and bundles it took; nil: it says nothing.
    private static func compare(_ note: [UInt8], with view: KeyLogView, at log: TestLog) throws(KeyLogError) -> Int? {
        guard var comparison = try KeyLogComparison(of: note, with: view) else { return nil }
        var count = 0
        while let tile = comparison.wanted {
            count += 1
            let start = Int(tile.index * KeyLogTile.width)
            guard let level = tile.level else {
                try comparison.take(KeyLogBundle.encode(log.entries[start..<start + tile.count].map(\.encoded)))
                continue
            }
            var hashes = log.entries.map(\.leafHash)
            for _ in 0..<level {
                hashes = stride(from: 0, to: hashes.count / 256 * 256, by: 256).map { first in
                    KeyLogTree.root(of: hashes[first..<first + 256])
                }
            }
            try comparison.take(hashes[start..<start + tile.count].flatMap(\.bytes))
        }
        return count
    }

    private func expect<Result>(
        _ code: KeyLogError.Code, _ body: () throws -> Result, _ place: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: KeyLogError.self, sourceLocation: place) { try body() }
        #expect(error?.code == code, sourceLocation: place)
    }

    @Test("of two readings at once the first that is written stays, and the other one waits to be compared (R85)")
    func readingsAtOnce() throws {
        let log = Self.log(600)
        let all = log.entries
        log.entries = Array(all.prefix(300))
        let known = try Self.view(log)
        log.entries = Array(all.prefix(400))
        let slow = try log.read(known, [], now: 1)
        log.entries = all
        let quick = try log.read(known, [], now: 2)
        #expect(quick.kept(over: known, since: known) == quick && quick.kept(over: nil, since: known) == quick)
        let kept = slow.kept(over: quick, since: known)
        let note = try #require(slow.checkpoint).note
        #expect(kept.checkpoint == quick.checkpoint && kept.stated == [note])
        #expect(kept.isDue(for: [], rest: 1_000, now: 3))
        #expect(try Self.compare(kept.stated[0], with: kept, at: log) != nil)
        // Each is shown a log of its own.
        log.entries = Array(all.prefix(300))
        for number in 300..<400 { log.append("other\(number)", of: "bob", at: UInt64(number)) }
        let other = try log.read(known, [], now: 1).kept(over: quick, since: known)
        log.entries = all
        expect(.forked) { try Self.compare(other.stated[0], with: other, at: log) }
    }

    @Test(
        "checkpoints of one log are its beginnings, at any size", arguments: [1, 2, 255, 256, 257, 511, 512, 599, 600])
    func one(size: Int) throws {
        let log = Self.log(600)
        let all = log.entries
        let view = try Self.view(log)
        log.entries = Array(all.prefix(size))
        let note = log.checkpoint().note
        log.entries = all
        let count = try #require(try Self.compare(note, with: view, at: log))
        #expect(size == 600 ? count == 0 : (2...5).contains(count), "\(count)")
    }

    @Test("an empty log is the beginning of each, and what is no checkpoint of this log says nothing")
    func nothing() throws {
        let log = Self.log(3)
        let view = try Self.view(log)
        let all = log.entries
        log.entries = []
        let empty = log.checkpoint().note
        log.entries = all
        #expect(try Self.compare(empty, with: view, at: log) == 1)
        for note in [Self.log(3).checkpoint().note, [], Array(log.checkpoint().note.dropLast())] {
            #expect(try Self.compare(note, with: view, at: log) == nil)
        }
        var view2 = view
        view2.take(stated: [Self.log(3).checkpoint().note: 9, log.checkpoint().note: 9, [1, 2]: 9])
        #expect(view2.stated.isEmpty, "the known one needs no look")
    }

    @Test("two histories of one key are found, whichever of both the log shows now (R85)")
    func two() throws {
        let log = Self.log(300)
        let view = try Self.view(log)
        let mine = log.entries
        for size in [299, 300] {
            log.entries = Array(mine.prefix(200))
            for number in 200..<size { log.append("other\(number)", of: "bob", at: UInt64(number)) }
            let theirs = log.entries
            let note = log.checkpoint().note
            log.entries = mine
            expect(.forked) { try Self.compare(note, with: view, at: log) }
            // Hashes of the other history, and entries of it.
            log.entries = theirs + mine.suffix(300 - size)
            expect(.forked) { try Self.compare(note, with: view, at: log) }
        }
        log.entries = mine
        log.append("more", of: "bob", at: 9)
        expect(.rolledBack) { try Self.compare(log.checkpoint().note, with: view, at: log) }
        // Tiles that are none.
        log.entries = Array(mine.prefix(7))
        var comparison = try #require(try KeyLogComparison(of: log.checkpoint().note, with: view))
        expect(.checkpointInvalid) { try comparison.take([UInt8](repeating: 0, count: 7 * 32 - 1)) }
    }

    @Test("what is stated waits until it was compared, and a log is due meanwhile")
    func waiting() throws {
        let log = Self.log(5)
        let all = log.entries
        log.entries = Array(all.prefix(2))
        let note = log.checkpoint().note
        log.entries = all
        var view = try Self.view(log)
        #expect(!view.isDue(for: [], rest: 1_000, now: 0))
        view.take(stated: [note: 0])
        #expect(view.stated.isEmpty, "it was written before this log was read")
        for _ in 0..<2 { view.take(stated: [note: 1]) }
        #expect(view.stated == [note] && view.isDue(for: [], rest: 1_000, now: 0))
        #expect(KeyLogView(decoding: view.encoded) == view)
        view.forget(stated: note)
        #expect(!view.isDue(for: [], rest: 1_000, now: 0))
        #expect(view.begunAnew(at: 7).stated.isEmpty)
    }
}
