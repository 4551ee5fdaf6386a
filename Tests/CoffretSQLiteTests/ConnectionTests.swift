// Connections, statements and migrations over plain databases.

import CoffretBase
import CoffretSQLite
import CoffretTestSupport
import Testing

@Suite("SQLite connection")
struct ConnectionTests {
    @Test("values of every type come back as they were bound")
    func valuesRoundTrip() throws {
        let connection = try Connection(path: "", .inMemory)
        try connection.execute("CREATE TABLE t (a, b, c, d, e, f, g)")
        let blob: [UInt8] = [0, 255, 0, 1]
        let nothing: String? = nil
        try connection.run(
            "INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", Int64.min, 1.5, "naïve\u{0}text", blob, nothing,
            true, [UInt8]())
        let row = try connection.firstRow("SELECT * FROM t") { row throws(SQLiteError) in
            #expect(row.int64(at: 0) == Int64.min)
            #expect(row.double(at: 1) == 1.5)
            #expect(row.string(at: 2) == "naïve\u{0}text")
            #expect(row.bytes(at: 3) == blob)
            #expect(row.isNull(at: 4))
            #expect(row.int64(at: 5) == 1)
            #expect(!row.isNull(at: 6) && row.bytes(at: 6).isEmpty)
            #expect(row.withBytes(at: 3) { $0.byteCount } == 4)
            return true
        }
        #expect(row == true)
    }

    @Test("an empty text is a text and not null")
    func emptyText() throws {
        let connection = try Connection(path: "", .inMemory)
        let type = try connection.firstRow("SELECT typeof(?1)", "") { row throws(SQLiteError) in row.string(at: 0) }
        #expect(type == "text")
    }

    @Test("a borrowed text is seen by the statement and gone afterwards")
    func borrowedText() throws {
        let connection = try Connection(path: "", .inMemory)
        let statement = try connection.prepare("SELECT length(?1), ?1 IS NULL")
        let length = try statement.withBorrowed("fünf", at: 1) { () throws(SQLiteError) in
            _ = try statement.step()
            return statement.int64(at: 0)
        }
        #expect(length == 4)
        #expect(try statement.step())
        #expect(statement.int64(at: 1) == 1)
    }

    @Test("a failed transaction leaves nothing behind")
    func rollback() throws {
        let connection = try Connection(path: "", .inMemory)
        try connection.execute("CREATE TABLE t (a UNIQUE)")
        #expect(throws: SQLiteError(.constraint, place: "INSERT INTO t VALUES (?1)")) {
            try connection.transaction { () throws(SQLiteError) in
                try connection.run("INSERT INTO t VALUES (?1)", 1)
                try connection.run("INSERT INTO t VALUES (?1)", 1)
            }
        }
        #expect(!connection.isInTransaction)
        let count = try connection.firstRow("SELECT count(*) FROM t") { row throws(SQLiteError) in row.int64(at: 0) }
        #expect(count == 0)
    }

    @Test("a plain file is kept, migrated step by step, and refused when it is newer")
    func migrations() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("plain.db")
        let first = Migration(version: 1, sql: "CREATE TABLE a (x); INSERT INTO a VALUES (1)")
        let second = Migration(version: 2, sql: "ALTER TABLE a ADD COLUMN y DEFAULT 7")
        do {
            let connection = try Connection(path: path, .createIfAbsent)
            try connection.migrate([first])
            #expect(try connection.schemaVersion() == 1)
        }
        do {
            let connection = try Connection(path: path, .readWrite)
            try connection.migrate([first, second])
            try connection.migrate([first, second])
            let sum = try connection.firstRow("SELECT x + y FROM a") { row throws(SQLiteError) in row.int64(at: 0) }
            #expect(sum == 8)
        }
        let connection = try Connection(path: path, .readWrite)
        #expect(throws: SQLiteError(.schemaTooNew, place: "migrate")) { try connection.migrate([first]) }
    }

    @Test("errors name the statement and its kind, not the values")
    func errorsAreNamed() throws {
        let connection = try Connection(path: "", .inMemory)
        #expect(throws: SQLiteError(.failed, place: "SELEC 1")) { try connection.execute("SELEC 1") }
        #expect(throws: SQLiteError(.cannotOpen, place: "open")) {
            try Connection(path: "/nonexistent/directory/file", .readWrite)
        }
        let directory = try TemporaryDirectory()
        let garbage = directory.file("garbage")
        try PosixFileSystem().replaceFile(garbage, with: [UInt8](repeating: 0x41, count: 5_000))
        let broken = try Connection(path: garbage, .readWrite)
        #expect(throws: SQLiteError(.corrupt, place: "CREATE TABLE t (a)")) {
            try broken.execute("CREATE TABLE t (a)")
        }
    }
}
