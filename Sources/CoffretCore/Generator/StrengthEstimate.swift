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

    /// Estimates a passphrase given as UTF-8; the caller zeroes its copy.
    ///
    /// - Returns: nil without the library.
    package init?(utf8 passphrase: [UInt8]) {
        guard let meter = StrengthMeter() else { return nil }
        self.init(guessBits: meter.guessBits(utf8: passphrase))
    }

    private init(guessBits: Double) { self.guessBits = guessBits }

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
