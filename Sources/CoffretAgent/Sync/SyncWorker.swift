// Continuous sync of one store, in a process of its own. The one thing to keep true: it waits for everything at once and
// for nothing alone; what it knows ends with it, the moment the store locks.

internal import CPlatform
internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretNet
internal import CoffretSync
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// Syncs the vaults of one unlocked store: pushes when something was written here, by whatever process, and pulls when
/// the server says that another device has pushed.
///
/// Runs in a child of the agent and is ended by a signal.
final class SyncWorker {
    /// How the process ends, for the agent.
    enum Ending: Int32 {
        /// The key that it was given opens the keyring no more.
        case keyStale = 3
        /// Something that does not work on this machine, such as too few descriptors.
        case failed = 1
    }

    private let path: String
    /// A keyring that this process changes may get a new one.
    private let key: SyncKey
    private let control: Int32
    private let environment: StoreEnvironment
    private let waiter: SyncWaiter
    private let clock = SystemWallClock()
    private let random = SystemRandomSource()
    private let requests: PairingWatch
    private let problems = SyncProblems()
    private let note: (SyncNews) -> Void
    private let asked: (UniqueID) -> Void
    private var idleGeneration: UInt64 = 0

    /// - Parameters:
    ///   - path: of the store, without links.
    ///   - control: its end is the agent's end.
    ///   - memory: where changes of the keyring are remembered.
    ///   - renewed: called when the keyring was changed here or elsewhere, with what the agent has to know of it.
    ///   - note: called with what a person may want to know.
    ///   - asked: called with the relay ids of those that ask this device for a value.
    init?(
        path: String, key: SyncKey, control: Int32, stateDirectory: String, memory: GenerationMemory?,
        renewed: @escaping @Sendable (ChildReport) -> Void, note: @escaping (SyncNews) -> Void,
        asked: @escaping (UniqueID) -> Void
    ) {
        guard let waiter = SyncWaiter(control: control) else { return nil }
        self.path = path
        self.key = key
        self.control = control
        self.waiter = waiter
        self.note = note
        self.asked = asked
        requests = PairingWatch(
            PairingAttemptsFile(stateDirectory: stateDirectory, fileSystem: PosixFileSystem()))
        environment = StoreEnvironment(
            stateDirectory: stateDirectory, fileSystem: PosixFileSystem(), random: random, clock: clock,
            memory: memory,
            keepStorageKey: { kept in
                guard key.replace(by: kept.key) else { return }
                renewed(kept.excludesSlot ? .slotExcluded : .renewed(kept.key, generation: kept.generation))
            })
    }

    /// Runs until the agent ends it.
    func run() -> Ending {
        let layout = StoreLayout(path)
        guard let summary = try? KeyringSummary.read(at: layout.keyringPath, fileSystem: environment.fileSystem) else {
            return .failed
        }
        let records = SyncRecords(
            stateDirectory: environment.stateDirectory, storeID: summary.storeID, fileSystem: environment.fileSystem)
        try? records.makeFolder()
        let file = try? records.beginAgentState()
        waiter.watch(path, as: .store)
        waiter.watch(records.settingsFolder, as: .settings)
        while true {
            // What it waits for to become another one is what it has seen here, or a change in between would be missed.
            let isOff = records.isOff
            if isOff {
                file?.write(.off)
                wait(records, isOff: isOff, generation: Self.generation(of: path, environment.fileSystem))
                continue
            }
            do {
                if let round = try makeRound(records, file) {
                    round.run()
                    continue
                }
            } catch {
                return ((error as? CoreError)?.cause as? KeyError)?.code == .keyringAltered ? .keyStale : .failed
            }
            file?.write(.idle)
            wait(records, isOff: isOff, generation: idleGeneration)
        }
    }

    /// Opens the store, once a TPM that has the key gave it back.
    private func open() throws -> Store {
        try Store.open(at: path, with: .storageKey(key.opened()), environment: environment)
    }

    /// - Returns: nil if there is nothing to sync.
    private func makeRound(_ records: SyncRecords, _ file: AgentSyncFile?) throws -> SyncRound? {
        let store = try open()
        idleGeneration = store.keyring.generation
        guard let server = try store.keyring.server(), try store.allVaults.contains(where: { $0.kind == .synced })
        else {
            return nil
        }
        return try SyncRound(
            store: store, server: server, open: open, key: key, records: records, file: file, waiter: waiter,
            requests: requests, problems: problems, random: random, clock: clock, note: note, asked: asked)
    }

    /// Nothing to do: without keys, until the keyring or the setting is another one.
    private func wait(_ records: SyncRecords, isOff: Bool, generation: UInt64?) {
        let sealing = coffret_boot_nanoseconds() + UInt64(IdleLock.delayMilliseconds) * 1_000_000
        var isDue = key.isSealable
        while records.isOff == isOff, generation == Self.generation(of: path, environment.fileSystem) {
            _ = waiter.wait(until: isDue ? sealing : nil, socket: nil)
            if isDue, coffret_boot_nanoseconds() >= sealing {
                key.seal(random: random)
                isDue = false
            }
        }
    }

    static func generation(of path: String, _ fileSystem: any FileSystem) -> UInt64? {
        (try? KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: fileSystem))?.generation
    }
}

/// Failures that only a person can put right, so that he hears of each once, however often the keyring changes meanwhile.
final class SyncProblems {
    static let log = "log"

    private var codes: [String: String] = [:]

    /// - Parameter place: a vault's id in hex, or `log`.
    func isNews(_ code: String, of place: String) -> Bool { codes.updateValue(code, forKey: place) != code }

    func ended(_ place: String) { codes[place] = nil }
}

/// Something that a person may want to know at once.
package enum SyncNews: Equatable {
    /// Another device was added to the account.
    case deviceAdded(name: String)
    /// Somebody says that he is a new device of the account; what he shows to be compared.
    case deviceAsks(digits: String)
    /// People wrote to this account, or shared vaults with it, and wait for a word of its person: so many of each that are new.
    case peopleWait(letterCount: Int, vaultCount: Int)
    /// Something about people that the person should hear of.
    case people(words: String, isLoud: Bool)
    /// Syncing goes on only after a person has looked; why.
    case needsAttention(words: String)
    /// A browser was given something of a host.
    case valueGiven(browser: String, host: String)
    /// What came from another device contradicts what was written here; how many items.
    case conflicts(itemCount: Int)
}
