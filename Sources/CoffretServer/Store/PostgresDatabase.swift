// PostgreSQL through libpq. The one thing to keep true: every statement is prepared and its values are bound, in
// binary; a connection that broke is never used again.

internal import CPostgreSQL
internal import CoffretBase
internal import Glibc
internal import Synchronization

package final class PostgresDatabase: SQLDatabase {
    private let connection: String
    private let idle = Mutex<[PostgresSession]>([])
    private let listening = Mutex<PostgresListener?>(nil)

    /// - Parameter connection: libpq's connection string, such as `host=/run/postgresql dbname=coffret`.
    package init(connection: String) throws(ServerFailure) {
        self.connection = connection
        give(back: try PostgresSession(connection, explains: true))
    }

    @discardableResult
    package func write<Result>(
        _ body: (any SQLSession) throws(ServerFailure) -> Result
    ) throws(ServerFailure) -> Result {
        try transaction("BEGIN", body)
    }

    package func read<Result>(
        _ body: (any SQLSession) throws(ServerFailure) -> Result
    ) throws(ServerFailure) -> Result {
        try transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", body)
    }

    package func lookUp(_ sql: String, _ values: [SQLValue]) throws(ServerFailure) -> [[SQLValue]] {
        let session = try take()
        defer { give(back: session) }
        return try session.query(sql, values)
    }

    package let servesAlone = false

    package func lookUp(
        _ statement: FrequentStatement, _ values: [SQLValue]
    ) throws(ServerFailure) -> [[SQLValue]] {
        try lookUp(statement.sql, values)
    }

    /// It lies on a disk that may be another machine's.
    package func hasRoom(for byteCount: Int) -> Bool { true }

    /// Its own autovacuum does that.
    package func giveBackSpace() throws(ServerFailure) -> Bool { false }

    private func transaction<Result>(
        _ begin: String, _ body: (any SQLSession) throws(ServerFailure) -> Result
    ) throws(ServerFailure) -> Result {
        let session = try take()
        defer { give(back: session) }
        try session.script(begin)
        do throws(ServerFailure) {
            let result = try body(session)
            try session.script("COMMIT")
            return result
        } catch {
            try? session.script("ROLLBACK")
            throw error
        }
    }

    package func listen(_ body: @escaping @Sendable (StoreNotice) -> Void) throws(ServerFailure) {
        let listener = try PostgresListener(connection, body)
        listening.withLock { $0 = listener }
    }

    package func close() {
        listening.withLock { listener in
            listener?.stop()
            listener = nil
        }
        idle.withLock { $0 = [] }
    }

    private func take() throws(ServerFailure) -> PostgresSession {
        while let session = idle.withLock({ $0.popLast() }) {
            if session.isGood { return session }
        }
        return try PostgresSession(connection)
    }

    private func give(back session: PostgresSession) {
        guard session.isGood, !session.isInTransaction else { return }
        idle.withLock { idle in
            if idle.count < 32 { idle.append(session) }
        }
    }
}

// SAFETY: a session is in the pool or in the hands of one thread; the pool's lock orders the hand-over.
@safe final class PostgresSession: SQLSession, @unchecked Sendable {
    static let channel = "coffret_server"

    private let handle: OpaquePointer
    private var prepared: [String: String] = [:]

    let lockClause = " FOR UPDATE"
    let bytesType = "BYTEA"

