// The words and signs of a query. Invariant: every byte of the input belongs to some lexeme or is a space, whatever
// the input is.

/// One piece of a query.
struct QueryLexeme: Equatable {
    enum Kind: Equatable {
        case open, close
        /// `-` before a term, unless the query is a command line; or `NOT`.
        case not
        /// `OR` or `|`.
        case or
        /// `AND` or `&`: the same as nothing.
        case and
        /// A bare word; `isPrefix` if a star ends it.
        case word(String, isPrefix: Bool)
        /// A quoted phrase; `isPrefix` if a star follows the closing quote.
        case phrase(String, isPrefix: Bool)
        /// A name and the colon behind it; the value is the next lexeme if `hasValue`.
        case field(String, hasValue: Bool)
    }

    let kind: Kind
    let byteOffset: Int
    /// Whether the query ends with this piece, so that it may be half typed.
    var isLast = false
}

/// Cuts a query into pieces. An unclosed quote reaches to the end, as search engines take it.
struct QueryLexer {
    private let bytes: [UInt8]
    private let fieldNames: Set<String>
    private var offset = 0
    private var lexemes: [QueryLexeme] = []
    /// Whether the query looks like a line for a shell, in which `-name` is a word.
    private var isCommand = false

    private init(_ text: String, fieldNames: Set<String>) {
        // A zero byte would end FTS5's expression early; it is a space like other controls.
        bytes = text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        self.fieldNames = fieldNames
    }

    static func lexemes(of text: String, fieldNames: Set<String>) -> [QueryLexeme] {
        var lexer = QueryLexer(text, fieldNames: fieldNames)
        lexer.run()
        return lexer.lexemes
    }

    /// Programs whose short options are written together, as in `tar -xzf`; none of them is a word that people look for and
    /// follow by a short word to leave out.
    private static let programs: Set<String> = [
        "apt", "awk", "bash", "chgrp", "chmod", "chown", "cp", "curl", "df", "dpkg", "du", "egrep", "ffmpeg", "gcc",
        "git",
        "gpg", "grep", "gzip", "journalctl", "ln", "ls", "lsof", "mkdir", "mv", "netstat", "nmap", "ps", "rm", "rmdir",
        "rpm",
        "rsync", "scp", "sed", "ss", "ssh", "sudo", "systemctl", "tar", "tmux", "uniq", "unzip", "wc", "wget", "xargs",
        "zgrep",
        "zsh",
    ]
    /// More letters are a word.
    private static let optionLetterCountMax = 4

    /// Whether the query begins with such a program and such options.
    private func beginsWithProgram() -> Bool {
        let pieces = bytes.split(separator: 0x20, maxSplits: 2)
        guard pieces.count > 1, Self.programs.contains(String(decoding: pieces[0], as: UTF8.self)),
            let dash = pieces[1].first, dash == 0x2D
        else { return false }
        let letters = pieces[1].dropFirst()
        return (2...Self.optionLetterCountMax).contains(letters.count) && letters.allSatisfy(Self.isLetter)
    }

    /// Whether a piece between spaces, outside of quotes, is an option of one letter (`-r`), a long option (`--amend`), or
    /// signs alone (`.`, `{}`) that mean nothing in a query; or whether it begins as `tar -xzf` does.
    private func looksLikeCommand() -> Bool {
        if beginsWithProgram() { return true }
        var isQuoted = false
        var piece: [UInt8] = []
        var found = false
        func end() -> Bool {
            defer { piece = [] }
            guard !piece.isEmpty else { return false }
            if piece.starts(with: [0x2D, 0x2D]) { return piece.count > 3 && Self.isLetter(piece[2]) }
            if piece[0] == 0x2D { return piece.count == 2 && Self.isLetter(piece[1]) }
            let isSigns = !piece.contains { $0 >= 0x80 || Self.isLetter($0) || (0x30...0x39).contains($0) }
            return isSigns && !piece.contains { Self.queryText.contains($0) }
        }
        var index = 0
        while index < bytes.count {
            let quote = quoteLength(at: index)
            if quote > 0 {
                isQuoted.toggle()
                piece = []
                index += quote
                continue
            }
            let space = spaceLength(at: index)
            if space > 0 {
                found = end() || found
            } else if !isQuoted {
                piece.append(bytes[index])
            }
            index += max(space, 1)
        }
        return end() || found
    }

    /// Signs that a query may hold alone.
    private static let queryText = Array("-|&()+:".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }

