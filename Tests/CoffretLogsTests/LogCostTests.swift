// What histories on disk cost: bytes, syncs and reads, as the design promises them. No clock is asked.

import CoffretBase
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretLogs

@Suite("Costs of histories on disk")
struct LogCostTests {
    /// Words, so that texts shrink as texts do.
    private func text(_ generator: SeededGenerator, lineCount: Int) -> [String] {
        (0..<lineCount).map { _ in
            (0..<9).map { _ in String(generator.next() % 5_000, radix: 36) + "word" }.joined(separator: " ")
        }
    }

    @Test("a one-fact commit is one sync and at most 500 bytes in the journal")
    func oneFact() throws {
        let world = try LogWorld()
        let repository = try world.create()
        let changes = (0..<400).map { LogWorld.put(LogWorld.title($0), "the title of note \($0)") }
        try repository.commit(changes, time: 1_800_000_000_000)
        try repository.checkpoint()
        let disk = world.devices[0].disk
        let operations = disk.operationCount
        for number in 0..<100 {
            let bytes = repository.journalByteCount
            try repository.commit(
                [LogWorld.put(LogWorld.title(number), "another title of it, \(number)")], time: 1_800_000_000_000)
            #expect(repository.journalByteCount - bytes <= 500)
        }
        // One write and one sync each; the hint is written every 32 transactions.
        #expect(disk.operationCount - operations <= 2 * 100 + 4)
        let bytes = repository.journalByteCount
        try repository.remember([UInt8](repeating: 7, count: 40))
        #expect(repository.journalByteCount - bytes <= 300 + 40)
    }

    @Test("an edit of a note of 9 KiB stores at most 1.2 KB in the mean")
    func edits() throws {
        let world = try LogWorld()
        let repository = try world.create()
        var lines = text(world.generator, lineCount: 150)
        func bytes() -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }
        #expect(bytes().count > 8 << 10)
        try repository.commit([LogChange(key: LogWorld.text(1), value: bytes())], time: 1)
        try repository.checkpoint()
        let before = repository.journalByteCount
        for _ in 0..<60 {
            lines[world.generator.int(in: 0...lines.count - 1)] = text(world.generator, lineCount: 1)[0]
            try repository.commit([LogChange(key: LogWorld.text(1), value: bytes())], time: 1)
            let fact = try #require(try repository.present().facts(under: LogWorld.text(1)).first)
            #expect(try repository.present().value(of: fact) == bytes())
        }
        #expect((repository.journalByteCount - before) / 60 <= 1_200)
        // The base lives as long as what is made on it.
        try repository.compact()
        repository.close()
        let next = try world.open()
        let fact = try #require(try next.present().facts(under: LogWorld.text(1)).first)
        #expect(try next.present().value(of: fact) == bytes())
        for version in try next.history(of: LogWorld.item(1)) {
            #expect(try next.value(of: version.changes[0].content, under: LogWorld.text(1)).count > 8_000)
        }
    }

    @Test("opening reads as much after 2,000 entries as after 300")
    func opening() throws {
        let world = try LogWorld()
        var reads: [Int] = []
        let repository = try world.create()
        for number in 0..<2_000 {
            try repository.commit([LogWorld.put(LogWorld.title(number % 200), "\(number)")], time: 1)
            guard number == 299 || number == 1_999 else { continue }
            try repository.checkpoint()
            let reader = try world.open(mode: .readOnly)
            _ = try reader.ask { (machine) in machine.frontier }
            let files = reader.files
            reads.append(files.entryReadCount + files.indexes.nodeReadCount + files.facts.nodeReadCount)
        }
        #expect(reads[1] <= reads[0] + 4, "\(reads)")
    }

    @Test("a text in the place of another one costs no older version, in bytes or in reads of large entries")
    func anotherText() throws {
        let world = try LogWorld()
        let repository = try world.create()
        // One entry with a tree of changes.
        let first = (0..<700).map { LogWorld.put(LogWorld.text($0), "the first text of note \($0)") }
        try repository.commit(first, time: 1)
        for number in 0..<20 {
            let words = text(world.generator, lineCount: 16).joined(separator: "\n")
            let bytes = repository.journalByteCount
            try repository.commit([LogWorld.put(LogWorld.text(7), words)], time: Int64(number))
            #expect(repository.journalByteCount - bytes <= words.utf8.count + 500)
        }
        repository.close()
        let reader = try world.open(mode: .readOnly)
        _ = try reader.present()
        let before = reader.readCount
        #expect(try reader.history(of: LogWorld.item(7)).count == 21)
        #expect(reader.readCount - before <= 60)
    }
}
