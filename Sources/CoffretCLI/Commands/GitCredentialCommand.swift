// `coffret git-credential`: git asks the vault. The one thing to keep true: git gets a password only if exactly one item
// is for exactly that place; otherwise it gets nothing, and asks the person as it would without us.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum GitCredentialCommand {
    static let description = CommandDescription(
        "git-credential", group: .scripts, "Give git the passwords that it asks for",
        discussion: [
            "For git's own use: git config --global credential.helper '!coffret git-credential'. An item is used if its address has the same protocol, host and port, and the same user name and path where git tells them. If several fit, none is used; credential.username or a user name in the address tells git which.",
            "Without the agent, store and erase do nothing if they would have to ask for the passphrase.",
        ],
        subcommands: [
            CommandDescription(
                "get", "Look up the password for what git asks about", options: [CredentialCommand.tokenFile],
                examples: [
                    CommandExample(
                        "printf 'protocol=https\\nhost=example.org\\n\\n' | coffret git-credential get",
                        "what git would be told")
                ], run: get),
            CommandDescription(
                "store", "Keep a password that worked", options: [CredentialCommand.tokenFile], run: store),
            CommandDescription(
                "erase", "Put a password that did not work into the trash", options: [CredentialCommand.tokenFile],
                run: erase),
        ])

    private static func read(_ context: CommandContext) throws -> GitCredential {
        let bytes = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: GitCredential.byteCountMax)
        guard let bytes, let text = String(validating: bytes, as: UTF8.self), let asked = GitCredential(text) else {
            throw CommandFailure(
                .badInput, .inputInvalid, "that is not what git writes: protocol= and host= are needed",
                hint: "coffret help git-credential")
        }
        return asked
    }

    // MARK: What git calls

    private static func open(_ context: CommandContext) throws -> CredentialKeeper {
        try CredentialCommand.keeper(context, .git)
    }

    private static func get(_ context: CommandContext) throws {
        let keeper = try open(context)
        let asked = try read(context)
        // Nothing found is no failure: git asks the next helper, or the person.
        guard let match = try keeper.find(asked.place) else { return }
        let values = [match.username ?? asked.username ?? "", match.secret]
        guard values.allSatisfy({ value in !value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } }) else {
            throw CommandFailure(
                .badInput, .inputInvalid,
                "the password of \"\(TextWidth.displaySafe(match.title))\" has line ends, which git cannot take")
        }
        if context.isJSON {
            try context.output.line(
                JSONValue.fields([
                    "id": .string(match.item), "username": values[0].isEmpty ? nil : .string(values[0]),
                    "password": .string(values[1]),
                ]).line)
            return
        }
        if !values[0].isEmpty { try context.output.line("username=\(values[0])") }
        try context.output.line("password=\(values[1])")
    }

    private static func store(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let keeper = try open(context)
        let asked = try read(context)
        guard asked.username != nil, let password = asked.password, !password.isEmpty, asked.expiry == nil,
            ["http", "https"].contains(asked.protocolName)
        else { return }
        let path = asked.path.map { "/" + $0 } ?? "/"
        try keeper.keep(password, for: asked.place, address: "\(asked.protocolName)://\(asked.host)\(path)")
    }

    private static func erase(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let keeper = try open(context)
        let asked = try read(context)
        try keeper.erase(asked.password, for: asked.place) { match in
            context.note(
                "coffret: git says that the password of \"\(TextWidth.displaySafe(match.title))\" does not work; the item stays as it is."
            )
        }
    }

    /// Whether the store opens without a question. Git stores after every fetch; nobody wants to be asked each time.
    private static func canOpenUnasked(_ context: CommandContext) throws -> Bool {
        let isTold =
            PassphraseSource(context: context).isUnattended && !context.arguments.isSet(CredentialCommand.tokenFile)
        if isTold { return true }
        // With the agent, only if the store is unlocked now.
        guard let client = try AgentClient.connect(context.environment),
            let store = AgentLocation.canonical(try StoreAccess.path(context))
        else { return false }
        return try client.status(of: store).first?.isUnlocked ?? false
    }
}
