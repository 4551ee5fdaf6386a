// `coffret otp`: the one-time code of a login.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum OneTimeCodeCommand {
    static let copy = OptionDescription.flag("copy", short: "c", "copy it to the clipboard instead")

    static let description = CommandDescription(
        "otp", group: .secrets, "Show the one-time code of a login",
        discussion: ["A counted code moves on each time it is shown; that is saved before it is printed."],
        arguments: [CommonArguments.item], options: [copy],
        examples: [
            CommandExample("coffret edit GitHub --secret totp", "asks for the key, as otpauth address or base32")
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = CodeRead()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        let code = try store.perform(request)
        if context.arguments.isSet(copy) {
            try CopyCommand.copy(Array(code.code.utf8), what: "The one-time code", context)
            return
        }
        try context.print(code.json) {
            guard context.terminal.outputIsTerminal else { return code.code }
            let half = code.code.count / 2
            let shown = "\(code.code.prefix(half)) \(code.code.dropFirst(half))"
            return shown + (code.remainingSeconds.map { "   \($0) s left" } ?? "")
        }
    }
}
