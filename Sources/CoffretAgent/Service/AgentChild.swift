// Processes of the agent: one for each command and each secret that is judged. The one thing to keep true: the
// agent has one thread, so that a fork is a whole copy, and what a child does not need it forgets first.

internal import CPlatform
internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretNet
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// A running child, as the agent knows it.
final class AgentChild {
    enum Work {
        /// Syncs a store for as long as it is unlocked.
        case sync(store: String)
        /// Keeps the vaults of a store small.
        case tending(store: String)
        /// Lets a person pair a browser with a store.
        case pairing(store: String)
        /// Answers another device of the account, which asks for a value of the store.
        case remote(store: String)
        /// Judges a secret.
        case judge(AgentSecretHead)
        /// Asks whether the person is there, for a child that works with a store.
        case presence(store: String)
        /// Serves an SSH client out of a store.
        case connection(store: String)
        /// Answers operations of a client for as long as it stays connected and the store unlocked; within the limits of a token,
        /// if it has one.
        case session(store: String, SessionManner)
        /// Tells the person something.
        case telling(store: String)
        /// Lets the TPM take, or give back, the key that a store's keys are sealed with.
        case wrapping(store: String)
        case unwrapping(store: String)

        /// The store that the child works for, and ends with.
        var store: String? {
            switch self {
            case .sync(let store), .tending(let store), .connection(let store),
                .session(let store, _), .wrapping(let store), .unwrapping(let store), .presence(let store),
                .pairing(let store), .telling(let store), .remote(let store):
                store
            case .judge: nil
            }
        }

        /// Whether it is a command of the store, which is in use meanwhile.
        func isCommand(of store: String) -> Bool {
            if case .session(store, .command) = self { true } else { false }
        }

        /// Whether a report answers what the child was asked. Others are dropped, whoever made the child say them.
        func allows(_ report: ChildReport) -> Bool {
            switch (self, report) {
            case (.sync, .refused), (.connection, .refused), (.pairing, .refused): false
            case (.session(_, let manner), .permitWanted(let act, _)):
                manner.isForBrowsers && (act == .fill || act == .challenge)
            case (.pairing, .permitWanted(let act, _)): act == .pairing
            case (.remote, .permitWanted(let act, _)): act == .remote
            case (.sync, .askWaits): true
            case (.session(_, let manner), .verificationWanted), (.session(_, let manner), .valueGiven):
                manner.isForBrowsers
            case (_, .refused), (.presence, .confirmed), (.wrapping, .idleLock), (.unwrapping, .idleLock): true
            case (.judge(let asked), .opened(let opened)):
                asked.kind != .presence && opened.store == asked.store && asked.wanted.allows(opened.intervals)
            case (.judge(let asked), .settled(let store, let intervals)):
                asked.kind == .presence && asked.wanted.isSettings && store == asked.store
                    && asked.wanted.allows(intervals)
            case (.connection, .presenceWanted): true
            case (.connection, .keyWanted), (.session, .keyWanted), (.remote, .keyWanted): true
            case (.session(_, let manner), .noteKeyHeld), (.session(_, let manner), .noteKeyForgotten),
                (.session(_, let manner), .lockWanted):
                manner == .program || manner.isBrief
            case (.session(_, let manner), .presenceWanted): !manner.isForBrowsers
            case (.session, .used): true
            case (.connection, .stale), (.session, .stale): true
            case (.sync, _), (.connection, _), (.session, _): report.isKeyringChange
            default: false
            }
        }
    }

    let processID: pid_t
    let work: Work
    /// Who waits for the answer; nil once it went away.
    var client: AgentPeer?
    /// What is to be done once keys lie open that this child has unsealed, and for whom.
    var waiting: [(client: AgentPeer?, body: () -> Void)] = []
    /// For reports; closed with this object.
    let control: Int32
    var reports: [ChildReport] = []
    /// The key that it was started with, by the count of keys of the store.
    var keyCount = 0
    /// Why the child was ended, if its store was locked under it.
    var lockReason: LockReason?
    /// Whether it answers its client by itself: the agent says nothing more on that connection.
    var hasBegun = false
    /// Of a session: the program that has it, in words, since when, and when a person last asked something.
    var program = ""
    let began = BootClock.now
    var used: BootInstant?
    /// The terminal of its client, for questions; closed with this object.
    var terminal: Int32?
    /// The receiver of the answer of a child that asks whether the person is there.
    weak var asker: AgentChild?

    init(processID: pid_t, work: Work, client: AgentPeer?, control: Int32) {
        self.processID = processID
        self.work = work
        self.client = client
        self.control = control
    }

    deinit {
        close(control)
        if let terminal { close(terminal) }
    }

    /// Forks.
    ///
    /// - Parameter body: runs in the child with the descriptor for reports; its result is the exit code.
    /// - Returns: nil if the system has no room for another process.
    static func start(_ work: Work, for client: AgentPeer?, _ body: (Int32) -> Int32) -> AgentChild? {
        var ends: [Int32] = [-1, -1]
        guard unsafe coffret_message_pair(&ends) == 0 else { return nil }
        let processID = coffret_fork()
        if processID == 0 {
            SecretMemory.lockAfterFork()
            // No deinit, no exit handler, no second flush of anything the parent had buffered.
            _exit(body(ends[1]))
        }
        close(ends[1])
        guard processID > 0 else {
            close(ends[0])
            return nil
        }
        return AgentChild(processID: processID, work: work, client: client, control: ends[0])
    }

