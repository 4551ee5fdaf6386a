// `coffret show`: an item now, or as it was.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum ShowCommand {
    static let field = OptionDescription.value(
        "field", "NAME", .stored("fields"), "print one field and nothing else, secret or not")
    static let reveal = OptionDescription.flag("reveal", "show secrets")

    static let description = CommandDescription(
        "show", group: .everyDay, "Show an item, now or as it was",
        discussion: ["On a pipe a note is its text, byte for byte, and nothing else."],
        arguments: [CommonArguments.item], options: [CommonArguments.at, field, reveal],
        examples: [
            CommandExample("coffret show tomatoes --at '3 May'", "the note as it was"),
            CommandExample("coffret show GitHub --field password", "prints the password"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let (at, version) = try context.pointInMessage()
        let store = try CommandStore.open(context)
        let item = context.arguments.required(CommonArguments.item)
        if let name = context.arguments.value(field) {
            var request = FieldRead()
            (request.item, request.vault, request.field) = (item, store.namedVault, name)
            (request.at, request.version) = (at, version)
            let answer = try store.perform(request)
            let field = answer.field ?? FieldMessage()
            return try context.print(
                .fields([
                    "id": .string(answer.item), "name": .string(field.name), "label": .string(field.label),
                    "value": .string(field.value ?? ""),
                ]), isVerbatim: true
            ) { field.value ?? "" }
        }
        var request = ItemRead()
        (request.item, request.vault, request.at, request.version) = (item, store.namedVault, at, version)
        request.revealsSecrets = context.arguments.isSet(reveal)
        request.givesConflicts = context.isJSON ? nil : true
        try show(try store.perform(request), store, context)
    }

    private static func show(_ item: ItemMessage, _ store: CommandStore, _ context: CommandContext) throws {
        // An item of the past may be gone; its id is as good.
        let shortID = { (try? store.shown([item.id]).first?.shortID) ?? String(item.id.prefix(8)) }
        if !context.isJSON, !context.terminal.outputIsTerminal, item.kind == ItemKind.note.name {
            // Byte for byte, with the line end that the note has or has not.
            try context.output.write(item.text)
        } else {
            try context.print(item.json) {
                guard context.terminal.outputIsTerminal else {
                    return ItemText(item: item, id: "", context).plainText()
                }
                return ItemText(item: item, id: shortID(), context).terminalText()
            }
        }
        if let attributes = item.unreadable {
            var value = UnreadableValueMessage()
            (value.item, value.title, value.attributes) = (item.id, item.title, attributes)
            throw UnreadableValues.failure([value], "left out")
        }
        if item.conflicts?.isEmpty == false, !context.arguments.isSet(CommonArguments.at) {
            context.note("Another device wrote something else at the same time: coffret conflicts show \(shortID())")
        }
    }
}
