// `coffret show`: an item now, or as it was.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
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
        var request = ItemRead()
        request.item = context.arguments.required(CommonArguments.item)
        (request.at, request.version) = try context.pointInMessage()
        let store = try StoreSession.open(context, with: .passphrase)
        request.vault = store.namedVault
        let (item, vault) = try request.found(on: store.desk)
        if let name = context.arguments.value(field) {
            let field = try item.field(named: name)
            try context.print(
                .fields([
                    "id": .string(item.id.uuid.hex), "name": .string(field.key.name), "label": .string(field.label),
                    "value": .string(field.value),
                ]), isVerbatim: true
            ) { field.value }
            return
        }
        let reveals = context.arguments.isSet(reveal)
        if !context.isJSON, !context.terminal.outputIsTerminal, item.kind == .note {
            // Byte for byte, with the line end that the note has or has not.
            try context.output.write(item.text)
        } else {
            try context.print(.item(item, revealsSecrets: reveals)) {
                let text = ItemText(
                    item: item, id: try vault.shortID(item.id), revealsSecrets: reveals,
                    style: context.terminal.style,
                    relativeTime: context.relativeTime)
                return context.terminal.outputIsTerminal ? text.terminalText() : text.plainText()
            }
        }
        if !item.conflicts.isEmpty, !context.arguments.isSet(CommonArguments.at) {
            let id = try vault.shortID(item.id)
            context.note("Another device wrote something else at the same time: coffret conflicts show \(id)")
        }
    }
}
