// Makes sure that a person is there: by presence where it is set up, else by the PIN, else by the store's passphrase. The
// one thing to keep true: a no is a no; the next way is tried only where nobody could be asked.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

struct PersonCheck {
    private let context: CommandContext
    private let store: StoreSession

    init(_ context: CommandContext, store: StoreSession) {
        self.context = context
        self.store = store
    }

    /// - Parameter reason: ends a sentence that begins with "Show that you are there, to".
    /// - Returns: false if the person said no.
    /// - Throws: what a wrong PIN or passphrase throws; `.presenceUnavailable` if nobody can be asked.
    func ask(reason: String) throws -> Bool {
        if let presence = context.presence {
            do {
                return try presence.ask(reason: reason)
            } catch  where HostedPresence.isUnavailable(error) {
                context.note("Presence cannot be asked for here; a PIN or the passphrase will do.")
            }
        }
        let environment = try StoreAccess.environment(context)
        let path = try StoreAccess.path(context)
        let surroundings = KeyStoreSurroundings(
            stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem, random: environment.random,
            tpm: context.environment.value(.tpm))
        let profile = KeyCommand.profileName(context)
        let pin = try? PINJudge(
            path: path, surroundings: surroundings, hasPIN: true, profile: profile,
            presence: HostedCommand.current?.presence)
        guard let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .presenceUnavailable,
                "somebody has to be there to \(reason), and there is no terminal to ask at",
                hint: "use --passphrase-fd N to give the passphrase for this command")
        }
        // Nobody types in vain.
        try StoreAccess.checkAttempts(path, environment)
        guard let pin, pin.isUsableHere else {
            try store.confirm(passphrase: prompt.askSecret("Passphrase of the store, to \(reason): "))
            return true
        }
        try pin.checkAttempts()
        let typed = try PassphraseSource.passphrase(prompt.askSecret("PIN, to \(reason): "))
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: environment.fileSystem)
        let open = { () throws(KeyError) in _ = try pin.open(typed) }
        if let ledger = environment.attempts?.ledger(ofStore: summary.storeID) {
            try ledger.attempt(open)
        } else {
            try open()
        }
        return true
    }
}
