// A sealed SQLite database in a directory, for several processes. Invariant: SQLite runs only while the lock is held,
// so what it has cached is checked against the files before each use.

internal import CSQLite
package import CoffretBase
internal import CoffretCrypto
internal import Glibc

/// An SQLite database of which no byte lies on disk in clear, and which may be dropped at any time.
///
/// Three files in one directory: `index` (sealed pages), `index.log` (transactions not yet folded
/// into it), `index.lock`. One writer or several readers at a time. Commits are atomic; they are not
/// synced one by one, so a power cut may take the last ones back, never a part of one.
///
/// - Concurrency: belongs to one isolation domain.
package final class SealedDatabase {
    /// The log is folded into the main file when it holds this many pages (4 MiB).
    package static let foldPageCountDefault = 1_000
    /// The part of the file that SQLite may keep in memory, in KiB.
    static let cacheKibibyteCount = 64 * 1_024

    private let directory: String
    private let key: SealedDatabaseKey
    private let fileSystem: any FileSystem
    private let random: any RandomSource
    private let lockTimeoutMilliseconds: Int
    private let foldPageCount: Int
    private let configure: (Connection) throws(SQLiteError) -> Void
    private let lockFile: any OpenFile
    private var file: SealedFile?
    private var connection: Connection?
    /// Whether a body is running inside `read` or `write`.
    private var isLocked = false
    /// Bytes written by files that have been let go since.
    private var earlierWrittenByteCount = 0

    /// Opens the directory, making it and the lock file if need be; looks at no database yet.
    ///
    /// - Parameter lockTimeoutMilliseconds: how long to wait for another process before `.busy`.
    /// - Parameter configure: prepares each new connection, for instance with functions of its own.
    /// - Throws: `SQLiteError` if the directory cannot be used.
    package init(
        directory: String, key: SealedDatabaseKey, fileSystem: any FileSystem, random: any RandomSource,
        lockTimeoutMilliseconds: Int = 10_000, foldPageCount: Int = SealedDatabase.foldPageCountDefault,
        configure: @escaping (Connection) throws(SQLiteError) -> Void = { _ in }
    ) throws(SQLiteError) {
        self.directory = directory
        self.key = key
        self.fileSystem = fileSystem
        self.random = random
        self.lockTimeoutMilliseconds = lockTimeoutMilliseconds
        self.foldPageCount = foldPageCount
        self.configure = configure
        do throws(FileSystemError) {
            if try !fileSystem.exists(directory) { try fileSystem.makeDirectories(directory) }
            lockFile = try fileSystem.open(PathText.join(directory, "index.lock"), .createIfAbsent)
        } catch {
            throw SQLiteError(error)
        }
    }

    deinit {
        // Statements before the connection, the connection before the file.
        connection = nil
        file = nil
    }

    /// Bytes written to the database's files since opening, sealing and folding included.
    package var writtenByteCount: Int { earlierWrittenByteCount + (file?.writtenByteCount ?? 0) }

    /// Whether the end of a log was cut because it did not verify: the last transactions are missing.
    package var didDiscardTornLog: Bool { file?.didDiscardTornLog ?? false }

    // MARK: Use

    /// Runs `body` on one unchanging state, with other readers but no writer beside it.
    ///
    /// - Throws: `SQLiteError`: a `sealed…` code or `.corrupt` if the database has to be rebuilt;
    ///   `.busy` if another process holds the lock for too long.
    package func read<Result>(_ body: (Connection) throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try withLock(.shared) { () throws(SQLiteError) in
            let connection = try currentConnection()
            return try abandoningOnFailure { () throws(SQLiteError) in
                try connection.run("BEGIN DEFERRED")
                let result = try body(connection)
                try connection.run("COMMIT")
                return result
            }
        }
    }

    /// Opens every page, whether anything names it or not, and has SQLite look at how they hang together.
    ///
    /// - Throws: as `read` does.
    package func verify() throws(SQLiteError) {
        try read { connection throws(SQLiteError) in
            try file?.verifyPages()
            let verdict = try connection.firstRow("PRAGMA quick_check(1)") { row throws(SQLiteError) in
                row.string(at: 0)
            }
            guard verdict == "ok" else { throw SQLiteError(.corrupt, place: "quick_check") }
        }
    }

    /// Runs `body` as one transaction, alone, and commits it if it returns.
    ///
    /// - Throws: as `read` does, and `SQLiteError` of the disk; nothing is changed then.
    package func write<Result>(_ body: (Connection) throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try withLock(.exclusive) { () throws(SQLiteError) in
            let connection = try currentConnection()
            guard let file else { preconditionFailure("a connection has its file") }
            return try abandoningOnFailure { () throws(SQLiteError) in
                try file.discardTornLog()
                try connection.run("BEGIN IMMEDIATE")
                let result = try body(connection)
                try connection.run("COMMIT")
                try file.commitPending()
                if file.logPageCount >= foldPageCount {
                    // The transaction is in the log; a fold that fails, on a full disk for instance, is
                    // begun again after the next one.
                    try? file.fold()
                }
                return result
            }
        }
    }

    /// Makes the database anew, alone: `body` fills the empty one in a single transaction.
    ///
    /// Pages go straight to the file, and are synced once. If it fails or the program stops, the
    /// database counts as unfinished.
    package func rebuild<Result>(_ body: (Connection) throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try withLock(.exclusive) { () throws(SQLiteError) in
            letGo()
            return try abandoningOnFailure { () throws(SQLiteError) in
                let (main, log) = try openFiles(.createIfAbsent)
                let file = try SealedFile(building: main, log: log, key: key, random: random)
                self.file = file
                let connection = try connect(to: file, isNew: true)
                try connection.run("BEGIN IMMEDIATE")
                let result = try body(connection)
                try connection.run("COMMIT")
                try file.finishBuilding()
                do throws(FileSystemError) {
                    try fileSystem.synchronizeDirectory(directory)
                } catch {
                    throw SQLiteError(error)
                }
                disconnect()
                return result
            }
        }
    }

    /// Lets the connection go, with all that it has cached; the next use makes a new one.
    package func disconnect() {
        connection = nil
    }

    // MARK: Connections

    /// The connection to what lies there now; a new one if another process has made the database anew.
    private func currentConnection() throws(SQLiteError) -> Connection {
        if let file, try !refresh(file) { letGo() }
        if let connection { return connection }
        if let file { return try connect(to: file, isNew: false) }
        let (main, log) = try openFiles(.readWrite)
        let file = try SealedFile(main: main, log: log, key: key, random: random)
        self.file = file
        return try connect(to: file, isNew: false)
    }

    private func refresh(_ file: SealedFile) throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            return try file.refresh()
        } catch {
            letGo()
            throw error
        }
    }

    private func openFiles(_ opening: FileOpening) throws(SQLiteError) -> (main: any OpenFile, log: any OpenFile) {
        do throws(FileSystemError) {
            let main = try fileSystem.open(PathText.join(directory, "index"), opening)
            // A log that is missing is an empty one; the header says which log may be believed.
            return (main, try fileSystem.open(PathText.join(directory, "index.log"), .createIfAbsent))
        } catch {
            if error.code == .notFound { throw SQLiteError(.sealedMissing, place: "open") }
            throw SQLiteError(error)
        }
    }

    private func connect(to file: SealedFile, isNew: Bool) throws(SQLiteError) -> Connection {
        let connection = try SealedVFS.connect(to: file)
        if isNew { try connection.reserveBytesPerPage(PageSealer.reservedByteCount) }
        // No journal and no temporary file: SQLite keeps in memory what it needs to take a statement
        // back, and the VFS refuses it any other file. Nothing is synced through SQLite.
        try connection.execute(
            """
            PRAGMA journal_mode = MEMORY;
            PRAGMA temp_store = MEMORY;
            PRAGMA synchronous = OFF;
            PRAGMA secure_delete = ON;
            PRAGMA trusted_schema = OFF;
            PRAGMA cache_size = -\(Self.cacheKibibyteCount);
            """)
        if isNew { try connection.execute("PRAGMA auto_vacuum = NONE") }
        try configure(connection)
        self.connection = connection
        return connection
    }

    /// After a failure nothing that was cached is trusted: the next use starts from the files.
    private func abandoningOnFailure<Result>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        do throws(SQLiteError) {
            return try body()
        } catch {
            // SQLite's result codes are coarser than what the file knows.
            let isFileFailure = error.code == .inputOutput || error.code == .sealedDamaged || error.code == .full
            let cause = isFileFailure ? file?.failure ?? error : error
            letGo()
            throw cause
        }
    }

    private func letGo() {
        earlierWrittenByteCount += file?.writtenByteCount ?? 0
        connection = nil
        file = nil
    }

    // MARK: The lock

    private func withLock<Result>(
        _ kind: FileLockKind, _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        precondition(!isLocked, "a sealed database is not used inside its own transaction")
        try lock(kind)
        isLocked = true
        defer {
            isLocked = false
            // Unlocking an open file cannot fail in a way that leaves it locked past its closing.
            try? lockFile.unlock()
        }
        return try body()
    }

    /// Tries again with pauses that grow from 0.1 to 10 milliseconds.
    private func lock(_ kind: FileLockKind) throws(SQLiteError) {
        var waitedMicroseconds = 0
        var pauseMicroseconds = 100
        while true {
            do throws(FileSystemError) {
                return try lockFile.lock(kind, waits: false)
            } catch {
                guard error.code == .wouldBlock, waitedMicroseconds < lockTimeoutMilliseconds * 1_000 else {
                    throw SQLiteError(error)
                }
            }
            usleep(UInt32(pauseMicroseconds))
            waitedMicroseconds += pauseMicroseconds
            pauseMicroseconds = min(2 * pauseMicroseconds, 10_000)
        }
    }
}

extension Connection {
    /// Has SQLite leave bytes free at the end of each page; before the first table is made.
    func reserveBytesPerPage(_ count: Int) throws(SQLiteError) {
        var value = Int32(count)
        let status = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &value)
        guard status == SQLITE_OK else { throw SQLiteError(resultCode: status, place: "reserve") }
    }
}
