// `coffret read`: values behind references, for scripts. The one thing to keep true: on a pipe a single value comes out
// byte for byte, and nothing is printed unless every reference was resolved.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum ReadCommand {
    static let references = ArgumentDescription.required(
        "REFERENCE", repeats: true, "coffret://VAULT/ITEM/FIELD; see coffret help references")
    static let noNewline = OptionDescription.flag(
        "no-newline", short: "n", "no line end behind a value, not even on the terminal")
    static let newline = OptionDescription.flag("newline", "a line end behind a value, also on a pipe")
    static let null = OptionDescription.flag("null", short: "0", "a zero byte behind every value")

    static let description = CommandDescription(
        "read", group: .scripts, "Print the values behind secret references",
        discussion: [
            "A reference names one value: coffret://Personal/GitHub/password. If it could mean several, the candidates are listed and nothing is printed.",
            "On a pipe a single value is printed as it is, with nothing behind it. Several values stand on a line each; a value that has several lines itself needs --null or --json.",
        ],
        arguments: [references], options: [noNewline, newline, null],
        examples: [
            CommandExample("coffret read coffret://Personal/GitHub/password", "prints the password"),
            CommandExample(
                "coffret read coffret://Work/db/username coffret://Work/db/password",
                "two values, one a line, from one run"),
            CommandExample("coffret read coffret://Personal/GitHub/otp", "prints the present one-time code"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let arguments = context.arguments
        let endings = [noNewline, newline, null].filter(arguments.isSet)
        guard endings.count + (context.isJSON ? 1 : 0) <= 1 || endings.isEmpty else {
            let names = endings.map { "--\($0.name)" } + (context.isJSON ? ["--json"] : [])
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue, "\(names[0]) and \(names[1]) exclude each other")
        }
        let texts = arguments.values(references)
        let wanted = try texts.map(SecretReference.init(typed:))
        var values = try SecretReferences.values(of: wanted, CommandStore.open(context))
        defer { for index in values.indices { values[index].bytes.zero() } }
        if context.isJSON {
            for (text, value) in zip(texts, values) { try context.output.line(ReferenceValue(text, value).json.line) }
            return
        }
        if arguments.isSet(null) {
            for value in values { try context.output.write(bytes: value.bytes + [0]) }
            return
        }
        if context.terminal.outputIsTerminal {
            for value in values { try requireHarmless(value) }
        }
        guard values.count > 1 else {
            let endsLine = context.terminal.outputIsTerminal ? !arguments.isSet(noNewline) : arguments.isSet(newline)
            try context.output.write(bytes: values[0].bytes)
            if endsLine { try context.output.line() }
            return
        }
        guard !arguments.isSet(noNewline) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "several values without line ends could not be told apart", hint: "use --null or --json")
        }
        for value in values where value.bytes.contains(0x0A) {
            throw CommandFailure(
                .badInput, .outputAmbiguous,
                "the value of \(TextWidth.displaySafe("\(value.reference)")) has several lines",
                hint: "use --null or --json, or read it alone")
        }
        for value in values {
            try context.output.write(bytes: value.bytes)
            try context.output.line()
        }
    }

    /// Refuses what a terminal would act upon instead of showing it.
    private static func requireHarmless(_ value: ResolvedSecret) throws {
        guard ForeignData.isHarmless(value.bytes) else {
            throw CommandFailure(
                .usage, .outputBinary,
                "the value of \(TextWidth.displaySafe("\(value.reference)")) is not plain text, and would go to the terminal",
                hint: "use a pipe, or --json")
        }
    }
}
