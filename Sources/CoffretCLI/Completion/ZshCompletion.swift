// Completions for zsh's completion system, with descriptions.

internal import CoffretTerminal

enum ZshCompletion {
    static func script(for tree: CompletionTree) -> String {
        var lines = ["#compdef coffret", "# zsh completion for coffret, written by: coffret completions zsh", ""]
        for node in tree.nodes { lines += function(node) + [""] }
        lines += [
            "if [[ ${funcstack[1]} == _coffret ]]; then", "    _coffret \"$@\"", "else",
            "    compdef _coffret coffret", "fi",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func name(_ path: [String]) -> String { (["_coffret"] + path).joined(separator: "_") }

    private static func function(_ node: CompletionTree.Node) -> [String] {
        var specs = node.options.flatMap(optionSpecs)
        let subcommands = node.command.visibleSubcommands
        var lines = ["\(name(node.path))() {"]
        if subcommands.isEmpty {
            specs += node.command.arguments.map(argumentSpec)
            lines.append("    _arguments -s -S \\")
            lines += specs.enumerated().map { "        \($1)" + ($0 == specs.count - 1 ? "" : " \\") }
            return lines + ["}"]
        }
        lines += ["    local context state line", "    _arguments -s -S -C \\"]
        lines += specs.map { "        \($0) \\" }
        lines += [
            "        '1: :->command' \\", "        '*:: :->arguments'", "    case $state in", "    command)",
            "        local -a commands=(",
        ]
        lines += subcommands.map { "            '\($0.name):\(quote($0.summary))'" }
        lines += [
            "        )", "        _describe -t commands 'command' commands ;;", "    arguments)",
            "        case $line[1] in",
        ]
        lines += subcommands.map { "        \($0.name)) \(name(node.path + [$0.name])) ;;" }
        return lines + ["        esac ;;", "    esac", "}"]
    }

    private static func optionSpecs(_ option: OptionDescription) -> [String] {
        let help = quote(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
        let value = option.valueName.map { ":\($0):\(action(option.kind))" } ?? ""
        let star = option.isRepeatable ? "*" : ""
        let long = "--\(option.name)" + (option.isFlag ? "" : "=")
        guard let short = option.short else { return ["'\(star)\(long)[\(help)]\(value)'"] }
        let shortForm = "-\(short)" + (option.isFlag ? "" : "+")
        let exclusive = option.isRepeatable ? "'*'" : "'(-\(short) --\(option.name))'"
        return ["\(exclusive){\(shortForm),\(long)}'[\(help)]\(value)'"]
    }

    private static func argumentSpec(_ argument: ArgumentDescription) -> String {
        let colon = argument.isRepeating ? "*:" : argument.isRequired ? ":" : "::"
        return "'\(colon)\(argument.name):\(action(argument.kind))'"
    }

    private static func action(_ kind: ValueKind) -> String {
        switch kind {
        case .file: "_files"
        case .directory: "_files -/"
        case .text, .number: " "
        case .stored("fields"):
            "{compadd -- ${(f)\"$(coffret complete-words fields -- '' ${(Q)${(@)words[2,-1]:#-*}[1]} 2>/dev/null)\"}}"
                .replacing("'", with: "'\\''")
        case .stored(let what): "{compadd -- ${(f)\"$(coffret complete-words \(what) 2>/dev/null)\"}}"
        case .choice, .helpTopic: "(\((CompletionTree.words(for: kind) ?? []).joined(separator: " ")))"
        }
    }

    /// Text inside single quotes, where colons separate fields.
    private static func quote(_ text: String) -> String {
        text.replacing("'", with: "'\\''").replacing(":", with: "\\:")
    }
}
