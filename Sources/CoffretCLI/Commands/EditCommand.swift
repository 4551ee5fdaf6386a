// `coffret edit`: in the editor, from a pipe, or field by field.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum EditCommand {
    static let title = OptionDescription.value("title", "TITLE", "give it another title")
    static let file = OptionDescription.value(
        "file", short: "f", "FILE", .file, "take the new text from a file (- for a pipe)")
    static let remove = OptionDescription.value("remove", "NAME", repeats: true, "remove a field; repeatable")

    static let description = CommandDescription(
        "edit", group: .everyDay, "Change an item",
        discussion: [
            "Opens your editor; the text lies in memory, never on a disk. Items with fields are shown as a form in which secrets are masked: what you leave alone stays as it is. With text on a pipe, or with options, no editor is opened."
        ],
        arguments: [CommonArguments.item], options: [title, file, remove] + FieldArguments.all,
        examples: [
            CommandExample("coffret edit tomatoes", "opens the note in the editor"),
            CommandExample("coffret edit 4f7a < tomatoes.md", "replaces its text"),
            CommandExample("coffret edit GitHub --secret password", "asks for a new password"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        try FieldArguments.check(context, kind: nil)
        if let path = context.arguments.value(file) { try PathCheck.readable(path) }
        let store = try CommandStore.open(context)
        var read = ItemRead()
        (read.item, read.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        read.givesForm = true
        let item = try store.perform(read)
        let kind = ItemKind(name: item.kind) ?? .note
        var request = ItemEdit()
        (request.item, request.vault) = (item.id, store.namedVault)
        let options = [title, file, remove] + FieldArguments.all
        if options.contains(where: context.arguments.isSet) {
            let changes = try FieldArguments.changes(context, kind: kind)
            try FieldArguments.check(changes, for: item, kind)
            request.title = context.arguments.value(title)
            request.text = try context.arguments.value(file).map(InputText.read)
            request.removeFields = context.arguments.values(remove)
            request.setFields = changes
        } else if context.terminal.inputIsTerminal {
            return try report(editInEditor(item, request, store, context), store, context)
        } else {
            let text = try InputText.readAll()
            guard text.contains(where: { !$0.isWhitespace }) else {
                throw CommandFailure(
                    .badInput, .inputEmpty, "the text is empty; nothing was changed",
                    hint: "coffret rm moves an item to the trash")
            }
            request.text = text
        }
        try report(try store.perform(request), store, context)
    }

    /// Lets the person change an item in the editor.
    ///
    /// - Parameter item: with its form.
    /// - Returns: nil when it was left as it was.
    static func editInEditor(
        _ item: ItemMessage, _ request: ItemEdit, _ store: CommandStore, _ context: CommandContext
    ) throws -> ItemEdit.Answer? {
        let isPlain = item.kind == ItemKind.note.name && item.fields.isEmpty
        let original = isPlain ? item.text : item.form ?? ""
        return try EditorSession.edit(original, target: item.id, context: context) { text in
            var request = request
            if isPlain {
                (request.text, request.baseText) = (text, item.text)
            } else {
                request.form = text
            }
            return try store.perform(request)
        }
    }

    private static func report(_ answer: ItemEdit.Answer?, _ store: CommandStore, _ context: CommandContext) throws {
        guard let answer else { return context.note("Nothing was changed.") }
        try context.confirmDone(answer.item.json) {
            answer.isChanged ? "Saved \(try store.label(answer.item.id))" : "Nothing was changed."
        }
    }
}
