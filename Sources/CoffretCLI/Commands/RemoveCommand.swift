// `coffret rm`: to the trash, or for good.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum RemoveCommand {
    static let item = ArgumentDescription.optional("ITEM", repeats: true, "ids or titles")
    static let permanently = OptionDescription.flag("permanently", "remove from the vault, not to the trash")
    static let emptyTrash = OptionDescription.flag("empty-trash", "remove everything that is in the trash")

    static let description = CommandDescription(
        "rm", group: .everyDay, "Move items to the trash, or remove them",
        discussion: [
            "coffret restore brings items back from the trash. What is removed permanently stays in the history until coffret compact drops it."
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
        let store = try StoreSession.open(context, with: .passphrase)
        if isEmptying { return try empty(store, context) }
        if context.arguments.isSet(permanently) {
            let places = try store.find(all: references)
            return try remove(places.ids, places.record, places.vault, store, context)
        }
        var request = ItemTrash()
        (request.items, request.vault) = (references, store.namedVault)
        let answer = try request.perform(on: store.desk)
        try context.confirmDone(answer.json) {
            try answer.trashed.map { id in
                let short = try store.find(id).shortID
                return "Moved \(try store.label(id)) to the trash. coffret restore \(short) brings it back."
            }.joined(separator: "\n")
        }
    }

    private static func empty(_ store: StoreSession, _ context: CommandContext) throws {
        let record = try store.desk.record(store.namedVault)
        let vault = try store.desk.vault(record)
        var filter = ItemFilter.everything
        filter.isTrashed = true
        let ids = try vault.list(filter).map(\.id)
        guard !ids.isEmpty else {
            return try context.confirmDone(ItemRemove.Answer().json) { "The trash is empty." }
        }
        try remove(ids, record, vault, store, context)
    }

    private static func remove(
        _ ids: [EntityID], _ record: VaultRecord, _ vault: Vault, _ store: StoreSession, _ context: CommandContext
    ) throws {
        let fileCount = try ids.reduce(0) { $0 + (try vault.item($1).attachments.count) }
        let files = fileCount == 0 ? "" : " and \(NumberText.counted(fileCount, "attached file"))"
        let what =
            "This removes \(NumberText.counted(ids.count, "item"))\(files) from the vault. Earlier versions stay in "
            + "the history until coffret compact drops it."
        try context.confirmDanger(
            what, question: "Remove?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        var request = ItemRemove()
        (request.items, request.vault) = (ids.map(\.uuid.hex), record.vaultID.hex)
        let answer = try request.perform(on: store.desk)
        try context.confirmDone(answer.json) {
            "Removed \(NumberText.counted(ids.count, "item"))\(files)."
        }
    }
}
