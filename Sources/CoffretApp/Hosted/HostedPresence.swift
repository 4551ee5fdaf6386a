// Whether somebody is there, asked through what the machine is set up for. The one thing to keep true: every question ends
// by itself, and the terminal is put back as it was even if nobody answered.

internal import CoffretBase
package import CoffretKeys
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// Asks whether a person is there, without asking what only that person knows.
package protocol PresenceAsking: Sendable {
    /// - Parameter reason: ends a sentence that begins with "Show that you are there, to".
    /// - Returns: whether the person has shown it.
    /// - Throws: if nobody could be asked.
    func ask(reason: String) throws -> Bool
}

/// Presence by the machine's own means, for commands that run in the agent. This process has keys, and variables of the
/// client; another one asks.
package struct HostedPresence: PresenceAsking, UserPresence {
    /// The code of a refusal; nil for a yes.
    package let question: @Sendable (_ reason: String) -> String?

    package init(question: @escaping @Sendable (_ reason: String) -> String?) { self.question = question }

    /// The answer of `question` where the person gave up.
    private static let cancelled = AgentErrorCode.pinentryCancelled.rawValue

    package let isSetUp = true

    package func ask(reason: String) throws -> Bool {
        guard let code = question(reason) else { return true }
        if code == Self.cancelled { throw CommandFailure(.cancelled, .cancelled, "cancelled") }
        guard code == KeyStoreError.Code.presenceDenied.rawValue else { throw Self.error(code) }
        return false
    }

    package func confirm(reason: String) async throws(KeyError) {
        if let code = question(reason) { throw Self.error(code) }
    }

    private static func error(_ code: String) -> KeyError {
        let cause = code == cancelled ? KeyStoreError.Code.cancelled : KeyStoreError.Code(rawValue: code)
        return KeyError(.keyStoreFailed, cause: KeyStoreError(cause ?? .presenceUnavailable))
    }

    /// Whether an error means that nobody could be asked, so that another way is tried.
    package static func isUnavailable(_ error: any Error) -> Bool {
        let code = ((error as? KeyError)?.cause as? KeyStoreError)?.code
        return code == .presenceUnavailable || code == .presenceNotSetUp
    }
}
