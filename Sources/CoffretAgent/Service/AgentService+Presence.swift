// Whether the person is there, asked for a child that has keys. The one thing to keep true: who asks has no keys, and the
// agent's own variables; a client chooses neither the service that says yes nor what libraries are loaded on the way.

internal import CoffretApp
internal import CoffretBase
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretWire
internal import Glibc

extension AgentService {
    /// Starts the process that asks, if a child wants that and none asks for it yet.
    func askPresence(for asker: AgentChild) {
        guard let path = asker.work.store, asker.lockReason == nil,
            let wanted = asker.reports.firstIndex(where: \.isPresenceWanted),
            case .presenceWanted(let reason, let places) = asker.reports.remove(at: wanted),
            !children.values.contains(where: { $0.asker === asker })
        else { return }
        let (terminal, process, parent) = (
            asker.terminal, asker.client?.credentials.processID ?? asker.processID, getpid()
        )
        let own = environment
        let child = start(.presence(store: path), for: nil) { control in
            forget(except: nil)
            AgentChild.arrange(
                [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control] + (terminal.map { [$0] } ?? []))
            AgentChild.settle(environment: own, parent: parent)
            let question = PresenceQuestion(
                terminal: terminal == nil ? nil : STDERR_FILENO + 2,
                places: SecretJudge.places(of: places, agent: own), askingProcess: process)
            AgentChild.report(question.report(reason: reason), over: STDERR_FILENO + 1)
            return 0
        }
        guard let child else {
            return asker.answer(
                .refused(code: KeyStoreError.Code.presenceUnavailable.rawValue, waitSeconds: nil))
        }
        child.asker = asker
    }

    /// The process that asked has ended; without a word from it the person did not show to be there.
    func finishPresence(_ child: AgentChild) {
        let answer = child.reports.first
        child.asker?.answer(
            answer ?? .refused(code: KeyStoreError.Code.presenceDenied.rawValue, waitSeconds: nil))
    }

    /// The asker is gone.
    func endQuestions(of asker: AgentChild) {
        for child in children.values where child.asker === asker { kill(child.processID, SIGKILL) }
    }
}

extension ChildReport {
    var isPresenceWanted: Bool { if case .presenceWanted = self { true } else { false } }
    var isKeyWanted: Bool { if case .keyWanted = self { true } else { false } }
}

/// A question to the person, in a process with the agent's own variables.
struct PresenceQuestion {
    /// The client's, if it handed one over.
    let terminal: Int32?
    let places: [String: String]
    let askingProcess: Int32

    /// Asks at the client's terminal, else through pinentry. It ends by itself, and this process waits for nobody else.
    func ask(reason: String) throws {
        let terminal = terminal.flatMap { TerminalConversation(descriptor: $0) }
        let pinentry = PinentryConversation(places, askingProcess: askingProcess)
        guard let presence = KeyStoreProviders.installed?.presence(terminal ?? pinentry) else {
            throw KeyError(.presenceRequired)
        }
        defer { terminal?.putBack() }
        do throws(KeyError) {
            try KeyStoreProviders.wait { () async throws(KeyError) in try await presence.confirm(reason: reason) }
        } catch {
            if terminal?.isCancelled == true { throw AgentRefusal(.pinentryCancelled) }
            throw error
        }
    }

    func report(reason: String) -> ChildReport {
        do {
            try ask(reason: reason)
            return .confirmed
        } catch {
            return .refusal(for: error)
        }
    }
}

extension ChildReport {
    /// A refusal by the agent, or a failure below it.
    static func refusal(for error: any Error) -> ChildReport {
        if let refusal = error as? AgentRefusal { return .refused(code: refusal.code.rawValue, waitSeconds: nil) }
        return .refused(code: FailureCode.of(error), waitSeconds: FailureCode.waitSeconds(error))
    }
}
