// Letters that people take for the same. Invariant: a letter that is folded here is folded in every text and every
// query alike, so changing this table is a new version of the index.

/// Folds what `unicode61` leaves apart: letters with strokes, ligatures, the Cyrillic yo, full-width Latin, and kana.
enum LetterFolding {
    /// The folded form of a word in lower case.
    static func fold(_ word: UnsafeRawBufferPointer) -> [UInt8] {
        var folded: [UInt8] = []
        folded.reserveCapacity(word.count + 2)
        for scalar in unsafe String(decoding: word, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0..<0x80: folded.append(UInt8(scalar.value))
            case 0xFF10...0xFF19: folded.append(UInt8(scalar.value - 0xFF10 + 0x30))
            case 0xFF41...0xFF5A: folded.append(UInt8(scalar.value - 0xFF41 + 0x61))
            case 0xFF21...0xFF3A: folded.append(UInt8(scalar.value - 0xFF21 + 0x61))
            default: folded += (letters[scalar.value] ?? String(scalar)).utf8
            }
        }
        return folded
    }

    private static let letters: [UInt32: String] = [
        0xDF: "ss", 0x1E9E: "ss", 0xE6: "ae", 0xF0: "d", 0xF8: "o", 0xFE: "th", 0x111: "d", 0x127: "h", 0x131: "i",
        0x142: "l", 0x153: "oe", 0x167: "t", 0x451: "\u{435}",
    ]

    /// Hiragana for a kana of any width; what is no kana stays.
    static func hiragana(_ scalar: UInt32) -> UInt32 {
        switch scalar {
        case 0x30A1...0x30F6, 0x30FD...0x30FE: scalar - 0x60
        case 0xFF66...0xFF9D: halfWidth[Int(scalar - 0xFF66)]
        default: scalar
        }
    }

    /// A kana with the voicing mark behind it; nil if they make no kana together.
    static func voiced(_ kana: UInt32, mark: UInt32) -> UInt32? {
        switch (mark, kana) {
        case (0xFF9E, 0x3046), (0x3099, 0x3046): 0x3094
        case (0xFF9E, 0x304B...0x3062), (0x3099, 0x304B...0x3062): kana % 2 == 1 ? kana + 1 : nil
        case (0xFF9E, 0x3064...0x3069), (0x3099, 0x3064...0x3069): kana % 2 == 0 ? kana + 1 : nil
        case (0xFF9E, 0x306F...0x307D), (0x3099, 0x306F...0x307D): kana % 3 == 0 ? kana + 1 : nil
        case (0xFF9F, 0x306F...0x307D), (0x309A, 0x306F...0x307D): kana % 3 == 0 ? kana + 2 : nil
        default: nil
        }
    }

    /// For U+FF66 to U+FF9D.
    private static let halfWidth: [UInt32] =
        "をぁぃぅぇぉゃゅょっーあいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん"
        .unicodeScalars.map(\.value)
}
