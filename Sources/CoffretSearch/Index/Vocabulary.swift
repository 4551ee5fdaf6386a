// The words of all documents, for those that are misspelt. Invariant: every word of the full-text table that somebody
// may misspell is here; a word too many costs nothing but a look.

internal import CoffretSQLite

enum Vocabulary {
    static let letterCountMin = 3
    static let letterCountMax = 32

    /// Takes all words out of the full-text table, into the empty vocabulary.
    static func fill(on connection: Connection) throws(SQLiteError) {
        try connection.execute(
            """
            INSERT OR IGNORE INTO word SELECT length(term), term FROM term
            WHERE length(term) BETWEEN \(letterCountMin) AND \(letterCountMax) AND NOT term GLOB '*[0-9]*'
            """)
    }

    /// Puts in the words of the documents that are stale.
    static func addStale(on connection: Connection, _ tokenizer: ScriptTokenizer) throws(SQLiteError) {
        var words: Set<[UInt8]> = []
        try connection.forEachRow(
            """
            SELECT document.title, text.tags, text.fields, text.body
            FROM stale JOIN document ON document.id = stale.document JOIN text ON text.id = stale.document
            """
        ) { row throws(SQLiteError) in
            for column: Int32 in 0..<4 {
                tokenizer.forEachWord(of: row.string(at: column), splitsCase: true) { folded, _ in
                    let word = unsafe folded.withUnsafeBytes { unsafe Array($0) }
                    if word.count >= letterCountMin, word.count <= 4 * letterCountMax,
                        !word.contains(where: { (0x30...0x39).contains($0) })
                    {
                        words.insert(word)
                    }
                    return true
                }
            }
        }
        for word in words {
            try connection.run(
                """
                INSERT OR IGNORE INTO word SELECT length(?1), ?1
                WHERE length(?1) BETWEEN \(letterCountMin) AND \(letterCountMax)
                """, String(decoding: word, as: UTF8.self))
        }
    }
}
