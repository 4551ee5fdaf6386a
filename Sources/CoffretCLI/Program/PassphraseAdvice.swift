// What is said about a new passphrase. The one thing to keep true: nothing of the passphrase is repeated, and nobody is
// kept from one that they insist on.

internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal

enum PassphraseAdvice {
    private static let stronger = "Five random words are stronger and easier: coffret generate --words 5"

    /// Says how long guessing would take, and asks about a passphrase that falls soon.
    ///
    /// - Returns: whether to go on with it.
    static func accept(_ passphrase: borrowing SecretBytes, _ prompt: TerminalPrompt) throws -> Bool {
        // EXPOSE: the estimate works on an array, which is zeroed below.
        var bytes = unsafe passphrase.withUnsafeBytes { unsafe Array($0) }
        defer { bytes.zero() }
        let estimate = StrengthEstimate(utf8: bytes)
        prompt.show(text(for: estimate) + "\n")
        let isWeak = estimate.map { $0.guessBits < StrengthEstimate.leastBits }
        guard isWeak ?? (bytes.count < StrengthEstimate.leastByteCount) else { return true }
        return try prompt.confirm("  It is weak. Take it all the same?", isYesDefault: false)
    }

    static func text(for estimate: StrengthEstimate?) -> String {
        guard let estimate else {
            return "  How strong it is cannot be said: install libzxcvbn0 to see it.\n  \(stronger)"
        }
        let time = duration(seconds: estimate.secondsOnRentedHardware())
        let line = "  Strength: would take \(time) on rented hardware."
        return estimate.guessBits < StrengthEstimate.strongBits ? "\(line)\n  \(stronger)" : line
    }

    /// `about 40 years`, `less than a minute`.
    static func duration(seconds: Double) -> String {
        let units: [(seconds: Double, name: String)] = [
            (60, "minute"), (3600, "hour"), (86_400, "day"), (2_629_800, "month"), (31_557_600, "year"),
        ]
        guard seconds >= 60 else { return "less than a minute" }
        let years = seconds / 31_557_600
        if years >= 1e9 { return "longer than the age of the earth" }
        if years >= 1e6 { return "more than a million years" }
        let unit = units.last { seconds >= $0.seconds } ?? units[0]
        let count = Int((seconds / unit.seconds).rounded())
        // Two digits are all that such an estimate is worth.
        var rounded = count
        var scale = 1
        while rounded >= 100 {
            rounded /= 10
            scale *= 10
        }
        return "about \(NumberText.counted(rounded * scale, unit.name))"
    }
}
