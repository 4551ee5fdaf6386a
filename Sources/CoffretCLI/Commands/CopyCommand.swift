// `coffret copy`: a field to the clipboard, and away again.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

enum CopyCommand {
    static let field = ArgumentDescription.optional("FIELD", "which field (the password, or the item's first secret)")
    static let seconds = OptionDescription.value(
        "clear-after", "SECONDS", .number(0...86_400), "when to clear the clipboard (45; 0 for never)")

    static let description = CommandDescription(
        "copy", group: .secrets, "Copy a password or another field to the clipboard",
        discussion: [
            "The clipboard is cleared afterwards, unless you copied something else meanwhile; a terminal's is cleared in any case, because it cannot be looked at. Works with Wayland (wl-copy), X11 (xclip, xsel), and terminals that know OSC 52, also over ssh."
        ],
        arguments: [CommonArguments.item, field], options: [seconds],
        examples: [
            CommandExample("coffret copy GitHub", "copies the password"),
            CommandExample("coffret copy GitHub username", "copies the user name"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        if let name = context.arguments.value(field) {
            let field = try item.field(named: name)
            try copy(Array(field.value.utf8), what: field.label, context)
        } else if item.kind == .note, item.fields.isEmpty {
            try copy(Array(item.text.utf8), what: "The text", context)
        } else {
            let field = item.fields.first { $0.key.name == "password" } ?? item.fields.first { $0.kind == .secret }
            guard let field else {
                throw CommandFailure(
                    .notFound, .fieldNotFound, "\"\(TextWidth.displaySafe(item.title))\" has no secret to copy",
                    hint: "coffret copy ITEM FIELD copies any field")
            }
            try copy(Array(field.value.utf8), what: field.label, context)
        }
    }

    /// Copies bytes and sees to it that they do not stay.
    static func copy(_ bytes: [UInt8], what: String, _ context: CommandContext) throws {
        guard let clipboard = Clipboard.find(context.environment, terminal: context.terminal) else {
            throw CommandFailure(
                .unavailable, .clipboardMissing, "there is no clipboard here",
                hint: "install wl-clipboard or xclip, or use coffret show ITEM --field NAME")
        }
        let count = context.arguments.value(seconds).flatMap { Int($0) } ?? 45
        try clipboard.copy(bytes)
        if count > 0 { try ClipboardGuard.start(for: bytes, seconds: count, on: clipboard) }
        let isTerminal = clipboard == .terminal
        let clearing = count == 0 ? "It stays there." : "It is cleared in \(count) s."
        try context.confirmDone(
            .fields([
                "copied": .bool(true), "clearAfterSeconds": .integer(count),
                "clipboard": .string(isTerminal ? "terminal" : "desktop"),
            ])
        ) {
            isTerminal
                ? "\(TextWidth.displaySafe(what)) was sent to the terminal's clipboard; not every terminal takes it. \(clearing)"
                : "\(TextWidth.displaySafe(what)) is on the clipboard. \(clearing)"
        }
    }
}
