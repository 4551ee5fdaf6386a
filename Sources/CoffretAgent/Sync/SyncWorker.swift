// Continuous sync of one store, in a process of its own. The one thing to keep true: it waits for everything at once and
// for nothing alone; what it knows ends with it, the moment the store locks.

internal import CPlatform
internal import CoffretAccount
internal import CoffretBase
internal import CoffretCLI
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
    private let key: KeptKey
    private let control: Int32
    private let environment: StoreEnvironment
    private let waiter: SyncWaiter
    private let clock = SystemWallClock()
    private let random = SystemRandomSource()
    private let note: (SyncNews) -> Void

    /// - Parameters:
    ///   - path: of the store, without links.
    ///   - control: its end is the agent's end.
    ///   - renewed: called with a storage key that replaces the given one.
    ///   - note: called with what a person may want to know.
    init?(
        path: String, key: StorageKey, control: Int32, stateDirectory: String,
        renewed: @escaping @Sendable (StorageKey, UInt64) -> Void, note: @escaping (SyncNews) -> Void
    ) {
        guard let waiter = SyncWaiter(control: control) else { return nil }
        self.path = path
        let kept = KeptKey(key)
        self.key = kept
        self.control = control
        self.waiter = waiter
        self.note = note
        environment = StoreEnvironment(
            stateDirectory: stateDirectory, fileSystem: PosixFileSystem(), random: random, clock: clock,
            keepStorageKey: { opened, generation in
                if kept.replace(by: opened) { renewed(opened, generation) }
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
            var generation = summary.generation
            if records.isOff {
                file?.write(.off)
            } else {
                let store: Store
                do throws(CoreError) {
                    store = try Store.open(at: path, with: .storageKey(key.value), environment: environment)
                } catch {
                    return (error.cause as? KeyError)?.code == .keyringAltered ? .keyStale : .failed
                }
                generation = store.keyring.generation
                let isReady =
                    (try? store.keyring.server()) != nil && (try? store.vaults.contains { $0.kind == .synced }) == true
                if isReady {
                    SyncRound(
                        store: store, records: records, file: file, waiter: waiter, random: random, clock: clock,
                        note: note
                    ).run()
                    continue
                }
                file?.write(.idle)
            }
            // Nothing to do: without keys, until the keyring or the setting is another one.
            let isOff = records.isOff
            repeat {
                _ = waiter.wait(until: nil, socket: nil)
            } while records.isOff == isOff && generation == Self.generation(of: path, environment.fileSystem)
        }
    }

    static func generation(of path: String, _ fileSystem: any FileSystem) -> UInt64? {
        (try? KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: fileSystem))?.generation
    }
}

/// Something that a person may want to know at once.
package enum SyncNews: Equatable {
    /// Another device was added to the account.
    case deviceAdded(name: String)
    /// Syncing goes on only after a person has looked; why.
    case needsAttention(words: String)
}

/// The storage key, which changes when this process changes the keyring.
private final class KeptKey: Sendable {
    private let slot: Mutex<StorageKey>

    init(_ key: StorageKey) { slot = Mutex(key) }

    var value: StorageKey { slot.withLock { $0 } }

    /// - Returns: whether it is another one.
    func replace(by key: StorageKey) -> Bool {
        slot.withLock { kept in
            guard !key.isEqual(to: kept) else { return false }
            kept = key
            return true
        }
    }
}
