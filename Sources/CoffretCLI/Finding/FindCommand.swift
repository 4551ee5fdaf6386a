// `coffret find`: the store on the whole terminal, searched with each key.

internal import CoffretBase
internal import CoffretTerminal

enum FindCommand {
    static let query = ArgumentDescription.optional("QUERY", "what to look for at first")

    static let description = CommandDescription(
        "find", group: .find, "Look through the store on the whole screen",
        discussion: [
            "Searches with each key, as coffret search does, and shows the item that is chosen. Up and Down choose; Tab reads the whole item, and goes back; Enter opens it in your editor; Ctrl-Y copies the password, the first secret, or the text; Ctrl-T copies the one-time code; Ctrl-R shows secrets for 20 s, or up to the next key; Ctrl-U clears the words; Escape leaves.",
            "When the store locks, the screen is wiped and find ends.",
        ],
        arguments: [query],
        examples: [CommandExample("coffret find", "what you changed last, and the rest by typing")],
        run: run)

    private static func run(_ context: CommandContext) throws {
        guard !context.isJSON, context.terminal.inputIsTerminal, context.terminal.outputIsTerminal,
            context.terminal.canMoveCursor
        else {
            throw CommandFailure(
                .usage, .terminalNeeded, "find needs a terminal that shows a whole screen",
                hint: "coffret search WORDS and coffret ls print the same")
        }
        let store = try CommandStore.open(context)
        try store.checkVault()
        guard let screen = FullScreen() else {
            throw CommandFailure(.usage, .terminalNeeded, "the terminal cannot be opened")
        }
        let finder = Finder(store, screen, context)
        finder.query = context.arguments.value(query) ?? ""
        do {
            try finder.run()
        } catch {
            // The failure is printed where it stays readable.
            screen.leave()
            throw error
        }
        screen.leave()
    }
}
