// A session: requests and replies over one connection. Invariant: one reply to each request, in their order; between two
// requests nothing is held that keeps another process from writing.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
package import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Serves one client of the agent.
package final class OperationSession {
    /// A person's use of the store is told this often, at most.
    private static let useInterval = Duration.seconds(10)

    /// Progress is told this often, at most.
    private static let progressInterval = Duration.milliseconds(100)

    private let connection: UnixConnection
    private let inbox: OperationInbox
    private let isJSON: Bool
    private let hosted: HostedCommand
    private let noteUse: () -> Void
    private let environment: StoreEnvironment
    private var desk: StoreDesk
    private var keyring: KeyringStamp
    private var lastUse = ContinuousClock.now
    private var wantsLock = false

    /// Opens the store, says `done`, and answers until the client goes away.
    ///
    /// - Parameters:
    ///   - noteUse: tells the agent that the session answers, and then of uses by a person.
    ///   - lock: tells the agent that the store is to be locked.
    /// - Returns: the exit code of the process.
    package static func serve(
        _ connection: UnixConnection, isJSON: Bool, _ hosted: HostedCommand, noteUse: @escaping () -> Void,
        lock: @escaping () -> Void
    ) -> Int32 {
        do {
            let session = try OperationSession(connection, isJSON: isJSON, hosted, noteUse: noteUse)
            noteUse()
            try connection.send(AgentResponse.done.encoded())
            while try session.serveNext() {}
            if session.wantsLock { lock() }
            return 0
        } catch let handedOver as CommandHandedOver {
            return handedOver.exitCode
        } catch {
            return 1
        }
    }

    private init(
        _ connection: UnixConnection, isJSON: Bool, _ hosted: HostedCommand, noteUse: @escaping () -> Void
    ) throws {
        self.connection = connection
        inbox = OperationInbox(connection, isJSON: isJSON)
        self.isJSON = isJSON
        self.hosted = hosted
        self.noteUse = noteUse
        let (fileSystem, random) = (PosixFileSystem(), SystemRandomSource())
        guard let state = AgentLocation.stateDirectory else { throw SystemFailure(number: ENOENT) }
        environment = StoreEnvironment(
            stateDirectory: state, fileSystem: fileSystem, random: random, clock: SystemWallClock(),
            memory: hosted.memory,
            attempts: .files(stateDirectory: state, fileSystem: fileSystem, random: random))
        keyring = KeyringStamp(ofStore: hosted.store)
        desk = StoreDesk(try hosted.openStore(at: hosted.store, environment), DeskSurroundings(stateDirectory: state))
        desk = StoreDesk(desk.store, surroundings())
    }

    private func surroundings() -> DeskSurroundings {
        var surroundings = DeskSurroundings(stateDirectory: environment.stateDirectory)
        let presence = hosted.presence
        surroundings.requirePresence = { store, item in
            if store.hiddenGate.isOpen { return }
            let title = TextWidth.truncate(TextWidth.displaySafe(item.title), to: 40)
            guard let presence, try presence.ask(reason: "show the hidden item \"\(title)\"") else {
                throw CoreError(.noteHidden, at: item.title)
            }
            store.hiddenGate.open()
        }
        surroundings.lock = { [unowned self] in wantsLock = true }
        return surroundings
    }

    /// - Returns: false once the session is over.
    private func serveNext() throws -> Bool {
        // The agent ends a session by SIGTERM, which takes effect between two requests.
        SignalMask.unblock(SIGTERM)
        let next = try inbox.next()
        SignalMask.block([SIGTERM])
        guard let next else { return false }
        var reply = try answer(next)
        defer { reply.zero() }
        do throws(NetError) {
            try connection.send(reply, byteCountMax: AgentSession.messageByteCountMax)
        } catch {
            guard error.code == .messageTooLarge else { throw error }
            try connection.send(Operations.refusal(OperationError(.answerTooLarge), isJSON: isJSON))
        }
        if wantsLock { return false }
        desk.catchUp()
        return true
    }

    private func answer(_ entry: OperationInbox.Entry) throws -> [UInt8] {
        if entry.isCancelled { return Operations.refusal(OperationError(.cancelled), isJSON: isJSON) }
        let request: OperationRequest
        do throws(OperationError) {
            request = try entry.request.get()
        } catch {
            return Operations.refusal(error, isJSON: isJSON)
        }
        if request.asker == .person, ContinuousClock.now - lastUse > Self.useInterval {
            lastUse = ContinuousClock.now
            noteUse()
        }
        // Vaults that were added, slots that were changed: the key is the same, or the session is over.
        let now = KeyringStamp(ofStore: hosted.store)
        if now != keyring {
            keyring = now
            desk = StoreDesk(try hosted.openStore(at: hosted.store, environment), surroundings())
        }
        desk.work = work(on: request, entry)
        defer { desk.work = OperationWork() }
        return Operations.answer(request, on: desk)
    }

    private func work(on request: OperationRequest, _ entry: OperationInbox.Entry) -> OperationWork {
        var work = OperationWork()
        work.isCancelled = { [inbox] in inbox.isCurrentCancelled() }
        work.takeDescriptors = { entry.descriptors.take() }
        guard request.wantsProgress else { return work }
        var last: ContinuousClock.Instant?
        work.report = { [connection, isJSON] progress in
            let now = ContinuousClock.now
            if let last, now - last < Self.progressInterval { return }
            last = now
            // A client that is gone is noticed by the next question whether it cancels.
            try? connection.send(progress.message(isJSON: isJSON), byteCountMax: AgentSession.messageByteCountMax)
        }
        return work
    }
}

/// Which file the keyring of a store is, and how it was when it was looked at.
private struct KeyringStamp: Equatable {
    private let numbers: [Int]

    init(ofStore path: String) {
        var information = stat()
        guard unsafe stat(StoreLayout(path).keyringPath, &information) == 0 else {
            numbers = []
            return
        }
        numbers = [
            Int(information.st_ino), Int(information.st_size), information.st_mtim.tv_sec, information.st_mtim.tv_nsec,
        ]
    }
}
