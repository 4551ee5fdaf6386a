// A prepared statement. Invariant: memory that SQLite lends for a column is used only until the next step, and memory
// lent to SQLite lives until the statement is reset.

internal import CSQLite

/// A compiled statement with its parameters, and the row it stands at.
///
/// Parameters count from 1, as in SQL (`?1`); columns count from 0.
@usableFromInline @safe package final class Statement {
    private let pointer: OpaquePointer
    private let sql: String

    init(_ sql: String, handle: OpaquePointer, flags: UInt32) throws(SQLiteError) {
        var pointer: OpaquePointer?
        let status = unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &pointer, nil)
        guard status == SQLITE_OK else { throw SQLiteError(resultCode: status, place: sql) }
        guard let pointer = unsafe pointer else { throw SQLiteError(.failed, place: sql) }
        unsafe self.pointer = unsafe pointer
        self.sql = sql
    }

    deinit {
        unsafe sqlite3_finalize(pointer)
    }

    // MARK: Parameters

    /// Binds all parameters in order.
    @inlinable package func bind<each Value: StatementValue>(_ values: repeat each Value) throws(SQLiteError) {
        var index: Int32 = 1
        for value in repeat each values {
            try value.bind(to: self, at: index)
            index += 1
        }
    }

    @usableFromInline package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_int64(pointer, index, value))
    }

    @usableFromInline package func bind(_ value: Double, at index: Int32) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_double(pointer, index, value))
    }

    @usableFromInline package func bindNull(at index: Int32) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_null(pointer, index))
    }

    /// Binds a copy of `text`.
    @usableFromInline package func bind(_ text: String, at index: Int32) throws(SQLiteError) {
        var text = text
        let status = text.withUTF8 { bytes in
            unsafe bindText(UnsafeRawBufferPointer(bytes), at: index, isCopied: true)
        }
        try check(status)
    }

    /// Binds a copy of `bytes`.
    @usableFromInline package func bind(_ bytes: [UInt8], at index: Int32) throws(SQLiteError) {
        let status = unsafe bytes.span.withUnsafeBytes { buffer in
            unsafe bindBlob(buffer, at: index, isCopied: true)
        }
        try check(status)
    }

    /// Runs `body` with `text` bound and not copied; the parameter is null again afterwards.
    ///
    /// For texts that are large or many. `body` steps through the statement; on return it is reset.
    package func withBorrowed<Result>(
        _ text: String, at index: Int32, _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        var text = text
        // SAFETY: the statement is reset and the parameter cleared before the buffer goes away.
        let outcome: Swift.Result<Result, SQLiteError> = text.withUTF8 { bytes in
            do throws(SQLiteError) {
                defer {
                    reset()
                    unsafe sqlite3_bind_null(pointer, index)
                }
                try check(unsafe bindText(UnsafeRawBufferPointer(bytes), at: index, isCopied: false))
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private func bindText(_ bytes: UnsafeRawBufferPointer, at index: Int32, isCopied: Bool) -> Int32 {
        let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        // Without an address SQLite would bind null.
        guard let base = unsafe base else { return unsafe sqlite3_bind_text(pointer, index, "", 0, nil) }
        return unsafe sqlite3_bind_text64(
            pointer, index, base, UInt64(bytes.count), isCopied ? Self.transient : nil, UInt8(SQLITE_UTF8))
    }

    private func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32, isCopied: Bool) -> Int32 {
        guard let base = bytes.baseAddress else { return unsafe sqlite3_bind_zeroblob(pointer, index, 0) }
        return unsafe sqlite3_bind_blob64(pointer, index, base, UInt64(bytes.count), isCopied ? Self.transient : nil)
    }

    // SAFETY: SQLITE_TRANSIENT is the C macro ((sqlite3_destructor_type)-1), which Swift cannot import;
    // SQLite compares it and never calls it.
    private static var transient: sqlite3_destructor_type? {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    // MARK: Running

    /// Moves to the next row; false at the end, when the statement is reset.
    @usableFromInline package func step() throws(SQLiteError) -> Bool {
        let status = unsafe sqlite3_step(pointer)
        if status == SQLITE_ROW { return true }
        reset()
        guard status == SQLITE_DONE else { throw SQLiteError(resultCode: status, place: sql) }
        return false
    }

    /// Runs the statement and ignores its rows.
    @inlinable package func runToEnd() throws(SQLiteError) {
        while try step() {}
    }

    /// Goes back before the first row and keeps the parameters.
    @usableFromInline package func reset() {
        // The status repeats the failure of the last step, which was thrown then.
        unsafe sqlite3_reset(pointer)
    }

    private func check(_ status: Int32) throws(SQLiteError) {
        guard status == SQLITE_OK else { throw SQLiteError(resultCode: status, place: sql) }
    }

    // MARK: The row

    package var columnCount: Int32 { unsafe sqlite3_column_count(pointer) }

    package func isInteger(at column: Int32) -> Bool {
        unsafe sqlite3_column_type(pointer, column) == SQLITE_INTEGER
    }

    package func isNull(at column: Int32) -> Bool {
        unsafe sqlite3_column_type(pointer, column) == SQLITE_NULL
    }

    package func int64(at column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(pointer, column)
    }

    package func double(at column: Int32) -> Double {
        unsafe sqlite3_column_double(pointer, column)
    }

    /// The column as text; empty if it is null. Bytes that are not UTF-8 are replaced.
    package func string(at column: Int32) -> String {
        withBytes(at: column) { bytes in
            unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The column's bytes, copied; empty if it is null.
    package func bytes(at column: Int32) -> [UInt8] {
        withBytes(at: column) { bytes in
            unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        }
    }

    /// Lends the column's bytes, blob or text, without copying; empty if it is null.
    package func withBytes<Result, Failure: Error>(
        at column: Int32, _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the blob stays until the next step, reset or conversion of this column; `body` cannot
        // keep the span. The order matters: the size after the pointer, which may convert the value.
        let base = unsafe sqlite3_column_blob(pointer, column)
        let byteCount = unsafe Int(sqlite3_column_bytes(pointer, column))
        return try unsafe body(RawSpan(_unsafeStart: base ?? Self.empty, byteCount: unsafe base == nil ? 0 : byteCount))
    }

    // SAFETY: an address to point at when there are no bytes; never read.
    nonisolated(unsafe) private static let empty = unsafe UnsafeRawPointer(bitPattern: 16)!
}
