// `coffret rm`: to the trash, or for good.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum RemoveCommand {
    static let item = ArgumentDescription.optional("ITEM", repeats: true, "ids or titles")
    static let permanently = OptionDescription.flag("permanently", "remove from the vault, not to the trash")
    static let emptyTrash = OptionDescription.flag("empty-trash", "remove everything that is in the trash")

    static let description = CommandDescription(
        "rm", group: .everyDay, "Move items to the trash, or remove them",
        discussion: [
            "coffret restore brings items back from the trash. What is removed permanently stays in the history until coffret compact drops it; coffret forget --delete removes items with their history."
        ],
        arguments: [item], options: [permanently, emptyTrash, CommonArguments.yes],
        examples: [
            CommandExample("coffret rm tomatoes", "moves the note to the trash"),
            CommandExample("coffret rm --empty-trash", "asks, and removes what is in the trash"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let references = context.arguments.values(item)
        let isEmptying = context.arguments.isSet(emptyTrash)
        guard isEmptying != !references.isEmpty else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "name the items, or say --empty-trash")
        }
        let store = try CommandStore.open(context)
        if isEmptying { return try empty(store, context) }
        if context.arguments.isSet(permanently) {
            return try remove(references, in: store.namedVault, store, context)
        }
        var request = ItemTrash()
        (request.items, request.vault) = (references, store.namedVault)
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            try store.shown(answer.trashed).map { item in
                "Moved \(context.label(item)) to the trash. coffret restore \(item.shortID) brings it back."
            }.joined(separator: "\n")
        }
    }

    private static func empty(_ store: CommandStore, _ context: CommandContext) throws {
        let vault = try store.wantedVault
        var request = ItemList()
        (request.vault, request.includesAll, request.isTrashed, request.limit) = (vault, true, true, .max)
        let items = try store.perform(request).items
        guard !items.isEmpty else {
            return try context.confirmDone(ItemRemove.Answer().json) { "The trash is empty." }
        }
        try remove(items.map(\.id), in: vault, store, context)
    }

    private static func remove(
        _ items: [String], in vault: String?, _ store: CommandStore, _ context: CommandContext
    ) throws {
        var request = ItemRemove()
        (request.items, request.vault, request.isTrial) = (items, vault, true)
        let found = try store.perform(request)
        let count = NumberText.counted(found.removed.count, "item")
        let fileCount = found.fileCount ?? 0
        let files = fileCount == 0 ? "" : " and \(NumberText.counted(fileCount, "attached file"))"
        let what =
            "This removes \(count)\(files) from the vault. Earlier versions stay in "
            + "the history until coffret compact drops it."
        try context.confirmDanger(
            what, question: "Remove?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        (request.items, request.isTrial) = (found.removed, nil)
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) { "Removed \(count)\(files)." }
    }
}
