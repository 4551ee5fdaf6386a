// `coffret otp`: the one-time code of a login.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

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
        let session = try VaultSession.open(context)
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        guard let field = item.fields.first(where: { $0.kind == .oneTimeCode }) else {
            throw CommandFailure(
                .notFound, .fieldNotFound, "\"\(TextWidth.displaySafe(item.title))\" has no one-time codes",
                hint: "coffret edit \(try session.shortID(item.id)) --secret totp adds the key")
        }
        let generator = try OneTimeCode.parse(field.value)
        let code = try generator.code(unixMilliseconds: context.nowMilliseconds)
        if let next = try generator.advanced() {
            // Saved first: a counter that is shown twice would be refused by the other side.
            try session.writing { vault in
                try vault.update(item.id) { item in
                    guard let index = item.fields.firstIndex(where: { $0.key == field.key }) else { return }
                    item.fields[index].value = next.address
                }
            }
        }
        if context.arguments.isSet(copy) {
            try CopyCommand.copy(Array(code.digits.utf8), what: "The one-time code", context)
            return
        }
        let value = JSONValue.fields([
            "code": .string(code.digits), "remainingSeconds": code.remainingSeconds.map { .integer(Int($0)) },
        ])
        try context.print(value) {
            guard context.terminal.outputIsTerminal else { return code.digits }
            let half = code.digits.count / 2
            let shown = "\(code.digits.prefix(half)) \(code.digits.dropFirst(half))"
            return shown + (code.remainingSeconds.map { "   \($0) s left" } ?? "")
        }
    }
}
