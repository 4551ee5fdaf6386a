// Questions of key stores, asked at a terminal. Invariant: the terminal is put back as it was, even if nobody answered.

package import CoffretBase
internal import CoffretKeys
internal import CoffretTerminal
internal import Glibc
internal import Synchronization

/// A conversation at a terminal: that of the process, or one that a client handed over.
package final class TerminalConversation: PresenceConversation {
    private let prompt: TerminalPrompt
    private let state: termios?
    private let cancelled = Mutex(false)

    /// - Returns: nil without a terminal.
    package convenience init?(showsBullets: Bool) {
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
