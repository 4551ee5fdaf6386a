// A connection to an SQLite database. Invariant: values reach SQLite by binding only, so no text that a person wrote
// is ever part of a statement.

internal import CSQLite

/// A connection to one database, with a cache of prepared statements.
///
/// - Concurrency: belongs to one isolation domain; SQLite's own mutexes are off.
@usableFromInline @safe package final class Connection {
    package enum Opening: Sendable {
        case readOnly
        case readWrite
        case createIfAbsent
        /// A database that lives in memory only; the path is ignored.
        case inMemory
    }

    /// SQLite's handle: open from `init` to `deinit`, used by this class, its statements and `FullText`.
    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Opens the database at `path`.
    ///
    /// - Parameter vfsName: the name of a registered VFS; nil is the system's files.
    /// - Parameter busyTimeoutMilliseconds: how long a statement waits for another connection's lock.
    /// - Throws: `SQLiteError`.
    package init(
        path: String, _ opening: Opening, vfsName: String? = nil, busyTimeoutMilliseconds: Int32 = 5_000
    ) throws(SQLiteError) {
        let flags: Int32 =
            switch opening {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .createIfAbsent: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .inMemory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
            }
        var handle: OpaquePointer?
        let status = unsafe sqlite3_open_v2(
            path, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfsName)
        guard status == SQLITE_OK, let handle = unsafe handle else {
            unsafe sqlite3_close_v2(handle)
            throw SQLiteError(resultCode: status, place: "open")
        }
        unsafe self.handle = unsafe handle
        unsafe sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
    }

    deinit {
        // Statements hold their connection, so those that are left are in the cache alone.
        statements.removeAll()
        // SAFETY: nothing uses the handle any more; close_v2 also copes with a statement that lives on.
        unsafe sqlite3_close_v2(handle)
    }

    /// Runs statements that take and give no values, such as a schema.
    package func execute(_ sql: String) throws(SQLiteError) {
        let status = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw SQLiteError(resultCode: status, place: sql) }
    }

    /// Compiles a statement that the caller keeps.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try unsafe Statement(sql, handle: handle, flags: 0)
    }

    /// The statement for `sql`, compiled once per connection, reset and without bindings.
    ///
    /// A statement that is being stepped through must not be asked for again before it is reset.
    @usableFromInline package func statement(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = statements[sql] {
            statement.reset()
            return statement
        }
        let statement = try unsafe Statement(sql, handle: handle, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
        statements[sql] = statement
        return statement
    }

    /// Runs one statement with values for its parameters and ignores its rows.
    @inlinable package func run<each Value: StatementValue>(
        _ sql: String, _ values: repeat each Value
    ) throws(SQLiteError) {
        let statement = try statement(sql)
        try statement.bind(repeat each values)
        try statement.runToEnd()
    }

    /// Calls `body` for each row; the row is the statement itself and valid during the call only.
    @inlinable package func forEachRow<each Value: StatementValue>(
        _ sql: String, _ values: repeat each Value, body: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let statement = try statement(sql)
        try statement.bind(repeat each values)
        defer { statement.reset() }
        while try statement.step() { try body(statement) }
    }

    /// The first row as `read` sees it; nil if there is none.
    @inlinable package func firstRow<Result, each Value: StatementValue>(
        _ sql: String, _ values: repeat each Value, read: (Statement) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result? {
        let statement = try statement(sql)
        try statement.bind(repeat each values)
        defer { statement.reset() }
        return try statement.step() ? try read(statement) : nil
    }

    /// Runs `body` in a transaction: committed if it returns, rolled back if it throws.
    package func transaction<Result, Failure: Error>(
        _ mode: TransactionMode = .immediate, mapError: (SQLiteError) -> Failure,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        do throws(SQLiteError) { try run(mode.rawValue) } catch { throw mapError(error) }
        do throws(Failure) {
            let result = try body()
            do throws(SQLiteError) { try run("COMMIT") } catch { throw mapError(error) }
            return result
        } catch {
            // SQLite may have rolled back already, for instance when the disk is full.
            if isInTransaction { try? run("ROLLBACK") }
            throw error
        }
    }

    package func transaction<Result>(
        _ mode: TransactionMode = .immediate, _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try transaction(mode, mapError: { $0 }, body)
    }

    package enum TransactionMode: String, Sendable {
        case deferred = "BEGIN DEFERRED"
        case immediate = "BEGIN IMMEDIATE"
        case exclusive = "BEGIN EXCLUSIVE"
    }

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// The rowid of the last inserted row.
    package var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// Rows that the last statement inserted, changed or deleted.
    package var changedRowCount: Int64 { unsafe sqlite3_changes64(handle) }

    /// Makes a statement that runs on another thread stop with `.interrupted`.
    package func interrupt() { unsafe sqlite3_interrupt(handle) }
}
