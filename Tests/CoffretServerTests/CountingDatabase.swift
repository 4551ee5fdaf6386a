// A database that counts what is asked of it, so that tests hold costs to counts and not to times.

import CoffretServer
import Foundation

/// Counts the transactions that write, and the bytes that each statement reads.
final class CountingDatabase: SQLDatabase, @unchecked Sendable {
    struct Counts: Equatable {
        var writes = 0
        /// Statements, in whatever transaction.
        var statements = 0
        /// Rows that statements read or changed.
        var rows = 0
        /// Rows of links that were read, in whatever transaction.
        var links = 0
        /// The most bytes that one transaction read.
        var byteCountMax = 0
    }

    private let database: any SQLDatabase
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var counts = Counts()

    init(_ database: any SQLDatabase) { self.database = database }

    /// What was asked since the last call.
    func take() -> Counts {
        lock.withLock {
            defer { counts = Counts() }
            return counts
        }
    }

    fileprivate func note(_ sql: String, _ rows: [[SQLValue]]) -> Int {
        let byteCount = rows.reduce(0) { $0 + $1.reduce(0) { $0 + $1.bytes.count } }
        lock.withLock {
            counts.statements += 1
            counts.rows += rows.count
            if sql.contains("FROM links") { counts.links += rows.count }
        }
        return byteCount
    }

    fileprivate func note(changed count: Int) {
        lock.withLock {
            counts.statements += 1
            counts.rows += count
        }
    }

    private func noteTransaction(_ byteCount: Int) {
        lock.withLock { counts.byteCountMax = max(counts.byteCountMax, byteCount) }
    }

    func write<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        lock.withLock { counts.writes += 1 }
        return try database.write { session in try counted(session, body) }
    }

    func read<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        try database.read { session in try counted(session, body) }
    }

    private func counted<Result>(
        _ session: any SQLSession, _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        let counting = CountingSession(session, self)
        defer { noteTransaction(counting.byteCount) }
        return try body(counting)
    }

    func lookUp(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]] {
        let rows = try database.lookUp(sql, values)
        noteTransaction(note(sql, rows))
        return rows
    }

    func lookUp(_ statement: FrequentStatement, _ values: [SQLValue]) throws -> [[SQLValue]] {
        try database.lookUp(statement, values)
    }

    func hasRoom(for byteCount: Int) -> Bool { database.hasRoom(for: byteCount) }
    func giveBackSpace() throws -> Bool { try database.giveBackSpace() }
    var servesAlone: Bool { database.servesAlone }
    func listen(_ body: @escaping @Sendable (StoreNotice) -> Void) throws { try database.listen(body) }
    func close() { database.close() }
}

private final class CountingSession: SQLSession {
    private let session: any SQLSession
    private let database: CountingDatabase
    private(set) var byteCount = 0

    init(_ session: any SQLSession, _ database: CountingDatabase) {
        self.session = session
        self.database = database
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]] {
        let rows = try session.query(sql, values)
        byteCount += database.note(sql, rows)
        return rows
    }

    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        let count = try session.execute(sql, values)
        database.note(changed: count)
        return count
    }
    func script(_ sql: String) throws { try session.script(sql) }
    func notify(_ notice: StoreNotice) throws {
        try session.notify(notice)
        database.note(changed: 0)
    }
    var lockClause: String { session.lockClause }
    var bytesType: String { session.bytesType }
    var numberType: String { session.numberType }
    func goOnAfterNumbers() throws { try session.goOnAfterNumbers() }
}
