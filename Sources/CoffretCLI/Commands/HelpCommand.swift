// `coffret help`: by command, by task, and the generator of the manual pages.

internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal

enum HelpCommand {
    static let topic = ArgumentDescription.optional(
        "TOPIC", .helpTopic, repeats: true, "a command, or words about what you want to do")
    static let manual = OptionDescription.value(
        "write-manual-pages", "FOLDER", .directory, "write the manual pages into a folder")

    /// The topic that lists the exit codes.
    static let exitCodes = "exit-codes"

    static let description = CommandDescription(
        "help", group: .help, "Explain a command, or how to do something",
        discussion: ["Without a topic it lists what it can explain. Topics need not be exact: words will do."],
        arguments: [topic], options: [manual],
        examples: [
            CommandExample("coffret help import", "explains the command"),
            CommandExample("coffret help move in a folder of notes", "explains the task"),
            CommandExample("coffret help lost passphrase", "explains what can be done then"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        if let folder = context.arguments.value(manual) {
            try ManualPages.write(into: folder, context: context)
            return
        }
        let words = context.arguments.values(topic)
        if words.isEmpty {
            try context.print(listValue) { listText(context.terminal) }
            return
        }
        if RootCommand.description.descendant(at: words) != nil {
            let text = helpText(path: words, terminal: context.terminal)
            try context.print(.fields(["command": .string(words.joined(separator: " ")), "text": .string(text)])) {
                String(text.dropLast())
            }
            return
        }
        if words == [exitCodes] {
            try context.print(exitCodesValue) { exitCodesText }
            return
        }
        let tasks = HelpTask.matching(words)
        guard let task = tasks.first else { throw unknown(words) }
        guard tasks.count == 1 else {
            try context.print(.fields(["tasks": .strings(tasks.map(\.name))])) {
                (["Several tasks fit. Ask for one:"] + tasks.map { "  coffret help \($0.name)   \($0.title)" })
                    .joined(separator: "\n")
            }
            return
        }
        let plain = task.text(width: 80, style: .plain)
        try context.print(.fields(["task": .string(task.name), "text": .string(plain)])) {
            String(task.text(width: min(context.terminal.width, 96), style: context.terminal.style).dropLast())
        }
    }

    /// Prints the explanation of a task.
    static func explain(_ name: String, _ context: CommandContext) throws {
        guard let task = HelpTasks.all.first(where: { $0.name == name }) else {
            preconditionFailure("there is no task \(name)")
        }
        try context.print(.fields(["task": .string(name), "text": .string(task.text(width: 80, style: .plain))])) {
            String(task.text(width: min(context.terminal.width, 96), style: context.terminal.style).dropLast())
        }
    }

    /// The help of the command at `path`, for the terminal that standard output is connected to.
    static func helpText(path: [String], terminal: Terminal? = nil) -> String {
        let terminal = terminal ?? Terminal(environment: ProcessEnvironment(), color: nil)
        let command = RootCommand.description.descendant(at: path) ?? RootCommand.description
        return HelpText(width: min(terminal.width, 100), style: terminal.style).text(for: command, path: path)
    }

    private static var exitCodesValue: JSONValue {
        .array(ExitCode.allCases.map { .fields(["code": .integer($0.rawValue), "meaning": .string($0.meaning)]) })
    }

    private static var exitCodesText: String {
        var table = TextTable([.init(alignsRight: true), .init()])
        for code in ExitCode.allCases { table.add(["\(code.rawValue)", code.meaning]) }
        return table.lines(width: nil, style: .plain).joined(separator: "\n")
    }

    private static func unknown(_ words: [String]) -> CommandFailure {
        let asked = TextWidth.displaySafe(words.joined(separator: " "))
        let names = RootCommand.description.visibleSubcommands.map(\.name) + HelpTasks.all.map(\.name)
        let near = Suggestion.nearest(to: asked, among: names) ?? Suggestion.synonym(of: asked, among: names)
        return CommandFailure(
            .notFound, .topicNotFound, "there is no help about \"\(asked)\"",
            hint: near.map { "did you mean coffret help \($0)?" } ?? "coffret help lists what there is")
    }

    private static var listValue: JSONValue {
        .fields([
            "commands": .array(
                RootCommand.description.visibleSubcommands.map {
                    .fields(["name": .string($0.name), "summary": .string($0.summary)])
                }),
            "tasks": .array(HelpTasks.all.map { .fields(["name": .string($0.name), "title": .string($0.title)]) }),
        ])
    }

    private static func listText(_ terminal: Terminal) -> String {
        let style = terminal.style
        var lines = [style.apply(.heading, "How to …   (coffret help NAME)")]
        let widest = HelpTasks.all.map(\.name.count).max() ?? 0
        lines += HelpTasks.all.map { "  \(TextWidth.pad($0.name, to: widest + 2))\($0.title)" }
        lines.append("  \(TextWidth.pad(exitCodes, to: widest + 2))what the exit codes mean")
        lines.append("")
        lines.append(style.apply(.heading, "Commands   (coffret help COMMAND)"))
        let indent = (CommandGroup.allCases.map(\.rawValue.count).max() ?? 0) + 4
        for group in CommandGroup.allCases {
            let names = RootCommand.description.visibleSubcommands.filter { $0.group == group }.map(\.name)
            guard !names.isEmpty else { continue }
            let wrapped = TextWidth.wrap(
                names.joined(separator: " "), width: terminal.width, indent: indent, hanging: indent)
            lines.append("  " + TextWidth.pad(group.rawValue, to: indent - 2) + wrapped[0].dropFirst(indent))
            lines += wrapped.dropFirst()
        }
        return lines.joined(separator: "\n")
    }
}
