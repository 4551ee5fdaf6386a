// Completions for bash 4 and later, without the bash-completion package.

enum BashCompletion {
    static func script(for tree: CompletionTree) -> String {
        var lines = [
            "# bash completion for coffret, written by: coffret completions bash",
            "_coffret() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path='' item='' word index",
            "    COMPREPLY=()",
            "    # Find the command that the words so far name.",
            "    for ((index = 1; index < COMP_CWORD; index++)); do",
            "        word=${COMP_WORDS[index]}",
            "        case \"$path/$word\" in",
            "            " + tree.nodes.dropFirst().map { "/" + $0.path.joined(separator: "/") }.joined(separator: "|")
                + ") path=\"$path/$word\" ;;",
            "            */-*) ;;",
            "            *) [[ -z $item ]] && item=${word//\\\\/} ;;",
            "        esac",
            "    done",
            "    case \"$path\" in",
        ]
        for node in tree.nodes { lines += branch(node) }
        lines += [
            "    esac",
            "}",
            "complete -F _coffret coffret",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func branch(_ node: CompletionTree.Node) -> [String] {
        let path = node.path.isEmpty ? "" : "/" + node.path.joined(separator: "/")
        var lines = ["        '\(path)')"]
        let valued = node.options.filter { !$0.isFlag }
        if !valued.isEmpty {
            lines.append("            case \"$previous\" in")
            for option in valued {
                let names = (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
                lines.append("                \(names.joined(separator: "|"))) \(reply(option.kind)); return ;;")
            }
            lines.append("            esac")
        }
        let options = node.options.map { "--\($0.name)" }.joined(separator: " ")
        lines += [
            "            if [[ $current == -* ]]; then",
            "                COMPREPLY=($(compgen -W '\(options)' -- \"$current\"))",
            "                return",
            "            fi",
        ]
        let subcommands = node.command.visibleSubcommands.map(\.name)
        if !subcommands.isEmpty {
            lines.append(
                "            COMPREPLY=($(compgen -W '\(subcommands.joined(separator: " "))' -- \"$current\"))")
        } else if let kind = argumentKind(node.command) {
            lines.append("            \(reply(kind))")
        }
        lines.append("            ;;")
        return lines
    }

    private static func argumentKind(_ command: CommandDescription) -> ValueKind? {
        command.arguments.map(\.kind).first { $0 != .text }
    }

    private static func reply(_ kind: ValueKind) -> String {
        switch kind {
        case .file: "compopt -o default 2>/dev/null; COMPREPLY=()"
        case .directory: "compopt -o dirnames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$current\"))"
        case .text, .number: "COMPREPLY=()"
        case .stored(let what):
            "local IFS=$'\\n'; COMPREPLY=(); for word in $(coffret complete-words \(what) -- \"$current\"\(what == "fields" ? " \"$item\"" : "") 2>/dev/null); do COMPREPLY+=(\"$(printf '%q' \"$word\")\"); done"
        case .choice, .helpTopic:
            "COMPREPLY=($(compgen -W '\((CompletionTree.words(for: kind) ?? []).joined(separator: " "))' -- \"$current\"))"
        }
    }
}
