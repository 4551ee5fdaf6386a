// The default storage: one SQLite database in one data directory. The one thing to keep true: a transaction that
// returned is on the disk, and one process at a time serves from the directory.

internal import CoffretSQLite
internal import Glibc
internal import Synchronization

package final class SQLiteDatabase: SQLDatabase {
    private let path: String
    /// SQLite has one writer at a time; waiting here is cheaper than its busy handler.
    private let writing = Mutex(())
    private let idle = Mutex<[SQLiteSession]>([])
    private let listener = Mutex<(@Sendable (StoreNotice) -> Void)?>(nil)

    /// Opens the database file, or makes it.
    package init(path: String) throws {
        self.path = path
        give(back: try SQLiteSession(path: path))
    }

    /// Makes a file that is used when it is whole, and thrown away otherwise: nothing is logged, and its end syncs it.
    package init(unfinished path: String) throws {
        self.path = path
        let session = try SQLiteSession(path: path)
        try session.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        give(back: session)
    }

    @discardableResult
    package func write<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        let session = try take()
        var outcome = Swift.Result<Result, any Error>.failure(ServerFailure(.storageUnavailable))
        writing.withLock { _ in
            do {
                outcome = .success(try session.transaction("BEGIN IMMEDIATE", body))
            } catch {
                outcome = .failure(error)
            }
        }
        let notices = session.takeNotices()
        give(back: session)
        let result = try outcome.get()
        if let tell = listener.withLock({ $0 }) { for notice in notices { tell(notice) } }
        return result
    }

    package func read<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        let session = try take()
        defer { give(back: session) }
        return try session.transaction("BEGIN DEFERRED", body)
    }

    package func lookUp(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]] {
        let session = try take()
        defer { give(back: session) }
        return try session.query(sql, values)
    }

    /// The data directory's lock is one server's.
    package let servesAlone = true

    package func lookUp(
        _ statement: FrequentStatement, _ values: [SQLValue]
    ) throws -> [[SQLValue]] {
        let session = try take()
        defer { give(back: session) }
        return try session.query(statement, values)
    }

    package func listen(_ body: @escaping @Sendable (StoreNotice) -> Void) throws {
        listener.withLock { $0 = body }
    }

    /// So much of the disk is kept free, and at most a quarter: a log that cannot grow lets nobody in, and deletes nothing.
    private static let reserveByteCountMax: UInt64 = 64 << 20

    package func hasRoom(for byteCount: Int) -> Bool {
        var disk = statvfs()
        guard unsafe statvfs(path, &disk) == 0 else { return true }
        let unit = UInt64(disk.f_frsize)
        let (free, wanted) = (UInt64(disk.f_bavail) * unit, UInt64(byteCount))
        let reserve = min(UInt64(disk.f_blocks) * unit / 4, Self.reserveByteCountMax)
        if free >= reserve + wanted { return true }
        // What the file has inside it is used before the disk; the log takes it from the disk first.
        let pages = try? lookUp("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size", [])
        return free >= wanted && free + UInt64(pages?.first?[0].int ?? 0) >= reserve + wanted
    }

    /// Of the free pages so many stay for what comes, and a sixteenth of all.
    private static let freePageCountMin: Int64 = 1_024
    /// Pages in one transaction.
    private static let givenPageCount = 1_024

    package func giveBackSpace() throws -> Bool {
        func count(_ name: String) throws -> Int64 {
            try lookUp("PRAGMA \(name)", []).first?[0].int ?? 0
        }
        let free = try count("freelist_count")
        // A database that an earlier version made cannot shrink: its free pages are used anew.
        guard try free > Self.freePageCountMin + count("page_count") / 16, try count("auto_vacuum") == 2 else {
            return false
        }
        try write { session in
            try session.script("PRAGMA incremental_vacuum(\(Self.givenPageCount))")
        }
        // The file becomes shorter when the log has gone into it.
        _ = try lookUp("PRAGMA wal_checkpoint(PASSIVE)", [])
        return try count("freelist_count") < free
    }

    package func close() { idle.withLock { $0 = [] } }

    private func take() throws -> SQLiteSession {
        if let session = idle.withLock({ $0.popLast() }) { return session }
        return try SQLiteSession(path: path)
    }

    private func give(back session: SQLiteSession) { idle.withLock { $0.append(session) } }
}