    /// Takes what the child has reported so far, without waiting.
    func takeReports() {
        while true {
            // How large the next one is. Most commands report nothing, and this is on the way of each.
            var byte: UInt8 = 0
            let size = unsafe recv(control, &byte, 0, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK) | Int32(MSG_TRUNC))
            if size < 0, errno == EINTR { continue }
            guard size > 0 else { return }
            // It may hold a key, and this process goes on after the key is gone.
            guard let report = clearingTraces({ takeReport(byteCount: size) }), work.allows(report) else { continue }
            reports.append(report)
        }
    }

    private func takeReport(byteCount: Int) -> ChildReport? {
        var message = [UInt8](repeating: 0, count: min(byteCount, ChildReport.byteCountMax))
        defer { message.zero() }
        guard unsafe recv(control, &message, message.count, Int32(MSG_DONTWAIT)) == byteCount else { return nil }
        return ChildReport(decoding: message)
    }

    /// In the child: sends a report to the agent.
    static func report(_ report: ChildReport, over control: Int32) {
        var bytes = report.encoded
        defer { bytes.zero() }
        _ = unsafe send(control, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Answers a question of the child; one that does not wait for it gets nothing.
    func answer(_ report: ChildReport) {
        // It may hold a key, as what is taken may.
        clearingTraces {
            var bytes = report.encoded
            defer { bytes.zero() }
            _ = unsafe send(control, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
    }

    /// In the child: has the agent ask whether the person is there.
    ///
    /// - Returns: the code of a refusal; nil for a yes.
    static func askPresence(reason: String, _ variables: [String: String], over control: Int32) -> String? {
        let places = variables.filter { SecretJudge.placeVariables.contains($0.key) }
        switch ask(.presenceWanted(reason: reason, places: places), over: control) {
        case .confirmed: return nil
        case .refused(let code, _): return code
        default: return KeyStoreError.Code.presenceUnavailable.rawValue
        }
    }

    /// In the child: asks the agent for the key that opens the store now; nil if it has none.
    static func askKey(over control: Int32) -> StorageKey? {
        if case .renewed(let key, _) = ask(.keyWanted, over: control) { key } else { nil }
    }

    /// In the child: asks the agent whether a browser may have something once more.
    static func askPermit(_ act: BrowserAct, mark: [UInt8] = [], over control: Int32) -> Bool {
        if case .confirmed = ask(.permitWanted(act, mark: mark), over: control) { true } else { false }
    }

    /// In the child: has the agent ask the person to show to be there, by presence, PIN or passphrase.
    ///
    /// - Parameter client: nobody is asked any more once the other end of this connection is gone.
    /// - Returns: the code of a refusal; nil for a yes.
    static func askVerification(reason: String, over control: Int32, for client: Int32) -> String? {
        switch ask(.verificationWanted(reason: reason), over: control, for: client) {
        case .confirmed: nil
        case .refused(let code, _): code
        default: KeyStoreError.Code.presenceUnavailable.rawValue
        }
    }

    /// In the child: asks the agent, and waits for its answer.
    ///
    /// - Returns: nil if the agent is gone, or the client for whom it is asked.
    private static func ask(_ question: ChildReport, over control: Int32, for client: Int32 = -1) -> ChildReport? {
        // One question at a time: an answer does not say whose it is.
        asking.withLock { _ in exchange(question, over: control, for: client) }
    }

    private static let asking = Mutex(())

    private static func exchange(_ question: ChildReport, over control: Int32, for client: Int32) -> ChildReport? {
        report(question, over: control)
        while true {
            var polled = [
                pollfd(fd: control, events: Int16(POLLIN), revents: 0), pollfd(fd: client, events: 0, revents: 0),
            ]
            guard unsafe poll(&polled, 2, -1) > 0 else { continue }
            if polled[0].revents != 0 { break }
            if polled[1].revents != 0 { return nil }
        }
        var message = [UInt8](repeating: 0, count: ChildReport.byteCountMax)
        defer { message.zero() }
        var count: Int
        repeat { count = unsafe recv(control, &message, message.count, 0) } while count < 0 && errno == EINTR
        guard count > 0 else { return nil }
        var answer = Array(message.prefix(count))
        defer { answer.zero() }
        return ChildReport(decoding: answer)
    }

    /// In the child: descriptors `numbers` become 0, 1, 2, …, and all others are closed. Those from 3 on are not
    /// passed on to programs.
    static func arrange(_ numbers: [Int32]) {
        // Out of the way first: a source may lie where another has to go.
        let moved = numbers.map { fcntl($0, F_DUPFD_CLOEXEC, 64) }
        for (target, source) in moved.enumerated() {
            dup2(source, Int32(target))
            if target > 2 { _ = fcntl(Int32(target), F_SETFD, FD_CLOEXEC) }
        }
        _ = coffret_close_from(UInt32(numbers.count))
    }

    /// In the child: signals act as in any program, the parent's end is this process's end, and the environment
    /// holds these variables alone.
    static func settle(environment: [String: String], parent: pid_t) {
        _ = coffret_die_with_parent(SIGKILL)
        if getppid() != parent { _exit(128 + SIGKILL) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigprocmask(SIG_SETMASK, &none, nil)
        clearenv()
        for (name, value) in environment { unsafe setenv(name, value, 1) }
        tzset()
    }
}

extension AgentSecretHead.Wanted {
    var isSettings: Bool { if case .settings = self { true } else { false } }

    /// Whether these intervals are what was asked for, as far as anything was.
    func allows(_ intervals: LockIntervals) -> Bool {
        let (idle, absolute) =
            switch self {
            case .unlock(let seconds): (seconds, seconds)
            case .settings(let idle, let absolute): (idle, absolute)
            }
        return (idle ?? intervals.idleSeconds) == intervals.idleSeconds
            && (absolute ?? intervals.absoluteSeconds) == intervals.absoluteSeconds
    }
}
