// `coffret copy`: a field to the clipboard, and away again.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage

enum CopyCommand {
    static let field = ArgumentDescription.optional("FIELD", "which field (the password, or the item's first secret)")
    static let seconds = OptionDescription.value(
        "clear-after", "SECONDS", .number(0...86_400), "when to clear the clipboard (45; 0 for never)")

    static let description = CommandDescription(
        "copy", group: .secrets, "Copy a password or another field to the clipboard",
        discussion: [
            "The clipboard is cleared afterwards, unless you copied something else meanwhile. Works with Wayland (wl-copy), X11 (xclip, xsel), and terminals that know OSC 52, also over ssh."
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
        let isWaiting = clipboard == .terminal && count > 0
        if count > 0, !isWaiting { try ClipboardGuard.start(for: bytes, seconds: count) }
        let clearing =
            count == 0
            ? "It stays there." : "The clipboard is cleared in \(count) s\(isWaiting ? "; Ctrl-C clears it now" : "")."
        try context.confirmDone(.fields(["copied": .bool(true), "clearAfterSeconds": .integer(count)])) {
            "\(TextWidth.displaySafe(what)) is on the clipboard. \(clearing)"
        }
        try context.output.flush()
        if isWaiting { waitAndClear(clipboard, seconds: count) }
    }

    /// The terminal's clipboard cannot be read from another process, so this one waits in sight.
    private static func waitAndClear(_ clipboard: Clipboard, seconds count: Int) {
        let watch = SignalWatch(SignalWatch.ending)
        _ = watch.wait(for: -1, timeoutMilliseconds: Int32(count * 1000))
        clipboard.clear()
        if let signal = watch.next(), signal != 2 { endProgram(by: signal) }
    }
}
