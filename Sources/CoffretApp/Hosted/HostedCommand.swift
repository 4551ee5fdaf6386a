// A command inside the agent's process for it. The one thing to keep true: there is one command to a process, and
// it ends with that process, so what it holds of keys and texts ends there too.

package import CoffretBase
internal import CoffretClient
package import CoffretCore
package import CoffretCrypto
package import CoffretKeys
internal import CoffretMessages
package import CoffretNet
package import CoffretStorage
package import CoffretTerminal
internal import CoffretWire
package import Glibc
internal import Synchronization

/// What a command in the agent tells the agent, beside its exit code.
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

/// The command ran elsewhere, or did nothing; all that remains is to end with its exit code.
package struct CommandHandedOver: Error {
    package let exitCode: Int32

    package init(exitCode: Int32) { self.exitCode = exitCode }
}

/// The command that this process runs for a client of the agent.
package final class HostedCommand: ClientSide {
    private static let slot = Mutex<HostedCommand?>(nil)

    /// The command of this process; nil everywhere but in the agent's processes.
    package static var current: HostedCommand? { slot.withLock { $0 } }
    package static var isRunning: Bool { current != nil }

    /// A path without links.
    package let store: String
    /// The client's controlling terminal, if it has one.
    package let terminal: Int32?
    /// How long until the store locks by itself, as it was when the command began.
    package let secondsLeft: UInt64?
    /// The key that opens the store now: this process may change the keyring and open the store again.
    private let storageKey: Mutex<StorageKey>
    private let noteKeys: [HeldNoteKey]
    private let connection: UnixConnection?
    /// Where this machine remembers the generation of the store's keys.
    package let memory: GenerationMemory?
    private let report: @Sendable (HostedReport) -> Void
    private let locked = Mutex(false)
    /// Whether the agent has locked the store for what this command changed.
    package var hasLocked: Bool { locked.withLock { $0 } }
    /// Has the agent ask whether the person is there, in a process of its own. The result is the code of a refusal; nil
    /// for a yes.
    private let askPresence: (@Sendable (_ reason: String) -> String?)?
    /// Ends of programs that were not asked for yet.
    private let ends = Mutex<[pid_t: AgentProgramEnd]>([:])

    /// - Parameter noteKeys: keys of locked notes that the person opened before.
    /// - Parameter connection: to the client that waits; nil where another program is served.
    package init(
        store: String, storageKey: StorageKey, noteKeys: [HeldNoteKey] = [], connection: UnixConnection?,
        terminal: Int32?, secondsLeft: UInt64?, memory: GenerationMemory? = nil,
        askPresence: (@Sendable (_ reason: String) -> String?)? = nil,
        report: @escaping @Sendable (HostedReport) -> Void
    ) {
        self.store = store
        self.storageKey = Mutex(storageKey)
        self.noteKeys = noteKeys
        self.connection = connection
        self.terminal = terminal
        self.secondsLeft = secondsLeft
        self.memory = memory
        self.report = report
        self.askPresence = askPresence
    }

    /// Makes this the command of the process, before it begins.
    package func enter() {
        Self.slot.withLock { $0 = self }
        PersonPlace.move(to: self)
    }

    // MARK: The store

    /// The command's store, if `path` is it.
    package static func current(for path: String) -> HostedCommand? {
        guard let current, AgentLocation.canonical(path) == current.store else { return nil }
        return current
    }

    package func openStore(at path: String, _ environment: StoreEnvironment) throws -> Store {
        do {
            let store = try Store.open(
                at: path, with: .storageKey(storageKey.withLock { $0 }),
                environment: environment.keepingStorageKey { [self] kept in
                    let isKnown = storageKey.withLock { key in
                        defer { key = kept.key }
                        return kept.key.isEqual(to: key)
                    }
                    guard !isKnown else { return }
                    if kept.excludesSlot { locked.withLock { $0 = true } }
                    report(
                        kept.excludesSlot ? .slotExcluded : .keyRenewed(kept.key, generation: kept.generation))
                })
            for key in noteKeys { store.noteKeys.add(key) }
            return store
        } catch let error as CoreError where (error.cause as? KeyError)?.code == .keyringAltered {
            // Who has just changed it may be about to tell the agent.
            Keyring.awaitChange(of: StoreLayout(path).keyringPath, fileSystem: environment.fileSystem)
            report(.keyStale)
            throw CommandHandedOver(exitCode: ExitCode.busy.rawValue)
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

    /// Hands the keys of notes that this command has opened to the agent, which keeps them until the store locks.
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

    // MARK: Programs

    /// Whether somebody is there to start programs; otherwise this process starts its own.
    package var startsPrograms: Bool { connection != nil }

    /// Lets the client start a program where the person is.
    package func start(
        _ words: [String], streams: [ChildProcess.Stream], environment: [String: String], isDetached: Bool
    ) throws(SystemFailure) -> pid_t {
        var descriptors: [Int32] = []
        var kinds: [AgentProgram.Stream] = []
        for stream in streams {
            switch stream {
            case .inherited: kinds.append(.inherited)
            case .null: kinds.append(.null)
            case .path: throw SystemFailure(number: EINVAL)
            case .descriptor(let number):
                kinds.append(.descriptor)
                descriptors.append(number)
            }
        }
        guard let connection else { throw SystemFailure(number: EPIPE) }
        let program = AgentProgram(words: words, environment: environment, streams: kinds, isDetached: isDetached)
        do {
            try connection.send(AgentResponse.start(program).encoded(), descriptors: descriptors)
        } catch {
            throw SystemFailure(number: EPIPE)
        }
        while let request = next() {
            switch request {
            case .started(let processID): return pid_t(truncatingIfNeeded: processID)
            case .ended(0, .notStarted(let number)): throw SystemFailure(number: Int32(number))
            case .ended(let processID, let end): keep(end, of: processID)
            default: throw SystemFailure(number: EPROTO)
            }
        }
        throw SystemFailure(number: EPIPE)
    }

    /// Becomes readable when a program ended.
    package var descriptor: Int32 { connection?.descriptor ?? -1 }

    package func waitForEnd(of processID: pid_t) -> ChildOutcome {
        while true {
            if let outcome = takeEnd(of: processID) { return outcome }
            // Without a client nobody knows; the agent ends this process as well.
            guard case .ended(let ended, let end) = next() else { return .signalled(SIGHUP) }
            keep(end, of: ended)
        }
    }

    package func pollEnd(of processID: pid_t) -> ChildOutcome? {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        while unsafe poll(&polled, 1, 0) > 0 {
            guard case .ended(let ended, let end) = next() else { return .signalled(SIGHUP) }
            keep(end, of: ended)
        }
        return takeEnd(of: processID)
    }

    private func next() -> AgentRequest? {
        guard let (message, _) = try? connection?.receive() else { return nil }
        return try? AgentRequest(decoding: message.bytes)
    }

    private func keep(_ end: AgentProgramEnd, of processID: UInt64) {
        ends.withLock { $0[pid_t(truncatingIfNeeded: processID)] = end }
    }

    private func takeEnd(of processID: pid_t) -> ChildOutcome? {
        switch ends.withLock({ $0.removeValue(forKey: processID) }) {
        case .exited(let code): .exited(Int32(code))
        case .signalled(let signal): .signalled(Int32(signal))
        case .notStarted: .exited(127)
        case nil: nil
        }
    }
}
