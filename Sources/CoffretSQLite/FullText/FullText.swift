// FTS5 with our words and our ranking. Invariant: FTS5 finds the rows, and calls the visitor once for each, in one
// pass, without sorting them.

internal import CSQLite

/// A row that FTS5 found, lent to a visitor.
@safe package struct FullTextRow: ~Copyable {
    private let api: UnsafePointer<Fts5ExtensionApi>
    private let context: OpaquePointer

    fileprivate init(api: UnsafePointer<Fts5ExtensionApi>, context: OpaquePointer) {
        unsafe self.api = unsafe api
        unsafe self.context = unsafe context
    }

    package var rowID: Int64 { unsafe api.pointee.xRowid(context) }

    /// The number of phrases in the query, those behind NOT included.
    package var phraseCount: Int { unsafe Int(api.pointee.xPhraseCount(context)) }

    /// Calls `body` with the column and the word number of each place where a phrase stands in this row, in order.
    package func forEachPlace(ofPhrase phrase: Int, _ body: (_ column: Int, _ offset: Int) -> Void) {
        var iterator = unsafe Fts5PhraseIter()
        var column: Int32 = -1
        var offset: Int32 = -1
        guard unsafe api.pointee.xPhraseFirst(context, Int32(phrase), &iterator, &column, &offset) == SQLITE_OK
        else { return }
        while column >= 0 {
            body(Int(column), Int(offset))
            unsafe api.pointee.xPhraseNext(context, &iterator, &column, &offset)
        }
    }

    /// About how many rows of the table hold a phrase, of those that count.
    ///
    /// Counts at most `countMax` rows and, if there are more, takes the part of the table that these
    /// came from for the whole. FTS5's own ranking counts all, which for a common word costs more than
    /// the search itself.
    package func estimatedRowCount(
        ofPhrase phrase: Int, countMax: Int64, rowIDMax: Int64, counts: @escaping (_ rowID: Int64) -> Bool
    ) -> Double {
        var counter = Counter(countMax: countMax, counts: counts)
        let status = unsafe withUnsafeMutablePointer(to: &counter) { counter in
            unsafe api.pointee.xQueryPhrase(context, Int32(phrase), counter) { api, context, counter in
                let counter = unsafe counter!.assumingMemoryBound(to: Counter.self)
                let rowID = unsafe api!.pointee.xRowid(context)
                guard unsafe counter.pointee.counts(rowID) else { return SQLITE_OK }
                unsafe counter.pointee.count += 1
                guard unsafe counter.pointee.count >= counter.pointee.countMax else { return SQLITE_OK }
                unsafe counter.pointee.lastRowID = rowID
                return SQLITE_DONE
            }
        }
        guard status == SQLITE_OK else { return 0 }
        guard let lastRowID = counter.lastRowID, lastRowID > 0 else { return Double(counter.count) }
        return Double(counter.count) * max(1, Double(rowIDMax) / Double(lastRowID))
    }

    private struct Counter {
        let countMax: Int64
        let counts: (Int64) -> Bool
        var count: Int64 = 0
        var lastRowID: Int64?
    }
}

/// Receives each row that matches.
package protocol FullTextVisitor: AnyObject {
    /// - Returns: whether the pass ends with this row.
    func visit(_ row: borrowing FullTextRow) -> Bool
}

