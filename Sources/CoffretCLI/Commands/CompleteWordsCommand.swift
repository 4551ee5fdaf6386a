// What the shells complete with while the store is unlocked. The one thing to keep true: it never asks for anything, and
// looking is no use of the store, so that a person who plays with the tab key does not keep it open.

internal import CoffretApp
internal import CoffretTerminal
internal import CoffretWire

enum CompleteWordsCommand {
    static let what = ArgumentDescription.required(
        "WHAT", .choice(["items", "tags", "vaults", "fields"]), "what is completed")
    static let beginning = ArgumentDescription.optional("BEGINNING", "how the words begin")
    static let item = ArgumentDescription.optional("ITEM", "whose fields")
    /// A shell shows no more than a screen of them.
    private static let countMax = 200

    static let description = CommandDescription(
        "complete-words", group: .help, "Print titles, tags, vaults or fields for a shell, while the store is unlocked",
        arguments: [what, beginning, item], isHidden: true, run: run)

    private static func run(_ context: CommandContext) throws {
        // Whatever is wrong, a shell has nothing to complete with.
        guard let store = try? CommandStore.look(context) else { return }
        var request = NameList()
        request.kind = NameList.Kind(rawValue: context.arguments.required(what)) ?? .items
        (request.beginning, request.limit) = (context.arguments.value(beginning), countMax)
        (request.item, request.vault) = (context.arguments.value(item), store.namedVault)
        guard let words = try? store.perform(request, by: .program).names else { return }
        for word in words { try context.output.line(TextWidth.displaySafe(word)) }
    }
}
