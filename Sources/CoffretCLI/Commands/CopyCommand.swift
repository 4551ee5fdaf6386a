// `coffret copy`: a field to the clipboard, and away again.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum CopyCommand {
    static let field = ArgumentDescription.optional("FIELD", "which field (the password, or the item's first secret)")
    static let seconds = OptionDescription.value(
        "clear-after", "SECONDS", .number(0...86_400), "when to clear the clipboard (45; 0 for never)")

    static let description = CommandDescription(
        "copy", group: .secrets, "Copy a password or another field to the clipboard",
        discussion: [
            "The clipboard is cleared afterwards, and when the store locks, unless you copied something else meanwhile; a terminal's is cleared in any case, because it cannot be looked at. Works with Wayland (wl-copy), X11 (xclip, xsel), and terminals that know OSC 52, also over ssh."
        ],
        arguments: [CommonArguments.item, field], options: [seconds],
        examples: [
            CommandExample("coffret copy GitHub", "copies the password"),
            CommandExample("coffret copy GitHub username", "copies the user name"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = FieldRead()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.field = context.arguments.value(field)
        let answer = try store.perform(request)
        try copy(
            Array((answer.field?.value ?? answer.text ?? "").utf8), what: answer.field?.label ?? "The text", context)
    }

    /// Copies bytes and sees to it that they do not stay.
    static func copy(_ bytes: [UInt8], what: String, _ context: CommandContext) throws {
        let count = context.arguments.value(seconds).flatMap { Int($0) } ?? usualSeconds
        let (isTerminal, words) = try put(bytes, what: what, seconds: count, context)
        let caveat = isTerminal ? " Not every terminal takes it." : ""
        try context.confirmDone(
            .fields([
                "copied": .bool(true), "clearAfterSeconds": .integer(count),
                "clipboard": .string(isTerminal ? "terminal" : "desktop"),
            ])
        ) { words + caveat }
    }

    /// For how long something stays on the clipboard, unless the person says otherwise.
    static let usualSeconds = 45

    /// Puts bytes on the clipboard, and starts the process that clears it.
    ///
    /// - Parameter seconds: when to clear it; 0 for never.
    /// - Returns: whether it is the terminal's, and what is said to the person.
    static func put(
        _ bytes: [UInt8], what: String, seconds count: Int = usualSeconds, _ context: CommandContext
    ) throws -> (isTerminal: Bool, words: String) {
        guard let clipboard = Clipboard.find(context.environment, terminal: context.terminal) else {
            throw CommandFailure(
                .unavailable, .clipboardMissing, "there is no clipboard here",
                hint: "install wl-clipboard or xclip, or use coffret show ITEM --field NAME")
        }
        try clipboard.copy(bytes)
        if count > 0 { try ClipboardGuard.start(for: bytes, seconds: count, on: clipboard, context) }
        let clearing = count == 0 ? "It stays there." : "It is cleared in \(count) s."
        let what = TextWidth.displaySafe(what)
        guard clipboard == .terminal else { return (false, "\(what) is on the clipboard. \(clearing)") }
        return (true, "\(what) was sent to the terminal's clipboard. \(clearing)")
    }
}
