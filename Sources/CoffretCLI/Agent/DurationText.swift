// Lengths of time as people type them: 90s, 15m, 2h, 1h30m, 7d.

internal import CoffretTerminal

enum DurationText {
    private static let seconds: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    /// - Returns: seconds; nil for anything that is not numbers with units, largest unit first.
    static func parse(_ text: String) -> UInt64? {
        var total: UInt64 = 0
        var digits = ""
        var smallest = UInt64.max
        for character in text {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            guard let unit = seconds[character], unit < smallest, let count = UInt64(digits), count <= 100_000 else {
                return nil
            }
            smallest = unit
            total += count * unit
            digits = ""
        }
        return digits.isEmpty && smallest != .max ? total : nil
    }

    /// The value of an option that takes a length of time.
    static func seconds(of option: OptionDescription, _ context: CommandContext) throws -> UInt64? {
        guard let text = context.arguments.value(option) else { return nil }
        guard let seconds = parse(text), seconds > 0 else {
            throw CommandFailure(
                .usage, .durationInvalid, "\"\(TextWidth.displaySafe(text))\" is not a length of time",
                hint: "write 90s, 15m, 2h or 1h30m")
        }
        return seconds
    }

    /// `10 min`, `1 h 30 min`: what a person reads.
    static func words(_ seconds: UInt64) -> String {
        var rest = seconds
        var parts: [String] = []
        for (unit, name) in [(UInt64(86_400), "d"), (3600, "h"), (60, "min"), (1, "s")] {
            let count = rest / unit
            rest %= unit
            if count > 0 { parts.append("\(count) \(name)") }
            // Seconds beside hours are noise.
            if parts.count == 2 { break }
        }
        return parts.isEmpty ? "0 s" : parts.joined(separator: " ")
    }
}
