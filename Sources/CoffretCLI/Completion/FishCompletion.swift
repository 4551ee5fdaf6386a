// Completions for fish 3 and later, with descriptions.

enum FishCompletion {
    static func script(for tree: CompletionTree) -> String {
        var lines = [
            "# fish completion for coffret, written by: coffret completions fish",
            "function __coffret_at --description 'Whether the words so far name this command'",
            "    set -l words (commandline -opc)",
            "    set -e words[1]",
            "    set -l path",
            "    for word in $words",
            "        if contains -- \"$path/$word\" $__coffret_paths",
            "            set path \"$path/$word\"",
            "        end",
            "    end",
            "    test \"$path\" = \"$argv[1]\"",
            "end",
            "function __coffret_item --description 'The first word that names no command and is no option'",
            "    set -l words (commandline -opc)",
            "    set -e words[1]",
            "    set -l path",
            "    for word in $words",
            "        if contains -- \"$path/$word\" $__coffret_paths",
            "            set path \"$path/$word\"",
            "        else if not string match -q -- '-*' $word",
            "            echo $word",
            "            return",
            "        end",
            "    end",
            "end",
            "set -g __coffret_paths "
                + tree.nodes.dropFirst().map { "/" + $0.path.joined(separator: "/") }.joined(separator: " "),
            "complete -c coffret -f",
        ]
        for option in GlobalOptions.all { lines.append("complete -c coffret" + spec(option)) }
        for node in tree.nodes {
            let path = node.path.isEmpty ? "" : "/" + node.path.joined(separator: "/")
            let condition = "complete -c coffret -n '__coffret_at \"\(path)\"'"
            for subcommand in node.command.visibleSubcommands {
                lines.append("\(condition) -a \(subcommand.name) -d '\(quote(subcommand.summary))'")
            }
            for option in node.command.options { lines.append(condition + spec(option)) }
            if let kind = node.command.arguments.map(\.kind).first(where: { $0 != .text }) {
                switch kind {
                case .file: lines.append("\(condition) -F")
                case .directory: lines.append("\(condition) -a '(__fish_complete_directories)'")
                case .text, .number: break
                case .stored(let what): lines.append("\(condition) -a '\(stored(what))'")
                case .choice, .helpTopic:
                    lines.append("\(condition) -a '\((CompletionTree.words(for: kind) ?? []).joined(separator: " "))'")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func spec(_ option: OptionDescription) -> String {
        var text = " -l \(option.name)"
        if let short = option.short { text += " -s \(short)" }
        if !option.isFlag {
            switch option.kind {
            case .file: text += " -r -F"
            case .directory: text += " -x -a '(__fish_complete_directories)'"
            case .text, .number: text += " -x"
            case .stored(let what): text += " -x -a '\(stored(what))'"
            case .choice, .helpTopic:
                text += " -x -a '\((CompletionTree.words(for: option.kind) ?? []).joined(separator: " "))'"
            }
        }
        return text + " -d '\(quote(option.help))'"
    }

    private static func stored(_ what: String) -> String {
        "(coffret complete-words \(what)\(what == "fields" ? " -- \"\" (__coffret_item)" : "") 2>/dev/null)"
    }

    private static func quote(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
