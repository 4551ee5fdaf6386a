// `coffret mv` and `coffret cp`: items into another vault. The one thing to keep true: who reads them there is said.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum MoveCommand {
    static let item = ArgumentDescription.required("ITEM", repeats: true, "ids or titles, all of one vault")
    static let target = OptionDescription.value("to", "VAULT", .stored("vaults"), "the vault that they come into")

    static let move = CommandDescription(
        "mv", group: .everyDay, "Move items into another vault",
        discussion: [
            "The items are written anew there, files too; their history stays where it was, and the old ones lie in the trash. A vault that others have too must be reached at the server: if it is not, nothing leaves the old vault, and the same command goes on later. A locked note goes as it is, under its passphrase."
        ],
        arguments: [item], options: [target],
        examples: [CommandExample("coffret mv tomatoes --to Home", "whoever has Home reads it from then on")],
        run: { try run($0, isCopy: false) })

    static let copy = CommandDescription(
        "cp", group: .everyDay, "Copy items into another vault",
        discussion: ["The copies are items of their own. The originals stay as they are."],
        arguments: [item], options: [target],
        examples: [CommandExample("coffret cp tomatoes --to Home", "the note is in both, and each is changed alone")],
        run: { try run($0, isCopy: true) })

    private static func run(_ context: CommandContext, isCopy: Bool) throws {
        guard let to = context.arguments.value(target) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "say where to: --to VAULT",
                hint: "coffret vault ls lists the vaults")
        }
        let store = try CommandStore.open(context)
        var request = ItemMove()
        (request.items, request.vault, request.to) = (context.arguments.values(item), store.namedVault, to)
        if isCopy { request.isCopy = true }
        let moved = try store.perform(request)
        try context.confirmDone(moved.json) {
            let (what, there) = (NumberText.counted(moved.items.count, "item"), TextWidth.displaySafe(moved.vault))
            var lines = ["\(isCopy ? "Copied" : "Moved") \(what) to \"\(there)\"."]
            if !moved.people.isEmpty {
                lines.append("Read there by \(moved.people.joined(separator: ", ")) too.")
            }
            if !isCopy {
                lines.append(
                    "The history stays in \"\(TextWidth.displaySafe(moved.from))\", with the old \(moved.items.count == 1 ? "one" : "ones") in its trash."
                )
            }
            return lines.joined(separator: "\n")
        }
    }
}