// SAFETY: a session is in the pool or in the hands of one thread; the pool's lock orders the hand-over.
final class SQLiteSession: SQLSession, @unchecked Sendable {
    private let connection: Connection
    private var notices: [StoreNotice] = []
    private var frequent = [Statement?](repeating: nil, count: FrequentStatement.count)

    let lockClause = ""
    let bytesType = "BLOB"
    let numberType = "INTEGER PRIMARY KEY AUTOINCREMENT"

    init(path: String) throws {
        do throws(SQLiteError) {
            connection = try Connection(path: path, .createIfAbsent, busyTimeoutMilliseconds: 20_000)
            // The first is for a new file, before anything is in it. FULL syncs the log on every commit: what was
            // acknowledged survives a power cut. The log's file becomes no longer for good than its limit. FAST: Debian's
            // SQLite would else write zeros over all that is deleted, which is ciphertext, by way of the log.
            try connection.execute(
                """
                PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                PRAGMA foreign_keys = ON; PRAGMA cache_size = -2048; PRAGMA journal_size_limit = 67108864;
                PRAGMA secure_delete = FAST
                """)
        } catch {
            throw Self.failure(error)
        }
    }

    func transaction<Result>(
        _ begin: String, _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        notices = []
        try script(begin)
        do {
            let result = try body(self)
            try script("COMMIT")
            return result
        } catch {
            notices = []
            if connection.isInTransaction { try? script("ROLLBACK") }
            throw error
        }
    }

    func takeNotices() -> [StoreNotice] {
        defer { notices = [] }
        return notices
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]] {
        do throws(SQLiteError) { return try rows(try connection.statement(sql), values) } catch {
            throw Self.failure(error)
        }
    }

    func query(_ wanted: FrequentStatement, _ values: [SQLValue]) throws -> [[SQLValue]] {
        do throws(SQLiteError) {
            if let statement = frequent[wanted.number] { return try rows(statement, values) }
            let statement = try connection.statement(wanted.sql)
            frequent[wanted.number] = statement
            return try rows(statement, values)
        } catch {
            throw Self.failure(error)
        }
    }

    private func rows(_ statement: Statement, _ values: [SQLValue]) throws(SQLiteError) -> [[SQLValue]] {
        try bind(values, to: statement)
        defer { statement.reset() }
        var rows: [[SQLValue]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value(at: $0) })
        }
        return rows
    }

    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        do throws(SQLiteError) {
            let statement = try connection.statement(sql)
            try bind(values, to: statement)
            try statement.runToEnd()
            return Int(connection.changedRowCount)
        } catch {
            throw Self.failure(error)
        }
    }

    func script(_ sql: String) throws {
        do throws(SQLiteError) { try connection.execute(sql) } catch { throw Self.failure(error) }
    }

    func notify(_ notice: StoreNotice) { notices.append(notice) }

    /// SQLite has counted them.
    func goOnAfterNumbers() {}

    private func bind(_ values: [SQLValue], to statement: Statement) throws(SQLiteError) {
        for (index, value) in values.enumerated() {
            switch value {
            case .int(let value): try statement.bind(value, at: Int32(index + 1))
            case .bytes(let value): try statement.bind(value, at: Int32(index + 1))
            case .null: try statement.bindNull(at: Int32(index + 1))
            }
        }
    }

    static func failure(_ error: SQLiteError) -> ServerFailure {
        let code: ServerFailure.Code =
            switch error.code {
            case .constraint: .storageConflict
            case .full: .storageFull
            default: .storageUnavailable
            }
        return ServerFailure(code, "\(error.code.rawValue) (\(error.resultCode))")
    }
}

extension Statement {
    fileprivate func value(at column: Int32) -> SQLValue {
        isNull(at: column) ? .null : isInteger(at: column) ? .int(int64(at: column)) : .bytes(bytes(at: column))
    }
}
