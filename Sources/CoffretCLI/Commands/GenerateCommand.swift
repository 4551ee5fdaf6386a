// `coffret generate`: passwords, passphrases and PINs. Needs no store.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum GenerateCommand {
    static let words = OptionDescription.value(
        "words", short: "w", "N", .number(3...64), "a passphrase of N words instead")
    static let length = OptionDescription.value(
        "length", short: "l", "N", .number(4...1024), "how many characters (20)")
    static let digits = OptionDescription.value(
        "pin", "N", .number(4...64), "a PIN of N digits instead")
    static let separator = OptionDescription.value("separator", "TEXT", "what stands between words (a space)")
    static let capitalise = OptionDescription.flag("capitalise", "begin each word with a capital")
    static let noSymbols = OptionDescription.flag("no-symbols", "letters and digits only")
    static let readable = OptionDescription.flag("readable", "no characters that look like others: 0O, 1lI")
    static let count = OptionDescription.value("count", short: "n", "N", .number(1...1000), "how many of them (1)")

    static let description = CommandDescription(
        "generate", group: .secrets, "Make a password, a passphrase or a PIN",
        discussion: ["Every outcome is equally likely. The strength is said on the terminal, never in a pipe."],
        options: [words, length, digits, separator, capitalise, noSymbols, readable, count],
        examples: [
            CommandExample("coffret generate", "twenty characters of all kinds"),
            CommandExample("coffret generate --words 5", "a passphrase to remember"),
            CommandExample("coffret new --type login GitHub --generate password", "straight into a login"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let arguments = context.arguments
        let kinds = [words, length, digits].filter(arguments.isSet)
        guard kinds.count <= 1 else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "--\(kinds[0].name) and --\(kinds[1].name) exclude each other")
        }
        let request = request(arguments)
        let generator = PasswordGenerator(random: SystemRandomSource())
        var bits = 0
        for _ in 0..<(arguments.number(count) ?? 1) {
            let made = SecretGenerate.Answer(try request.made(generator))
            bits = made.entropyBits
            try context.print(made.json, isVerbatim: true) { made.secret }
        }
        try context.output.flush()
        if context.terminal.outputIsTerminal, !context.isJSON {
            context.note(context.terminal.errorStyle.apply(.faint, "\(bits) bits"))
        }
    }

    private static func request(_ arguments: ParsedArguments) -> SecretGenerate {
        var request = SecretGenerate()
        request.kind = arguments.isSet(words) ? .passphrase : arguments.isSet(digits) ? .pin : .password
        request.length = [words, digits, length].lazy.compactMap(arguments.number).first
        request.separator = arguments.value(separator)
        request.capitalises = arguments.isSet(capitalise)
        request.excludesSymbols = arguments.isSet(noSymbols)
        request.excludesAmbiguous = arguments.isSet(readable)
        return request
    }
}
