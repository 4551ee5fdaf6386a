// Finds what is guessable in a passphrase. Works on bytes and leaves no text behind that could be printed.

internal import CoffretBase
internal import Glibc

/// A piece of a passphrase and what it costs to guess it.
struct StrengthPiece {
    let range: Range<Int>
    let bits: Double
    var weakness: StrengthEstimate.Weakness?
    var isWord = false
}

/// Looks for the cheapest way to put a passphrase together from patterns.
struct StrengthPatternFinder {
    private let bytes: [UInt8]
    /// The same in lower case, and with the usual substitutions undone (`@` for a, `0` for o and so on).
    private let lowered: [UInt8]
    private let plain: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
        lowered = bytes.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        plain = lowered.map { Self.substitutions[$0] ?? $0 }
    }

    private static let substitutions: [UInt8: UInt8] = [
        UInt8(ascii: "@"): UInt8(ascii: "a"), UInt8(ascii: "4"): UInt8(ascii: "a"),
        UInt8(ascii: "3"): UInt8(ascii: "e"),
        UInt8(ascii: "1"): UInt8(ascii: "i"), UInt8(ascii: "!"): UInt8(ascii: "i"),
        UInt8(ascii: "0"): UInt8(ascii: "o"),
        UInt8(ascii: "$"): UInt8(ascii: "s"), UInt8(ascii: "5"): UInt8(ascii: "s"),
        UInt8(ascii: "7"): UInt8(ascii: "t"),
    ]

    /// What people choose first, most frequent first; the rank is the number of guesses.
    private static let commonPasswords = """
        123456 password 123456789 qwerty 12345678 111111 123123 1234567890 abc123 password1 iloveyou admin welcome \
        monkey dragon letmein football baseball sunshine princess master shadow superman michael jennifer jordan \
        hunter ranger buster soccer harley batman andrew tigger charlie robert thomas hockey daniel starwars klaster \
        george computer michelle jessica pepper freedom ashley maggie ginger joshua cheese amanda summer love nicole \
        chelsea matthew access yankees dallas austin thunder taylor william corvette hello martin heather secret \
        merlin diamond hammer silver anthony justin test bailey patrick internet scooter orange golfer cookie \
        richard samantha bigdog guitar jackson whatever mickey chicken sparky snoopy maverick phoenix camaro \
        peanut morgan falcon cowboy ferrari samsung andrea smokey steelers joseph mercedes dakota arsenal eagles \
        melissa boomer spider nascar monster tigers yellow gateway marina diablo bulldog compaq purple hardcore \
        banana junior hannah porsche lakers iceman money cowboys london tennis coffee scooby miller boston qwer \
        asdf zxcv login passw0rd trustno1 changeme default root user guest
        """.split { $0 == " " || $0 == "\n" }.map { Array($0.utf8) }

    private static let keyboardRows = [
        "`1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./", "qwertzuiop", "yxcvbnm", "azertyuiop",
        "qsdfghjklm",
        "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "789456123",
    ].flatMap { [Array($0.utf8), Array($0.utf8.reversed())] }

    /// The pieces with the smallest sum of bits that cover the passphrase.
    mutating func cheapestPieces() -> [StrengthPiece] {
        guard !bytes.isEmpty else { return [] }
        var best: [(bits: Double, piece: StrengthPiece?)] = [(0, nil)]
        best += bytes.map { _ in (Double.infinity, nil) }
        for start in bytes.indices {
            for piece in patterns(from: start) + [character(at: start)] {
                let bits = best[start].bits + piece.bits
                if bits < best[piece.range.upperBound].bits { best[piece.range.upperBound] = (bits, piece) }
            }
        }
        var pieces: [StrengthPiece] = []
        var end = bytes.count
        while end > 0, let piece = best[end].piece {
            pieces.append(piece)
            end = piece.range.lowerBound
        }
        return pieces.reversed()
    }

    private func patterns(from start: Int) -> [StrengthPiece] {
        words(from: start) + repeats(from: start) + sequences(from: start) + keyboardRuns(from: start)
            + dates(from: start)
    }

    // MARK: Patterns

    private func words(from start: Int) -> [StrengthPiece] {
        var pieces: [StrengthPiece] = []
        for (rank, password) in Self.commonPasswords.enumerated() {
            for text in [lowered, plain] where text[start...].starts(with: password) {
                let range = start..<(start + password.count)
                pieces.append(
                    StrengthPiece(
                        range: range, bits: log2(Double(rank + 2)) + variationBits(range), weakness: .commonPassword))
            }
        }
        for length in 3...9 where start + length <= bytes.count {
            let range = start..<(start + length)
            for text in [lowered, plain] where WordList.position(of: text[range]) != nil {
                pieces.append(
                    StrengthPiece(
                        range: range, bits: log2(Double(WordList.wordCount)) + variationBits(range), isWord: true))
                break
            }
        }
        return pieces
    }

    /// Capitals and substitutions: nothing for none, one bit for the usual (first letter, all), more otherwise.
    private func variationBits(_ range: Range<Int>) -> Double {
        let capitals = range.filter { bytes[$0] != lowered[$0] }
        let substituted = range.filter { plain[$0] != lowered[$0] }.count
        var bits = substituted > 0 ? 1 + Double(substituted) / 2 : 0
        if !capitals.isEmpty {
            let isUsual = capitals == [range.lowerBound] || capitals.count == range.count
            bits += isUsual ? 1 : Double(capitals.count) + 1
        }
        return bits
    }

    /// A block of one to eight characters said over and over.
    private func repeats(from start: Int) -> [StrengthPiece] {
        var pieces: [StrengthPiece] = []
        for length in 1...8 where start + 2 * length <= bytes.count {
            var end = start + length
            while end + length <= bytes.count && bytes[end..<(end + length)] == bytes[start..<(start + length)] {
                end += length
            }
            let count = (end - start) / length
            guard count > 1, end - start >= 3 else { continue }
            let blockBits = (start..<(start + length)).reduce(0.0) { $0 + character(at: $1).bits }
            pieces.append(
                StrengthPiece(range: start..<end, bits: blockBits + log2(Double(count)), weakness: .repetition))
        }
        return pieces
    }

    /// Letters or digits that go up or down by one.
    private func sequences(from start: Int) -> [StrengthPiece] {
        var pieces: [StrengthPiece] = []
        for step in [1, -1] {
            var end = start + 1
            while end < bytes.count, isAlphanumeric(lowered[end]), Int(lowered[end]) - Int(lowered[end - 1]) == step {
                end += 1
            }
            guard end - start >= 3 else { continue }
            pieces.append(
                StrengthPiece(range: start..<end, bits: log2(36) + log2(Double(end - start)) + 1, weakness: .sequence))
        }
        return pieces
    }

    private func keyboardRuns(from start: Int) -> [StrengthPiece] {
        var longest = 0
        for row in Self.keyboardRows {
            for first in row.indices where row[first] == lowered[start] {
                let length = zip(row[first...], lowered[start...]).prefix { $0 == $1 }.count
                longest = max(longest, length)
            }
        }
        guard longest >= 4 else { return [] }
        // About 200 places to begin on a handful of layouts, times the length.
        return [
            StrengthPiece(
                range: start..<(start + longest), bits: log2(200) + log2(Double(longest)), weakness: .keyboardRun)
        ]
    }

    /// Years, and six or eight digits that read as a date, with or without separators.
    private func dates(from start: Int) -> [StrengthPiece] {
        var pieces: [StrengthPiece] = []
        for length in [4, 6, 8, 10] where start + length <= bytes.count {
            let range = start..<(start + length)
            let digits = bytes[range].filter { (0x30...0x39).contains($0) }.map { Int($0) - 0x30 }
            let others = Set(bytes[range].filter { !(0x30...0x39).contains($0) })
            let hasSeparators = others.count == 1 && others.isSubset(of: Set("-./ ".utf8))
            guard others.isEmpty && length != 10 || hasSeparators && digits.count == length - 2 && length > 6 else {
                continue
            }
            func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
            let isYear: (Int) -> Bool = { (1_900...2_049).contains($0) }
            let isDay: (Int, Int) -> Bool = {
                (1...31).contains($0) && (1...12).contains($1) || (1...12).contains($0) && (1...31).contains($1)
            }
            switch digits.count {
            case 4 where isYear(number(0..<4)):
                pieces.append(StrengthPiece(range: range, bits: log2(150), weakness: .date))
            case 6 where isDay(number(0..<2), number(2..<4)) || isDay(number(2..<4), number(4..<6)):
                pieces.append(StrengthPiece(range: range, bits: log2(366 * 100 * 4), weakness: .date))
            case 8
            where isYear(number(4..<8)) && isDay(number(0..<2), number(2..<4))
                || isYear(number(0..<4)) && isDay(number(4..<6), number(6..<8)):
                pieces.append(StrengthPiece(range: range, bits: log2(366 * 150 * 4), weakness: .date))
            default: break
            }
        }
        return pieces
    }

    // MARK: What is left

    /// A character on its own.
    ///
    /// Letters next to letters of the same case and digits next to digits count 3.3 bits, about what words that
    /// no list has cost an attacker with a language model; a change of kind counts what a random character would.
    private func character(at index: Int) -> StrengthPiece {
        let range = index..<(index + 1)
        let kind = Self.kind(of: bytes[index])
        if kind == .space { return StrengthPiece(range: range, bits: 1) }
        if kind == .continuation { return StrengthPiece(range: range, bits: 2) }
        let isSurprise = index > 0 && Self.kind(of: bytes[index - 1]) != kind
        switch kind {
        case .digit: return StrengthPiece(range: range, bits: log2(10))
        case .symbol: return StrengthPiece(range: range, bits: isSurprise ? 5 : 4)
        default: return StrengthPiece(range: range, bits: isSurprise && index > 1 ? 5.7 : log2(10))
        }
    }

    private enum Kind {
        case lower, upper, digit, symbol, space, continuation
    }

    private static func kind(of byte: UInt8) -> Kind {
        switch byte {
        case 0x61...0x7A: .lower
        case 0x41...0x5A: .upper
        case 0x30...0x39: .digit
        case 0x20: .space
        case 0x80...0xBF: .continuation
        default: .symbol
        }
    }

    private func isAlphanumeric(_ byte: UInt8) -> Bool {
        Self.kind(of: byte) == .lower || Self.kind(of: byte) == .digit
    }
}
