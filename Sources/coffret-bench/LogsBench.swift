// Histories on disk: one fact at a time, edits of a note, and the history of one among many. Invariant: nothing is measured
// before it was written.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretStorage

enum LogsBench {
    fileprivate static let time: Milliseconds = 1_700_000_000_000

    /// `logs DIRECTORY [COUNT [ENTRIES]]`: COUNT one-fact commits over 10,000 facts (2,000), and edits of a note of 9 KiB;
    /// then the history of a note with 500 versions among ENTRIES (0: not at all).
    static func run(_ arguments: [String]) throws {
        guard (1...3).contains(arguments.count), let count = Int(arguments.count > 1 ? arguments[1] : "2000"),
            let entryCount = Int(arguments.count > 2 ? arguments[2] : "0")
        else {
            print("usage: coffret-bench logs DIRECTORY [COUNT [ENTRIES]]")
            return
        }
        try PosixFileSystem().removeTree(arguments[0])
        let pair = try LogsRun(directory: arguments[0])
        try pair.fill(10_000)
        try pair.commitFacts(count)
        try pair.editNote(min(count, 400))
        pair.logs.close()
        if entryCount > 0 { try pair.readHistory(versionCount: 500, entryCount: entryCount) }
    }
}

/// A vault of logs with some facts.
private final class LogsRun {
    let logs: LogRepository
    private let directory: String
    private let vault: BenchRepositories
    private var notes = NoteGenerator(seed: 7)
    private var state: UInt64 = 42

    init(directory: String) throws {
        self.directory = directory
        vault = try BenchRepositories()
        logs = try vault.create(directory + "/logs")
    }

    private func key(_ number: Int, _ attribute: Attribute = "title") -> FactKey {
        let bytes = BLAKE2b.hash(UInt64(number).bigEndianBytes, byteCount: 16)
        guard let id = UniqueID(bytes: bytes) else { preconditionFailure("an id has 16 bytes") }
        return FactKey(entity: EntityID(kind: UInt8(ascii: "n"), uuid: id), attribute: attribute)
    }

    private func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }

    func fill(_ count: Int) throws {
        let values = (0..<count).map { (key($0), Array("the title of note \($0)".utf8)) }
        try logs.commit(values.map { LogChange(key: $0.0, value: $0.1) }, time: LogsBench.time)
        logs.policy = .longLived
    }

    /// One fact at a time.
    func commitFacts(_ count: Int) throws {
        var times: [Double] = []
        var byteCounts: [Int] = []
        var processor = 0.0
        for index in 0..<count {
            let (key, value) = (key(below(10_000)), Array("changed for the \(index)th time".utf8))
            let before = logs.journalByteCount
            processor += try measureCPUSeconds {
                times.append(
                    try measureSeconds {
                        try logs.commit([LogChange(key: key, value: value)], time: LogsBench.time)
                    })
            }
            byteCounts.append(logs.journalByteCount - before)
        }
        let mean = decimal(processor / Double(count) * 1e6, 1)
        print("one fact: \(decimal(median(times) * 1e6, 1)) us median, \(mean) us CPU with checkpoints")
        let (middle, average) = (byteCounts.sorted()[count / 2], byteCounts.reduce(0, +) / count)
        print("bytes in the journal: \(middle) median, \(average) mean with checkpoints")
    }

    /// Edits of one note of 9 KiB: a few words of a line.
    func editNote(_ count: Int) throws {
        var text = ""
        while text.utf8.count < 9 << 10 { text += notes.next().body + "\n" }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let key = key(1, "text")
        try logs.commit([LogChange(key: key, value: Array(text.utf8))], time: LogsBench.time)
        try logs.checkpoint()
        var sum = 0
        for index in 0..<count {
            let place = below(lines.count)
            lines[place] = "edited \(index): " + lines[place].prefix(60)
            let before = logs.journalByteCount
            try logs.commit(
                [LogChange(key: key, value: Array(lines.joined(separator: "\n").utf8))], time: LogsBench.time)
            sum += logs.journalByteCount - before
        }
        print("edit of a note of 9 KiB: \(sum / count) bytes in the journal, mean of \(count)")
    }

    /// A store of its own, that is opened again before it is asked.
    func readHistory(versionCount: Int, entryCount: Int) throws {
        let folder = directory + "/many"
        let writer = try vault.create(folder)
        writer.policy = .longLived
        let note = key(10_001, "text")
        for index in 0..<entryCount {
            let isVersion = index % max(entryCount / versionCount, 1) == 0
            let changed = isVersion ? note : key(below(10_000))
            try writer.commit([LogChange(key: changed, value: Array("version \(index)".utf8))], time: LogsBench.time)
        }
        try writer.checkpoint()
        writer.close()
        var reader: LogRepository?
        let opening = try measureSeconds {
            reader = try vault.open(folder, .readOnly)
            _ = try reader?.present()
        }
        var found = 0
        let seconds = try measureSeconds { found = try reader?.history(of: note.entity).count ?? 0 }
        print("opening among \(entryCount) entries: \(decimal(opening * 1e3)) ms")
        print("history of \(found) versions among \(entryCount) entries: \(decimal(seconds * 1e3)) ms")
        print("journal and packs: \(writer.journalByteCount / entryCount) bytes for each entry")
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
