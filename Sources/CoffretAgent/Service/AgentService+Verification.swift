// Whether the person is there, for a session of a browser that is about to use a passkey. Invariant: who asks has no keys of the store, and
// the agent's own variables; a browser chooses neither what is asked nor who answers.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

extension AgentService {
    /// Starts the process that asks, if a child wants that and none asks for it yet.
    func verifyPerson(for asker: AgentChild) {
        guard let path = asker.work.store, asker.lockReason == nil,
            let wanted = asker.reports.firstIndex(where: \.isVerificationWanted),
            case .verificationWanted(let reason) = asker.reports.remove(at: wanted)
        else { return }
        let isBusy = children.values.contains { child in
            if case .presence(path) = child.work { true } else { false }
        }
        // Two questions at once would be answered blindly.
        guard !isBusy else { return refuse(asker) }
        let (own, makeRecords) = (environment, makeRecords)
        let (process, parent) = (asker.client?.credentials.processID ?? asker.processID, getpid())
        let child = start(.presence(store: path), for: nil) { control in
            forget(except: nil)
            AgentChild.arrange([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, control])
            AgentChild.settle(environment: own, parent: parent)
            let places = SecretJudge.places(of: [:], agent: own)
            AgentChild.report(
                Verification(store: path, records: makeRecords(), places: places, askingProcess: process).report(
                    reason),
                over: STDERR_FILENO + 1)
            return 0
        }
        guard let child else { return refuse(asker) }
        child.asker = asker
    }

    private func refuse(_ asker: AgentChild) {
        asker.answer(.refused(code: KeyStoreError.Code.presenceUnavailable.rawValue, waitSeconds: nil))
    }
}

extension ChildReport {
    fileprivate var isVerificationWanted: Bool { if case .verificationWanted = self { true } else { false } }
}

/// A question by presence where that is set up, else by PIN or passphrase, which are judged and counted here.
private struct Verification {
    let store: String
    let records: any ProtectedRecords
    let places: [String: String]
    let askingProcess: Int32

    func report(_ reason: String) -> ChildReport {
        do {
            let isThere = try check.ask(reason: reason)
            return isThere
                ? .confirmed : .refused(code: KeyStoreError.Code.presenceDenied.rawValue, waitSeconds: nil)
        } catch {
            return .refusal(for: error)
        }
    }

    private var check: PersonCheck {
        let presence = KeyStoreProviders.installed?.presence(nil)?.isSetUp == true
        return PersonCheck(
            path: store,
            {
                guard let state = AgentLocation.stateDirectory else { throw AgentRefusal(.requestInvalid) }
                let (fileSystem, random) = (PosixFileSystem(), SystemRandomSource())
                return StoreEnvironment(
                    stateDirectory: state, fileSystem: fileSystem, random: random, clock: SystemWallClock(),
                    attempts: SecretJudge.attempts(records, state))
            }, profile: SlotTerms.defaultProfile, tpm: AgentLocation.tpm,
            presence: presence ? HostedPresence(question: askPresence) : nil,
            person: PinentryPerson(places: places, askingProcess: askingProcess))
    }

    /// - Returns: the code of a refusal; nil for a yes.
    @Sendable
    private func askPresence(_ reason: String) -> String? {
        let question = PresenceQuestion(terminal: nil, places: places, askingProcess: askingProcess)
        if case .refused(let code, _) = question.report(reason: reason) { return code }
        return nil
    }
}

/// A person at the agent's own prompt.
private final class PinentryPerson: OperationPerson {
    private let places: [String: String]
    private let askingProcess: Int32

    init(places: [String: String], askingProcess: Int32) {
        (self.places, self.askingProcess) = (places, askingProcess)
    }

    let canAnswer = true

    func tell(_ notice: SessionNotice) {}

    func secret(_ question: SessionQuestion) throws -> SecretBytes {
        let isPIN = question.kind == .pin
        let text =
            "\(AskingProgram.words(askingProcess)) asks for \(isPIN ? "your PIN" : "the passphrase of your store")"
        return try Pinentry.start(places).ask(
            "\(text), to \(question.reason ?? "go on").", complaint: nil, prompt: isPIN ? "PIN:" : "Passphrase:")
    }

    func confirm(_ question: SessionQuestion) throws -> Bool? { nil }

    func code(_ question: SessionQuestion, idle: () throws -> Void) throws -> String {
        throw OperationError(.unanswered)
    }

    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? { nil }

    func deriving<Value>(_ body: () throws -> Value) throws -> Value { try body() }
}
