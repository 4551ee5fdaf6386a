// The lock screen. Invariant: a passphrase is typed into GTK's locked memory and goes from there to the agent; the page is not
// there, and no string holds it.

internal import CGTK
internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWidgets
internal import CoffretWire
internal import Glibc

@safe final class LockScreen {
    let widget: Widget
    private let title: Widget
    private let reason: Widget
    private let entry: Widget
    private let complaint: Widget
    private let store: String
    private let environment: ProcessEnvironment
    private let unlocked: () -> Void
    /// While the agent judges.
    private var asking: (client: AgentClient, source: Source)?

    init(_ store: String, _ environment: ProcessEnvironment, unlocked: @escaping () -> Void) {
        (self.store, self.environment, self.unlocked) = (store, environment, unlocked)
        let name = TextWidth.displaySafe(PathText.name(of: store))
        title = .label("\(name) is locked", style: "title")
        reason = .label("", style: "dim")
        entry = unsafe Widget(gtk_password_entry_new())
        complaint = .label("", style: "complaint")
        let promise = Widget.label("Nothing of your notes is in memory now.", style: "dim")
        widget = .box(GTK_ORIENTATION_VERTICAL, spacing: 14, [title, reason, entry, complaint, promise])
        widget.add(style: "inner")
        unsafe gtk_widget_set_halign(widget.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_valign(widget.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_size_request(entry.widget, 340, -1)
        unsafe gtk_label_set_mnemonic_widget(title.opaque, entry.widget)
        entry.on("activate") { [unowned self] in unlock() }
    }

    /// - Parameter reason: why and since when; nil before the first time.
    func appear(_ reason: String?) {
        self.reason.say(reason ?? "Your passphrase opens it.")
        complaint.say("")
        _ = unsafe gtk_widget_grab_focus(entry.widget)
    }

    private func unlock() {
        guard asking == nil else { return }
        let text = unsafe gtk_editable_get_text(entry.opaque)
        let count = unsafe text.map { unsafe strlen($0) } ?? 0
        guard count > 0 else { return }
        var secret = AgentSecret(store: store, kind: .passphrase, bytes: [], environment: environment.travelling)
        unsafe secret.bytes = Array(UnsafeRawBufferPointer(start: text, count: count))
        defer { secret.bytes.zero() }
        // Overwritten by GTK when it gives the memory back.
        unsafe gtk_editable_set_text(entry.opaque, "")
        do {
            guard let client = try AgentClient.connect(environment) else {
                return complain("The agent does not run: coffret unlock starts it.")
            }
            var request = AgentRequest.unlock(secret, seconds: nil).encoded()
            defer { request.zero() }
            try client.connection.send(request)
            unsafe gtk_widget_set_sensitive(entry.widget, 0)
            complain("One moment …")
            let source = Source.readable(client.connection.descriptor) { [unowned self] in
                asking = nil
                judge(client)
                return false
            }
            asking = (client, source)
        } catch {
            complain("The agent did not take it.")
        }
    }

    private func judge(_ client: AgentClient) {
        unsafe gtk_widget_set_sensitive(entry.widget, 1)
        switch try? client.receive() {
        case .done?: unlocked()
        case .failed("keys.unlock-failed", _)?: complain("That is not it.")
        case .failed(_, let seconds?)?: complain("Too many tries. The next one is in \(seconds) s.")
        case .failed(let code, nil)?: complain("The agent refused: \(TextWidth.displaySafe(code)).")
        default: complain("The agent is gone: coffret unlock starts it.")
        }
        _ = unsafe gtk_widget_grab_focus(entry.widget)
    }

    private func complain(_ words: String) { complaint.say(words) }
}
