// The piece of a text that shows why it was found. Invariant: marks lie on whole characters inside the piece, and mark
// exactly what the search counts as a hit.

internal import CoffretSQLite

/// A piece of text with the places of the words that were looked for.
package struct Snippet: Equatable, Sendable {
    /// One line: line ends and other controls are spaces.
    package let text: String
    /// Byte offsets into the UTF-8 of `text`, ascending, not overlapping.
    package let matches: [Range<Int>]
    package let isCutAtStart: Bool
    package let isCutAtEnd: Bool
}

/// Finds the words of one query in texts.
struct SnippetFinder {
    static let wordCountMax = 24
    /// Only this much of a text is looked at.
    static let textByteCountMax = 256 << 10

    /// The words of a term, as hashes; a prefix keeps its last word.
    private struct Pattern {
        let hashes: [UInt64]
        let prefix: [UInt8]?
        let column: SearchColumn?

        var wordCount: Int { hashes.count + (prefix == nil ? 0 : 1) }
    }

    private struct Word {
        let hash: UInt64
        let start: Int32
        let end: Int32
        /// Bit i: the word begins as the i-th pattern's last word does.
        let prefixes: UInt64
    }

    private struct Hit {
        let word: Int
        let wordCount: Int
        let pattern: Int
    }

    private let tokenizer: ScriptTokenizer
    private let patterns: [Pattern]
    private let columns: Set<SearchColumn>

    init(terms: [TextTerm], columns: Set<SearchColumn>, tokenizer: ScriptTokenizer) {
        self.tokenizer = tokenizer
        self.columns = columns
        let texts = terms.flatMap { term in
            (term.spellings.isEmpty ? [term.text] : term.spellings).map { (text: $0, term: term) }
        }
        patterns = texts.prefix(64).map { text, term in
            var words = tokenizer.words(of: text, splitsCase: true).map(\.folded)
            let prefix = term.isPrefix || term.goesOn ? words.popLast() : nil
            return Pattern(hashes: words.map { $0.wordHash() }, prefix: prefix, column: term.column)
        }
    }

    /// As much of a text as is looked at, cut between characters.
    static func beginningOf(_ text: String) -> String {
        guard text.utf8.count > textByteCountMax else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: textByteCountMax)
        while end > text.startIndex, text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    /// Where the words stand in a text, as byte offsets, ascending and merged.
    func matches(in text: String, column: SearchColumn) -> [Range<Int>] {
        let words = words(of: text)
        return ranges(hits(in: words, column: column), words)
    }

    /// The best piece of a text; nil if no word stands in it.
    func snippet(of text: String, column: SearchColumn) -> Snippet? {
        let words = words(of: text)
        let hits = hits(in: words, column: column)
        guard let start = bestStart(hits, wordCount: words.count) else { return nil }
        return cut(text, words, from: start, hits: hits)
    }

    /// The beginning of a text, for documents that were found by something else.
    func beginning(of text: String) -> Snippet {
        let words = words(of: text)
        return cut(text, words, from: 0, hits: [])
    }

    // MARK: Words and hits

    private func words(of text: String) -> [Word] {
        var words: [Word] = []
        tokenizer.forEachWord(of: text, splitsCase: true) { folded, range in
            var prefixes: UInt64 = 0
            for (index, pattern) in patterns.enumerated() {
                if let prefix = pattern.prefix, folded.starts(with: prefix) { prefixes |= 1 << UInt64(index) }
            }
            words.append(
                Word(
                    hash: folded.hash, start: Int32(clamping: range.lowerBound), end: Int32(clamping: range.upperBound),
                    prefixes: prefixes))
            return range.upperBound < Self.textByteCountMax
        }
        return words
    }

    private func hits(in words: [Word], column: SearchColumn) -> [Hit] {
        var hits: [Hit] = []
        for (index, pattern) in patterns.enumerated() {
            guard pattern.wordCount > 0, isIn(pattern, column) else { continue }
            for start in words.indices where start + pattern.wordCount <= words.count {
                let isSame = pattern.hashes.indices.allSatisfy { words[start + $0].hash == pattern.hashes[$0] }
                let last = words[start + pattern.wordCount - 1]
                guard isSame, pattern.prefix == nil || last.prefixes & (1 << UInt64(index)) != 0 else { continue }
                hits.append(Hit(word: start, wordCount: pattern.wordCount, pattern: index))
            }
        }
        return hits.sorted { $0.word < $1.word }
    }

