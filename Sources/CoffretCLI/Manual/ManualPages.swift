// Manual pages in mdoc, from the same descriptions as the help. The one thing to keep true: the
// text of a page is escaped, so no word of a summary can become a request of the formatter.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// `coffret(1)` and one page per command, such as `coffret-tag-add(1)`.
enum ManualPages {
    /// Writes every page into `folder`, which is made if it is missing.
    static func write(into folder: String, context: CommandContext) throws {
        if unsafe mkdir(folder, 0o755) != 0, errno != EEXIST {
            throw CommandFailure(
                .cannotCreate, .fileUnwritable,
                "the folder \(TextWidth.displaySafe(folder)) cannot be made: \(SystemFailure.last.message)")
        }
        let nodes = [(path: [String](), command: RootCommand.description)] + RootCommand.description.allDescendants()
        for node in nodes {
            let path = "\(folder)/\(pageName(node.path)).1"
            do throws(SystemFailure) {
                let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
                try DescriptorIO.write(Array(page(for: node.command, path: node.path).utf8), to: file.number)
            } catch {
                throw CommandFailure(
                    .cannotCreate, .fileUnwritable, "\(TextWidth.displaySafe(path)) cannot be written: \(error.message)"
                )
            }
        }
        try context.confirmDone(.fields(["pages": .integer(nodes.count), "folder": .string(folder)])) {
            "Wrote \(NumberText.counted(nodes.count, "manual page")) to \(TextWidth.displaySafe(folder))."
        }
    }

    static func pageName(_ path: [String]) -> String { (["coffret"] + path).joined(separator: "-") }

    static func page(for command: CommandDescription, path: [String]) -> String {
        let name = pageName(path)
        var lines = [
            ".\\\" Written by: coffret help --write-manual-pages", ".Dd $Mdocdate: November 21 2026 $",
            ".Dt \(name.uppercased()) 1", ".Os", ".Sh NAME", ".Nm \(name)",
            ".Nd \(escape(lowerFirst(command.summary)))",
            ".Sh SYNOPSIS", ".Nm coffret" + (path.isEmpty ? "" : " " + path.joined(separator: " ")),
        ]
        lines += command.options.map(synopsis)
        lines += command.arguments.map {
            $0.isRequired ? ".Ar \($0.label)" : ".Op Ar \($0.isRepeating ? $0.name + " ..." : $0.name)"
        }
        if !command.subcommands.isEmpty { lines.append(command.run == nil ? ".Ar COMMAND" : ".Op Ar COMMAND") }
        lines += [".Sh DESCRIPTION", escape(command.summary) + "."]
        for paragraph in command.discussion { lines += [".Pp", escape(paragraph)] }
        lines += list(command.arguments.map { (".Ar \($0.name)", $0.help) })
        lines += list(command.options.map { (optionItem($0), $0.help) })
        if path.isEmpty {
            for group in CommandGroup.allCases {
                lines.append(".Ss \(escape(group.rawValue))")
                lines += list(
                    command.visibleSubcommands.filter { $0.group == group }.map {
                        (".Xr coffret-\($0.name) 1", $0.summary)
                    })
            }
            lines += [".Ss Options of every command"] + list(GlobalOptions.all.map { (optionItem($0), $0.help) })
            lines += environment
        } else if !command.subcommands.isEmpty {
            lines += list(command.visibleSubcommands.map { (".Xr \(name)-\($0.name) 1", $0.summary) })
        }
        lines += exitStatus(isFull: path.isEmpty)
        if !command.examples.isEmpty {
            lines.append(".Sh EXAMPLES")
            lines.append(".Bl -tag -width Ds")
            for example in command.examples {
                lines += [".It Li \(argument(example.command))", escape(example.meaning)]
            }
            lines.append(".El")
        }
        if !path.isEmpty {
            lines += [".Sh SEE ALSO", ".Xr \(pageName(Array(path.dropLast()))) 1"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func synopsis(_ option: OptionDescription) -> String {
        option.valueName.map { ".Op Fl -\(option.name) Ar \($0)" } ?? ".Op Fl -\(option.name)"
    }

    private static func optionItem(_ option: OptionDescription) -> String {
        let value = option.valueName.map { " Ar \($0)" } ?? ""
        let short = option.short.map { "Fl \($0) , " } ?? ""
        return ".\(short)Fl -\(option.name)\(value)"
    }

    private static func list(_ rows: [(head: String, text: String)]) -> [String] {
        guard !rows.isEmpty else { return [] }
        return [".Bl -tag -width Ds"] + rows.flatMap { [".It \($0.head.dropFirst())", escape($0.text) + "."] } + [".El"]
    }

    private static var environment: [String] {
        [".Sh ENVIRONMENT"]
            + list([
                (".Ev COFFRET_STORE", "the store to use, unless --store names one"),
                (".Ev COFFRET_VAULT", "the vault to use, unless --vault names one"),
                (
                    ".Ev COFFRET_PASSPHRASE_FILE",
                    "a file, readable by its owner only, with the passphrase in its first line"
                ),
                (".Ev VISUAL , EDITOR", "the editor for notes"),
                (".Ev NO_COLOR", "no colour"),
                (".Ev XDG_DATA_HOME , XDG_STATE_HOME , XDG_RUNTIME_DIR", "base folders, as the XDG specification says"),
            ])
    }

    private static func exitStatus(isFull: Bool) -> [String] {
        guard isFull else {
            return [".Sh EXIT STATUS", "0 on success; the other codes are listed in", ".Xr coffret 1 ."]
        }
        return [".Sh EXIT STATUS"] + list(ExitCode.allCases.map { (".Li \($0.rawValue)", $0.meaning) })
    }

    private static func lowerFirst(_ text: String) -> String { text.prefix(1).lowercased() + text.dropFirst() }

    /// Text on a line of its own.
    private static func escape(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    /// Text as one argument of a macro.
    private static func argument(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\e").replacing("\"", with: "\"\"") + "\""
    }
}
