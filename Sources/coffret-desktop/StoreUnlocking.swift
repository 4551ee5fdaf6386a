// A passphrase on its way to the agent. Invariant: it goes from GTK's locked memory into one message, which is overwritten once it is
// sent.

internal import CGTK
internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWidgets
internal import CoffretWire
internal import Glibc

/// Asks the agent to unlock a store.
final class StoreUnlocking {
    private let client: AgentClient
    private var source: Source?

    /// - Parameters:
    ///   - entry: has the passphrase, and keeps it.
    ///   - judged: is called once, with nil for a store that is open now, or with words about why it is not.
    /// - Returns: nil if there is no agent.
    init?(
        _ store: String, _ environment: ProcessEnvironment, entry: Widget, judged: @escaping (String?) -> Void
    ) {
        let text = unsafe gtk_editable_get_text(entry.opaque)
        let count = unsafe text.map { unsafe strlen($0) } ?? 0
        var secret = AgentSecret(store: store, kind: .passphrase, bytes: [], environment: environment.travelling)
        unsafe secret.bytes = Array(UnsafeRawBufferPointer(start: text, count: count))
        defer { secret.bytes.zero() }
        guard let client = try? AgentClient.connect(environment) else { return nil }
        var request = AgentRequest.unlock(secret, seconds: nil).encoded()
        defer { request.zero() }
        guard (try? client.connection.send(request)) != nil else { return nil }
        self.client = client
        source = .readable(client.connection.descriptor) { [unowned self] in
            source = nil
            judged(Self.words(try? client.receive()))
            return false
        }
    }

    deinit { source?.remove() }

    private static func words(_ response: AgentResponse?) -> String? {
        switch response {
        case .done?: nil
        case .failed("keys.unlock-failed", _)?: "That is not it."
        case .failed(_, let seconds?)?: "Too many tries. The next one is in \(seconds) s."
        case .failed(let code, nil)?: "The agent refused: \(TextWidth.displaySafe(code))."
        default: "The agent is gone: coffret unlock starts it."
        }
    }
}
