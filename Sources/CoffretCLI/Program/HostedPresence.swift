// Whether somebody is there, asked through what the machine is set up for. The one thing to keep true: every question ends
// by itself, and the terminal is put back as it was even if nobody answered.

package import CoffretBase
internal import CoffretKeys
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// Asks whether a person is there, without asking what only that person knows.
protocol PresenceAsking: Sendable {
    /// - Parameter reason: ends a sentence that begins with "Show that you are there, to".
    /// - Returns: whether the person has shown it.
    /// - Throws: if nobody could be asked.
    func ask(reason: String) throws -> Bool
}

/// Presence by the machine's own means, for commands that run in the agent. This process has keys, and variables of the
/// client; another one asks.
struct HostedPresence: PresenceAsking, UserPresence {
    /// The code of a refusal; nil for a yes.
    let question: @Sendable (_ reason: String) -> String?

    /// What `question` gives where the person gave up.
    private static let cancelled = AgentErrorCode.pinentryCancelled.rawValue

    let isSetUp = true

    func ask(reason: String) throws -> Bool {
        guard let code = question(reason) else { return true }
        if code == Self.cancelled { throw CommandFailure(.cancelled, .cancelled, "cancelled") }
        guard code == KeyStoreError.Code.presenceDenied.rawValue else { throw Self.error(code) }
        return false
    }

    func confirm(reason: String) async throws(KeyError) {
        if let code = question(reason) { throw Self.error(code) }
    }

    private static func error(_ code: String) -> KeyError {
        let cause = code == cancelled ? KeyStoreError.Code.cancelled : KeyStoreError.Code(rawValue: code)
        return KeyError(.keyStoreFailed, cause: KeyStoreError(cause ?? .presenceUnavailable))
    }

    /// Whether an error means that nobody could be asked, so that another way is tried.
    static func isUnavailable(_ error: any Error) -> Bool {
        let code = ((error as? KeyError)?.cause as? KeyStoreError)?.code
        return code == .presenceUnavailable || code == .presenceNotSetUp
    }
}

/// A conversation at a terminal: that of the process, or one that a client handed over.
package final class TerminalConversation: PresenceConversation {
    private let prompt: TerminalPrompt
    private let state: termios?
    private let cancelled = Mutex(false)

    /// - Returns: nil without a terminal.
    convenience init?(showsBullets: Bool) {
        guard let prompt = TerminalPrompt(showsBullets: showsBullets) else { return nil }
        self.init(prompt)
    }

    /// - Parameter descriptor: of a terminal; stays the caller's.
    package convenience init?(descriptor: Int32) {
        guard let prompt = TerminalPrompt(duplicating: descriptor) else { return nil }
        self.init(prompt)
    }

    private init(_ prompt: TerminalPrompt) {
        self.prompt = prompt
        state = prompt.state
    }

    /// Whether the person gave up, as by Ctrl-C.
    package var isCancelled: Bool { cancelled.withLock(\.self) }

    /// A question whose time ran out may have left the terminal without echo.
    package func putBack() { if let state { prompt.restore(state) } }

    package func answer(_ question: String, isHidden: Bool) -> SecretBytes? {
        do {
            if isHidden { return try prompt.askSecret(question) }
            guard var line = try prompt.askLine(question).map({ Array($0.utf8) }) else { return nil }
            return SecretBytes(consuming: &line)
        } catch {
            cancelled.withLock { $0 = true }
            return nil
        }
    }

    package func show(_ text: String) { prompt.show(TextWidth.displaySafe(text) + "\n") }
}
