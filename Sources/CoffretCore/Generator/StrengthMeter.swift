// zxcvbn with our own words. Invariant: copies of what is judged that are made here are zeroed.

internal import CoffretBase
internal import Glibc

/// libzxcvbn, loaded, with phrases that everybody knows and the words of our own list.
@safe package final class StrengthMeter {
    /// Bytes beyond count as nothing; the time that zxcvbn takes grows faster than the text.
    private static let byteCountMax = 100
    private static let wordByteCounts = 3...9

    private typealias Match =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, UnsafeMutableRawPointer?
        ) -> Double

    private let match: Match
    /// The words one after another, each with a zero behind it.
    private let words: [UInt8]
    private let starts: [Int]
    private lazy var wordSet = Set(
        (KnownPhrases.all + WordList.words).map { Array($0.utf8.prefix(Self.wordByteCounts.upperBound)) })

    /// - Returns: nil without the library.
    package init?() {
        // SAFETY: the signature is that of zxcvbn.h, version 2.5.
        guard let library = unsafe dlopen("libzxcvbn.so.0", RTLD_NOW | RTLD_LOCAL),
            let symbol = unsafe dlsym(library, "ZxcvbnMatch")
        else { return nil }
        unsafe match = unsafe unsafeBitCast(symbol, to: Match.self)
        var bytes: [UInt8] = []
        starts = (KnownPhrases.all + WordList.words).map { word in
            defer { bytes += Array(word.utf8) + [0] }
            return bytes.count
        }
        words = bytes
    }

    /// The base-2 logarithm of the number of guesses for a passphrase in UTF-8, which the caller zeroes.
    func guessBits(utf8 passphrase: [UInt8]) -> Double { bits(of: passphrase, withWords: true) }

    /// Whether a password is worth less than so many bits.
    ///
    /// - Complexity: our own words are looked up by zxcvbn one by one, which takes a hundred times as long as the rest: only for
    ///   a password in which one of them begins.
    package func isBelow(_ bits: Double, utf8 password: [UInt8]) -> Bool {
        if self.bits(of: password, withWords: false) < bits { return true }
        guard hasOwnWord(password) else { return false }
        return guessBits(utf8: password) < bits
    }

    /// Whether one of our own words stands in a password, or the beginning of a long one, as it is or with the usual substitutions.
    private func hasOwnWord(_ password: [UInt8]) -> Bool {
        var plain = Self.folded(password).map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        var undone = plain.map { Self.substitutions[$0] ?? $0 }
        defer {
            plain.zero()
            undone.zero()
        }
        for text in [plain, undone] {
            for start in text.indices {
                for count in Self.wordByteCounts where start + count <= text.count {
                    if wordSet.contains(Array(text[start..<start + count])) { return true }
                }
            }
        }
        return false
    }

    private func bits(of passphrase: [UInt8], withWords usesWords: Bool) -> Double {
        var folded = Self.folded(passphrase)
        // An attacker guesses phrases with and without spaces, and a space is no secret.
        var joined = folded.filter { $0 >= 0x80 || ![0x20, 0x2D, 0x5F, 0x2E, 0x2C, 0x27].contains($0) }
        defer {
            folded.zero()
            joined.zero()
        }
        let texts = folded == joined ? [folded] : [folded, joined]
        guard usesWords else { return texts.map { unsafe bits(of: $0, nil) }.min() ?? 0 }
        // SAFETY: the pointers point into `words`, which outlives the calls; the library keeps nothing of them.
        return unsafe words.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            var pointers = unsafe starts.map { start in unsafe base.map { base in unsafe base + start } }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeMutableBufferPointer { list in
                texts.map { unsafe bits(of: $0, list.baseAddress) }.min() ?? 0
            }
        }
    }

    private func bits(of folded: [UInt8], _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Double {
        var text = Array(folded.prefix(Self.byteCountMax)) + [0]
        defer { text.zero() }
        // SAFETY: the text ends with a zero and outlives the call.
        return unsafe text.withUnsafeBytes { buffer in
            max(0, unsafe match(buffer.baseAddress?.assumingMemoryBound(to: CChar.self), list, nil))
        }
    }

    private static let keysOfLetters: [Unicode.Scalar: Character] = Dictionary(
        uniqueKeysWithValues: zip(
            "йцукенгшщзхъфывапролджэячсмитьбюё".unicodeScalars, "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"))
    private static let substitutions: [UInt8: UInt8] = [
        0x30: 0x6F, 0x31: 0x6C, 0x33: 0x65, 0x34: 0x61, 0x35: 0x73, 0x37: 0x74, 0x40: 0x61, 0x24: 0x73, 0x21: 0x69,
    ]

    /// The passphrase in ASCII, because zxcvbn would count each byte of another script as a character: a Cyrillic letter is
    /// the key that it lies on, and any other character one letter. A zero would end the text early.
    private static func folded(_ passphrase: [UInt8]) -> [UInt8] {
        String(decoding: passphrase, as: UTF8.self).unicodeScalars.map { scalar in
            if scalar.isASCII { return max(1, UInt8(scalar.value)) }
            let lowered = String(scalar).lowercased().unicodeScalars.first ?? scalar
            return keysOfLetters[lowered]?.asciiValue ?? 0x61 + UInt8(scalar.value % 26)
        }
    }
}
