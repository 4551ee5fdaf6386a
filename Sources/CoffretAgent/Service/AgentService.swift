// The agent's loop. The one thing to keep true: it has one thread and never waits for anybody; it holds keys and
// hands them to its own children, and everything that reads a vault or stretches a secret is a child.

internal import CPlatform
internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
package import CoffretKeys
internal import CoffretMessages
package import CoffretNet
internal import CoffretWire
internal import Glibc

/// Keeps stores unlocked and runs commands for local clients.
///
/// Spec: Spec/agent.md. Reasons: Docs/decisions/0015-a-process-per-command.md.
package final class AgentService {
    static let clientCountMax = 128
    /// Of those, so many may be programs with tokens: they leave room for the person.
    static let limitedClientCountMax = 32
    private static let endingSignals = [SIGINT, SIGTERM, SIGHUP]

    let userID: UInt32
    /// Where attempt counts and lock intervals are kept. Called in children only: what keeps them may start threads.
    let makeRecords: @Sendable () -> any ProtectedRecords
    /// The agent's own variables, for what it asks the person.
    let environment: [String: String]
    /// What has the keys of stores while nobody uses them; nil without a TPM. Called in children only.
    let wrapping: (any IdleWrapping)?
    private let listener: UnixListener
    /// For programs with tokens; nil where its folder cannot be made.
    private let programListener: UnixListener?
    private let sources: [any LockEventSource]
    private let signals: Int32
    private let timer: Int32
    private let processID = getpid()
    /// Where this agent listens.
    let folder: String
    /// Where SSH clients find the keys of stores that are unlocked, by the stores' paths. Never touched in children:
    /// with the last reference the socket goes.
    var sshListeners: [String: UnixListener] = [:]

    var clients: [Int32: AgentPeer] = [:]
    var children: [pid_t: AgentChild] = [:]
    var stores: [String: UnlockedStore] = [:]
    /// Continuous sync, by store.
    var syncs: [String: SyncKeeper] = [:]
    /// When the vaults of stores are looked at, by store.
    var tendings: [String: BootInstant] = [:]
    /// What waited for keys that lie open now, and for whom.
    var ready: [(client: AgentPeer?, body: () -> Void)] = []
    /// When browsers got something lately, by store.
    var browserActs: [String: BrowserActs] = [:]
    /// Relay ids at which other devices wait for an answer, by store.
    var asks: [String: [UniqueID]] = [:]
    /// SSH connections that wait for keys.
    var sshWaitingCount = 0
    /// Tells the person of something that sync met; called in children only.
    let notify: (SyncNews) -> Void
    private var isStopping = false

    /// Listens; no command runs before `run`.
    ///
    /// - Parameters:
    ///   - makeRecords: where attempt counts and lock intervals are kept.
    ///   - wrapping: what has the keys of stores while nobody uses them.
    /// - Throws: `NetError` if another agent answers there, or the folder is not this user's alone.
    package init(
        socketPath: String, userID: UInt32,
        makeRecords: @escaping @Sendable () -> any ProtectedRecords,
        wrapping: (any IdleWrapping)? = nil, environment: [String: String] = [:],
        sources: [any LockEventSource] = [], notify: @escaping (SyncNews) -> Void = { _ in }
    ) throws(NetError) {
        self.userID = userID
        folder = PathText.parent(of: socketPath)
        self.environment = environment
        self.makeRecords = makeRecords
        self.wrapping = wrapping
        self.sources = sources
        self.notify = notify
        let watched = Self.endingSignals + [SIGCHLD]
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        for signal in watched { unsafe sigaddset(&mask, signal) }
        unsafe sigprocmask(SIG_BLOCK, &mask, nil)
        _ = signal(SIGPIPE, SIG_IGN)
        signals = unsafe coffret_signal_descriptor(watched, Int32(watched.count))
        timer = coffret_boot_timer()
        guard signals >= 0, timer >= 0 else { throw NetError(.failed, place: "errno \(errno)") }
        listener = try UnixListener(path: socketPath, userID: userID)
        listener.stopWaiting()
        programListener = try? UnixListener(path: AgentLocation.programSocketPath(in: folder), userID: userID)
        programListener?.stopWaiting()
    }

    deinit {
        close(signals)
        close(timer)
    }

    // MARK: The loop

    /// Serves until it is told to end; then all stores are locked and the socket is gone.
    package func run() {
        while !isStopping {
            setTimer()
            let watched = watchedDescriptors
            var polled = watched.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
            let timeout = sources.map(\.timeoutMilliseconds).filter { $0 >= 0 }.min() ?? -1
            let count = unsafe poll(&polled, nfds_t(polled.count), timeout)
            if count < 0, errno != EINTR { break }
            // Time first: nothing that follows may use a store past its time.
            lockOverdue()
            startDueSyncs()
            startDueTendings()
            for source in sources { handle(source.takeEvents(), from: source) }
            wrapIdleKeys()
            guard count > 0 else { continue }
            for (entry, state) in zip(watched, polled) where state.revents != 0 {
                handle(entry.what, hungUp: state.revents & Int16(POLLHUP | POLLERR | COFFRET_POLLRDHUP) != 0)
            }
        }
        lockAll(because: .stopping)
    }

    private enum Watched {
        case signals, timer, source
        case listener(UnixListener, isLimited: Bool)
        case client(AgentPeer)
        case child(AgentChild)
        case sshListener(store: String)
    }

    private var watchedDescriptors: [(descriptor: Int32, events: Int16, what: Watched)] {
        let readable = Int16(POLLIN)
        var watched: [(descriptor: Int32, events: Int16, what: Watched)] = [
            (signals, readable, .signals), (timer, readable, .timer),
        ]
        if clients.count < Self.clientCountMax {
            watched.append((listener.descriptor, readable, .listener(listener, isLimited: false)))
            if let programListener, clients.values.count(where: \.isLimited) < Self.limitedClientCountMax {
                watched.append((programListener.descriptor, readable, .listener(programListener, isLimited: true)))
            }
        }
        for (store, listener) in sshListeners {
            watched.append((listener.descriptor, readable, .sshListener(store: store)))
        }
        for source in sources { watched.append((source.descriptor, source.pollEvents, .source)) }
        for (descriptor, client) in clients {
            let gone = Int16(COFFRET_POLLRDHUP)
            watched.append((descriptor, client.child == nil ? readable | gone : gone, .client(client)))
        }
        for child in children.values { watched.append((child.control, readable, .child(child))) }
        return watched
    }

    private func handle(_ what: Watched, hungUp: Bool) {
        switch what {
        case .signals:
            while case let signal = coffret_next_signal(signals), signal > 0 {
                if signal == SIGCHLD { reap() } else { isStopping = true }
            }
        case .timer:
            var expirations: UInt64 = 0
            _ = unsafe read(timer, &expirations, 8)
        case .listener(let listener, let isLimited): accept(from: listener, isLimited: isLimited)
        case .source: break
        case .client(let client):
            if client.child == nil { receive(from: client) } else if hungUp { abandon(client) }
        case .child(let child):
            child.takeReports()
            // It may not end soon, and others need the key that opens now.
            takeNews(of: child)
            answerKeyWanted(of: child)
            askPresence(for: child)
            answerPermits(of: child)
            verifyPerson(for: child)
            tellOfValues(of: child)
            takeRequests(of: child)
            takeAsks(of: child)
        case .sshListener(let store): acceptSSH(store)
        }
    }

    // MARK: Time

    private func setTimer() {
        let next =
            (stores.values.compactMap(\.deadline) + [nextSyncStart, nextWrapDeadline, nextTending].compactMap(\.self))
            .min()
        // 0 would switch the timer off, and a moment in the past is due at once.
        _ = coffret_set_boot_timer(timer, next.map { max(1, $0.nanoseconds) } ?? 0)
    }

    /// Locks what is past its time. A store that a command works with is in use, up to its absolute interval.
    private func lockOverdue() {
        let now = BootClock.now
        for store in stores.values {
            let wasUnlocked = store.deadline != nil
            let isBusy = children.values.contains { child in
                child.work.isCommand(of: store.path) && child.lockReason == nil
            }
            if let reason = store.check(at: now, isUse: isBusy), wasUnlocked { lock(store, because: reason) }
        }
    }

    private func handle(_ events: [LockEvent], from source: any LockEventSource) {
        for event in events {
            lockAll(because: event == .screenLocked ? .screenLocked : .sleep)
            // A screen that was locked is opened again, and the machine sleeps later.
            if event == .preparingForSleep { source.didLock() }
        }
    }

    // MARK: Locking

    /// - Parameter spared: the command that asked for it by what it did, and has the rest of that to do.
    func lock(_ store: UnlockedStore, because reason: LockReason, sparing spared: AgentChild? = nil) {
        store.lock(because: reason)
        sshListeners[store.path] = nil
        endCommands(of: store, because: reason, sparing: spared)
    }

    func lockAll(because reason: LockReason) {
        for store in stores.values { lock(store, because: reason) }
        // A secret that is being judged now would unlock after the fact.
        for child in children.values { if case .judge = child.work { end(child, because: reason) } }
    }

    /// Ends the commands that still hold the keys, and waits until the kernel has taken their memory back.
    private func endCommands(of store: UnlockedStore, because reason: LockReason, sparing spared: AgentChild?) {
        let ending = children.values.filter { $0.work.store == store.path && $0 !== spared }
        // All at once: how long the kernel takes for one is no reason for the others to go on.
        for child in ending { kill(child.processID, SIGKILL) }
        for child in ending { end(child, because: reason) }
        syncs[store.path] = nil
        tendings[store.path] = nil
    }

    private func end(_ child: AgentChild, because reason: LockReason) {
        // What a client had sent before may have ended it meanwhile; its number may be another process's by now.
        guard children[child.processID] === child else { return }
        child.lockReason = reason
        // Not SIGTERM: keys must not outlive the moment. Storage survives this by design, and the text in an
        // editor stays in its private folder.
        kill(child.processID, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(child.processID, &status, 0) < 0, errno == EINTR {}
        finish(child, status: status)
    }

    // MARK: Clients

    private func accept(from listener: UnixListener, isLimited: Bool) {
        guard let connection = listener.accept(userID: userID), let credentials = try? connection.peer() else { return }
        clients[connection.descriptor] = AgentPeer(
            connection: connection, credentials: credentials, isLimited: isLimited)
    }

    func receive(from client: AgentPeer) {
        do throws(NetError) {
            while client.child == nil, clients[client.descriptor] === client {
                switch try client.receiver.receive(from: client.connection) {
                case .message(let message, let descriptors): handle(message, descriptors, from: client)
                case .pending: return
                case .closed:
                    clients[client.descriptor] = nil
                    return
                }
            }
        } catch {
            clients[client.descriptor] = nil
        }
    }

    /// The client went away, or was ended by Ctrl-C: so is what it asked for.
    private func abandon(_ client: AgentPeer) {
        clients[client.descriptor] = nil
        if let child = client.child {
            child.client = nil
            client.child = nil
            child.waiting.removeAll { $0.client === client }
            // Others may wait for the same, and it ends by itself.
            if case .unwrapping = child.work { return }
            kill(child.processID, SIGTERM)
        }
    }

    func stop() { isStopping = true }

    // MARK: Children

    /// Starts a child that works for a client, which waits until it has ended, or for none.
    @discardableResult
    func start(_ work: AgentChild.Work, for client: AgentPeer?, _ body: (Int32) -> Int32) -> AgentChild? {
        let parent = processID
        let child = AgentChild.start(work, for: client) { control in
            if getppid() != parent { return 128 + SIGKILL }
            return body(control)
        }
        guard let child else {
            client?.refuse(.exhausted)
            return nil
        }
        client?.child = child
        children[child.processID] = child
        return child
    }

    /// In a child: keys of other stores and messages of other clients are no business of it.
    func forget(except store: String?) {
        clients.removeAll()
        children.removeAll()
        ready.removeAll()
        for other in stores.values where other.path != store { other.forget() }
    }

    func reap() {
        for child in Array(children.values) {
            var status: Int32 = 0
            if unsafe waitpid(child.processID, &status, WNOHANG) == child.processID { finish(child, status: status) }
        }
    }

    /// A child has ended: its reports count, and its client gets the answer.
    private func finish(_ child: AgentChild, status: Int32) {
        children[child.processID] = nil
        child.takeReports()
        endQuestions(of: child)
        takeRequests(of: child)
        let client = child.client
        client?.child = nil
        child.client = nil
        let answer: AgentResponse
        switch child.work {
        case .session where child.hasBegun: return finishSession(child, client)
        // It answered its client itself.
        case .pairing:
            if let client { clients[client.descriptor] = nil }
            return
        case .connection(let store), .session(let store, _):
            answer = finishOpened(child, store: store)
        case .judge: answer = finishJudge(child)
        case .sync(let store): return finishSync(child, store: store, status: status)
        case .tending, .telling: return
        case .remote(let store): return startNextAsk(of: store)
        case .wrapping(let store):
            if let store = stores[store], child.lockReason == nil { store.keep(child.idleLock) }
            return
        case .unwrapping(let store): return finishOpening(child, store: store)
        case .presence: return finishPresence(child)
        }
        client?.answer(answer)
        if let client { receive(from: client) }
    }

    /// A session that did not begin, or a connection for SSH.
    private func finishOpened(_ child: AgentChild, store path: String) -> AgentResponse {
        if let store = stores[path] {
            takeNews(of: child)
            if child.reports.contains(where: { if case .stale = $0 { true } else { false } }) {
                takeNews(ofAll: path)
                // It began with a key that another command has replaced meanwhile: nothing was done, and it may begin anew.
                if store.keyCount != child.keyCount { return .locked(reason: AgentResponse.reasonToRunAgain) }
                lock(store, because: .keysChanged)
                return .locked(reason: LockReason.keysChanged.rawValue)
            }
        }
        if child.lockReason != nil { return .failed(code: AgentErrorCode.commandLocked.rawValue, waitSeconds: nil) }
        for case .refused(let code, let waitSeconds) in child.reports {
            if code == AccessError.Code.invalid.rawValue { stores[path]?.tokenTries.noteWrong(at: BootClock.now) }
            return .failed(code: code, waitSeconds: waitSeconds)
        }
        return .failed(code: AgentErrorCode.commandFailed.rawValue, waitSeconds: nil)
    }

    /// Takes the news of keys of all children of a store. A child that changed the keyring has told of it before it gave the
    /// keyring's lock back.
    private func takeNews(ofAll path: String) {
        for child in children.values where child.work.store == path {
            child.takeReports()
            takeNews(of: child)
        }
    }

    /// Gives a child the newest key in place of the one that it began with.
    private func answerKeyWanted(of child: AgentChild) {
        guard let path = child.work.store, child.reports.contains(where: \.isKeyWanted) else { return }
        child.reports.removeAll(where: \.isKeyWanted)
        takeNews(ofAll: path)
        guard child.lockReason == nil, let store = stores[path], store.check(at: BootClock.now, isUse: false) == nil,
            let newest = store.newestKey
        else {
            return child.answer(.refused(code: AgentErrorCode.commandLocked.rawValue, waitSeconds: nil))
        }
        child.answer(.renewed(newest.key, generation: newest.generation))
    }

    /// What a child that works with a store has said of its keys. One that was ended by locking has nothing to say.
    func takeNews(of child: AgentChild) {
        guard let path = child.work.store, let store = stores[path], child.lockReason == nil else { return }
        let news = child.reports.filter(\.isNewsOfKeys)
        guard !news.isEmpty else { return }
        child.reports.removeAll(where: \.isNewsOfKeys)
        for report in news { take(report, for: store, from: child) }
    }

    private func take(_ report: ChildReport, for store: UnlockedStore, from child: AgentChild) {
        switch report {
        case .renewed(let key, let generation):
            store.renew(key, generation: generation)
            endBrowserSessions(of: store.path, sparing: child)
            // It ended if the key that it has opens nothing any more. And a new key does not lie open beside sealed ones.
            startSyncWithOpenKeys(of: store)
        case .slotExcluded:
            let isCommand = if case .sync = child.work { false } else { true }
            lock(store, because: .keysChanged, sparing: isCommand ? child : nil)
        case .noteKeyHeld(let key): store.hold(key)
        case .noteKeyForgotten(let record): store.forgetNoteKey(record)
        case .opened, .stale, .refused, .settled, .idleLock, .presenceWanted, .confirmed, .used, .lockWanted,
            .permitWanted, .verificationWanted, .valueGiven, .askWaits, .keyWanted:
            break
        }
    }

    private func finishJudge(_ child: AgentChild) -> AgentResponse {
        for report in child.reports {
            switch report {
            case .opened(let opened) where child.lockReason == nil:
                let now = BootClock.now
                if let store = stores[opened.store] {
                    store.unlock(opened, at: now)
                } else {
                    stores[opened.store] = UnlockedStore(opened, at: now)
                }
                listenForSSH(opened.store)
                if let store = stores[opened.store] { startSync(of: store) }
                return .done
            case .settled(let path, let intervals) where child.lockReason == nil:
                stores[path]?.change(to: intervals)
                return .done
            case .refused(let code, let waitSeconds): return .failed(code: code, waitSeconds: waitSeconds)
            default: continue
            }
        }
        let code = child.lockReason == nil ? AgentErrorCode.commandFailed : .commandLocked
        return .failed(code: code.rawValue, waitSeconds: nil)
    }
}
