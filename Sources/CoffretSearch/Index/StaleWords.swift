// Words that the full-text table does not have yet. Invariant: what is taken out of that table is word for word what
// was put in, or words would stay behind that no row accounts for.

internal import CoffretSQLite

/// How far the full-text table may be behind the texts.
///
/// One document's words cost a segment, and its merging with others, whether they are ten or a thousand; those of
/// several documents, or of several changes of one, cost little more together. So a change leaves them to the
/// next search, or to the change with which they become too many for it. Lists, names, tags and links do not need them.
enum StaleWords {
    /// So many documents may be stale after a transaction: a few milliseconds of the next search.
    static let countMax = 32
    /// The words of a text above this size are brought in at once.
    static let textByteCountMax = 16 << 10
    /// Within a transaction of many changes, words are brought in after so many.
    static let batchCount = 512
}

extension Connection {
    /// How many documents have words in the full-text table that are not those of their texts.
    func staleCount() throws(SQLiteError) -> Int {
        try firstRow("SELECT count(*) FROM stale") { row throws(SQLiteError) in Int(row.int64(at: 0)) } ?? 0
    }

    func hasStaleWords() throws(SQLiteError) -> Bool {
        try firstRow("SELECT 1 FROM stale LIMIT 1") { row throws(SQLiteError) in true } ?? false
    }

    /// Brings the full-text table up to date with the texts.
    ///
    /// In the order of the documents, each one's earlier words out and then its new ones in: FTS5 puts such a run into
    /// one segment, and begins another whenever a number is not above the one before.
    func bringInWords(_ tokenizer: ScriptTokenizer) throws(SQLiteError) {
        try Vocabulary.addStale(on: self, tokenizer)
        try run(
            """
            INSERT INTO search (search, rowid, title, tags, fields, body)
            SELECT 'delete', document, title, tags, fields, body FROM stale WHERE title IS NOT NULL
            UNION ALL
            SELECT NULL, stale.document, document.title, text.tags, text.fields, text.body
            FROM stale JOIN document ON document.id = stale.document JOIN text ON text.id = stale.document
            ORDER BY 2, 1 DESC
            """)
        try run("DELETE FROM stale")
    }
}
