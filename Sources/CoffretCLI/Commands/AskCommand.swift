// `coffret ask`, `answer` and `ask-page`: one value from another device, or for a machine that is not the person's. The one thing to keep
// true: a value goes where the person said, once, and nowhere else.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretTerminal
internal import CoffretWire

enum AskCommand {
    static let item = ArgumentDescription.required("ITEM", .text, "as the other device knows it: title, alias or id")
    static let field = ArgumentDescription.optional(
        "FIELD", "which field (the password, or the item's first secret); code for a one-time code")
    static let source = OptionDescription.value(
        "from", "DEVICE", "the device to ask: its name, or the beginning of its id")
    static let copy = OptionDescription.flag("copy", short: "c", "copy it to the clipboard instead")

    static let description = CommandDescription(
        "ask", group: .devices, "Ask another of your devices for one value",
        discussion: [
            "The other device has to be unlocked and connected with the server. Its person reads which device asks for what, and sends it once or refuses. The server in between sees nothing. Docs/remote.md says more."
        ],
        arguments: [item, field], options: [source, copy],
        examples: [
            CommandExample("coffret ask GitHub --from tower", "prints the password, once tower has confirmed"),
            CommandExample("coffret ask GitHub code --from tower --copy", "the one-time code, on the clipboard"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        guard let device = context.arguments.value(source) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingValue.rawValue, "which device is to be asked?",
                hint: "coffret ask ITEM --from DEVICE; coffret device ls lists your devices")
        }
        // A person's yes is not to be in vain.
        guard !context.arguments.isSet(copy) || Clipboard.find(context.environment, terminal: context.terminal) != nil
        else {
            throw CommandFailure(
                .unavailable, .clipboardMissing, "there is no clipboard here",
                hint: "install wl-clipboard or xclip, or leave out --copy")
        }
        var request = RemoteAsk()
        (request.item, request.field) = (context.arguments.required(item), context.arguments.value(field))
        request.device = device
        let answer = try CommandStore.open(context).perform(request)
        if context.arguments.isSet(copy) {
            return try CopyCommand.copy(Array(answer.value.utf8), what: answer.label, context)
        }
        if context.isJSON { return try context.output.line(answer.json.line) }
        let bytes = Array(answer.value.utf8)
        guard context.terminal.outputIsTerminal else { return try context.output.write(bytes: bytes) }
        guard ForeignData.isHarmless(bytes) else {
            throw CommandFailure(
                .usage, .outputBinary, "the value is not plain text, and would go to the terminal",
                hint: "use a pipe, --copy or --json")
        }
        try context.output.line(answer.value)
    }
}

enum AnswerCommand {
    static let code = ArgumentDescription.required("CODE", .text, "the text that the page shows: COFFRET-ASK:1:…")
    static let field = ArgumentDescription.optional(
        "FIELD", "which field (a one-time code, else the password, else the first secret)")
    static let reminds = OptionDescription.flag(
        "remind", "tag the item \(RemoteAnswer.reminder), since that machine has seen it")

    static let description = CommandDescription(
        "answer", group: .devices, "Send one value to a machine that is not yours",
        discussion: [
            "That machine opens the page that coffret ask-page gives, and shows a code. Scan it, and paste its text here. You read what is sent, and show that you are there. Whoever delivered the page to that machine can read this one value, and so can everything on that machine: a one-time code is worth less to them than a password."
        ],
        arguments: [code, CommonArguments.item, field], options: [reminds],
        examples: [CommandExample("coffret answer COFFRET-ASK:1:M5QXEZDFNY GitHub code", "sends the one-time code")],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = RemoteAnswer()
        (request.code, request.item) = (
            context.arguments.required(code), context.arguments.required(CommonArguments.item)
        )
        (request.vault, request.field) = (store.namedVault, context.arguments.value(field))
        request.reminds = context.arguments.isSet(reminds) ? true : nil
        // A mistyped code is told before anybody is asked anything.
        _ = try PageCode.parse(request.code)
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            "Sent: \(TextWidth.displaySafe(answer.label)) of \"\(TextWidth.displaySafe(answer.title))\", once. The page forgets it in a minute."
        }
    }
}

enum AskPageCommand {
    static let description = CommandDescription(
        "ask-page", group: .devices, "Give the page that asks for one value, as one file",
        discussion: [
            "Writes the page to standard output. Carry it to the other machine and open it there in a browser; it refers to nothing outside. Its SHA-256 is printed beside it, so that it can be compared."
        ],
        examples: [CommandExample("coffret ask-page > ask.html", "the file to carry")], run: run)

    private static func run(_ context: CommandContext) throws {
        guard !context.terminal.outputIsTerminal else {
            throw CommandFailure(
                .usage, .outputBinary, "the page is a file, and would go to the terminal",
                hint: "coffret ask-page > ask.html")
        }
        try context.output.write(bytes: AskPage.content)
        let page = AskPage.content
        let digest = unsafe HashAlgorithm.sha256.hash(page.span.bytes)
        context.note("SHA-256 of the page: \(Hex.encode(digest))")
    }
}
