// Help as people read it. The one thing to keep true: everything shown comes from the command
// descriptions, laid out like swift-argument-parser's help, and no line is wider than asked.

internal import CoffretTerminal

/// Renders the help of commands.
struct HelpText {
    let width: Int
    let style: TextStyler

    private static let labelColumn = 26

    /// The help of one command; `path` is empty for the program itself.
    func text(for command: CommandDescription, path: [String]) -> String {
        var lines: [String] = []
        lines += wrap("OVERVIEW: " + sentence(command.summary), indent: 0)
        for paragraph in command.discussion {
            lines.append("")
            lines += wrap(paragraph, indent: 0)
        }
        lines.append("")
        lines += wrap("USAGE: " + Self.usage(of: command, path: path), indent: 0, hanging: 9)
        if path.isEmpty {
            lines += groups(command)
        } else {
            lines += section("SUBCOMMANDS", command.visibleSubcommands.map { ($0.name, $0.summary) })
        }
        lines += section("ARGUMENTS", command.arguments.map { ($0.name, $0.help) })
        lines += section("OPTIONS", command.options.map { ($0.label, $0.help) })
        if path.isEmpty {
            lines += section("OPTIONS OF EVERY COMMAND", GlobalOptions.all.map { ($0.label, $0.help) })
        }
        lines += examples(command)
        lines.append("")
        lines += footer(command, path: path)
        return lines.joined(separator: "\n") + "\n"
    }

    /// `coffret tag add ITEM TAG ... [--json]`, as it stands in help and below usage errors.
    static func usage(of command: CommandDescription, path: [String]) -> String {
        var words = ["coffret"] + path
        let arguments = command.arguments.map(\.label)
        // What stands behind `--` stands at the end.
        let isLast = arguments.last?.hasPrefix("--") == true
        if !isLast { words += arguments }
        words += command.options.prefix(4).map { option in
            let long = option.valueName.map { "--\(option.name) \($0)" } ?? "--\(option.name)"
            return option.isRepeatable ? "[\(long) ...]" : "[\(long)]"
        }
        if command.options.count > 4 { words.append("[OPTION ...]") }
        if isLast { words += arguments }
        if !command.subcommands.isEmpty { words.append(command.run == nil ? "COMMAND" : "[COMMAND]") }
        return words.joined(separator: " ")
    }

    private func groups(_ command: CommandDescription) -> [String] {
        CommandGroup.allCases.flatMap { group in
            section(
                group.rawValue.uppercased(),
                command.visibleSubcommands.filter { $0.group == group }.map { ($0.name, $0.summary) })
        }
    }

    private func section(_ title: String, _ rows: [(label: String, help: String)]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let widest = rows.map { TextWidth.columns(of: $0.label) }.max() ?? 0
        let column = min(widest + 4, Self.labelColumn)
        var lines = ["", style.apply(.heading, title + ":")]
        for row in rows {
            let label = "  " + row.label
            let help = wrap(row.help, indent: column, available: width)
            if TextWidth.columns(of: label) + 2 <= column, let first = help.first {
                let padding = String(repeating: " ", count: column - TextWidth.columns(of: label))
                lines.append(label + padding + first.drop(while: { $0 == " " }))
                lines += help.dropFirst()
            } else {
                lines.append(label)
                lines += help
            }
        }
        return lines
    }

    private func examples(_ command: CommandDescription) -> [String] {
        guard !command.examples.isEmpty else { return [] }
        var lines = ["", style.apply(.heading, "EXAMPLES:")]
        for example in command.examples {
            lines.append("  " + example.command)
            lines += wrap(example.meaning, indent: 6)
        }
        return lines
    }

    private func footer(_ command: CommandDescription, path: [String]) -> [String] {
        if path.isEmpty {
            return wrap("See 'coffret help COMMAND' for one command, and 'coffret help' for tasks.", indent: 2)
        }
        if !command.subcommands.isEmpty {
            return wrap("See 'coffret help \(path.joined(separator: " ")) COMMAND' for one of them.", indent: 2)
        }
        return wrap("Options of every command: coffret --help. Exit codes: coffret help exit-codes.", indent: 2)
    }

    private func sentence(_ text: String) -> String { text.hasSuffix(".") ? text : text + "." }

    private func wrap(_ text: String, indent: Int, hanging: Int? = nil, available: Int? = nil) -> [String] {
        TextWidth.wrap(text, width: available ?? width, indent: indent, hanging: hanging ?? indent)
    }
}
