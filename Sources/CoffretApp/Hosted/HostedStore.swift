// A store inside a process of the agent that works with it. The one thing to keep true: there is one to a process, and it ends
// with that process, so what it holds of keys and texts ends there too.

package import CoffretBase
internal import CoffretClient
package import CoffretCore
package import CoffretCrypto
package import CoffretKeys
package import CoffretStorage
internal import CoffretTerminal
internal import Glibc
internal import Synchronization

/// The news that a process with an open store has for the agent.
package enum HostedReport: Sendable {
    /// The keyring was changed; this opens it now.
    case keyRenewed(StorageKey, generation: UInt64)
    /// The keyring was changed, and a slot that opened it so far opens it no more.
    case slotExcluded
    /// The key does not open the keyring any more: somebody else changed it. Nothing was done.
    case keyStale
    /// The person opened locked notes; this key of theirs may wait until the store locks.
    case noteKeyHeld(HeldNoteKey)
    /// Notes of this record are locked again.
    case noteKeyForgotten(UniqueID)
}

/// The key does not open the keyring any more. The agent was told; the process ends.
struct StaleKey: Error {}

/// The store that this process has open for a client of the agent.
package final class HostedStore: Sendable {
    private static let slot = Mutex<HostedStore?>(nil)

    /// The store of this process; nil everywhere but in the agent's processes.
    package static var current: HostedStore? { slot.withLock { $0 } }
    package static var isRunning: Bool { current != nil }

    /// A path without links.
    package let store: String
    /// The key that opens the store now: this process may change the keyring and open the store again.
    private let storageKey: Mutex<StorageKey>
    private let noteKeys: [HeldNoteKey]
    /// Where this machine remembers the generation of the store's keys.
    package let memory: GenerationMemory?
    /// The agent's home for records, if this process may use it.
    package let records: (@Sendable () -> any ProtectedRecords)?
    private let report: @Sendable (HostedReport) -> Void
    /// Asks the agent for the key that opens the store now; nil once the agent has locked it.
    private let askKey: (@Sendable () -> StorageKey?)?
    private let locked = Mutex(false)
    /// Whether the agent has locked the store for what this process changed.
    package var hasLocked: Bool { locked.withLock { $0 } }
    /// Has the agent ask whether the person is there, in a process of its own. The result is the code of a refusal; nil
    /// for a yes.
    private let askPresence: (@Sendable (_ reason: String) -> String?)?

    /// - Parameter noteKeys: keys of locked notes that the person opened before.
    package init(
        store: String, storageKey: StorageKey, noteKeys: [HeldNoteKey] = [], memory: GenerationMemory? = nil,
        askPresence: (@Sendable (_ reason: String) -> String?)? = nil,
        records: (@Sendable () -> any ProtectedRecords)? = nil, askKey: (@Sendable () -> StorageKey?)? = nil,
        report: @escaping @Sendable (HostedReport) -> Void
    ) {
        self.store = store
        self.storageKey = Mutex(storageKey)
        self.noteKeys = noteKeys
        self.memory = memory
        self.report = report
        self.askPresence = askPresence
        self.askKey = askKey
        self.records = records
    }

    /// Makes this the store of the process, before it is opened.
    package func enter() { Self.slot.withLock { $0 = self } }

    // MARK: The store

    /// Opens the store with the key of now.
    ///
    /// - Throws: an error after which the process ends, if the agent has no key for it any more.
    package func open(_ environment: StoreEnvironment) throws -> Store {
        for _ in 0..<Self.keyCountMax {
            do {
                return try openOnce(environment)
            } catch let error as CoreError where (error.cause as? KeyError)?.code == .keyringAltered {
                // The process that has just changed it may be about to tell the agent.
                Keyring.awaitChange(of: StoreLayout(store).keyringPath, fileSystem: environment.fileSystem)
                guard newestKey?() != nil else { break }
            }
        }
        report(.keyStale)
        throw StaleKey()
    }

    /// So many keys that follow one another are tried.
    private static let keyCountMax = 4

    private func openOnce(_ environment: StoreEnvironment) throws -> Store {
        let opened = try Store.open(
            at: store, with: .storageKey(storageKey.withLock { $0 }),
            environment: environment.keepingStorageKey(newest: newestKey) { [self] kept in
                let isKnown = storageKey.withLock { key in
                    defer { key = kept.key }
                    return kept.key.isEqual(to: key)
                }
                guard !isKnown else { return }
                if kept.excludesSlot { locked.withLock { $0 = true } }
                report(kept.excludesSlot ? .slotExcluded : .keyRenewed(kept.key, generation: kept.generation))
            })
        for key in noteKeys { opened.noteKeys.add(key) }
        return opened
    }

    /// Another process of this device may change the keyring while this one is at work, which goes on with that.
    private var newestKey: (@Sendable () -> StorageKey?)? {
        guard let askKey else { return nil }
        return { [self] in
            let key = askKey()
            if let key { storageKey.withLock { $0 = key } }
            return key
        }
    }

    /// Disk, randomness and time, and where this device's memory outside the store lies.
    package func environment(notify: @escaping @Sendable (StorageNotice) -> Void = { _ in }) throws -> StoreEnvironment
    {
        guard let state = AgentLocation.stateDirectory else { throw SystemFailure(number: ENOENT) }
        let (fileSystem, random) = (PosixFileSystem(), SystemRandomSource())
        return StoreEnvironment(
            stateDirectory: state, fileSystem: fileSystem, random: random, clock: SystemWallClock(), memory: memory,
            attempts: .files(stateDirectory: state, fileSystem: fileSystem, random: random), notify: notify)
    }

    // MARK: Locked notes

    /// Hands the keys of notes that this process has opened to the agent, which keeps them until the store locks.
    package func keepNoteKeys(of store: Store) {
        for key in store.noteKeys.held() { report(.noteKeyHeld(key)) }
    }

    /// Lets the agent forget keys of notes.
    package func forgetNoteKeys(of records: Set<UniqueID>) {
        for record in records.sorted() { report(.noteKeyForgotten(record)) }
    }

    // MARK: Presence

    /// nil where the agent asks nobody, or nothing is set up to be asked.
    package var presence: HostedPresence? {
        guard let askPresence, KeyStoreProviders.installed?.presence(nil)?.isSetUp == true else { return nil }
        return HostedPresence(question: askPresence)
    }
}
