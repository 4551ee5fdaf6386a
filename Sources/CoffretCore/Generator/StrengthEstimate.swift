// How long a passphrase that a person thought of would stand. The one thing to keep true: it errs on the side
// of too weak, it works offline, and it never shows more than numbers and the names of weaknesses (R45).

internal import CoffretBase
internal import Glibc

/// An estimate of how many guesses a passphrase takes from someone who knows how people choose them.
///
/// The passphrase is cut into pieces (known words, common passwords, repeats, sequences, keyboard runs, dates,
/// and what is left, character by character) so that the product of the pieces' guesses is smallest.
///
/// Source of the approach: D. L. Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016.
package struct StrengthEstimate: Equatable, Sendable {
    /// Why a passphrase is easier to guess than it looks.
    package enum Weakness: String, Sendable, CaseIterable {
        case tooShort = "too-short"
        case commonPassword = "common-password"
        case fewWords = "few-words"
        case repetition = "repetition"
        case sequence = "sequence"
        case keyboardRun = "keyboard-run"
        case date = "date"
    }

    /// The base-2 logarithm of the number of guesses.
    package let guessBits: Double
    /// What makes it weaker than its length suggests, in the order of the passphrase.
    package let weaknesses: [Weakness]

    /// Guesses per second of a hundred rented graphics cards against Argon2id with 256 MiB and three passes.
    ///
    /// A guess moves about 2.4 GB (each pass reads two blocks and writes one for each of its own), a card about
    /// 1 TB per second: some 400 guesses. Memory bandwidth, not arithmetic, sets the limit.
    static let rentedGuessesPerSecond = 40_000.0

    /// Estimates a passphrase given as UTF-8; the caller zeroes its copy. What is beyond 128 bytes counts as
    /// nothing.
    package init(utf8 passphrase: [UInt8]) {
        var bytes = Array(passphrase.prefix(128))
        defer { bytes.zero() }
        var finder = StrengthPatternFinder(bytes: bytes)
        let pieces = finder.cheapestPieces()
        var bits = 0.0
        var weaknesses: [Weakness] = []
        for piece in pieces {
            bits += piece.bits
            if let weakness = piece.weakness, !weaknesses.contains(weakness) { weaknesses.append(weakness) }
        }
        // Someone who guesses has to choose how to combine the pieces too.
        if pieces.count > 1 { bits += log2(Double(pieces.count)) }
        let wordCount = pieces.filter(\.isWord).count
        if wordCount > 0 && wordCount < 4 && bits < 50 { weaknesses.append(.fewWords) }
        if passphrase.count < 10 { weaknesses.append(.tooShort) }
        guessBits = max(bits, 0)
        self.weaknesses = weaknesses
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
