// Sessions: processes that answer a client again and again. Invariant: a session ends with its connection and with the lock of
// its store; the agent reads nothing of what is asked and answered.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretKeys
internal import CoffretNet
internal import CoffretWire
internal import Glibc

extension AgentService {
    /// More of one store are refused.
    static let sessionCountMax = 16
    /// Of those, so many may have a token.
    static let tokenSessionCountMax = 12

    /// Starts the process that answers the client from then on. It says `done` itself, once the store is open there.
    ///
    /// - Parameter descriptors: the client's terminal, or nothing.
    func openSession(
        _ message: ReceivedMessage, store path: String, _ manner: SessionManner, _ descriptors: [Int32],
        for client: AgentPeer
    ) {
        defer { for descriptor in descriptors { close(descriptor) } }
        let hasToken = manner == .limited
        let now = BootClock.now
        guard let store = stores[path] else {
            client.answer(.locked(reason: LockReason.neverUnlocked.rawValue))
            return
        }
        if hasToken, let seconds = store.tokenTries.secondsToWait(at: now) {
            return client.answer(.failed(code: AccessError.Code.pausing.rawValue, waitSeconds: seconds))
        }
        // A program that opens sessions does not keep the store unlocked by it.
        let use = store.use(at: now, isUse: manner.isUse)
        guard let key = use.key else {
            client.answer(.locked(reason: use.reason.rawValue))
            return
        }
        let limitedCount = sessionCount(of: path, .limited)
        let count = [.program, .bridge, .authenticator].reduce(limitedCount) { $0 + sessionCount(of: path, $1) }
        guard manner.isBrief || count < Self.sessionCountMax, !hasToken || limitedCount < Self.tokenSessionCountMax
        else { return client.refuse(.exhausted) }
        // Locked notes are opened by a person, for a person.
        let isNarrow = hasToken || manner.isForBrowsers
        let (own, noteKeys, parent) = (environment, isNarrow ? [] : use.noteKeys, getpid())
        let idleTime = wrapping == nil || manner.isBrief ? nil : IdleLock.delay
        let kept = isNarrow ? store.variables : nil
        let makeRecords = makeRecords
        let program = manner.isBrief ? "" : AskingProgram.words(client.credentials.processID)
        let child = start(.session(store: path, manner), for: client) { control in
            let socket = client.descriptor
            withExtendedLifetime(client) { forget(except: path) }
            let null = unsafe open("/dev/null", O_RDWR)
            AgentChild.arrange([null, null, null, control, socket])
            guard
                case .session(let session)? = try? unsafe message.withUnsafeBytes({
                    try unsafe AgentRequest(decoding: $0)
                }),
                let variables = ClientVariables(session.environment)
            else {
                AgentChild.report(.refused(code: AgentErrorCode.requestInvalid.rawValue, waitSeconds: nil), over: 3)
                return 1
            }
            var settled = variables.forCommand(agent: own)
            if isNarrow {
                // The tokens, and the log, lie where the person keeps them, and not where the program says.
                settled = settled.filter { !KeptVariables.names.contains($0.key) }.merging(kept?.values ?? [:]) { $1 }
            }
            AgentChild.settle(environment: settled, parent: parent)
            let hosted = HostedStore(
                store: path, storageKey: key, noteKeys: noteKeys, memory: memoryOfChanges,
                askPresence: { AgentChild.askPresence(reason: $0, variables.values, over: 3) },
                records: isNarrow ? nil : makeRecords, askKey: { AgentChild.askKey(over: 3) },
                report: { AgentChild.report($0, over: 3) })
            hosted.enter()
            let terms = SessionTerms(
                isJSON: session.isJSON, token: session.token, program: program, idleTime: idleTime,
                isBrief: manner.isBrief)
            return Self.serve(terms, manner, hosted, makeRecords)
        }
        child?.keyCount = store.keyCount
        child?.program = program
        // It stays open beyond this call, for questions.
        if let terminal = descriptors.first { child?.terminal = fcntl(terminal, F_DUPFD_CLOEXEC, 0) }
    }

