// `coffret edit`: in the editor, from a pipe, or field by field.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

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
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let item = try session.readable(session.vault.item(id))
        let options = [title, file, remove] + FieldArguments.all
        if options.contains(where: context.arguments.isSet) {
            try applyOptions(item, session, context)
        } else if context.terminal.inputIsTerminal {
            try editInEditor(item, session, context)
        } else {
            let text = try InputText.readAll()
            guard text.contains(where: { !$0.isWhitespace }) else {
                throw CommandFailure(
                    .badInput, .inputEmpty, "the text is empty; nothing was changed",
                    hint: "coffret rm moves an item to the trash")
            }
            try save(id, session, context) { $0.text = text }
        }
    }

    private static func applyOptions(_ item: Item, _ session: VaultSession, _ context: CommandContext) throws {
        let changes = try FieldArguments.changes(context, kind: item.kind)
        let text = try context.arguments.value(file).map(InputText.read)
        try save(item.id, session, context) { item in
            if let title = context.arguments.value(title) { item.givenTitle = title }
            if let text { item.text = text }
            for name in context.arguments.values(remove) {
                let field = try item.field(named: name)
                item.fields.removeAll { $0.key == field.key }
            }
            try FieldArguments.apply(changes, to: &item.fields, kind: item.kind, random: SystemRandomSource())
        }
    }

    private static func editInEditor(_ item: Item, _ session: VaultSession, _ context: CommandContext) throws {
        let isPlain = item.kind == .note && item.fields.isEmpty
        let original = isPlain ? item.text : ItemForm.text(for: item)
        let isSaved = try EditorSession.edit(original, target: item.id.uuid.hex, context: context) { text in
            try save(item.id, session, context) { current in
                if isPlain {
                    current.text = try merged(text, over: current, original: item)
                } else {
                    try applyForm(text, to: &current)
                }
            }
        }
        if isSaved == nil { context.note("Nothing was changed.") }
    }

    private static func applyForm(_ text: String, to item: inout Item) throws {
        do {
            try ItemForm.apply(text, to: &item, random: SystemRandomSource())
        } catch let problem as ItemForm.Problem {
            throw CommandFailure(
                .badInput, .inputInvalid, "line \(problem.lineNumber) of the form: \(problem.message)")
        }
    }

    /// The edited text, with what another coffret saved to the same note in the meantime.
    private static func merged(_ text: String, over current: Item, original: Item) throws -> String {
        guard current.text != original.text else { return text }
        guard let merged = LineMerge(base: original.text, first: text, second: current.text).text else {
            throw CommandFailure(
                .busy, .inputInvalid, "the same lines were changed by another coffret while you edited",
                hint: "coffret show \(current.id.uuid.hex.prefix(8)) shows them")
        }
        return merged
    }

    @discardableResult
    private static func save(
        _ id: EntityID, _ session: VaultSession, _ context: CommandContext, _ edit: (inout Item) throws -> Void
    ) throws -> Bool {
        var isChanged = false
        try session.writing { vault in
            var item = try vault.opened(vault.item(id))
            try edit(&item)
            isChanged = try vault.update(id) { $0 = item }
        }
        let item = try session.vault.item(id)
        try context.confirmDone(.item(item, revealsSecrets: false)) {
            isChanged ? "Saved \(context.label(item, try session.shortID(id)))" : "Nothing was changed."
        }
        return isChanged
    }
}
