// `coffret completions`: prints a completion script for a shell.

internal import CoffretTerminal

enum CompletionsCommand {
    static let shell = ArgumentDescription.required(
        "SHELL", .choice(["bash", "zsh", "fish"]), "bash, zsh or fish")

    static let description = CommandDescription(
        "completions", group: .help, "Print completions for your shell",
        arguments: [shell],
        examples: [
            CommandExample("source <(coffret completions bash)", "in ~/.bashrc"),
            CommandExample("coffret completions zsh > ~/.zfunc/_coffret", "in a folder of your fpath"),
            CommandExample("coffret completions fish > ~/.config/fish/completions/coffret.fish", "for fish"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let tree = CompletionTree(root: RootCommand.description)
        let text =
            switch context.arguments.required(shell) {
            case "bash": BashCompletion.script(for: tree)
            case "zsh": ZshCompletion.script(for: tree)
            default: FishCompletion.script(for: tree)
            }
        try context.output.write(text)
    }
}
