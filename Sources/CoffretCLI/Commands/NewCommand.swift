// `coffret new`: a note from the editor or a pipe, or an item with fields.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

enum NewCommand {
    static let title = ArgumentDescription.optional("TITLE", "the title; a note can say it in its first line")
    static let tag = OptionDescription.value("tag", short: "t", "TAG", repeats: true, "give it a tag; repeatable")
    static let file = OptionDescription.value(
        "file", short: "f", "FILE", .file, "take the text from a file (- for a pipe)")
    static let pin = OptionDescription.flag("pin", "pin it to the top")

    static let description = CommandDescription(
        "new", group: .everyDay, "Write a note, or keep a login or another secret",
        discussion: [
            "Opens your editor ($VISUAL, $EDITOR) for a note; its text lies in memory, never on a disk. With text on a pipe no editor is opened: it becomes the text of the item, whatever its type, after one line for each --secret; < /dev/null gives none. Other types ask for their fields."
        ],
        arguments: [title],
        options: [tag, CommonArguments.type, file, pin] + FieldArguments.all,
        examples: [
            CommandExample("coffret new -t garden", "opens the editor for a note with the tag \"garden\""),
            CommandExample("echo 'Buy copper wire' | coffret new", "takes the text from a pipe"),
            CommandExample(
                "coffret new --type login GitHub --set username=ada --generate password",
                "a login with a strong password"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let kind = context.arguments.value(CommonArguments.type).flatMap(ItemKind.init(name:)) ?? .note
        var draft = ItemDraft(kind: kind, title: context.arguments.value(title), tags: try context.tags(tag))
        draft.isPinned = context.arguments.isSet(pin)
        try FieldArguments.check(context, kind: kind)
        if let path = context.arguments.value(file) { try PathCheck.readable(path) }
        let session = try VaultSession.open(context)
        if let path = context.arguments.value(file) { draft.text = try InputText.read(path: path) }
        if kind == .note {
            try writeNote(draft, session, context)
        } else {
            try writeFields(draft, session, context)
        }
    }

    private static func writeNote(_ draft: ItemDraft, _ session: VaultSession, _ context: CommandContext) throws {
        var draft = draft
        try addFields(to: &draft, context)
        let isFromFile = context.arguments.isSet(file)
        if !isFromFile, context.terminal.inputIsTerminal, draft.fields.isEmpty {
            let start = draft.title.map { "# \($0)\n\n" } ?? ""
            draft.title = nil
            let id = try EditorSession.edit(start, target: EditorSession.newTarget, context: context) { text in
                draft.text = text
                return try save(draft, session)
            }
            guard let id else {
                context.note("Nothing was written, so nothing was saved.")
                return
            }
            try report(id, session, context)
            return
        }
        try addPipedText(to: &draft, context)
        guard draft.title != nil || draft.text.contains(where: { !$0.isWhitespace }) else {
            throw CommandFailure(
                .badInput, .inputEmpty, "the text is empty; nothing was saved",
                hint: "give it a TITLE, or a text on a pipe")
        }
        try report(try save(draft, session), session, context)
    }

    private static func writeFields(_ draft: ItemDraft, _ session: VaultSession, _ context: CommandContext) throws {
        var draft = draft
        if draft.title?.isEmpty != false, context.terminal.inputIsTerminal, let prompt = context.prompt() {
            draft.title = try prompt.askLine("Title: ")?.trimmed
        }
        guard let title = draft.title, !title.isEmpty else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "a \(draft.kind.name) needs a title",
                hint: "coffret new --type \(draft.kind.name) TITLE")
        }
        try addFields(to: &draft, context)
        if draft.fields.isEmpty, context.terminal.inputIsTerminal, let prompt = context.prompt() {
            draft.fields = try askFields(draft.kind, prompt)
        }
        try addPipedText(to: &draft, context)
        try report(try save(draft, session), session, context)
    }

    /// What comes through a pipe is the text, behind the lines that were asked for as secrets.
    private static func addPipedText(to draft: inout ItemDraft, _ context: CommandContext) throws {
        guard !context.arguments.isSet(file), !context.terminal.inputIsTerminal else { return }
        draft.text = try InputText.readAll()
    }

    private static func addFields(to draft: inout ItemDraft, _ context: CommandContext) throws {
        let changes = try FieldArguments.changes(context, kind: draft.kind)
        try FieldArguments.apply(changes, to: &draft.fields, kind: draft.kind, random: SystemRandomSource())
    }

    /// Asks for each usual field; Enter skips one, and makes a strong password for a password.
    private static func askFields(_ kind: ItemKind, _ prompt: TerminalPrompt) throws -> [ItemField] {
        var fields: [ItemField] = []
        for standard in kind.standardFields {
            let isPassword = standard.key.name == "password"
            let label = standard.kind == .oneTimeCode ? "Key of the one-time code" : standard.label
            let question = isPassword ? "\(label) (empty makes a strong one): " : "\(label): "
            var value = try ask(question, standard, prompt)
            while let problem = FieldCheck.problem(value, kind: standard.kind, key: standard.key.name) {
                prompt.show(
                    problem.prefix(1).uppercased() + problem.dropFirst() + ".\nOnce more, or Enter to skip it.\n")
                value = try ask(question, standard, prompt)
            }
            if value.isEmpty, isPassword { value = try PasswordGenerator(random: SystemRandomSource()).password().text }
            if !value.isEmpty {
                fields.append(
                    ItemField(key: standard.key, label: standard.label, kind: standard.kind, value: value))
            }
        }
        return fields
    }

    private static func ask(_ question: String, _ standard: StandardField, _ prompt: TerminalPrompt) throws -> String {
        guard standard.kind.isSecret else { return try prompt.askLine(question)?.trimmed ?? "" }
        let secret = try prompt.askSecret(question)
        // EXPOSE: fields are text from here on, as they are in the vault's facts.
        return unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
    }

    private static func save(_ draft: ItemDraft, _ session: VaultSession) throws -> EntityID {
        try session.writing { vault in try vault.create(draft) }
    }

    private static func report(_ id: EntityID, _ session: VaultSession, _ context: CommandContext) throws {
        let item = try session.vault.item(id)
        try context.confirmDone(.item(item, revealsSecrets: false)) {
            "Saved \(context.label(item, try session.shortID(id)))"
        }
    }
}