    /// Whether the word from here on is neither a phrase, a group nor a filter.
    private func isBareWord(at start: Int) -> Bool {
        var index = start
        while isWord(at: index) {
            if bytes[index] == UInt8(ascii: ":"),
                fieldNames.contains(foldASCII(String(decoding: bytes[start..<index], as: UTF8.self)))
            {
                return false
            }
            index += 1
        }
        return index > start
    }

    private mutating func run() {
        isCommand = looksLikeCommand()
        while offset < bytes.count {
            let spaceByteCount = spaceLength(at: offset)
            if spaceByteCount > 0 {
                offset += spaceByteCount
                continue
            }
            let start = offset
            if quoteLength(at: offset) > 0 {
                readPhrase()
                continue
            }
            switch bytes[offset] {
            case UInt8(ascii: "("):
                add(.open, start, length: 1)
            case UInt8(ascii: ")"):
                add(.close, start, length: 1)
            case UInt8(ascii: "|"):
                add(.or, start, length: 1)
            case UInt8(ascii: "-")
            where isTermStart(at: offset + 1) && !(isCommand && isBareWord(at: offset + 1)):
                add(.not, start, length: 1)
            default:
                readWord()
            }
        }
        if !lexemes.isEmpty, offset == bytes.count, let last = bytes.last, last != 0x20 {
            lexemes[lexemes.count - 1].isLast = true
        }
    }

    private mutating func add(_ kind: QueryLexeme.Kind, _ start: Int, length: Int) {
        lexemes.append(QueryLexeme(kind: kind, byteOffset: start))
        offset = start + length
    }

    private mutating func readPhrase() {
        let start = offset
        offset += quoteLength(at: offset)
        let textStart = offset
        while offset < bytes.count, quoteLength(at: offset) == 0 { offset += 1 }
        let text = String(decoding: bytes[textStart..<offset], as: UTF8.self)
        if offset < bytes.count { offset += quoteLength(at: offset) }
        let isPrefix = offset < bytes.count && bytes[offset] == UInt8(ascii: "*")
        add(.phrase(text, isPrefix: isPrefix), start, length: offset - start + (isPrefix ? 1 : 0))
    }

    private mutating func readWord() {
        let start = offset
        while isWord(at: offset) {
            if bytes[offset] == UInt8(ascii: ":") {
                let name = foldASCII(String(decoding: bytes[start..<offset], as: UTF8.self))
                if fieldNames.contains(name) {
                    return add(
                        .field(name, hasValue: isWord(at: offset + 1) || quoteLength(at: offset + 1) > 0), start,
                        length: offset - start + 1)
                }
            }
            offset += 1
        }
        var end = offset
        while end > start, bytes[end - 1] == UInt8(ascii: "*") { end -= 1 }
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        let kind: QueryLexeme.Kind =
            switch text {
            case "OR" where end == offset: .or
            case "AND" where end == offset, "&" where end == offset: .and
            case "NOT" where end == offset: .not
            default: .word(text, isPrefix: end < offset)
            }
        lexemes.append(QueryLexeme(kind: kind, byteOffset: start))
    }

    // MARK: Bytes

    /// ASCII space, no-break space, ideographic space: the length of the one at `offset`, or 0.
    private func spaceLength(at offset: Int) -> Int {
        if bytes[offset] == 0x20 { return 1 }
        if starts(at: offset, with: [0xC2, 0xA0]) { return 2 }
        return starts(at: offset, with: [0xE3, 0x80, 0x80]) ? 3 : 0
    }

    /// Straight and typographic double quotes: the length of the one at `offset`, or 0.
    private func quoteLength(at offset: Int) -> Int {
        guard offset < bytes.count else { return 0 }
        if bytes[offset] == UInt8(ascii: "\"") { return 1 }
        // U+201C, U+201D, U+201E.
        return [0x9C, 0x9D, 0x9E].contains { starts(at: offset, with: [0xE2, 0x80, $0]) } ? 3 : 0
    }

    private func starts(at offset: Int, with part: [UInt8]) -> Bool {
        bytes[offset...].starts(with: part)
    }

    private func isWord(at offset: Int) -> Bool {
        guard offset < bytes.count, spaceLength(at: offset) == 0, quoteLength(at: offset) == 0 else { return false }
        return bytes[offset] != UInt8(ascii: "(") && bytes[offset] != UInt8(ascii: ")")
    }

    private func isTermStart(at offset: Int) -> Bool {
        guard offset < bytes.count else { return false }
        return spaceLength(at: offset) == 0 && bytes[offset] != UInt8(ascii: ")")
    }
}
