// What the agent does with each request.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire
internal import Glibc

extension AgentService {
    /// Handles one message. Of one with a secret, or for a session, no more is read here than whose it is: the child
    /// gets it as it is, and with the last reference to it, here, it is zeroed.
    func handle(_ message: ReceivedMessage, _ descriptors: ReceivedDescriptors, from client: AgentPeer) {
        let request: AgentRequest
        do throws(WireError) {
            let head = try unsafe message.withUnsafeBytes { (bytes) throws(WireError) in
                try unsafe AgentRequest.head(of: bytes)
            }
            if client.isLimited, !head.isForPrograms { return client.refuse(.requestInvalid) }
            switch head {
            case .secret(let asked): return judge(asked, message, descriptors.take(), for: client)
            case .session(let store, .pairing): return openPairing(message, store: store, for: client)
            case .session(let store, let manner):
                return withOpenKeys(of: store, for: client, isUse: manner.isUse) {
                    self.openSession(message, store: store, manner, descriptors.take(), for: client)
                }
            case .open:
                request = try unsafe message.withUnsafeBytes { (bytes) throws(WireError) in
                    try unsafe AgentRequest(decoding: bytes)
                }
            }
        } catch {
            client.answer(.failed(code: error.code.rawValue, waitSeconds: nil))
            return
        }
        if case .hello = request { return client.answer(.hello(version: AgentRequest.version)) }
        guard !client.isLimited else { return client.refuse(.requestInvalid) }
        switch request {
        case .hello: break
        case .lock(let path):
            if let path {
                if let store = stores[path] { lock(store, because: .command) }
            } else {
                lockAll(because: .command)
            }
            client.answer(.done)
        case .status(let path):
            let now = BootClock.now
            let wanted = stores.values.filter { path == nil || $0.path == path }.sorted { $0.path < $1.path }
            client.answer(.status(wanted.map { $0.status(at: now) }))
        case .sessions(let path): client.answer(.sessions(sessions(of: path)))
        case .endSession(let processID):
            if endSession(processID) { client.answer(.done) } else { client.refuse(.requestInvalid) }
        case .stop:
            lockAll(because: .stopping)
            client.answer(.done)
            stop()
        case .renewed(let store, let sealedKey):
            withOpenKeys(of: store, for: client, isUse: false) {
                client.answer(self.renew(store: store, sealedKey))
            }
        case .session, .unlock, .settings: client.refuse(.requestInvalid)
        }
    }

    /// A command beside this agent has changed the keyring of a store. That it had the key which lies here is its word for
    /// being what it says; the times of the store go on as they were.
    private func renew(store path: String, _ sealedKey: [UInt8]?) -> AgentResponse {
        guard let store = stores[path], store.check(at: BootClock.now, isUse: false) == nil else {
            return .failed(code: AgentErrorCode.storeLocked.rawValue, waitSeconds: nil)
        }
        guard let sealedKey else {
            lock(store, because: .keysChanged)
            return .done
        }
        guard store.renew(sealedKey) else {
            return .failed(code: AgentErrorCode.requestInvalid.rawValue, waitSeconds: nil)
        }
        endBrowserSessions(of: path)
        // Its sync may have ended by the key that it has.
        startSyncWithOpenKeys(of: store)
        return .done
    }

    // MARK: Secrets

    /// - Parameter descriptors: the client's terminal, or nothing.
    private func judge(
        _ asked: AgentSecretHead, _ message: ReceivedMessage, _ descriptors: [Int32], for client: AgentPeer
    ) {
        defer { for descriptor in descriptors { close(descriptor) } }
        let now = BootClock.now
        let unlocked = Set(stores.values.filter { $0.check(at: now, isUse: false) == nil }.map(\.path))
        let process = client.credentials.processID
        let parent = getpid()
        let makeRecords = makeRecords
        let environment = environment
        start(.judge(asked), for: client) { control in
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control] + descriptors.prefix(1))
            AgentChild.settle(environment: environment, parent: parent)
            AgentChild.report(
                SecretJudge(
                    records: makeRecords(), askingProcess: process, environment: environment,
                    terminal: descriptors.isEmpty ? nil : STDERR_FILENO + 2, unlocked: unlocked
                ).judge(message),
                over: STDERR_FILENO + 1)
            return 0
        }
    }

    /// Where a child remembers that it changed the store's keys: as far as there is a home that is not put back
    /// with the marker.
    var memoryOfChanges: GenerationMemory {
        let makeRecords = makeRecords
        return GenerationMemory(forChanges: {
            let records = makeRecords()
            return records is FileRecords ? nil : records
        })
    }
}

extension AgentRequest.Head {
    /// Whether a program with a token may ask it, as far as the head says.
    fileprivate var isForPrograms: Bool {
        switch self {
        case .session(_, let manner): manner == .limited
        case .open: true
        case .secret: false
        }
    }
}
