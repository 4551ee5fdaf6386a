// An open store, for the commands that look after it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
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
    ///
    /// With `.passphrase` this is where a command moves to the agent, if one runs: it must not have read input,
    /// printed or changed anything before. With any other manner, which never runs in the agent, the keyring can be read again.
    static func open(
        _ context: CommandContext, with manner: UnlockManner, acceptsRollback: Bool = false
    ) throws -> StoreSession {
        let path = try StoreAccess.path(context)
        let environment = try StoreAccess.environment(context)
        guard try Store.exists(at: path, environment: environment) else {
            throw CommandFailure(
                .noStore, .storeMissing, "there is no store at \(TextWidth.displaySafe(path))",
                hint: "coffret init makes one; --store names another place")
        }
        if case .passphrase = manner {
            if let hosted = HostedCommand.current(for: path) {
                let store = try hosted.openStore(at: path, environment)
                warnIfUnknown(store, context)
                return StoreSession(store: store, context: context)
            }
            try AgentHandover.attempt(context, store: path)
        }
        try StoreAccess.checkAttempts(path, environment)
        let secret = try StoreAccess.secret(manner, context)
        let news = AgentLocation.canonical(path).map { AgentKeyNews(store: $0, context.environment) }
        if let news { context.keyNews.append(news) }
        let follows = if case .passphrase = manner { false } else { true }
        let store: Store
        do {
            store = try StoreAccess.askingForFormer(secret, context) { secret in
                try context.deriving {
                    try Store.open(
                        at: path, with: secret, acceptsRollback: acceptsRollback, follows: follows,
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
        context.warn(
            "this machine remembers nothing of this store: it was copied here, or its marker was removed "
                + "(\(KeyError.Code.markerMissing.rawValue)); nothing is written before coffret device renew")
    }

    var storeIDText: String { store.keyring.storeID.hex }

    // MARK: Vaults

    /// The name that `--vault` or COFFRET_VAULT gives, if any.
    var namedVault: String? {
        context.arguments.value(GlobalOptions.vault) ?? context.environment.value(.vault)
    }

    /// The vault that a command works with: the one that was named, else this device's default.
    var wantedVault: String { get throws { try namedVault ?? defaultVault.vaultID.hex } }

    /// The vault that is meant where none is named: what `coffret vault default` set, else the first one.
    var defaultVault: VaultRecord {
        get throws {
            let path = try StoreAccess.path(context)
            if let chosen = AgentFamilyCommand.syncRecords(of: path, context)?.defaultVault,
                let record = try store.vaults.first(where: { $0.vaultID.hex == chosen })
            {
                return record
            }
            return try store.firstVault ?? store.vaultRecord(nil)
        }
    }

    /// All vaults where several are there and none was named, the default first; otherwise nil.
    var unnamedVaults: [VaultRecord]? {
        get throws {
            guard namedVault == nil else { return nil }
            let vaults = try store.vaults
            guard vaults.count > 1 else { return nil }
            let first = try defaultVault.vaultID
            return vaults.filter { $0.vaultID == first } + vaults.filter { $0.vaultID != first }
        }
    }

    /// - Parameter reference: of a vault; nil for the one that is wanted.
    func openVault(_ reference: String? = nil, isWritable: Bool) throws -> Vault {
        try context.timings.measure("open") {
            let vault = try store.openVault(reference ?? wantedVault, isWritable: isWritable)
            vault.lockPolicy = try BrokenSchemes.policy(context)
            if isWritable { context.written.append(vault) }
            if vault.isOlderCopy {
                context.warn(
                    "\"\(TextWidth.displaySafe(vault.name))\" is older than this machine remembers: an old copy was "
                        + "put back (\(CoreError.Code.vaultRolledBack.rawValue)); put the newer one back, "
                        + "or go on with this one: coffret device renew")
            }
            return vault
        }
    }

    // MARK: Recovery keys

    // A person was asked before each of these, and other processes may have changed the keyring meanwhile.

    /// The recovery keys, oldest first.
    var recoveryKeys: [SlotDetails] {
        get throws { try store.keyring.slotDetails().filter { $0.kind == .recovery } }
    }

    func addRecoveryKey(named name: String) throws -> (key: RecoveryKey, slotID: UniqueID) {
        try store.readKeyringAgain()
        return try store.changeKeyring { (keyring) throws(KeyError) in try keyring.addRecoveryKey(named: name) }
    }

    func addRecoveryKey(_ key: borrowing RecoveryKey, named name: String) throws {
        try store.readKeyringAgain()
        let text = key.text()
        _ = try store.changeKeyring { (keyring) throws(KeyError) in
            try keyring.addRecoveryKey(try RecoveryKey.parse(text), named: name)
        }
    }

    func removeSlot(_ id: UniqueID) throws {
        try store.readKeyringAgain()
        _ = try store.changeKeyring { (keyring) throws(KeyError) in try keyring.removeSlot(id) }
    }

    func changePassphrase(to passphrase: Passphrase) throws {
        let parameters = StoreAccess.parameters(context)
        try store.readKeyringAgain()
        try store.changeKeyring { (keyring) throws(KeyError) in
            try keyring.changePassphrase(passphrase, parameters: parameters)
        }
    }

    // MARK: Names and sizes

    /// What people call the device that made a commit, and so that they know which one of two is meant.
    func deviceName(_ deviceID: [UInt8]) -> String { (try? store.deviceLabel(deviceID)) ?? "another device" }

    /// The bytes of all files of the store.
    var byteCountOnDisk: Int {
        get throws { try Self.byteCount(below: store.layout.path, PosixFileSystem()) }
    }

    private static func byteCount(below path: String, _ fileSystem: PosixFileSystem) throws -> Int {
        try fileSystem.list(path).reduce(0) { sum, entry in
            let inner = "\(path)/\(entry.name)"
            guard let status = try fileSystem.status(inner) else { return sum }
            return sum + (status.kind == .directory ? try byteCount(below: inner, fileSystem) : Int(status.byteCount))
        }
    }
}
