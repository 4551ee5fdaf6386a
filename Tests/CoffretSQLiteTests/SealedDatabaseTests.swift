// Sealed databases: what lies on disk, what a crash or an enemy may do to it, several users at once.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSQLite

@Suite("Sealed database")
struct SealedDatabaseTests {
    let directory: TemporaryDirectory
    let fileSystem = PosixFileSystem()

    init() throws {
        directory = try TemporaryDirectory("sealed")
    }

    func key(_ byte: UInt8 = 7, context: [UInt8] = Array("vault".utf8)) -> SealedDatabaseKey {
        var bytes = [UInt8](repeating: byte, count: 32)
        return SealedDatabaseKey(SecretBytes(consuming: &bytes), context: context)
    }

    func open(key: SealedDatabaseKey? = nil, lockTimeoutMilliseconds: Int = 10_000) throws -> SealedDatabase {
        try SealedDatabase(
            directory: directory.file("search"), key: key ?? self.key(), fileSystem: fileSystem,
            random: SystemRandomSource(), lockTimeoutMilliseconds: lockTimeoutMilliseconds)
    }

    func path(_ name: String) -> String { directory.file("search/" + name) }

    func bytes(_ name: String) throws -> [UInt8] { try fileSystem.readFile(path(name), byteCountMax: 1 << 30) }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = try fileSystem.open(path(name), .createIfAbsent)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    static let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)"

    /// A database of `rowCount` rows of about 500 bytes.
    func made(rowCount: Int = 200) throws -> SealedDatabase {
        let database = try open()
        try database.rebuild { connection throws(SQLiteError) in
            try connection.execute(Self.schema)
            for row in 0..<rowCount {
                try connection.run("INSERT INTO t VALUES (?1, ?2)", row, Self.text(row))
            }
        }
        return database
    }

    static func text(_ row: Int) -> String { String(repeating: "canary \(row) ", count: 50) }

    func insert(_ row: Int, into database: SealedDatabase) throws {
        try database.write { connection throws(SQLiteError) in
            try connection.run("INSERT INTO t VALUES (?1, ?2)", row, Self.text(row))
        }
    }

    func rowCount(_ database: SealedDatabase) throws -> Int64 {
        try database.read { connection throws(SQLiteError) in
            try connection.firstRow("SELECT count(*) FROM t") { row throws(SQLiteError) in row.int64(at: 0) } ?? -1
        }
    }

    /// Reads every row and checks its text.
    func verify(_ database: SealedDatabase) throws -> Int {
        try database.read { connection throws(SQLiteError) in
            var count = 0
            try connection.forEachRow("SELECT id, text FROM t ORDER BY id") { row throws(SQLiteError) in
                #expect(row.string(at: 1) == Self.text(Int(row.int64(at: 0))))
                count += 1
            }
            let check = try connection.firstRow("PRAGMA integrity_check") { row throws(SQLiteError) in
                row.string(at: 0)
            }
            #expect(check == "ok")
            return count
        }
    }

    @Test("what is written is read again, by the same user and by a new one")
    func roundTrip() throws {
        let database = try made()
        for row in 200..<210 { try insert(row, into: database) }
        #expect(try verify(database) == 210)
        #expect(try verify(open()) == 210)
    }

    @Test("nothing of the text and nothing of SQLite's own structure lies on disk")
    func nothingInClear() throws {
        let database = try made()
        for row in 200..<230 { try insert(row, into: database) }
        try database.write { connection throws(SQLiteError) in
            try connection.run("DELETE FROM t WHERE id < 100")
            try connection.run("UPDATE t SET text = text || 'canary' WHERE id > 150")
        }
        let names = try fileSystem.list(directory.file("search")).map(\.name)
        #expect(names == ["index", "index.lock", "index.log"])
        for name in names {
            let bytes = try bytes(name)
            for mark in ["canary", "SQLite", "CREATE TABLE"] {
                #expect(!bytes.contains(Array(mark.utf8)), "\(name) holds \(mark)")
            }
        }
    }

    @Test("a transaction that fails changes nothing, for this user or another")
    func failedTransaction() throws {
        let database = try made()
        let other = try open()
        #expect(try rowCount(other) == 200)
        let log = try bytes("index.log")
        #expect(throws: SQLiteError.self) {
            try database.write { connection throws(SQLiteError) in
                try connection.run("DELETE FROM t")
                try connection.run("INSERT INTO t VALUES (1, 'a')")
                try connection.run("INSERT INTO t VALUES (1, 'b')")
            }
        }
        #expect(try bytes("index.log") == log)
        #expect(try verify(database) == 200)
        #expect(try rowCount(other) == 200)
    }

    @Test("two users see each other's transactions")
    func twoUsers() throws {
        let first = try made()
        let second = try open()
        for row in 200..<260 {
            try insert(row, into: row % 2 == 0 ? first : second)
            #expect(try rowCount(first) == Int64(row + 1))
            #expect(try rowCount(second) == Int64(row + 1))
        }
        // Another database in the same place is noticed, too.
        try first.rebuild { connection throws(SQLiteError) in try connection.execute(Self.schema) }
        #expect(try rowCount(second) == 0)
        #expect(try verify(second) == 0)
    }

    @Test("the log is folded into the main file and starts again, and both users go on")
    func folding() throws {
        let first = try made(rowCount: 10)
        let second = try open()
        var largest = 0
        for row in 10..<1_000 {
            try insert(row, into: first)
            largest = max(largest, try fileSystem.status(path("index.log"))!.byteCount)
            if row % 100 == 0 { #expect(try rowCount(second) == Int64(row + 1)) }
        }
        #expect(largest < (SealedDatabase.foldPageCountDefault + 50) * 4_200)
        #expect(try fileSystem.status(path("index"))!.byteCount > 400_000)
        #expect(try verify(second) == 1_000)
        #expect(try verify(open()) == 1_000)
    }

    @Test("a reader waits for no reader, a writer is refused after its time")
    func locking() throws {
        let first = try made()
        let second = try open(lockTimeoutMilliseconds: 5)
        try first.read { _ throws(SQLiteError) in
            do { #expect(try rowCount(second) == 200) } catch { Issue.record(error) }
            #expect(throws: SQLiteError(.busy, place: "file")) { try insert(200, into: second) }
        }
        try insert(200, into: second)
        #expect(try rowCount(first) == 201)
    }

    @Test("no database, one half made and one of another version are reasons to rebuild, by name")
    func reasons() throws {
        #expect(throws: SQLiteError(.sealedMissing, place: "open")) { try rowCount(open()) }
        let database = try made()
        #expect(throws: SQLiteError.self) {
            try database.rebuild { connection throws(SQLiteError) in
                try connection.execute(Self.schema)
                throw SQLiteError(.interrupted, place: "test")
            }
        }
        #expect(throws: SQLiteError(.sealedUnfinished, place: "header")) { try rowCount(open()) }
        _ = try made()
        var bytes = try bytes("index")
        bytes[19] = 2
        try write(bytes, to: "index")
        #expect(throws: SQLiteError(.sealedUnknownVersion, place: "header")) { try rowCount(open()) }
        bytes[19] = 1
        try write(bytes, to: "index")
        #expect(try rowCount(open()) == 200)
        #expect(throws: SQLiteError(.sealedDamaged, place: "header")) { try rowCount(open(key: key(8))) }
        try write([], to: "index")
        #expect(throws: SQLiteError(.sealedMissing, place: "header")) { try rowCount(open()) }
    }

    @Test("a database of another context does not open")
    func contextIsBound() throws {
        _ = try made()
        #expect(throws: SQLiteError(.sealedDamaged, place: "header")) {
            try rowCount(open(key: key(context: Array("other".utf8))))
        }
    }

    @Test("a flipped bit in any page of main file or log is noticed, never read (R14)")
    func flippedPages() throws {
        let database = try made(rowCount: 60)
        for row in 60..<70 { try insert(row, into: database) }
        for name in ["index", "index.log"] {
            let original = try bytes(name)
            let generator = SeededGenerator(seed: 1)
            var offset = 0
            while offset < original.count {
                var changed = original
                let position = min(original.count - 1, offset + generator.int(in: 0...4_095))
                changed[position] ^= 1 << UInt8(generator.int(in: 0...7))
                try write(changed, to: name)
                do {
                    // A log that was cut short by the flip is an older state, and a whole one.
                    let count = try verify(open())
                    #expect(name == "index.log" || count == 70)
                    #expect(count >= 60)
                } catch let error as SQLiteError {
                    #expect(error.code == .sealedDamaged || error.code == .sealedUnknownVersion, "\(error)")
                }
                offset += 4_096
            }
            try write(original, to: name)
        }
        #expect(try verify(open()) == 70)
    }

    @Test("exchanged pages are noticed")
    func exchangedPages() throws {
        _ = try made(rowCount: 60)
        var bytes = try bytes("index")
        let second = Array(bytes[3 * 4_096..<4 * 4_096])
        bytes.replaceSubrange(3 * 4_096..<4 * 4_096, with: bytes[4 * 4_096..<5 * 4_096])
        bytes.replaceSubrange(4 * 4_096..<5 * 4_096, with: second)
        try write(bytes, to: "index")
        #expect(throws: SQLiteError(.sealedDamaged, place: "page")) { try verify(open()) }
    }

    @Test("a log torn at any byte of the last transaction is the state before it")
    func tornLog() throws {
        let database = try made(rowCount: 60)
        try insert(60, into: database)
        let before = try bytes("index.log").count
        try insert(61, into: database)
        let whole = try bytes("index.log")
        let main = try fileSystem.open(path("index"), .readWrite)
        let log = try fileSystem.open(path("index.log"), .readWrite)
        func validByteCount() throws -> Int {
            try SealedFile(main: main, log: log, key: key(), random: SystemRandomSource()).logEndByteOffset
        }
        #expect(try validByteCount() == whole.count)
        // Cut short, byte by byte; and with a hole of zeros at the end, as a power cut may leave it.
        for length in (before..<whole.count).reversed() {
            try log.truncate(to: length)
            #expect(try validByteCount() == before, "cut at \(length)")
            guard length % 101 == 0 else { continue }
            try log.truncate(to: whole.count)
            #expect(try validByteCount() == before, "zeros from \(length)")
        }
        for length in stride(from: before, through: whole.count, by: (whole.count - before) / 12) {
            try write(Array(whole[..<length]), to: "index.log")
            let database = try open()
            let rowCount = length == whole.count ? 62 : 61
            #expect(try verify(database) == rowCount)
            // And it goes on from there.
            try insert(99, into: database)
            #expect(database.didDiscardTornLog == (length != before && length != whole.count))
            #expect(try verify(open()) == rowCount + 1)
        }
    }

    @Test("a log of an earlier fold is not laid over newer pages")
    func oldLog() throws {
        let database = try made(rowCount: 10)
        for row in 10..<60 { try insert(row, into: database) }
        let old = try bytes("index.log")
        while try fileSystem.status(path("index.log"))!.byteCount >= old.count {
            try insert(rows(database), into: database)
        }
        let count = try verify(open())
        try write(old, to: "index.log")
        #expect(try verify(open()) >= count - 60)
        #expect(try verify(open()) > 60)
    }

    func rows(_ database: SealedDatabase) throws -> Int { Int(try rowCount(database)) }

    @Test("large transactions spill and stay atomic")
    func largeTransaction() throws {
        let database = try made(rowCount: 1)
        try database.write { connection throws(SQLiteError) in
            try connection.execute("PRAGMA cache_size = 10")
            for row in 1..<3_000 { try connection.run("INSERT INTO t VALUES (?1, ?2)", row, Self.text(row)) }
            try connection.run("UPDATE t SET text = text WHERE id % 3 = 0")
        }
        #expect(try verify(open()) == 3_000)
        #expect(throws: SQLiteError.self) {
            try database.write { connection throws(SQLiteError) in
                try connection.execute("PRAGMA cache_size = 10")
                try connection.run("DELETE FROM t WHERE id > 5")
                throw SQLiteError(.interrupted, place: "test")
            }
        }
        #expect(try verify(database) == 3_000)
    }
}

extension Array where Element == UInt8 {
    /// Whether `part` occurs anywhere.
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        guard part.count <= count, let first = part.first else { return part.isEmpty }
        var start = startIndex
        while let found = self[start...].firstIndex(of: first), found + part.count <= endIndex {
            if self[found..<found + part.count].elementsEqual(part) { return true }
            start = found + 1
        }
        return false
    }
}
