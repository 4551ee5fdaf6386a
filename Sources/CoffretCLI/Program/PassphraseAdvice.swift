// What is said about a new passphrase. The one thing to keep true: it is advice with a number, never a
// refusal, and nothing of the passphrase is repeated.

internal import CoffretBase
internal import CoffretCore

enum PassphraseAdvice {
    /// Says how long guessing would take.
    static func say(_ passphrase: borrowing SecretBytes, _ prompt: TerminalPrompt) {
        // EXPOSE: the estimate works on an array, which is zeroed below.
        var bytes = unsafe passphrase.withUnsafeBytes { unsafe Array($0) }
        defer { bytes.zero() }
        prompt.show(text(for: StrengthEstimate(utf8: bytes)) + "\n")
    }

    static func text(for estimate: StrengthEstimate) -> String {
        let time = duration(seconds: estimate.secondsOnRentedHardware())
        let advice = "Five random words are stronger and easier: coffret generate --words 5"
        let line = "  Strength: would take \(time) on rented hardware."
        return estimate.guessBits < 60 ? "\(line)\n  \(advice)" : line
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
