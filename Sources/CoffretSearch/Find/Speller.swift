// Words as the vocabulary has them: the continuations of a beginning, and the nearest words to one without a match.
// Invariant: a word that any document has is never replaced, and replacements are reported.

internal import CoffretSQLite

/// Finds the words that a beginning goes on to, and puts the nearest words of the vocabulary in the place of words that no
/// document has.
struct Speller {
    /// More words than these are left to FTS5, which reads all that each of them has.
    private static let endingCountMax = 32
    /// Shorter words have too many neighbours.
    private static let letterCountMin = 4
    /// From so many letters on two edits are forgiven.
    private static let longLetterCount = 8
    private static let nearestCountMax = 8
    private static let correctionCountMax = 4

    let session: SearchIndex.Session
    let columns: Set<SearchColumn>
    private let engine: SearchIndex.Engine
    private(set) var corrections: [WordCorrection] = []

    init(session: SearchIndex.Session, columns: Set<SearchColumn>, engine: SearchIndex.Engine) {
        self.session = session
        self.columns = columns
        self.engine = engine
    }

    /// The query with such words replaced, those behind a negation left alone.
    mutating func corrected(_ node: QueryNode) throws(SQLiteError) -> QueryNode {
        switch node {
        case .text(let term): return .text(try corrected(term))
        case .filter, .not: return node
        case .all(let children): return .all(try corrected(children))
        case .any(let children): return .any(try corrected(children))
        }
    }

    private mutating func corrected(_ nodes: [QueryNode]) throws(SQLiteError) -> [QueryNode] {
        var result: [QueryNode] = []
        for node in nodes { result.append(try corrected(node)) }
        return result
    }

    private mutating func corrected(_ written: TextTerm) throws(SQLiteError) -> TextTerm {
        var term = written
        guard !term.isPrefix else { return term }
        let words = session.fullText.tokenizer.words(of: term.text)
        guard words.count == 1 else { return term }
        let word = String(decoding: words[0].folded, as: UTF8.self)
        if term.goesOn { term.endings = try endings(of: word) }
        let letters = Array(word.unicodeScalars)
        guard corrections.count < Self.correctionCountMax,
            (Self.letterCountMin...Vocabulary.letterCountMax).contains(letters.count),
            letters.allSatisfy(\.properties.isAlphabetic)
        else { return term }
        guard try !isThere(term) else { return term }
        let nearest = try nearest(to: letters)
        guard !nearest.isEmpty else { return term }
        corrections.append(WordCorrection(word: term.text, nearest: nearest))
        term.goesOn = false
        term.spellings = nearest
        return term
    }

    /// Whether any document has the word, or one that it goes on to.
    private func isThere(_ term: TextTerm) throws(SQLiteError) -> Bool {
        guard let expression = MatchExpression(.text(term), columns: columns) else { return true }
        let detector = MatchDetector(attributes: session.attributes)
        try session.fullText.visitRows(
            of: "search", matching: expression.text, on: session.connection, visitor: detector)
        return detector.isFound
    }

    /// The longer words that begin so; nil if the vocabulary cannot tell, or they are many.
    private func endings(of word: String) throws(SQLiteError) -> [String]? {
        let count = word.unicodeScalars.count
        guard Vocabulary.takes(word), count < Vocabulary.letterCountMax else { return nil }
        var endings: [String] = []
        for length in count + 1...Vocabulary.letterCountMax {
            try session.connection.forEachRow(
                "SELECT word FROM word WHERE length = ?1 AND word > ?2 AND word < ?3 LIMIT ?4", length, word,
                word + "\u{10FFFF}", Self.endingCountMax + 1 - endings.count
            ) { row throws(SQLiteError) in endings.append(row.string(at: 0)) }
            guard endings.count <= Self.endingCountMax else { return nil }
        }
        return endings
    }

    /// The words that the fewest edits lead to, as far as these are forgiven.
    private func nearest(to word: [Unicode.Scalar]) throws(SQLiteError) -> [String] {
        let editCountMax = word.count >= Self.longLetterCount ? 2 : 1
        var best = editCountMax
        var nearest: [String] = []
        var distance = EditDistance(from: word)
        let letters = LetterSet(word)
        // The words of the same length first: most edits change a letter, and what is near makes all others far.
        for difference in [0] + (1...editCountMax).flatMap({ [-$0, $0] }) where abs(difference) <= best {
            let words = try engine.wordLists.list(length: word.count + difference, on: session.connection)
            words.forEachWord(near: letters, countMax: { best }) { candidate in
                guard let count = distance.count(to: candidate, countMax: best) else { return }
                let text = unsafe candidate.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
                guard !text.unicodeScalars.contains(where: Vocabulary.isDigit) else { return }
                if count < best {
                    best = count
                    nearest = []
                }
                nearest.append(text)
            }
        }
        // Of many, those that begin alike.
        return Array(
            nearest.sorted {
                let (left, right) = (Self.sharedCount($0, word), Self.sharedCount($1, word))
                return left != right ? left > right : $0 < $1
            }.prefix(Self.nearestCountMax))
    }

    private static func sharedCount(_ candidate: String, _ word: [Unicode.Scalar]) -> Int {
        zip(candidate.unicodeScalars, word).prefix { $0 == $1 }.count
    }
}

/// How many letters have to be put in, taken out, changed or exchanged with their neighbour (the optimal string alignment).
private struct EditDistance {
    private let word: [Unicode.Scalar]
    private var rows: [[Int]]
    private var other: [Unicode.Scalar] = []

    init(from word: [Unicode.Scalar]) {
        self.word = word
        rows = Array(repeating: Array(repeating: 0, count: Vocabulary.letterCountMax + 3), count: 3)
    }

    /// - Parameter text: UTF-8.
    /// - Returns: nil if there are more than `countMax`.
    mutating func count(to text: RawSpan, countMax: Int) -> Int? {
        other.removeAll(keepingCapacity: true)
        unsafe text.withUnsafeBytes { bytes in
            if unsafe bytes.allSatisfy({ $0 < 0x80 }) {
                unsafe other.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            } else {
                unsafe other.append(contentsOf: String(decoding: bytes, as: UTF8.self).unicodeScalars)
            }
        }
        guard abs(other.count - word.count) <= countMax, other.count + 1 <= rows[0].count else { return nil }
        // A common beginning and end cost nothing.
        var start = 0
        while start < min(word.count, other.count), word[start] == other[start] { start += 1 }
        var tail = 0
        while tail < min(word.count, other.count) - start, word[word.count - 1 - tail] == other[other.count - 1 - tail]
        {
            tail += 1
        }
        let (rowCount, columnCount) = (word.count - start - tail, other.count - start - tail)
        for column in 0...columnCount { rows[0][column] = column }
        for row in 0..<rowCount {
            let (now, last, before) = ((row + 1) % 3, row % 3, (row + 2) % 3)
            rows[now][0] = row + 1
            var least = row + 1
            for column in 0..<columnCount {
                let isSame = word[start + row] == other[start + column]
                var cost = min(
                    rows[last][column + 1] + 1, rows[now][column] + 1, rows[last][column] + (isSame ? 0 : 1))
                if row > 0, column > 0, word[start + row] == other[start + column - 1],
                    word[start + row - 1] == other[start + column]
                {
                    cost = min(cost, rows[before][column - 1] + 1)
                }
                rows[now][column + 1] = cost
                least = min(least, cost)
            }
            guard least <= countMax else { return nil }
        }
        let count = rows[rowCount % 3][columnCount]
        return count <= countMax ? count : nil
    }
}
