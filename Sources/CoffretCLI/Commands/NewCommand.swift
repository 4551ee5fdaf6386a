// `coffret new`: a note from the editor or a pipe, or an item with fields.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

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
        var request = ItemCreate()
        request.kind = kind.name
        request.title = context.arguments.value(title)
        request.tags = try context.tags(tag).map(\.path)
        request.isPinned = context.arguments.isSet(pin)
        try FieldArguments.check(context, kind: kind)
        if let path = context.arguments.value(file) { try PathCheck.readable(path) }
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        // A vault that cannot be opened is told before anybody writes a long text.
        try store.checkVault()
        if let path = context.arguments.value(file) { request.text = try InputText.read(path: path) }
        if kind == .note {
            try writeNote(request, store, context)
        } else {
            try writeFields(request, kind, store, context)
        }
    }

    private static func writeNote(_ request: ItemCreate, _ store: CommandStore, _ context: CommandContext) throws {
        var request = request
        request.fields = try FieldArguments.changes(context, kind: .note)
        let isFromFile = context.arguments.isSet(file)
        if !isFromFile, context.terminal.inputIsTerminal, request.fields?.isEmpty != false {
            let start = request.title.map { "# \($0)\n\n" } ?? ""
            request.title = nil
            let answer = try EditorSession.edit(start, target: EditorSession.newTarget, context: context) { text in
                request.text = text
                return try store.perform(request)
            }
            guard let answer else {
                context.note("Nothing was written, so nothing was saved.")
                return
            }
            return try report(answer, store, context)
        }
        try addPipedText(to: &request, context)
        guard request.title != nil || request.text?.contains(where: { !$0.isWhitespace }) == true else {
            throw CommandFailure(
                .badInput, .inputEmpty, "the text is empty; nothing was saved",
                hint: "give it a TITLE, or a text on a pipe")
        }
        try report(try store.perform(request), store, context)
    }

    private static func writeFields(
        _ request: ItemCreate, _ kind: ItemKind, _ store: CommandStore, _ context: CommandContext
    ) throws {
        var request = request
        if request.title?.isEmpty != false, context.terminal.inputIsTerminal, let prompt = context.prompt() {
            request.title = try prompt.askLine("Title: ")?.trimmed
        }
        guard let title = request.title, !title.isEmpty else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "a \(kind.name) needs a title",
                hint: "coffret new --type \(kind.name) TITLE")
        }
        var fields = try FieldArguments.changes(context, kind: kind)
        if fields.isEmpty, context.terminal.inputIsTerminal, let prompt = context.prompt() {
            fields = try askFields(kind, prompt)
        }
        request.fields = fields
        try addPipedText(to: &request, context)
        try report(try store.perform(request), store, context)
    }

    /// What comes through a pipe is the text, behind the lines that were asked for as secrets.
    private static func addPipedText(to request: inout ItemCreate, _ context: CommandContext) throws {
        guard !context.arguments.isSet(file), !context.terminal.inputIsTerminal else { return }
        request.text = try InputText.readAll()
    }

    /// Asks for each usual field; Enter skips one, and makes a strong password for a password.
    private static func askFields(_ kind: ItemKind, _ prompt: TerminalPrompt) throws -> [FieldDraft] {
        var fields: [FieldDraft] = []
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
            if !value.isEmpty { fields.append(FieldDraft(name: standard.key.name, value: value)) }
        }
        return fields
    }

    private static func ask(_ question: String, _ standard: StandardField, _ prompt: TerminalPrompt) throws -> String {
        guard standard.kind.isSecret else { return try prompt.askLine(question)?.trimmed ?? "" }
        let secret = try prompt.askSecret(question)
        // EXPOSE: fields are text from here on, as they are in the vault's facts.
        return unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
    }

    private static func report(_ item: ItemMessage, _ store: CommandStore, _ context: CommandContext) throws {
        try context.confirmDone(item.json) { "Saved \(try store.label(item.id))" }
    }
}