/// Our tokenizer and the visitor function, registered on one connection.
///
/// Tables are made with `tokenize = 'coffret'`.
@safe package final class FullText {
    package static let tokenizerName = "coffret"
    private static let functionName = "coffret_visit"

    /// The tokenizer itself, for snippets and for looking at queries.
    package let tokenizer: ScriptTokenizer
    /// The target of SQLite's callbacks; it goes with the connection.
    private let bridge: Bridge

    @safe private final class Bridge {
        let api: UnsafeMutablePointer<fts5_api>
        var visitor: (any FullTextVisitor)?

        init(api: UnsafeMutablePointer<fts5_api>) {
            unsafe self.api = unsafe api
        }
    }

    /// - Throws: `SQLiteError` if the library has no FTS5.
    package init(registeringOn connection: Connection) throws(SQLiteError) {
        let api = try unsafe Self.api(of: connection)
        tokenizer = try unsafe ScriptTokenizer(api: api)
        let bridge = unsafe Bridge(api: api)
        self.bridge = bridge
        var methods = unsafe fts5_tokenizer(
            xCreate: { unsafe FullText.createTokenizer($0, $3) },
            xDelete: { tokenizer in
                unsafe Unmanaged<ScriptTokenizer>.fromOpaque(UnsafeRawPointer(tokenizer!)).release()
            },
            xTokenize: { tokenizer, context, flags, text, count, callback in
                let tokenizer = unsafe Unmanaged<ScriptTokenizer>.fromOpaque(UnsafeRawPointer(tokenizer!))
                return unsafe tokenizer.takeUnretainedValue().tokenize(
                    text, byteCount: count, context: context, flags: flags, callback: callback!)
            })
        let ofTokenizer = unsafe api.pointee.xCreateTokenizer(
            api, Self.tokenizerName, Unmanaged.passRetained(bridge).toOpaque(), &methods,
            { unsafe Unmanaged<Bridge>.fromOpaque($0!).release() })
        let ofFunction = unsafe api.pointee.xCreateFunction(
            api, Self.functionName, Unmanaged.passRetained(bridge).toOpaque(),
            { api, context, result, _, _ in unsafe FullText.visit(api, context, result) },
            { unsafe Unmanaged<Bridge>.fromOpaque($0!).release() })
        guard ofTokenizer == SQLITE_OK, ofFunction == SQLITE_OK else {
            throw SQLiteError(resultCode: max(ofTokenizer, ofFunction), place: "fts5")
        }
    }

    /// Calls the visitor for each row of `table` that matches, until it ends the pass.
    ///
    /// - Parameter match: an expression in FTS5's language; the caller quotes what people wrote.
    package func visitRows(
        of table: String, matching match: String, on connection: Connection, visitor: any FullTextVisitor
    ) throws(SQLiteError) {
        bridge.visitor = visitor
        defer { bridge.visitor = nil }
        // The function refuses every row but the last, so that the whole pass is one step of the statement.
        try connection.run(
            "SELECT 1 FROM \(table) WHERE \(table) MATCH ?1 AND \(Self.functionName)(\(table)) LIMIT 1", match)
    }

    // MARK: FTS5's side

    private static func api(of connection: Connection) throws(SQLiteError) -> UnsafeMutablePointer<fts5_api> {
        var api: UnsafeMutablePointer<fts5_api>?
        var statement: OpaquePointer?
        let place = "SELECT fts5(?1)"
        defer { unsafe sqlite3_finalize(statement) }
        var status = unsafe sqlite3_prepare_v2(connection.handle, place, -1, &statement, nil)
        guard status == SQLITE_OK else { throw SQLiteError(resultCode: status, place: place) }
        status = unsafe withUnsafeMutablePointer(to: &api) { pointer in
            // FTS5 writes its address through the pointer while the statement runs.
            unsafe sqlite3_bind_pointer(statement, 1, pointer, "fts5_api_ptr", nil)
            return unsafe sqlite3_step(statement)
        }
        guard status == SQLITE_ROW, let api = unsafe api, unsafe api.pointee.iVersion >= 2 else {
            throw SQLiteError(resultCode: status, place: place)
        }
        return unsafe api
    }

    private static func createTokenizer(
        _ context: UnsafeMutableRawPointer?, _ result: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        let bridge = unsafe Unmanaged<Bridge>.fromOpaque(context!).takeUnretainedValue()
        guard let tokenizer = try? unsafe ScriptTokenizer(api: bridge.api) else { return SQLITE_ERROR }
        unsafe result?.pointee = unsafe OpaquePointer(Unmanaged.passRetained(tokenizer).toOpaque())
        return SQLITE_OK
    }

    private static func visit(
        _ api: UnsafePointer<Fts5ExtensionApi>?, _ context: OpaquePointer?, _ result: OpaquePointer?
    ) {
        guard let api = unsafe api, let context = unsafe context else { return }
        let data = unsafe api.pointee.xUserData(context)
        let bridge = unsafe Unmanaged<Bridge>.fromOpaque(data!).takeUnretainedValue()
        let isDone = bridge.visitor?.visit(unsafe FullTextRow(api: api, context: context)) ?? true
        unsafe sqlite3_result_int(result, isDone ? 1 : 0)
    }
}
