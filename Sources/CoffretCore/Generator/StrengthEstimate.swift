// How long a passphrase that a person thought of would stand. Invariant: it errs on the side of too weak, it works
// offline, and it never shows more than a number (R45).

internal import CoffretBase
internal import Glibc

/// An estimate of how many guesses a passphrase takes from someone who knows how people choose them: zxcvbn's, with the
/// words of our own list and phrases that everybody knows.
///
/// Source: D. L. Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016, as libzxcvbn has it.
package struct StrengthEstimate: Equatable, Sendable {
    /// The base-2 logarithm of the number of guesses.
    package let guessBits: Double

    /// Below this a passphrase is taken only after a question: some months on rented hardware.
    package static let leastBits = 40.0
    /// From here on there is nothing to advise.
    package static let strongBits = 60.0
    /// Below this many bytes a passphrase is questioned where no estimate can be had.
    package static let leastByteCount = 12

    /// Guesses per second of a hundred rented graphics cards against Argon2id with 256 MiB and three passes.
    ///
    /// A guess moves about 2.4 GB (each pass reads two blocks and writes one for each of its own), a card about
    /// 1 TB per second: some 400 guesses. Memory bandwidth, not arithmetic, sets the limit.
    static let rentedGuessesPerSecond = 40_000.0

    /// Bytes beyond count as nothing; the time that zxcvbn takes grows faster than the text.
    private static let byteCountMax = 100

    private typealias Match =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, UnsafeMutableRawPointer?
        ) -> Double

    /// Estimates a passphrase given as UTF-8; the caller zeroes its copy.
    ///
    /// - Returns: nil without the library.
    package init?(utf8 passphrase: [UInt8]) {
        // SAFETY: the signature is that of zxcvbn.h, version 2.5.
        guard let library = unsafe dlopen("libzxcvbn.so.0", RTLD_NOW | RTLD_LOCAL),
            let symbol = unsafe dlsym(library, "ZxcvbnMatch")
        else { return nil }
        let match = unsafe unsafeBitCast(symbol, to: Match.self)
        var folded = Self.folded(passphrase)
        // An attacker guesses phrases with and without spaces, and a space is no secret.
        var joined = folded.filter { $0 >= 0x80 || ![0x20, 0x2D, 0x5F, 0x2E, 0x2C, 0x27].contains($0) }
        defer {
            folded.zero()
            joined.zero()
        }
        // SAFETY: the arrays outlive the call and end with a zero; the library keeps nothing of them.
        let bits = unsafe Self.withKnownPhrases { words in
            [folded, joined].map { bytes in
                var text = Array(bytes.prefix(Self.byteCountMax)) + [0]
                defer { text.zero() }
                return unsafe text.withUnsafeBytes { buffer in
                    unsafe match(buffer.baseAddress?.assumingMemoryBound(to: CChar.self), words, nil)
                }
            }
        }
        guessBits = max(bits.min() ?? 0, 0)
    }

    /// Calls `body` with known phrases, then the words of our own list, as a list of C strings that ends with nil.
    private static func withKnownPhrases<Value>(
        _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        let words = KnownPhrases.all + WordList.words
        var bytes: [UInt8] = []
        let starts = words.map { word in
            defer { bytes += Array(word.utf8) + [0] }
            return bytes.count
        }
        // SAFETY: the pointers point into `bytes`, which outlives `body`.
        return unsafe bytes.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            var pointers = unsafe starts.map { start in unsafe base.map { base in unsafe base + start } }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeMutableBufferPointer { list in unsafe body(list.baseAddress) }
        }
    }

    /// The passphrase in ASCII, because zxcvbn would count each byte of another script as a character: a Cyrillic letter is
    /// the key that it lies on, and any other character one letter. A zero would end the text early.
    private static func folded(_ passphrase: [UInt8]) -> [UInt8] {
        let keys: [Unicode.Scalar: Character] = Dictionary(
            uniqueKeysWithValues: zip(
                "йцукенгшщзхъфывапролджэячсмитьбюё".unicodeScalars, "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"))
        return String(decoding: passphrase, as: UTF8.self).unicodeScalars.map { scalar in
            if scalar.isASCII { return max(1, UInt8(scalar.value)) }
            let lowered = String(scalar).lowercased().unicodeScalars.first ?? scalar
            return keys[lowered]?.asciiValue ?? 0x61 + UInt8(scalar.value % 26)
        }
    }

    /// The time in which a hundred rented graphics cards have tried half of the guesses, in seconds.
    ///
    /// - Parameters:
    ///   - memoryByteCount: the memory of Argon2id that the store uses.
    ///   - passCount: its passes.
    package func secondsOnRentedHardware(
        memoryByteCount: Int = 256 << 20, passCount: Int = 3
    ) -> Double {
        let work = Double(memoryByteCount) * Double(passCount) / (Double(256 << 20) * 3)
        return exp2(guessBits - 1) * work / Self.rentedGuessesPerSecond
    }
}