    private func isIn(_ pattern: Pattern, _ column: SearchColumn) -> Bool {
        if let own = pattern.column { return own == column }
        return columns.isEmpty || columns.contains(column)
    }

    /// The first word of the window that shows most: different terms first, then hits.
    private func bestStart(_ hits: [Hit], wordCount: Int) -> Int? {
        guard !hits.isEmpty else { return nil }
        var best = (score: 0, start: 0)
        var end = 0
        var inside: [Int: Int] = [:]
        var count = 0
        for (index, hit) in hits.enumerated() {
            while end < hits.count, hits[end].word + hits[end].wordCount <= hit.word + Self.wordCountMax {
                inside[hits[end].pattern, default: 0] += 1
                count += 1
                end += 1
            }
            let score = inside.count * 1_000 + count
            if score > best.score { best = (score, hit.word) }
            // The window moves past this hit, if it was inside at all.
            guard end > index else { continue }
            count -= 1
            if let own = inside[hit.pattern] { inside[hit.pattern] = own > 1 ? own - 1 : nil }
        }
        // Some words before the first hit, and a full window at the end of a text.
        return max(0, min(best.start - 4, wordCount - Self.wordCountMax))
    }

    private func ranges(_ hits: [Hit], _ words: [Word]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for hit in hits {
            let lower = Int(words[hit.word].start)
            let upper = Int(words[hit.word + hit.wordCount - 1].end)
            if let last = ranges.last, lower < last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, upper)
            } else {
                ranges.append(lower..<upper)
            }
        }
        return ranges
    }

    // MARK: The piece

    private func cut(_ text: String, _ words: [Word], from start: Int, hits: [Hit]) -> Snippet {
        guard !words.isEmpty else {
            return Snippet(text: "", matches: [], isCutAtStart: false, isCutAtEnd: false)
        }
        let end = min(words.count, start + Self.wordCountMax) - 1
        let bytes = text.utf8
        // From the first word's start to the last one's end, with the punctuation that sticks to both.
        var lower = start == 0 ? 0 : Int(words[start].start)
        var upper = Int(words[end].end)
        let upperMax = end + 1 < words.count ? Int(words[end + 1].start) : min(bytes.count, upper + 64)
        var piece: [UInt8] = []
        let lowerIndex = bytes.index(bytes.startIndex, offsetBy: lower)
        for (offset, byte) in bytes[lowerIndex...].enumerated() {
            guard lower + offset < upper || (lower + offset < upperMax && byte > 0x20) else { break }
            piece.append(byte < 0x20 || byte == 0x7F ? 0x20 : byte)
        }
        upper = lower + piece.count
        // An ending inside a character, which only a cut at 64 bytes can make, is dropped.
        while !piece.isEmpty, upper < bytes.count, Self.isContinuation(bytes, upper) {
            piece.removeLast()
            upper -= 1
        }
        let leading = piece.prefix { $0 == 0x20 }.count
        piece.removeFirst(leading)
        lower += leading
        let shown = hits.filter { $0.word >= start && $0.word + $0.wordCount <= end + 1 }
        return Snippet(
            text: String(decoding: piece, as: UTF8.self),
            matches: ranges(shown, words).map { ($0.lowerBound - lower)..<($0.upperBound - lower) },
            isCutAtStart: start > 0, isCutAtEnd: end + 1 < words.count)
    }

    private static func isContinuation(_ bytes: String.UTF8View, _ offset: Int) -> Bool {
        bytes[bytes.index(bytes.startIndex, offsetBy: offset)] & 0xC0 == 0x80
    }
}

extension RawSpan {
    /// FNV-1a over the bytes: words of one text are told apart by it, nothing more.
    fileprivate var hash: UInt64 {
        unsafe withUnsafeBytes { unsafe $0.wordHash }
    }

    fileprivate func starts(with prefix: [UInt8]) -> Bool {
        guard byteCount >= prefix.count else { return false }
        return unsafe withUnsafeBytes { unsafe $0.starts(with: prefix) }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var wordHash: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in indices { hash = unsafe (hash ^ UInt64(self[index])) &* 0x100_0000_01B3 }
        return hash
    }
}

extension Array where Element == UInt8 {
    fileprivate func wordHash() -> UInt64 {
        unsafe withUnsafeBytes { unsafe $0.wordHash }
    }
}
