// The words of all documents, for those that are misspelt or not typed to the end. Invariant: every word of the full-text
// table that `takes` admits is here; a word too many costs nothing but a look.

internal import CoffretSQLite

enum Vocabulary {
    static let letterCountMin = 3
    static let letterCountMax = 32
    private static let firstCount = 3
    /// The name in `meta` of the number that grows with the vocabulary.
    static let mark = "words"

    /// Whether a folded word belongs here, if it is not longer than `letterCountMax`: numbers and codes do not.
    static func takes(_ word: String) -> Bool {
        word.unicodeScalars.count >= letterCountMin && !word.unicodeScalars.prefix(firstCount).contains(where: isDigit)
    }

    static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    /// Takes all words out of the full-text table, into the empty vocabulary.
    static func fill(on connection: Connection) throws(SQLiteError) {
        try connection.execute(
            """
            INSERT OR IGNORE INTO word SELECT length(term), term FROM term
            WHERE length(term) BETWEEN \(letterCountMin) AND \(letterCountMax)
            AND NOT substr(term, 1, \(firstCount)) GLOB '*[0-9]*'
            """)
    }

    /// Puts in the words of the texts that are stale.
    static func addStale(on connection: Connection, _ tokenizer: ScriptTokenizer) throws(SQLiteError) {
        var words: Set<[UInt8]> = []
        try connection.forEachRow("SELECT title, tags, fields, body FROM stale") { row throws(SQLiteError) in
            for column: Int32 in 0..<4 {
                // Words in camel case stand in the table as parts and as a whole.
                for splitsCase in [true, false] {
                    tokenizer.forEachWord(of: row.string(at: column), splitsCase: splitsCase) { folded, _ in
                        let word = unsafe folded.withUnsafeBytes { unsafe Array($0) }
                        if word.count >= letterCountMin, word.count <= 4 * letterCountMax { words.insert(word) }
                        return true
                    }
                }
            }
        }
        var isGrown = false
        // In order, so that equal changes write equal pages.
        for word in words.map({ String(decoding: $0, as: UTF8.self) }).sorted() where takes(word) {
            try connection.run(
                """
                INSERT OR IGNORE INTO word SELECT length(?1), ?1
                WHERE length(?1) BETWEEN \(letterCountMin) AND \(letterCountMax)
                """, word)
            isGrown = isGrown || connection.changedRowCount > 0
        }
        if isGrown { try connection.setMeta(mark, (connection.metaInteger(mark) ?? 0) + 1) }
    }
}
