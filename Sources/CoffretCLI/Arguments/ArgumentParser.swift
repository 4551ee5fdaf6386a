// Words of a command line in, a checked command out. The one thing to keep true: parsing does no
// I/O and accepts nothing that the description of the command does not list.

internal import CoffretMessages

/// What a command line asks for.
enum ParsedCommandLine: Sendable {
    case run(ParsedArguments)
    /// `--help` somewhere: explain the command at this path.
    case help(path: [String])
    case version
}

/// What is wrong with a command line.
struct UsageError: Error, Equatable, Sendable {
    enum Code: String, Sendable {
        case unknownCommand = "cli.usage.unknown-command"
        case unknownOption = "cli.usage.unknown-option"
        case missingCommand = "cli.usage.missing-command"
        case missingArgument = "cli.usage.missing-argument"
        case unexpectedArgument = "cli.usage.unexpected-argument"
        case missingValue = "cli.usage.missing-value"
        case unexpectedValue = "cli.usage.unexpected-value"
        case invalidValue = "cli.usage.invalid-value"
        case repeatedOption = "cli.usage.repeated-option"
        case conflict = "cli.usage.conflict"
    }

    let code: Code
    let message: String
    let hint: String?
    /// The command that was understood so far.
    let path: [String]
}

/// Parses command lines after the conventions of swift-argument-parser: `--flag`, `--option value`,
/// `--option=value`, `-o value`, `-ovalue`, clusters of short flags, and `--` before words that
/// only look like options. Options may stand before or after the arguments.
struct ArgumentParser: Sendable {
    private let root: CommandDescription
    /// Options that every command takes.
    private let globalOptions: [OptionDescription]
    private var words: ArraySlice<String>
    private var result: ParsedArguments
    private var positionals: [String] = []

    private init(root: CommandDescription, globalOptions: [OptionDescription], words: [String]) {
        self.root = root
        self.globalOptions = globalOptions
        self.words = words[...]
        self.result = ParsedArguments(command: root)
    }

    /// - Parameter words: the command line without the program's name.
    static func parse(
        _ words: [String], root: CommandDescription, globalOptions: [OptionDescription]
    ) throws(UsageError) -> ParsedCommandLine {
        var parser = ArgumentParser(root: root, globalOptions: globalOptions, words: words)
        return try parser.parse()
    }

    private mutating func parse() throws(UsageError) -> ParsedCommandLine {
        while let word = words.popFirst() {
            if word == "--" {
                positionals += words
                words = []
            } else if word.hasPrefix("--") {
                try parseLong(word.dropFirst(2))
            } else if word.hasPrefix("-"), word.utf8.count > 1 {
                try parseShort(word.dropFirst())
            } else if !result.command.subcommands.isEmpty, positionals.isEmpty {
                try parseSubcommand(word)
            } else {
                positionals.append(word)
            }
            if result.isSet(GlobalOptions.help) { return .help(path: completedPath()) }
            if result.isSet(GlobalOptions.version) { return .version }
        }
        try assignPositionals()
        return .run(result)
    }

    /// With `--help`, later words may still name a subcommand: `coffret --help tag add`.
    private func completedPath() -> [String] {
        var path = result.path
        var command = result.command
        for word in words {
            guard let next = command.subcommands.first(where: { $0.name == word }) else { continue }
            path.append(word)
            command = next
        }
        return path
    }

    // MARK: Options

    private var knownOptions: [OptionDescription] { result.command.options + globalOptions }