    /// In the child: answers the client from then on.
    private static func serve(
        _ terms: SessionTerms, _ manner: SessionManner, _ hosted: HostedStore,
        _ makeRecords: @escaping @Sendable () -> any ProtectedRecords
    ) -> Int32 {
        let connection = UnixConnection(descriptor: 4)
        let reports = SessionReports(
            used: { AgentChild.report(.used, over: 3) },
            lockWanted: { AgentChild.report(.lockWanted, over: 3) },
            refused: { AgentChild.report(.refused(code: $0, waitSeconds: nil), over: 3) })
        guard manner.isForBrowsers else { return OperationSession.serve(connection, terms, hosted, reports) }
        let bridge = bridgeTerms(store: hosted.store, program: terms.program, makeRecords: makeRecords)
        return manner == .bridge
            ? BridgeSession.serve(connection, bridge, hosted, reports)
            : AuthenticatorSession.serve(connection, bridge, hosted, reports)
    }

    private func sessionCount(of path: String, _ manner: SessionManner) -> Int {
        children.values.count { if case .session(path, manner) = $0.work { true } else { false } }
    }

    /// The sessions that count, in the order of their beginning.
    func sessions(of path: String?) -> [AgentSessionStatus] {
        let now = BootClock.now
        func seconds(since then: BootInstant) -> UInt64 { UInt64(max(0, then.duration(to: now).components.seconds)) }
        return children.values.sorted { $0.began < $1.began }.compactMap { child in
            guard let kind = child.work.sessionKind, let store = child.work.store, path == nil || store == path else {
                return nil
            }
            return AgentSessionStatus(
                processID: UInt32(child.processID), store: store, program: child.program, kind: kind,
                secondsOpen: seconds(since: child.began), secondsSinceUse: child.used.map { seconds(since: $0) })
        }
    }

    /// - Returns: false if there is no such session.
    func endSession(_ processID: UInt32) -> Bool {
        guard let child = children[pid_t(truncatingIfNeeded: processID)], child.work.sessionKind != nil else {
            return false
        }
        kill(child.processID, SIGKILL)
        return true
    }

    /// Takes the reports of a session beside news of keys: a use of the store, and the wish to lock it.
    func takeRequests(of child: AgentChild) {
        guard case .session(let path, let manner) = child.work, let store = stores[path], child.lockReason == nil
        else { return }
        let isUse: (ChildReport) -> Bool = { if case .used = $0 { true } else { false } }
        let wantsLock = child.reports.contains { if case .lockWanted = $0 { true } else { false } }
        if child.reports.contains(where: isUse) {
            child.hasBegun = true
            child.reports.removeAll(where: isUse)
            child.used = BootClock.now
            if manner == .limited { store.tokenTries.forget() }
            _ = store.check(at: BootClock.now, isUse: manner.isUse)
            scheduleTending(of: path)
        }
        if wantsLock { lock(store, because: .command) }
    }

    /// The connection was the session's alone: its end tells the client that the session is over.
    func finishSession(_ child: AgentChild, _ client: AgentPeer?) {
        takeNews(of: child)
        // The end of a long command is a use, too.
        if case .session(let path, .command) = child.work, let store = stores[path], child.lockReason == nil {
            _ = store.check(at: BootClock.now, isUse: true)
            scheduleTending(of: path)
        }
        if let client { clients[client.descriptor] = nil }
    }

    /// Ends sessions of browsers, which open the store once, when it has other keys; the browser opens others.
    func endBrowserSessions(of path: String, sparing spared: AgentChild? = nil) {
        for child in children.values where child !== spared {
            guard case .session(path, let manner) = child.work, manner.isForBrowsers else { continue }
            // One that is at work ends when it has answered.
            kill(child.processID, SIGTERM)
        }
    }
}

extension AgentChild.Work {
    /// nil for all but sessions of programs that ask again and again.
    fileprivate var sessionKind: AgentSessionStatus.Kind? {
        switch self {
        case .session(_, .program): .program
        case .session(_, .limited): .token
        case .session(_, .bridge): .browser
        case .session(_, .authenticator): .authenticator
        default: nil
        }
    }
}

extension AgentChild {
    /// In a child: passes on what a command or a session says of keys.
    static func report(_ report: HostedReport, over control: Int32) {
        let said: ChildReport =
            switch report {
            case .keyRenewed(let key, let generation): .renewed(key, generation: generation)
            case .slotExcluded: .slotExcluded
            case .keyStale: .stale
            case .noteKeyHeld(let key): .noteKeyHeld(key)
            case .noteKeyForgotten(let record): .noteKeyForgotten(record)
            }
        self.report(said, over: control)
    }
}
