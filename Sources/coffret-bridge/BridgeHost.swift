// Between a browser and the agent. Invariant: of a message this process reads where it goes, and nothing else.

internal import CPlatform
internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Passes sealed messages between an extension and one session of the agent.
///
/// Spec: Spec/bridge.md section 1.
final class BridgeHost {
    private let environment: ProcessEnvironment
    private var browser = NativeMessages()
    private var session: UnixConnection?
    private let receiver = MessageReceiver()

    init(environment: ProcessEnvironment) { self.environment = environment }

    /// Serves until the browser or the session is gone.
    ///
    /// - Returns: the exit code.
    func run() -> Int32 {
        while true {
            var polled = [STDIN_FILENO, session?.descriptor ?? -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            guard unsafe poll(&polled, 2, -1) > 0 else { continue }
            if polled[1].revents != 0, !passBack() { return 0 }
            if polled[0].revents != 0 {
                guard let texts = browser.receive() else { return 0 }
                for text in texts where !take(text) { return 65 }
            }
        }
    }

    /// - Returns: false for what is no message of the extension.
    private func take(_ text: [UInt8]) -> Bool {
        guard case .object(let members)? = try? JSONValue(parsing: text) else { return false }
        let message = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) })
        if message["unlock"]?.bool == true {
            unlock()
            return true
        }
        guard let sealed = message["m"]?.string, let bytes = try? Base64.standard.decode(sealed) else { return false }
        if let kind = message["open"]?.string {
            guard session == nil, ["session", "pairing"].contains(kind) else { return false }
            guard open(isPairing: kind == "pairing") else { return true }
        }
        guard let session else { return false }
        do throws(NetError) { try session.send(bytes) } catch { return false }
        return true
    }

    // MARK: The agent

    /// Opens a session, or says why there is none.
    private func open(isPairing: Bool) -> Bool {
        do {
            guard let store else { return refuse("absent", "store") }
            guard let client = try AgentClient.connect(environment) else { return refuse("locked", "no-agent") }
            let session = AgentSession(
                store: store, environment: environment.travelling, isPairing ? .pairing : .bridge)
            for _ in 0..<4 {
                switch try client.ask(.session(session)) {
                case .done:
                    self.session = client.connection
                    return true
                // The keys were replaced while the session began.
                case .locked(AgentResponse.reasonToRunAgain): continue
                case .locked(let reason): return refuse("locked", reason)
                case .failed(let code, _): return refuse("failed", code)
                default: return refuse("failed", "wire.message.unsupported")
                }
            }
            return refuse("failed", "agent.exhausted")
        } catch {
            return refuse("failed", "net.failed")
        }
    }

    private func refuse(_ name: String, _ reason: String) -> Bool {
        browser.send(.object([.init(name, .string(reason))]))
        return false
    }

    /// A path without links; nil where no store is.
    private var store: String? {
        let path =
            environment.value(.store)
            ?? environment.baseDirectory(.dataHome, below: ".local/share").map { $0 + "/coffret" }
        return path.flatMap(AgentLocation.canonical)
    }

    /// - Returns: false once the session is over.
    private func passBack() -> Bool {
        guard let session else { return true }
        do throws(NetError) {
            while true {
                switch try receiver.receive(from: session) {
                case .message(let message, _):
                    browser.send(.object([.init("m", .string(Base64.standard.encode(message.bytes)))]))
                case .pending: return true
                case .closed: return false
                }
            }
        } catch {
            return false
        }
    }

    /// Has the agent ask the person, as `coffret unlock` does. It goes on when the browser ends this process, which it does
    /// when the person turns to the question.
    private func unlock() {
        guard let own = AgentLocation.canonical("/proc/self/exe") else { return }
        let program = PathText.join(PathText.parent(of: own), "coffret")
        let started = try? ChildProcess.start(
            [program, "unlock"], input: .null, output: .null, error: .null, isDetached: true)
        browser.send(.object([.init("unlocking", .bool(started != nil))]))
    }
}
