// Which store, and the way into it. The one thing to keep true: the store is the one that was named on
// the command line, in COFFRET_STORE, or the person's own; never one that the working directory chose (R35).

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal
internal import Glibc

/// What opens a store.
enum UnlockManner {
    /// The passphrase, or an agent in which the store is unlocked.
    case passphrase
    case recoveryKey
    /// The passphrase even if the store is unlocked: for what decides who may open it.
    case passphraseAnew
    /// The PIN of a profile, by the agent.
    case pin
    /// A key store without a PIN, by the agent.
    case keyStore
}

enum StoreAccess {
    /// How hard guessing is made, and how long opening takes.
    static let effort = OptionDescription.value(
        "effort", "EFFORT", .choice(["light", "normal", "strong"]),
        "how hard to make guessing the passphrase: light, normal or strong (64 MiB, 256 MiB or 1 GiB for each guess)")

    /// Where the store lies.
    static func path(_ context: CommandContext) throws -> String {
        if let path = context.arguments.value(GlobalOptions.store) { return path }
        if let path = context.environment.value(.store) {
            guard path.hasPrefix("/") else {
                throw CommandFailure(
                    .usage, .storePathRelative,
                    "COFFRET_STORE must be an absolute path, so that no folder you happen to be in chooses the store",
                    hint: "use --store for a relative path")
            }
            return path
        }
        guard let base = context.environment.baseDirectory(.dataHome, below: ".local/share") else { throw homeless() }
        return base + "/coffret"
    }

    static func keyringPath(_ context: CommandContext) throws -> String {
        StoreLayout(try path(context)).keyringPath
    }

    private static func homeless() -> CommandFailure {
        CommandFailure(
            .noStore, .storeMissing, "there is no home folder to look for the store in",
            hint: "name the store with --store")
    }

    /// Disk, randomness and time, and where this device's memory outside the store lies.
    static func environment(_ context: CommandContext) throws -> StoreEnvironment {
        guard let state = context.environment.baseDirectory(.stateHome, below: ".local/state") else { throw homeless() }
        let style = context.terminal.errorStyle
        let (fileSystem, random) = (PosixFileSystem(), SystemRandomSource())
        return StoreEnvironment(
            stateDirectory: state + "/coffret", fileSystem: fileSystem, random: random, clock: SystemWallClock(),
            attempts: .files(stateDirectory: state + "/coffret", fileSystem: fileSystem, random: random),
            notify: { notice in
                let text = "coffret: \(style.apply(.hint, "note:")) \(notice.words)   [\(notice.kind.rawValue)]\n"
                try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
            })
    }

    /// - Throws: `.storeMissing`.
    static func requireStore(_ context: CommandContext) throws -> (path: String, environment: StoreEnvironment) {
        let (path, environment) = (try path(context), try environment(context))
        guard try Store.exists(at: path, environment: environment) else {
            throw CommandFailure(
                .noStore, .storeMissing, "there is no store at \(TextWidth.displaySafe(path))",
                hint: "coffret init makes one; --store names another place")
        }
        return (path, environment)
    }

    static func exists(_ context: CommandContext) throws -> Bool {
        try Store.exists(at: path(context), environment: environment(context))
    }

    static func create(
        _ context: CommandContext, passphrase: Passphrase, vaultName: String
    ) throws -> StoreSession {
        let path = try path(context)
        let store = try context.deriving {
            try Store.create(
                at: path, passphrase: passphrase, parameters: parameters(context), deviceName: deviceName,
                vaultName: vaultName, environment: environment(context))
        }
        return StoreSession(store: store, context: context)
    }

    /// Parameters of a fresh passphrase slot.
    static func parameters(_ context: CommandContext) -> PasswordParameters {
        let (memory, passes): (UInt32, UInt32) =
            switch context.arguments.value(effort) {
            case "light": (65_536, 3)
            case "strong": (1_048_576, 4)
            default: (262_144, 3)
            }
        return .generate(from: SystemRandomSource(), memoryKibibytes: memory, passCount: passes)
    }

    /// What the person's own devices call this one.
    static var deviceName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return "this device" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "this device" : name
    }

    /// Asks for what opens a store.
    static func secret(_ manner: UnlockManner, _ context: CommandContext) throws -> UnlockSecret {
        let source = PassphraseSource(context: context)
        switch manner {
        case .passphrase, .passphraseAnew: return .passphrase(try source.current())
        case .recoveryKey:
            return .recoveryKey(try source.recoveryKey())
        case .pin, .keyStore: return .machinePIN(try source.current("PIN: "))
        }
    }

    /// Refuses before anybody types in vain.
    ///
    /// - Throws: `KeyError` `.attemptsPausing`, `.attemptsUncounted`.
    static func checkAttempts(_ path: String, _ environment: StoreEnvironment) throws {
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: environment.fileSystem)
        try environment.attempts?.ledger(ofStore: summary.storeID).checkPause()
    }

    /// Opens something with a secret; with a sheet of an account that it calls a former one only after a person said so.
    ///
    /// A restored store calls the account of its backup so, and so may a fabricated one.
    static func askingForFormer<Value>(
        _ secret: UnlockSecret, _ context: CommandContext, _ open: (UnlockSecret) throws -> Value
    ) throws -> Value {
        do {
            return try open(secret)
        } catch let error as CoreError {
            guard case .recoveryKey(let key, acceptsFormer: false) = secret, let cause = error.cause as? KeyError,
                cause.code == .recoveryAccountDiffers, context.terminal.inputIsTerminal, let prompt = context.prompt()
            else { throw error }
            let question =
                "This recovery key is not of the account that made this. It is of the account \(cause.place ?? ""), which is "
                + "named here as a former one: so it is after a backup was restored, and so would somebody write it who put "
                + "a store of his own in place of yours."
            prompt.show(TextWidth.broken(question, width: context.terminal.width) + "\n")
            guard try prompt.confirm("Did you restore a backup after you wrote this key down?", isYesDefault: false)
            else {
                throw error
            }
            return try open(.recoveryKey(key, acceptsFormer: true))
        }
    }

    // MARK: Backups

    static func openBackup(
        _ name: BackupName, in folder: BackupFolder, with manner: UnlockManner, _ context: CommandContext
    ) throws -> (backup: OpenBackup, secret: UnlockSecret) {
        let secret = try secret(manner, context)
        let backup = try askingForFormer(secret, context) { secret in
            try context.deriving {
                try OpenBackup(name, in: folder, with: secret)
            }
        }
        return (backup, secret)
    }
}