    /// - Parameter explains: whether a failure has libpq's words, for who starts a command; a log gets the fact alone.
    init(_ connection: String, explains: Bool = false) throws(ServerFailure) {
        guard let handle = unsafe PQconnectdb(connection) else { throw ServerFailure(.storageUnavailable, "no memory") }
        // From here on deinit ends it, also where this throws.
        unsafe self.handle = unsafe handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let reason = explains ? unsafe Self.reason(handle, connection) : ""
            throw ServerFailure(.storageUnavailable, "PostgreSQL cannot be reached" + reason)
        }
        // What was acknowledged survives a crash whatever the cluster's default is.
        try script("SET synchronous_commit = on; SET client_min_messages = error")
    }

    deinit { unsafe PQfinish(handle) }

    /// What libpq says, on one line. Of a string that it cannot take apart it may show any piece, a password too, so
    /// there it says nothing; otherwise it names host, user and database.
    private static func reason(_ handle: OpaquePointer, _ connection: String) -> String {
        guard let options = unsafe PQconninfoParse(connection, nil) else {
            return ": its connection string is malformed"
        }
        unsafe PQconninfoFree(options)
        let words = unsafe String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isWhitespace)
        return words.isEmpty ? "" : ": " + words.joined(separator: " ")
    }

    var isGood: Bool { unsafe PQstatus(handle) == CONNECTION_OK }
    var isInTransaction: Bool { unsafe PQtransactionStatus(handle) != PQTRANS_IDLE }
    var socket: Int32 { unsafe PQsocket(handle) }

    func query(_ sql: String, _ values: [SQLValue]) throws(ServerFailure) -> [[SQLValue]] {
        let result = try unsafe run(sql, values)
        defer { unsafe PQclear(result) }
        let columnCount = unsafe PQnfields(result)
        var rows: [[SQLValue]] = []
        for row in 0..<(unsafe PQntuples(result)) {
            rows.append((0..<columnCount).map { unsafe Self.value(result, row, $0) })
        }
        return rows
    }

    func execute(_ sql: String, _ values: [SQLValue]) throws(ServerFailure) -> Int {
        let result = try unsafe run(sql, values)
        defer { unsafe PQclear(result) }
        return unsafe Int(String(cString: PQcmdTuples(result))) ?? 0
    }

    func script(_ sql: String) throws(ServerFailure) {
        let result = unsafe PQexec(handle, sql)
        defer { unsafe PQclear(result) }
        try unsafe check(result)
    }

    func notify(_ notice: StoreNotice) throws(ServerFailure) {
        // The payload is hexadecimal digits of our own making.
        try script("NOTIFY \(Self.channel), '\(Hex.encode(notice.encoded))'")
    }

    private func run(_ sql: String, _ values: [SQLValue]) throws(ServerFailure) -> OpaquePointer? {
        let name = try statement(sql)
        let encoded: [[UInt8]?] = values.map { value in
            switch value {
            case .int(let number): UInt64(bitPattern: number).bigEndianBytes
            case .bytes(let bytes): bytes
            case .null: nil
            }
        }
        // One block of memory for all values: libpq wants pointers that last for the call.
        var block: [UInt8] = []
        var offsets: [Int?] = []
        for bytes in encoded {
            offsets.append(bytes == nil ? nil : block.count)
            // An empty value needs an address too, or it would be null.
            block += (bytes ?? []) + [0]
        }
        let lengths = encoded.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        let result = unsafe block.withUnsafeBufferPointer { block in
            let pointers = unsafe offsets.map { offset -> UnsafePointer<CChar>? in
                guard let offset, let base = block.baseAddress else { return nil }
                return unsafe UnsafeRawPointer(base + offset).assumingMemoryBound(to: CChar.self)
            }
            return unsafe PQexecPrepared(handle, name, Int32(values.count), pointers, lengths, formats, 1)
        }
        do throws(ServerFailure) { try unsafe check(result) } catch {
            unsafe PQclear(result)
            throw error
        }
        return unsafe result
    }

    private func statement(_ sql: String) throws(ServerFailure) -> String {
        if let name = prepared[sql] { return name }
        let name = "s\(prepared.count)"
        let result = unsafe PQprepare(handle, name, sql, 0, nil)
        defer { unsafe PQclear(result) }
        try unsafe check(result)
        prepared[sql] = name
        return name
    }

    private func check(_ result: OpaquePointer?) throws(ServerFailure) {
        switch unsafe PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return
        default: break
        }
        let field = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "C")))
        let state = unsafe field.map { unsafe String(cString: $0) } ?? "connection"
        switch state {
        case "23505", "40001", "40P01": throw ServerFailure(.storageConflict, state)
        case "53100": throw ServerFailure(.storageFull, state)
        default: throw ServerFailure(.storageUnavailable, "SQLSTATE \(state)")
        }
    }

    private static func value(_ result: OpaquePointer?, _ row: Int32, _ column: Int32) -> SQLValue {
        if unsafe PQgetisnull(result, row, column) == 1 { return .null }
        let length = unsafe Int(PQgetlength(result, row, column))
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length))
        switch unsafe PQftype(result, column) {
        case 20: return .int(Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }))
        case 21, 23: return .int(Int64(Int32(bitPattern: bytes.reduce(0) { $0 << 8 | UInt32($1) })))
        default: return .bytes(bytes)
        }
    }

    /// Notices that other sessions sent.
    func takeNotices() -> [StoreNotice] {
        var notices: [StoreNotice] = []
        guard unsafe PQconsumeInput(handle) == 1 else { return [] }
        while let notification = unsafe PQnotifies(handle) {
            let text = unsafe String(cString: notification.pointee.extra)
            if let bytes = try? Hex.decode(text), let notice = StoreNotice(decoding: bytes) { notices.append(notice) }
            unsafe PQfreemem(notification)
        }
        return notices
    }
}

/// Waits for notices on a connection of its own, and connects again when it breaks.
final class PostgresListener: Sendable {
    private let isRunning = Atomic(true)
    private let thread = Mutex<ServerThread?>(nil)

    init(_ connection: String, _ body: @escaping @Sendable (StoreNotice) -> Void) throws(ServerFailure) {
        let first = try Self.connect(connection)
        let made = ServerThread { [self] in
            var session: PostgresSession? = first
            while isRunning.load(ordering: .relaxed) {
                guard let current = session, current.isGood else {
                    usleep(500_000)
                    session = try? Self.connect(connection)
                    // A revocation may have passed while nobody listened.
                    if session != nil { body(.missed) }
                    continue
                }
                var poll = pollfd(fd: current.socket, events: Int16(POLLIN), revents: 0)
                if unsafe Glibc.poll(&poll, 1, 250) > 0 {
                    for notice in current.takeNotices() { body(notice) }
                }
            }
        }
        thread.withLock { $0 = made }
    }

    private static func connect(_ connection: String) throws(ServerFailure) -> PostgresSession {
        let session = try PostgresSession(connection)
        try session.script("LISTEN \(PostgresSession.channel)")
        return session
    }

    func stop() {
        isRunning.store(false, ordering: .relaxed)
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
