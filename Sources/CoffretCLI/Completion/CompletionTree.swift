// The command tree as completions see it: every node with its words and what may follow.

/// Flattened commands, shared by the three generators.
struct CompletionTree {
    struct Node {
        let path: [String]
        let command: CommandDescription
        /// The command's own options and those of every command.
        let options: [OptionDescription]
    }

    let nodes: [Node]

    init(root: CommandDescription) {
        let all = [(path: [String](), command: root)] + root.allDescendants()
        nodes = all.map { path, command in
            Node(path: path, command: command, options: command.options + GlobalOptions.all)
        }
    }

    /// The words that complete a value; `nil` when the shell completes files or nothing.
    static func words(for kind: ValueKind) -> [String]? {
        switch kind {
        case .choice(let choices): choices
        case .helpTopic:
            RootCommand.description.visibleSubcommands.map(\.name) + HelpTasks.all.map(\.name) + [HelpCommand.exitCodes]
        case .text, .number, .file, .directory, .stored: nil
        }
    }
}
