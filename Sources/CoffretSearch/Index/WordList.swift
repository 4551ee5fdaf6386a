// The vocabulary in memory. Invariant: a list has the words of the table as they stood at the mark that it was read at;
// another mark is another list.

internal import CoffretSQLite

/// All words of one length, for comparing each with one that is misspelt.
struct WordList {
    private var bytes: [UInt8] = []
    /// Where each word ends in `bytes`.
    private var ends: [Int] = []
    private var letters: [LetterSet] = []

    init(length: Int, on connection: Connection) throws(SQLiteError) {
        try connection.forEachRow("SELECT word FROM word WHERE length = ?1", length) { row throws(SQLiteError) in
            let word = row.bytes(at: 0)
            bytes += word
            ends.append(bytes.count)
            letters.append(LetterSet(word))
        }
    }

    /// Calls `body` with the UTF-8 of each word that may come from another one by so many edits.
    ///
    /// - Parameter countMax: asked again for each word, since it sinks.
    func forEachWord(near other: LetterSet, countMax: () -> Int, _ body: (RawSpan) -> Void) {
        let span = unsafe bytes.span.bytes
        var start = 0
        for (end, own) in zip(ends, letters) {
            if own.isNear(other, countMax: countMax()) { body(span.extracting(start..<end)) }
            start = end
        }
    }
}

/// Which letters a word has. Two letters may share a bit: then sets are nearer to each other than their words.
struct LetterSet {
    private var bits: UInt64 = 0

    /// - Parameter word: UTF-8.
    init(_ word: [UInt8]) { self.init(String(decoding: word, as: UTF8.self).unicodeScalars) }

    init(_ word: some Sequence<Unicode.Scalar>) { for scalar in word { bits |= 1 << UInt64(scalar.value & 63) } }

    /// Whether one may become the other by so many edits: each brings in one letter at most, and takes one away.
    func isNear(_ other: LetterSet, countMax: Int) -> Bool {
        (bits & ~other.bits).nonzeroBitCount <= countMax && (other.bits & ~bits).nonzeroBitCount <= countMax
    }
}

/// The lists that were asked for, as long as the vocabulary stays as it is.
struct WordLists {
    private var mark: Int64?
    private var byLength: [Int: WordList] = [:]

    /// The words of a length as they stand now.
    ///
    /// - Complexity: reads them all when the vocabulary has changed since; nothing else.
    mutating func list(length: Int, on connection: Connection) throws(SQLiteError) -> WordList {
        let present = try connection.metaInteger(Vocabulary.mark) ?? 0
        if present != mark { (mark, byLength) = (present, [:]) }
        if let known = byLength[length] { return known }
        let list = try WordList(length: length, on: connection)
        byLength[length] = list
        return list
    }
}
