// `coffret init`: the first minute.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

enum InitCommand {
    static let name = OptionDescription.value("name", "NAME", "the vault's name (Personal)")
    static let noRecovery = OptionDescription.flag("no-recovery", "do not offer a recovery key")

    static let description = CommandDescription(
        "init", group: .store, "Make a store with a vault",
        discussion: [
            "Asks for a passphrase and offers a recovery key. In scripts the passphrase comes from --passphrase-fd or COFFRET_PASSPHRASE_FILE, and coffret recovery add makes a recovery key later."
        ],
        options: [name, StoreAccess.effort, noRecovery], run: run)

    static func run(_ context: CommandContext) throws {
        let path = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(path))",
                hint: "coffret status says what it holds; --store PATH makes another one elsewhere")
        }
        let source = PassphraseSource(context: context)
        let isAttended = !source.isUnattended
        var typed: SecretBytes?
        let passphrase: Passphrase
        if isAttended {
            let chosen = try source.chooseNewTyped("Choose a passphrase: ")
            passphrase = try Passphrase(given: chosen)
            typed = consume chosen
        } else {
            passphrase = try source.current()
        }
        let vaultName = context.arguments.value(name) ?? "Personal"
        let session = try StoreAccess.create(context, passphrase: passphrase, vaultName: vaultName)
        try context.confirmDone(
            .fields([
                "store": .string(path), "storeID": .string(session.storeIDText), "vault": .string(vaultName),
            ])
        ) { "Vault \"\(TextWidth.displaySafe(vaultName))\" is ready." }
        try context.output.flush()
        if isAttended, !context.arguments.isSet(noRecovery), !context.isJSON, let prompt = context.prompt() {
            let question = "Print a recovery key now? It is the only way back if you forget the passphrase."
            if try prompt.confirm(question, isYesDefault: true) {
                try RecoveryCeremony(context: context, prompt: prompt).run(session, named: "first recovery key")
            } else {
                prompt.show("coffret recovery add makes one later.\n")
            }
        }
        if let typed { try keepOpen(path, typed, context) }
        if context.terminal.outputIsTerminal, !context.isJSON, !context.isQuiet {
            try context.output.line("")
            try context.output.line(RootCommand.next(context))
        }
    }

    /// Nobody is asked for a passphrase twice: it was just chosen. Without an agent the next command asks.
    private static func keepOpen(_ path: String, _ typed: borrowing SecretBytes, _ context: CommandContext) throws {
        guard let store = AgentLocation.canonical(path),
            let client = try AgentClient.connect(context.environment) ?? AgentStarter.forTyping(context)
        else { return }
        try AgentUnlocking.unlock(client, store: store, context: context, chosen: typed)
        try AgentHandover.noteUnlocked(client, store, context)
    }
}