    private mutating func parseLong(_ text: Substring) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = knownOptions.first(where: { $0.name == name }) else {
            throw unknownOption("--\(name)", name: name)
        }
        let attached = parts.count == 2 ? String(parts[1]) : nil
        try accept(option, written: "--\(name)", attached: attached)
    }

    private mutating func parseShort(_ cluster: Substring) throws(UsageError) {
        var rest = cluster
        while let letter = rest.popFirst() {
            guard let option = knownOptions.first(where: { $0.short == letter }) else {
                throw unknownOption("-\(letter)", name: String(letter))
            }
            if option.isFlag {
                try accept(option, written: "-\(letter)", attached: nil)
                continue
            }
            if rest.first == "=" { rest.removeFirst() }
            try accept(option, written: "-\(letter)", attached: rest.isEmpty ? nil : String(rest))
            return
        }
    }

    private mutating func accept(
        _ option: OptionDescription, written: String, attached: String?
    ) throws(UsageError) {
        if !option.isRepeatable, !option.isFlag, result.isSet(option) {
            throw failure(.repeatedOption, "\(written) was given twice", hint: "give it once")
        }
        guard let valueName = option.valueName else {
            guard attached == nil else {
                throw failure(.unexpectedValue, "\(written) takes no value", hint: nil)
            }
            result.add("", to: option)
            return
        }
        if let attached {
            try check(attached, option.kind, what: written)
            result.add(attached, to: option)
            return
        }
        guard let next = words.first, next == "-" || !next.hasPrefix("-") else {
            throw failure(
                .missingValue, "\(written) needs a value: \(written) \(valueName)",
                hint: words.isEmpty ? nil : "a value that begins with - is written --\(option.name)=VALUE")
        }
        words.removeFirst()
        try check(next, option.kind, what: written)
        result.add(next, to: option)
    }

    private func unknownOption(_ written: String, name: String) -> UsageError {
        var hint: String?
        if name.count > 1, let near = Suggestion.nearest(to: name, among: knownOptions.map(\.name)) {
            hint = "did you mean --\(near)?"
        } else if let owner = root.allDescendants().first(where: { _, command in
            command.options.contains { $0.name == name }
        }), result.path.isEmpty {
            hint = "options of a command come after its name: coffret \(owner.path.joined(separator: " ")) \(written)"
        }
        if result.path == ["run"], hint == nil {
            hint = "options of the command to run come behind --: coffret run -- COMMAND \(written)"
        }
        return failure(.unknownOption, "there is no option \(written)\(ofCommand)", hint: hint)
    }

    private var ofCommand: String {
        result.path.isEmpty ? "" : " for coffret \(result.path.joined(separator: " "))"
    }

    // MARK: Commands and arguments

    private mutating func parseSubcommand(_ word: String) throws(UsageError) {
        if let next = result.command.subcommands.first(where: { $0.name == word }) {
            result.enter(next)
            return
        }
        guard result.command.arguments.isEmpty else {
            positionals.append(word)
            return
        }
        let names = result.command.visibleSubcommands.map(\.name)
        let hint =
            (Suggestion.nearest(to: word, among: names) ?? Suggestion.synonym(of: word, among: names))
            .map { "did you mean coffret \((result.path + [$0]).joined(separator: " "))?" }
            ?? (names.contains("add")
                ? "did you mean coffret \((result.path + ["add", word] + words).joined(separator: " "))?" : nil)
        throw failure(
            .unknownCommand, "there is no command \"\((result.path + [word]).joined(separator: " "))\"",
            hint: hint
                ?? (result.path.isEmpty
                    ? "coffret help lists the commands"
                    : "coffret \(result.path.joined(separator: " ")) has \(Suggestion.list(names))"))
    }

    private mutating func assignPositionals() throws(UsageError) {
        if result.command.run == nil {
            let names = result.command.visibleSubcommands.map(\.name).joined(separator: ", ")
            throw failure(
                .missingCommand, "coffret \(result.path.joined(separator: " ")) needs a command: \(names)", hint: nil)
        }
        var rest = positionals[...]
        for argument in result.command.arguments {
            guard let value = rest.popFirst() else {
                if argument.isRequired {
                    throw failure(.missingArgument, "\(argument.name) is missing", hint: nil)
                }
                continue
            }
            try check(value, argument.kind, what: argument.name)
            result.add(value, to: argument)
            guard argument.isRepeating else { continue }
            while let more = rest.popFirst() {
                try check(more, argument.kind, what: argument.name)
                result.add(more, to: argument)
            }
        }
        if let extra = rest.first {
            throw failure(
                .unexpectedArgument, "\"\(extra)\" is one argument too many\(ofCommand)",
                hint: extra.contains("=") && result.command.options.contains { $0.name == "set" }
                    ? "fields are set by --set \(extra)" : "text with spaces stands in quotes")
        }
    }

    private func check(_ value: String, _ kind: ValueKind, what: String) throws(UsageError) {
        switch kind {
        case .text, .file, .directory, .helpTopic, .stored:
            return
        case .number(let bounds):
            guard let number = Int(value), bounds.contains(number) else {
                let range =
                    bounds.upperBound == .max
                    ? "of at least \(bounds.lowerBound)" : "from \(bounds.lowerBound) to \(bounds.upperBound)"
                throw failure(.invalidValue, "\(what) takes a whole number \(range), not \"\(value)\"", hint: nil)
            }
        case .choice(let choices):
            guard choices.contains(value) else {
                let near = Suggestion.nearest(to: value, among: choices)
                throw failure(
                    .invalidValue, "\(what) takes \(Suggestion.list(choices)), not \"\(value)\"",
                    hint: near.map { "did you mean \($0)?" })
            }
        }
    }

    private func failure(_ code: UsageError.Code, _ message: String, hint: String?) -> UsageError {
        UsageError(code: code, message: message, hint: hint, path: result.path)
    }
}
