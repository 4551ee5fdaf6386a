// Browsers: how often they get something, and how a person pairs one. Invariant: the agent counts, in memory and by a clock that nobody
// sets; a browser that opens another session begins no other count.

internal import CoffretApp
internal import CoffretBase
internal import CoffretBridge
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretNet
internal import CoffretWire
internal import Glibc

/// Counts of values and questions that browsers and other devices get so many times only.
enum BrowserAct: UInt8, Hashable, Sendable {
    /// Values of a login.
    case fill = 1
    /// A question to the person for six digits.
    case pairing = 2
    /// An answer to a challenge, which is a mark: it gets one.
    case challenge = 3
    /// A question to the person whether another device is to have a value.
    case remote = 4
    /// A connection to whoever waits on the relay, known or not.
    case join = 5

    fileprivate var bound: (count: Int, duration: Duration) {
        switch self {
        case .fill: (10, .seconds(60))
        case .pairing: (3, .seconds(600))
        case .challenge: (64, .seconds(600))
        case .remote: (5, .seconds(600))
        case .join: (30, .seconds(600))
        }
    }
}

/// When the browsers of a store got something.
struct BrowserActs {
    private var times: [BrowserAct: [(time: BootInstant, mark: [UInt8])]] = [:]

    /// Counts one more, unless there were too many lately, or this mark was among them.
    mutating func permit(_ act: BrowserAct, mark: [UInt8] = [], at now: BootInstant) -> Bool {
        let (count, duration) = act.bound
        var recent = (times[act] ?? []).filter { $0.time.duration(to: now) < duration }
        defer { times[act] = recent }
        guard recent.count < count, mark.isEmpty || !recent.contains(where: { $0.mark == mark }) else { return false }
        recent.append((now, mark))
        return true
    }
}

extension AgentService {
    /// Answers a child that wants to give a browser something.
    func answerPermits(of child: AgentChild) {
        guard let path = child.work.store, child.lockReason == nil else { return }
        while let index = child.reports.firstIndex(where: \.isPermitWanted),
            case .permitWanted(let act, let mark) = child.reports.remove(at: index)
        {
            let isPermitted = browserActs[path, default: BrowserActs()].permit(act, mark: mark, at: BootClock.now)
            child.answer(
                isPermitted
                    ? .confirmed : .refused(code: BridgeError.Code.pausing.rawValue, waitSeconds: nil))
        }
    }

    /// In the child: the browsers of a store.
    static func pairings(of path: String, in records: any ProtectedRecords) throws -> Pairings {
        let summary = try KeyringSummary.read(at: StoreLayout(path).keyringPath, fileSystem: PosixFileSystem())
        return try BrowserRecords(records, store: summary.storeID).read()
    }

    /// In the child: how a session of a browser asks.
    static func bridgeTerms(
        store path: String, program: String, makeRecords: @escaping @Sendable () -> any ProtectedRecords
    ) -> BridgeTerms {
        BridgeTerms(
            program: program,
            pairings: { try pairings(of: path, in: makeRecords()) },
            agent: BridgeTerms.Agent(
                mayFill: { AgentChild.askPermit(.fill, over: STDERR_FILENO + 1) },
                isFresh: { AgentChild.askPermit(.challenge, mark: $0, over: STDERR_FILENO + 1) },
                verify: { AgentChild.askVerification(reason: $0, over: STDERR_FILENO + 1, for: STDERR_FILENO + 2) },
                tell: { AgentChild.report(.valueGiven(browser: $0, host: $1), over: STDERR_FILENO + 1) }))
    }

    /// Tells the person, in a process without keys, that a browser was given something.
    func tellOfValues(of child: AgentChild) {
        let news = child.reports.compactMap { report -> SyncNews? in
            guard case .valueGiven(let browser, let host) = report else { return nil }
            return .valueGiven(browser: browser, host: host)
        }
        guard !news.isEmpty, let path = child.work.store else { return }
        child.reports.removeAll { if case .valueGiven = $0 { true } else { false } }
        let (own, notify, parent) = (environment, notify, getpid())
        start(.telling(store: path), for: nil) { control in
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control])
            AgentChild.settle(environment: own, parent: parent)
            for each in news { notify(each) }
            return 0
        }
    }

    /// Starts the process that pairs a browser: it has no key of any store. It says `done` itself.
    func openPairing(_ message: ReceivedMessage, store path: String, for client: AgentPeer) {
        reap()
        // One whose extension is gone asks nobody any more.
        let others = children.values.filter { child in
            if case .pairing(path) = child.work { child.client != nil } else { false }
        }
        guard others.isEmpty else {
            // The person cannot tell whose digits are asked for: nobody is paired.
            for other in others { kill(other.processID, SIGTERM) }
            return client.answer(.failed(code: BridgeError.Code.pairingBusy.rawValue, waitSeconds: nil))
        }
        let (own, makeRecords, parent) = (environment, makeRecords, getpid())
        let process = client.credentials.processID
        start(.pairing(store: path), for: client) { control in
            let socket = client.descriptor
            withExtendedLifetime(client) { forget(except: nil) }
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control, socket])
            AgentChild.settle(environment: own, parent: parent)
            guard
                case .session(let session)? = try? unsafe message.withUnsafeBytes({
                    try unsafe AgentRequest(decoding: $0)
                }),
                let variables = ClientVariables(session.environment), AgentLocation.canonical(path) == path
            else { return 1 }
            return BrowserPairing(
                connection: UnixConnection(descriptor: STDERR_FILENO + 2), store: path, records: makeRecords(),
                places: SecretJudge.places(of: variables.values, agent: own), askingProcess: process,
                mayAsk: { AgentChild.askPermit(.pairing, over: STDERR_FILENO + 1) }
            ).serve()
        }
    }
}

extension ChildReport {
    fileprivate var isPermitWanted: Bool { if case .permitWanted = self { true } else { false } }
}
