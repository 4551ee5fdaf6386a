// Fields given on the command line: `--set username=ada`, `--secret password`, `--generate password`.
// The one thing to keep true: a value that belongs into a secret field is refused on the command line,
// where every process could read it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretSSH
internal import CoffretTerminal
internal import CoffretWire

/// Options of `new` and `edit` that set fields.
enum FieldArguments {
    static let set = OptionDescription.value(
        "set", "NAME=VALUE", repeats: true, "set a field; not for secrets, which others could see here")
    static let secret = OptionDescription.value(
        "secret", short: "s", "NAME", repeats: true, "ask for a secret field, or read it from a pipe")
    static let generate = OptionDescription.value(
        "generate", short: "g", "NAME", repeats: true,
        "fill a secret field with a strong password, or private-key with a new key")

    static let all = [set, secret, generate]

    /// The changes that the command line asks for. Asks the person for secrets.
    ///
    /// - Parameter kind: of the item, which knows the standard fields.
    static func changes(_ context: CommandContext, kind: ItemKind) throws -> [FieldDraft] {
        var changes = try assignments(context, kind: kind)
        for name in context.arguments.values(secret) {
            changes.append(FieldDraft(name: name, value: try askSecret(name, context), isSecret: true))
        }
        for name in context.arguments.values(generate) {
            if kind == .sshKey, FieldChange.standardField(name, kind)?.key.name == "private-key" {
                // A password would be no key.
                let key = SSHPrivateKey.generate(from: SystemRandomSource())
                changes += SSHKeyCommand.fields(of: key, comment: "").map { field in
                    FieldDraft(name: field.key.name, value: field.value, isSecret: field.kind.isSecret)
                }
                continue
            }
            let password = try PasswordGenerator(random: SystemRandomSource()).password()
            changes.append(FieldDraft(name: name, value: password.text, isSecret: true))
        }
        for change in changes { noteNewField(change, kind, context) }
        return changes
    }

    /// Any name is good for a field, so that a slip makes a new one: said where a standard field's name is near.
    private static func noteNewField(_ change: FieldDraft, _ kind: ItemKind, _ context: CommandContext) {
        guard !change.value.isEmpty, FieldChange.standardField(change.name, kind) == nil,
            let meant = Suggestion.nearest(to: change.name, among: kind.standardFields.map(\.key.name))
        else { return }
        context.note("\(TextWidth.displaySafe(change.name)) is a field of your own; did you mean \(meant)?")
    }

    /// What can be said of them before anything is opened or asked for.
    ///
    /// - Parameter kind: of the item; nil where it is not known yet.
    static func check(_ context: CommandContext, kind: ItemKind?) throws { _ = try assignments(context, kind: kind) }

    private static func assignments(_ context: CommandContext, kind: ItemKind?) throws -> [FieldDraft] {
        try context.arguments.values(set).map { text in
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CommandFailure(
                    .usage, code: UsageError.Code.invalidValue.rawValue, "--set takes NAME=VALUE")
            }
            let name = String(text[..<equals])
            if let kind, FieldChange.standardField(name, kind)?.kind.isSecret == true {
                throw isSecret(name)
            }
            return FieldDraft(name: name, value: String(text[text.index(after: equals)...]), isSecret: false)
        }
    }

    /// A secret value: typed twice unseen, or the first line of a pipe.
    private static func askSecret(_ name: String, _ context: CommandContext) throws -> String {
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            return try InputText.readLine(context)
        }
        let secret = try prompt.askSecret("\(TextWidth.displaySafe(name)): ")
        guard secret.byteCount > 0 else {
            throw CommandFailure(.badInput, .inputEmpty, "\(TextWidth.displaySafe(name)) is empty; nothing was changed")
        }
        // EXPOSE: fields are text from here on, as they are in the vault's facts.
        return unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
    }

    /// Refuses values that stood in the arguments for fields of an item that are secret.
    static func check(_ changes: [FieldDraft], for item: ItemMessage, _ kind: ItemKind) throws {
        for change in changes where change.isSecret == false && !change.value.isEmpty {
            let field = item.fields.first {
                FieldChange(change).means(name: $0.name, label: $0.label, of: kind)
            }
            if field?.isSecret == true { throw isSecret(change.name) }
        }
    }

    private static func isSecret(_ name: String) -> CommandFailure {
        let name = TextWidth.displaySafe(name)
        return CommandFailure(
            .usage, code: UsageError.Code.invalidValue.rawValue,
            "\(name) is a secret, and arguments can be seen by every process", hint: "--secret \(name) asks for it")
    }
}
