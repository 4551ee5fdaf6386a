// What a command is, as data. The one thing to keep true: parsing, help, completions and manual
// pages all read these descriptions, so none of them can promise what another does not know.

internal import CoffretMessages

/// What a value on the command line may be. Decides how it is checked, completed and documented.
enum ValueKind: Sendable, Equatable {
    /// Any text.
    case text
    /// A whole number within bounds.
    case number(ClosedRange<Int>)
    /// One of a few words.
    case choice([String])
    /// The path of a file; completed by the shell.
    case file
    /// The path of a folder; completed by the shell.
    case directory
    /// A command or a task that `coffret help` explains.
    case helpTopic
    /// Something in the store: `items`, `tags` or `vaults`; completed while it is unlocked.
    case stored(String)
}

/// An option: a flag when it takes no value.
struct OptionDescription: Sendable {
    /// Long name, without dashes.
    let name: String
    let short: Character?
    /// What the value is called in help, such as `TAG`; `nil` for a flag.
    let valueName: String?
    let kind: ValueKind
    /// Whether it may be given more than once; otherwise a second time is an error.
    let isRepeatable: Bool
    let help: String

    /// An option that is only there or not.
    static func flag(_ name: String, short: Character? = nil, _ help: String) -> OptionDescription {
        OptionDescription(
            name: name, short: short, valueName: nil, kind: .text, isRepeatable: false, help: help)
    }

    /// An option that takes a value.
    static func value(
        _ name: String, short: Character? = nil, _ valueName: String, _ kind: ValueKind,
        repeats: Bool = false, _ help: String
    ) -> OptionDescription {
        OptionDescription(
            name: name, short: short, valueName: valueName, kind: kind, isRepeatable: repeats, help: help)
    }

    /// An option that takes any text.
    static func value(
        _ name: String, short: Character? = nil, _ valueName: String, repeats: Bool = false, _ help: String
    ) -> OptionDescription {
        value(name, short: short, valueName, .text, repeats: repeats, help)
    }

    var isFlag: Bool { valueName == nil }

    /// As it is written: `-t, --tag TAG`.
    var label: String {
        let long = valueName.map { "--\(name) \($0)" } ?? "--\(name)"
        return short.map { "-\($0), \(long)" } ?? long
    }
}

/// An argument that is told by its place.
struct ArgumentDescription: Sendable {
    /// What it is called in help, such as `ITEM`.
    let name: String
    let kind: ValueKind
    let isRequired: Bool
    /// Whether it takes all that is left; only the last argument may.
    let isRepeating: Bool
    let help: String

    static func required(
        _ name: String, _ kind: ValueKind, repeats: Bool = false, _ help: String
    ) -> ArgumentDescription {
        ArgumentDescription(name: name, kind: kind, isRequired: true, isRepeating: repeats, help: help)
    }

    static func optional(
        _ name: String, _ kind: ValueKind, repeats: Bool = false, _ help: String
    ) -> ArgumentDescription {
        ArgumentDescription(name: name, kind: kind, isRequired: false, isRepeating: repeats, help: help)
    }

    /// A required argument that takes any text.
    static func required(_ name: String, repeats: Bool = false, _ help: String) -> ArgumentDescription {
        required(name, .text, repeats: repeats, help)
    }

    /// An optional argument that takes any text.
    static func optional(_ name: String, repeats: Bool = false, _ help: String) -> ArgumentDescription {
        optional(name, .text, repeats: repeats, help)
    }

    /// As it stands in a usage line: `ITEM`, `[ITEM]`, `ITEM ...`.
    var label: String {
        let repeated = isRepeating ? "\(name) ..." : name
        return isRequired ? repeated : "[\(repeated)]"
    }
}

/// A command line that works, and what it does.
struct CommandExample: Sendable {
    let command: String
    let meaning: String

    init(_ command: String, _ meaning: String) {
        self.command = command
        self.meaning = meaning
    }
}

/// Under which heading the first page of help lists a command.
enum CommandGroup: String, Sendable, CaseIterable {
    case everyDay = "Every day"
    case find = "Find and sort"
    case time = "Back in time"
    case secrets = "Secrets"
    case scripts = "Scripts"
    case inOut = "In and out"
    case store = "The store"
    case devices = "Several devices"
    case help = "Help"
}

/// A command, or a family of commands.
struct CommandDescription: Sendable {
    let name: String
    let group: CommandGroup?
    /// One line, without full stop.
    let summary: String
    /// Paragraphs below the summary.
    let discussion: [String]
    let arguments: [ArgumentDescription]
    let options: [OptionDescription]
    let examples: [CommandExample]
    let subcommands: [CommandDescription]
    /// Left out of help, completions and manual pages.
    let isHidden: Bool
    /// What the command does; `nil` for a family that needs a subcommand.
    let run: (@Sendable (CommandContext) throws -> Void)?

    init(
        _ name: String, group: CommandGroup? = nil, _ summary: String, discussion: [String] = [],
        arguments: [ArgumentDescription] = [], options: [OptionDescription] = [],
        examples: [CommandExample] = [], subcommands: [CommandDescription] = [], isHidden: Bool = false,
        run: (@Sendable (CommandContext) throws -> Void)? = nil
    ) {
        self.name = name
        self.group = group
        self.summary = summary
        self.discussion = discussion
        self.arguments = arguments
        self.options = options
        self.examples = examples
        self.subcommands = subcommands
        self.isHidden = isHidden
        self.run = run
    }

    /// The subcommands that help shows.
    var visibleSubcommands: [CommandDescription] { subcommands.filter { !$0.isHidden } }

    /// The command at the end of `path`, if every name on the way exists.
    func descendant(at path: [String]) -> CommandDescription? {
        var command = self
        for name in path {
            guard let next = command.subcommands.first(where: { $0.name == name }) else { return nil }
            command = next
        }
        return command
    }

    /// Every visible command below this one with its path, parents first.
    func allDescendants(path: [String] = []) -> [(path: [String], command: CommandDescription)] {
        visibleSubcommands.flatMap { command in
            [(path + [command.name], command)] + command.allDescendants(path: path + [command.name])
        }
    }
}
