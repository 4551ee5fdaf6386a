// Makes sure that a person is there: by presence where it is set up, else by the PIN, else by the store's passphrase.
// Invariant: a no is a no; the next way is tried only where nobody could be asked.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

/// How this process finds out whether a person is there.
package struct PersonCheck {
    private let path: String
    private let environment: () throws -> StoreEnvironment
    let profile: String
    let tpm: String?
    let presence: HostedPresence?
    private let person: any OperationPerson

    /// - Parameters:
    ///   - path: of the store.
    ///   - profile: whose PIN is meant.
    ///   - presence: nil where nothing is set up that could be asked.
    package init(
        path: String, _ environment: @escaping () throws -> StoreEnvironment, profile: String, tpm: String?,
        presence: HostedPresence?, person: any OperationPerson
    ) {
        self.path = path
        self.environment = environment
        self.profile = profile
        self.tpm = tpm
        self.presence = presence
        self.person = person
    }

    package var canAsk: Bool { presence != nil || person.canAnswer }

    /// Opens the gate of hidden items, once a person has shown to be there. Asks once for each open store.
    package func require(toShow item: Item, in store: Store) throws {
        // Whoever wrote the title may be another device, or an imported file.
        let title = TextWidth.truncate(TextWidth.displaySafe(item.title), to: 40)
        let noun = item.kind.noun
        try require(to: "show the hidden \(noun) \"\(title)\"", orElse: "the \(noun) stays hidden", in: store)
    }

    /// - Parameters:
    ///   - reason: ends a sentence that begins with "Show that you are there, to".
    ///   - outcome: of a no.
    package func require(to reason: String, orElse outcome: String, in store: Store) throws {
        if store.hiddenGate.isOpen { return }
        guard try ask(reason: reason) else {
            throw CommandFailure(.permission, .presenceRefused, "nobody confirmed; \(outcome)")
        }
        store.hiddenGate.open()
    }

    /// - Returns: false if the person said no.
    /// - Throws: what a wrong PIN or passphrase throws; `.presenceUnavailable` if nobody can be asked.
    package func ask(reason: String) throws -> Bool {
        if let presence {
            do {
                return try presence.ask(reason: reason)
            } catch  where HostedPresence.isUnavailable(error) && person.canAnswer {
                person.note("Presence cannot be asked for here; a PIN or the passphrase will do.")
            }
        }
        guard person.canAnswer else { throw Self.absent(reason) }
        let (environment, ledger) = try checkPause()
        let surroundings = KeyStoreSurroundings(
            stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem, random: environment.random,
            tpm: tpm)
        let pin = try? PINJudge(
            path: path, surroundings: surroundings, hasPIN: true, profile: profile, presence: presence)
        guard let pin, pin.isUsableHere else {
            try askForPassphrase(reason, environment)
            return true
        }
        try pin.checkAttempts()
        let typed = try typed(.pin, "PIN, to \(reason): ", reason)
        let open = { () throws(KeyError) in _ = try pin.open(typed) }
        if let ledger {
            try ledger.attempt(open)
        } else {
            try open()
        }
        return true
    }

    /// Asks for the passphrase, whatever else could show that somebody is there.
    ///
    /// - Throws: what a wrong passphrase throws; `.presenceUnavailable` if nobody can be asked.
    package func requirePassphrase(to reason: String) throws {
        guard person.canAnswer else { throw Self.absent(reason) }
        try askForPassphrase(reason, checkPause().environment, .currentPassphrase)
    }

    static func absent(_ reason: String) -> CommandFailure {
        CommandFailure(
            .unavailable, .presenceUnavailable,
            "somebody has to be there to \(reason), and there is no terminal to ask at",
            hint: "use --passphrase-fd N to give the passphrase for this command")
    }

    /// Nobody types in vain.
    private func checkPause() throws -> (environment: StoreEnvironment, ledger: AttemptLedger?) {
        let environment = try environment()
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: environment.fileSystem)
        let ledger = environment.attempts?.ledger(ofStore: summary.storeID)
        try ledger?.checkPause()
        return (environment, ledger)
    }

    private func askForPassphrase(
        _ reason: String, _ environment: StoreEnvironment, _ kind: SessionQuestion.Kind = .passphrase
    ) throws {
        let passphrase = try typed(kind, "Passphrase of the store, to \(reason): ", reason)
        _ = try person.deriving {
            try Store.open(at: path, with: .passphrase(passphrase), environment: environment)
        }
    }

    private func typed(_ kind: SessionQuestion.Kind, _ text: String, _ reason: String) throws -> Passphrase {
        try Passphrase(given: person.secret(SessionQuestion(kind, text, reason: reason)))
    }
}

extension Passphrase {
    /// A passphrase or PIN as it was given.
    ///
    /// - Throws: `CommandFailure` `.passphraseEmpty`, `CryptoError`.
    package convenience init(given secret: borrowing SecretBytes) throws {
        guard secret.byteCount > 0 else {
            throw CommandFailure(.badInput, .passphraseEmpty, "the passphrase is empty")
        }
        // EXPOSE: into an array that Passphrase zeroes.
        var bytes = unsafe secret.withUnsafeBytes { unsafe Array($0) }
        try self.init(typed: &bytes)
    }
}
