// Words that the full-text table does not have yet. Invariant: what was put into that table is not taken out; a text that
// is gone has a number that leads to no document.

internal import CoffretSQLite

/// How far the full-text table may be behind the texts.
///
/// One document's words cost a segment, and its merging with others, whether they are ten or a thousand; those of
/// several documents, or of several changes of one, cost little more together. So a change leaves them to the
/// next search, or to the change with which they become too many for it. Lists, names, tags and links do not need them.
enum StaleWords {
    /// So many texts may be stale after a transaction: a few milliseconds of the next search.
    static let countMax = 32
    /// The words of a text above this size are brought in at once.
    static let textByteCountMax = 16 << 10
    /// Within a transaction of many changes, words are brought in after so many.
    static let batchCount = 512
}

extension Connection {
    /// How many texts have no words in the full-text table.
    func staleCount() throws(SQLiteError) -> Int {
        try firstRow("SELECT count(*) FROM stale") { row throws(SQLiteError) in Int(row.int64(at: 0)) } ?? 0
    }

    func hasStaleWords() throws(SQLiteError) -> Bool {
        try firstRow("SELECT 1 FROM stale LIMIT 1") { row throws(SQLiteError) in true } ?? false
    }

    /// Brings the full-text table up to date with the texts.
    ///
    /// In the order of their numbers: FTS5 begins a new segment whenever a number is not above the one before.
    func bringInWords(_ tokenizer: ScriptTokenizer) throws(SQLiteError) {
        try Vocabulary.addStale(on: self, tokenizer)
        try run(
            """
            INSERT INTO search (rowid, title, tags, fields, body)
            SELECT text, title, tags, fields, body FROM stale ORDER BY text
            """)
        try run("DELETE FROM stale")
    }
}
