// Texts of several devices, own logs that end, and what a device may not write.

import CoffretBase
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretLogs

@Suite("Texts and own logs on disk")
struct LogTextTests {
    @Test("texts of two devices are merged when they are read; an edit replaces what was shown")
    func merges() throws {
        let world = try LogWorld(deviceCount: 2)
        let (one, other) = (try world.create(0), try world.create(1))
        let key = LogWorld.text(1)
        let long = (0..<40).map { "line \($0) of a text that is long enough to be compressed" }
        func joined(_ lines: [String]) -> String { lines.joined(separator: "\n") + "\n" }
        try one.commit([LogWorld.put(key, joined(long))], time: 1)
        try world.send(from: one, to: other)
        var (mine, theirs) = (long, long)
        mine[3] = "mine"
        theirs[30] = "theirs"
        try one.commit([LogWorld.put(key, joined(mine))], time: 2)
        try other.commit([LogWorld.put(key, joined(theirs))], time: 2)
        try world.send(from: one, to: other)
        try world.send(from: other, to: one)
        mine[30] = "theirs"
        for repository in [one, other] {
            let shown = try #require(try repository.shownText(under: key))
            #expect(shown.isMerged && shown.text == Array(joined(mine).utf8))
            #expect(try repository.mergedTexts().map(\.key) == [key])
        }
        let shown = try #require(try one.shownText(under: key))
        try one.commit([LogChange(key: key, value: shown.text, replaces: shown.replaces)], time: 3)
        #expect(try one.mergedTexts().isEmpty)
        #expect(try one.shownText(under: key)?.isMerged == false)
        #expect(try one.shownText(under: LogWorld.text(2)) == nil)
    }

    @Test("a copy of a store finds that it is one: its log is left, and a new one begins")
    func copies() throws {
        let world = try LogWorld()
        let first = try world.create()
        try first.commit([LogWorld.put(LogWorld.title(1), "both")], time: 1)
        first.close()
        let copied = world.devices[0].disk.syncedCopy()
        let (one, other) = (try world.open(), try world.open(on: copied))
        let mine = try #require(try one.commit([LogWorld.put(LogWorld.title(2), "one")], time: 2))
        let theirs = try #require(try other.commit([LogWorld.put(LogWorld.title(3), "other")], time: 2))
        #expect(mine.dot == theirs.dot && mine.name != theirs.name)
        try world.send(from: one, to: other)
        let next = try #require(try other.commit([LogWorld.put(LogWorld.title(4), "new")], time: 3))
        #expect(next.instance != mine.instance && next.number == 1)
        other.close()
        let again = try world.open(on: copied)
        #expect(try again.commit([LogWorld.put(LogWorld.title(4), "newer")], time: 4)?.dot == Dot(next.instance, 2))
    }

    @Test("what others wrote is told by the next own entry, and by no later one")
    func seen() throws {
        let world = try LogWorld(deviceCount: 2)
        let (one, other) = (try world.create(0), try world.create(1))
        let foreign = try #require(try one.commit([LogWorld.put(LogWorld.title(1), "x")], time: 1))
        try world.send(from: one, to: other)
        let entries = try (0..<3).map { number in
            try #require(try other.commit([LogWorld.put(LogWorld.title(number), "\(number)")], time: 1))
        }
        #expect(entries.map { $0.body.seen[foreign.instance] } == [foreign.mark, nil, nil])
        #expect(entries.map(\.height) == [2, 3, 4])
        other.close()
        let again = try world.open(1)
        let last = try #require(try again.commit([LogWorld.put(LogWorld.title(5), "y")], time: 1))
        #expect(last.body.seen.isEmpty, "what was told is stored, or found behind the checkpoint")
    }

    @Test("without a key, or without the right, nothing is written")
    func mayNotWrite() throws {
        let world = try LogWorld()
        try world.create().close()
        let reader = try world.open(writes: false)
        #expect(throws: StorageError(.readOnly, place: "vault")) {
            try reader.commit([LogWorld.put(LogWorld.title(1), "x")], time: 1)
        }
        reader.close()
        world.link(roles: [world.account: .viewer])
        let viewer = try world.open()
        #expect(throws: StorageError(.roleViewer, place: "vault")) {
            try viewer.commit([LogWorld.put(LogWorld.title(1), "x")], time: 1)
        }
        #expect(viewer.journalPosition == 1)
    }

    @Test("the kept state has one encoding, and no changed byte of it ends the program")
    func keptState() throws {
        let world = try LogWorld(deviceCount: 2)
        let (one, other) = (try world.create(0), try world.create(1))
        try one.commit([LogWorld.put(LogWorld.title(1), "x")], time: 1)
        try world.send(from: one, to: other)
        try other.commit([LogWorld.put(LogWorld.title(1), "y")], time: 1)
        try other.refusePurge(of: 1)
        #expect(try other.refusedPurges() == [1])
        let bytes = other.blobs.state.kept
        let kept = try KeptState(decoding: bytes)
        #expect(kept.encoded == bytes && kept.own?.said.count == 1 && kept.refusedPurges == [1])
        #expect(bytes.first == 0x86)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= UInt8(1 << (place % 8))
            if let read = try? KeptState(decoding: changed) { #expect(read.encoded == changed) }
        }
        #expect(throws: HistoryError(.stateMalformed)) { try KeptState(decoding: bytes + [0]) }
    }
}
