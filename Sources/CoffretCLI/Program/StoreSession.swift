// An open store, for the commands that look after it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust

/// A store that was opened with the person's secret.
final class StoreSession {
    let store: Store
    let context: CommandContext

    /// - Parameter isPersonPresent: whether somebody gave the secret for this very command, as opposed to a file or an
    ///   agent that held it.
    init(store: Store, context: CommandContext, isPersonPresent: Bool = false) {
        self.store = store
        self.context = context
        if isPersonPresent { store.hiddenGate.open() }
    }

    /// Opens the store that the command line means. Asks for the secret only if there is a store.
    static func open(
        _ context: CommandContext, with manner: UnlockManner, acceptsRollback: Bool = false
    ) throws -> StoreSession {
        let (path, environment) = try StoreAccess.requireStore(context)
        try StoreAccess.checkAttempts(path, environment)
        let secret = try StoreAccess.secret(manner, context)
        let news = AgentLocation.canonical(path).map { AgentKeyNews(store: $0, context.environment) }
        if let news { context.keyNews.append(news) }
        let store: Store
        do {
            store = try StoreAccess.askingForFormer(secret, context) { secret in
                try context.deriving {
                    try Store.open(
                        at: path, with: secret, acceptsRollback: acceptsRollback,
                        environment: news.map { environment.keepingStorageKey($0.hear) } ?? environment)
                }
            }
        } catch  where FailureCode.of(error) == KeyError.Code.unlockFailed.rawValue {
            throw WrongSecret.explained(FailureTranslation.failure(from: error), manner, store: path, context)
        }
        if !acceptsRollback { warnIfUnknown(store, context) }
        return StoreSession(
            store: store, context: context, isPersonPresent: PassphraseSource(context: context).isGivenNow)
    }

    private static func warnIfUnknown(_ store: Store, _ context: CommandContext) {
        if store.keyring.instanceStatus == .markerMissing { warnOfMissingMarker(context) }
    }

    /// Said by every command until a person has said that the store is to go on here.
    static func warnOfMissingMarker(_ context: CommandContext) {
        context.warn(StoreWords.markerMissing)
    }

    var storeIDText: String { store.keyring.storeID.hex }

    // MARK: Vaults

    /// The name that `--vault` or COFFRET_VAULT gives, if any.
    var namedVault: String? {
        context.arguments.value(GlobalOptions.vault) ?? context.environment.value(.vault)
    }

    /// The store as operations use it. Its vaults come as commands want them: with their policy, and watched.
    private(set) lazy var desk = StoreDesk(store, deskSurroundings())

    private func deskSurroundings() -> DeskSurroundings {
        var surroundings = DeskSurroundings(
            stateDirectory: AgentLocation.stateDirectory(of: context.environment) ?? "", person: person,
            check: PersonCheck(
                path: store.layout.path, { [context] in try StoreAccess.environment(context) },
                profile: KeyCommand.profileName(context), tpm: context.environment.value(.tpm),
                presence: nil, person: person),
            policy: { [context] in try BrokenSchemes.policy(context.environment.value(.brokenSchemes)) }
        ) { [context, unowned self] vault, isWritable in
            if isWritable { context.written.append(vault) }
            vault.observeIndex(progress: { [unowned self] in desk.reportIndex($0, of: $1) })
        }
        // By it this process has opened the store, for this command.
        surroundings.requirePassphrase = { _ in }
        return surroundings
    }

    private(set) lazy var person = TerminalPerson(context)

    // MARK: Recovery keys

    // A person was asked before each of these, and other processes may have changed the keyring meanwhile.

    /// The recovery keys, oldest first.
    var recoveryKeys: [SlotDetails] {
        get throws { try store.keyring.slotDetails().filter { $0.kind == .recovery } }
    }

    func addRecoveryKey(named name: String) throws -> (key: RecoveryKey, slotID: UniqueID) {
        try store.readKeyringAgain()
        return try store.changeKeyring { keyring in try keyring.addRecoveryKey(named: name) }
    }

    func addRecoveryKey(_ key: borrowing RecoveryKey, named name: String) throws {
        try store.readKeyringAgain()
        let text = key.text()
        _ = try store.changeKeyring { keyring in
            try keyring.addRecoveryKey(try RecoveryKey.parse(text), named: name)
        }
    }

    func removeSlot(_ id: UniqueID) throws {
        try store.readKeyringAgain()
        _ = try store.changeKeyring { keyring in try keyring.removeSlot(id) }
    }

    func changePassphrase(to passphrase: Passphrase) throws {
        let parameters = StoreAccess.parameters(context)
        try store.readKeyringAgain()
        try store.changeKeyring { keyring in
            try keyring.changePassphrase(passphrase, parameters: parameters)
        }
    }
}
