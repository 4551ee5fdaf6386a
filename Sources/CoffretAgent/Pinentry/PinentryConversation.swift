// What PAM wants to know, asked through a pinentry. The one thing to keep true: the person reads which program asks, and
// an answer goes nowhere but to PAM.

internal import CoffretBase
internal import CoffretKeys
internal import Synchronization

/// A conversation without a terminal. A pinentry starts when there is something to ask; what PAM only says stands above
/// its next question.
final class PinentryConversation: PresenceConversation {
    private let variables: [String: String]
    private let askingProcess: Int32
    private let said = Mutex<[String]>([])

    /// - Parameter variables: where the person is, and which pinentry.
    init(_ variables: [String: String], askingProcess: Int32) {
        self.variables = variables
        self.askingProcess = askingProcess
    }

    func answer(_ prompt: String, isHidden: Bool) -> SecretBytes? {
        let lines = said.withLock { lines in
            defer { lines = [] }
            return lines
        }
        let question = ([AskingProgram.words(askingProcess)] + lines + [prompt]).joined(separator: "\n")
        guard let pinentry = try? Pinentry.start(variables) else { return nil }
        return try? pinentry.ask(question, complaint: nil, prompt: "Password:")
    }

    func show(_ text: String) { said.withLock { $0.append(text) } }
}
