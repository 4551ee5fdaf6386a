// Judging a secret, in a process of its own. The one thing to keep true: the attempt is counted before the secret
// is looked at, whatever happens to this process afterwards.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// Opens a store with a secret from a message, and says how that went.
struct SecretJudge {
    let records: any ProtectedRecords
    /// Who asks, for the question to the person.
    let askingProcess: Int32
    /// The agent's own variables that say where the person is.
    let places: [String: String]
    /// The client's terminal, if it handed one over.
    let terminal: Int32?
    /// The stores that are unlocked while this is judged.
    let unlocked: Set<String>

    private let fileSystem = PosixFileSystem()

    /// Variables that a pinentry needs; those of the client come before the agent's.
    static let placeVariables = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "GPG_TTY", "LANG",
    ]
    /// Which pinentry, and how its terminal is called: the agent's alone.
    private static let ownVariables = ["COFFRET_PINENTRY", "TERM", "PATH", "HOME"]

    init(
        records: any ProtectedRecords, askingProcess: Int32, environment: [String: String], terminal: Int32? = nil,
        unlocked: Set<String> = []
    ) {
        self.terminal = terminal
        self.unlocked = unlocked
        self.records = records
        self.askingProcess = askingProcess
        places = environment.filter { (Self.placeVariables + Self.ownVariables).contains($0.key) }
    }

    /// Where the person is: the client's variables before the agent's.
    static func places(of client: [String: String], agent: [String: String]) -> [String: String] {
        agent.filter { (placeVariables + ownVariables).contains($0.key) }
            .merging(client.filter { placeVariables.contains($0.key) }) { $1 }
    }

    private func surroundings(_ stateDirectory: String) -> KeyStoreSurroundings {
        KeyStoreSurroundings(
            stateDirectory: stateDirectory, fileSystem: fileSystem, random: SystemRandomSource(),
            tpm: AgentLocation.tpm)
    }

    func judge(_ message: ReceivedMessage) -> ChildReport {
        do {
            switch try unsafe message.withUnsafeBytes({ try unsafe AgentRequest(decoding: $0) }) {
            case .unlock(let secret, let seconds):
                let opened = try open(secret)
                var intervals = IntervalRecord.read(records, store: opened.storeID)
                if let seconds {
                    guard let wanted = LockIntervals(idleSeconds: seconds, absoluteSeconds: seconds) else {
                        throw AgentRefusal(.intervalInvalid)
                    }
                    intervals = wanted
                }
                return .opened(opened.store(intervals))
            case .settings(let secret, let idle, let absolute) where secret.kind == .presence:
                let storeID = try confirmPresence(secret, reason: "change when the store locks")
                let wanted = try intervals(idle, absolute, storeID)
                try IntervalRecord.write(wanted, records, store: storeID)
                return .settled(store: secret.store, wanted)
            case .settings(let secret, let idle, let absolute):
                let opened = try open(secret)
                let wanted = try intervals(idle, absolute, opened.storeID)
                try IntervalRecord.write(wanted, records, store: opened.storeID)
                return .opened(opened.store(wanted))
            default: return .refused(code: AgentErrorCode.requestInvalid.rawValue, waitSeconds: nil)
            }
        } catch {
            return .refusal(for: error)
        }
    }

    /// Wrong secrets count in the agent's own records and in the files of the programs that go without it.
    static func attempts(_ records: any ProtectedRecords, _ stateDirectory: String) -> AttemptCounting {
        let fileSystem = PosixFileSystem()
        let shared = FileRecords(stateDirectory: stateDirectory, fileSystem: fileSystem, random: SystemRandomSource())
        // One file is locked and counted in once.
        let isShared = (records as? FileRecords)?.folder == shared.folder
        return AttemptCounting(
            homes: isShared ? [shared] : [records, shared], bootID: BootClock.bootID(fileSystem),
            now: { BootClock.now })
    }

    /// The intervals as they are, with what is wanted in their place.
    private func intervals(_ idle: UInt64?, _ absolute: UInt64?, _ storeID: String) throws -> LockIntervals {
        let before = IntervalRecord.read(records, store: storeID)
        guard
            let wanted = LockIntervals(
                idleSeconds: idle ?? before.idleSeconds, absoluteSeconds: absolute ?? before.absoluteSeconds)
        else { throw AgentRefusal(.intervalInvalid) }
        return wanted
    }

    // MARK: Presence

    /// - Returns: the store's id in hex.
    private func confirmPresence(_ given: AgentSecret, reason: String) throws -> String {
        let (path, variables) = try check(given)
        guard unlocked.contains(path) else { throw AgentRefusal(.storeLocked) }
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: fileSystem)
        try PresenceQuestion(
            terminal: terminal, places: Self.places(of: variables.values, agent: places), askingProcess: askingProcess
        ).ask(reason: reason)
        return summary.storeID.hex
    }

    /// Reads the client's variables out of the request; this process keeps the agent's own.
    private func check(_ given: AgentSecret) throws -> (path: String, variables: ClientVariables) {
        guard let variables = ClientVariables(given.environment), let path = AgentLocation.canonical(given.store),
            path == given.store
        else { throw AgentRefusal(.requestInvalid) }
        return (path, variables)
    }

    /// What opening a keyring gives.
    private struct Opened {
        let path: String
        let storeID: String
        let key: StorageKey
        let generation: UInt64
        let variables: KeptVariables

        func store(_ intervals: LockIntervals) -> OpenedStore {
            OpenedStore(
                store: path, storageKey: key, generation: generation, intervals: intervals, variables: variables)
        }
    }

    private func open(_ given: AgentSecret) throws -> Opened {
        let (path, variables) = try check(given)
        guard let stateDirectory = variables.stateDirectory else { throw AgentRefusal(.requestInvalid) }
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: fileSystem)
        let storeID = summary.storeID.hex
        let attempts = Self.attempts(records, stateDirectory)
        let kept = Mutex<(key: StorageKey, generation: UInt64)?>(nil)
        let environment = StoreEnvironment(
            stateDirectory: stateDirectory, fileSystem: fileSystem, random: SystemRandomSource(),
            clock: SystemWallClock(),
            // Files of this machine are put back together with the marker, which then knows no more than they do.
            memory: records is FileRecords ? nil : GenerationMemory(records: records), attempts: attempts,
            keepStorageKey: { found in kept.withLock { $0 = (found.key, found.generation) } })
        let ledger = attempts.ledger(ofStore: summary.storeID)
        func attempt(_ secret: UnlockSecret) throws {
            _ = try Store.open(at: path, with: secret, environment: environment)
        }
        switch given.kind {
        case .passphrase: try attempt(.passphrase(Self.passphrase(given.bytes)))
        case .recoveryKey:
            try attempt(.recoveryKey(RecoveryKey.parse(String(decoding: given.bytes, as: UTF8.self))))
        case .pin:
            let pin = try PINJudge(
                path: path, surroundings: surroundings(stateDirectory), hasPIN: !given.bytes.isEmpty,
                profile: variables.profile ?? SlotTerms.defaultProfile, presence: presence(variables))
            try pin.checkAttempts()
            let typed = try given.bytes.isEmpty ? nil : Self.passphrase(given.bytes)
            let key = try ledger.attempt { () throws(KeyError) in try pin.open(typed) }
            try attempt(.storageKey(key))
        case .presence: throw AgentRefusal(.storeLocked)
        case .asked:
            let pinentry = try Pinentry.start(Self.places(of: variables.values, agent: places))
            let question = "\(AskingProgram.words(askingProcess)) asks for the passphrase of\n\(path)"
            var complaint: String?
            while true {
                try ledger.checkPause()
                let typed = try pinentry.ask(question, complaint: complaint)
                // EXPOSE: into an array that Passphrase zeroes.
                let bytes = unsafe typed.withUnsafeBytes { unsafe Array($0) }
                do {
                    try attempt(.passphrase(Self.passphrase(bytes)))
                    break
                } catch  where FailureCode.of(error) == KeyError.Code.unlockFailed.rawValue {
                    complaint = "That is not the passphrase."
                }
            }
        }
        guard let found = kept.withLock({ $0 }) else { throw AgentRefusal(.requestInvalid) }
        return Opened(
            path: path, storeID: storeID, key: found.key, generation: found.generation,
            variables: KeptVariables(variables.values))
    }

    /// For slots that ask for it; through pinentry, since a secret was typed at the client's terminal.
    private func presence(_ variables: ClientVariables) -> (any UserPresence)? {
        let places = Self.places(of: variables.values, agent: places)
        return KeyStoreProviders.installed?.presence(PinentryConversation(places, askingProcess: askingProcess))
    }

    private static func passphrase(_ bytes: [UInt8]) throws -> Passphrase {
        var typed = bytes
        return try Passphrase(typed: &typed)
    }
}

/// The lock intervals of a store as they are kept.
enum IntervalRecord {
    private static func name(_ store: String) -> String { store + ".intervals" }

    /// - Returns: the standard intervals if none were set, or if the record was altered.
    static func read(_ records: any ProtectedRecords, store: String) -> LockIntervals {
        guard case .present(let bytes) = records.read(name(store)) else { return .standard }
        let seconds = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            return (try decoder.readUnsigned(), try decoder.readUnsigned())
        }
        return seconds.flatMap { LockIntervals(idleSeconds: $0.0, absoluteSeconds: $0.1) } ?? .standard
    }

    /// Layout, deterministic CBOR: [idle seconds, absolute seconds].
    static func write(_ intervals: LockIntervals, _ records: any ProtectedRecords, store: String) throws {
        let bytes = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: intervals.idleSeconds)
            encoder.encode(unsigned: intervals.absoluteSeconds)
        }
        do {
            try records.write(name(store), bytes)
        } catch {
            throw AgentRefusal(.recordsUnwritable)
        }
    }
}
