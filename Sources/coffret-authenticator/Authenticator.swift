// Reports of the device and messages of the agent, brought together. Invariant: the session of the agent has one message at a time, and is
// closed as soon as nobody waits for its answer, which takes a question to the person away.

internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Spec: Spec/authenticator.md.
final class Authenticator {
    /// CTAP wants a sign of life at least so often, in milliseconds.
    private static let beat: Int32 = 100

    private let environment: ProcessEnvironment
    private let device = UserDevice()
    private var transport = CTAPTransport()
    private var session: UnixConnection?
    private var receiver = MessageReceiver()
    /// The message that waits for the store to be unlocked, and the process that has it unlocked.
    private var waiting: (message: [UInt8], unlocking: pid_t)?

    init(environment: ProcessEnvironment) { self.environment = environment }

    /// Serves until the device is gone.
    ///
    /// - Returns: the exit code.
    func run() -> Int32 {
        do throws(SystemFailure) {
            try device.create()
            while true {
                var polled = [STDIN_FILENO, session?.descriptor ?? -1].map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
                let isBusy = transport.isWorking || transport.isReceiving
                let count = unsafe poll(&polled, 2, isBusy ? Self.beat : -1)
                if count == 0 { beat() }
                if polled[1].revents != 0 { passBack() }
                if polled[0].revents != 0 {
                    switch device.receive() {
                    case nil: return 0
                    case .report(let report): take(transport.take(report, at: BootClock.now))
                    case .closed:
                        end()
                        transport.close()
                    case .unanswerable(let reply, let id): try device.refuse(reply, id)
                    case .other: break
                    }
                }
                for report in transport.takeReports() { try device.send(report: report) }
            }
        } catch {
            return 74
        }
    }

    private func take(_ event: CTAPTransport.Event?) {
        switch event {
        case nil: break
        case .cancelled: end()
        // A browser looks which keys there are before a person has unlocked anything.
        case .request(let message) where (try? CTAPRequest(message)) == .information:
            transport.answer(CTAPReply.information)
        case .request(let message): pass(message, mayUnlock: true)
        }
    }

    private func beat() {
        transport.expire(at: BootClock.now)
        transport.keepAlive()
        guard let (message, unlocking) = waiting, waitpid(unlocking, nil, WNOHANG) != 0 else { return }
        waiting = nil
        pass(message, mayUnlock: false)
    }

    /// Nobody waits for an answer any more.
    private func end() {
        session = nil
        // Nobody wants the store open any more; the question goes with the process.
        if let waiting {
            kill(waiting.unlocking, SIGKILL)
            waitpid(waiting.unlocking, nil, 0)
        }
        waiting = nil
    }

    // MARK: The agent

    private func pass(_ message: [UInt8], mayUnlock: Bool) {
        do {
            if session == nil { session = try open() }
            guard let session else {
                if mayUnlock, let process = unlock() { waiting = (message, process) } else { refuse() }
                return
            }
            try session.send(message)
        } catch {
            session = nil
            refuse()
        }
    }

    private func refuse() { transport.answer([CTAPStatus.denied.rawValue]) }

    /// - Returns: nil if the store is locked.
    private func open() throws -> UnixConnection? {
        let path =
            environment.value(.store)
            ?? environment.baseDirectory(.dataHome, below: ".local/share").map { $0 + "/coffret" }
        guard let store = path.flatMap(AgentLocation.canonical) else { throw NetError(.unreachable) }
        guard let client = try AgentClient.connect(environment) else { return nil }
        receiver = MessageReceiver()
        for _ in 0..<4 {
            switch try client.ask(
                .session(AgentSession(store: store, environment: environment.travelling, .authenticator)))
            {
            case .done: return client.connection
            // The keys were replaced while the session began.
            case .locked(AgentResponse.reasonToRunAgain): continue
            case .locked: return nil
            default: throw NetError(.unreachable)
            }
        }
        throw NetError(.unreachable)
    }

    /// Has the agent ask the person for the passphrase.
    private func unlock() -> pid_t? {
        guard let own = AgentLocation.canonical("/proc/self/exe") else { return nil }
        let program = PathText.join(PathText.parent(of: own), "coffret")
        return try? ChildProcess.start([program, "unlock"], input: .null, output: .null, error: .null).processID
    }

    private func passBack() {
        guard let session else { return }
        do throws(NetError) {
            while true {
                switch try receiver.receive(from: session) {
                case .message(let message, _): transport.answer(message.bytes)
                case .pending: return
                case .closed: return drop()
                }
            }
        } catch {
            drop()
        }
    }

    /// The session is over: locked, silent for long, or ended by the person.
    private func drop() {
        session = nil
        refuse()
    }
}
