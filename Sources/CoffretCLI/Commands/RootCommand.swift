// `coffret`: the list of all commands, and what it does when called alone.

enum RootCommand {
    static let description = CommandDescription(
        "coffret", "An encrypted vault for notes and secrets",
        subcommands: [GenerateCommand.description, CompletionsCommand.description, HelpCommand.description])
}
