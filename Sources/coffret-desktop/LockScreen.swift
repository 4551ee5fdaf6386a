// The lock screen. Invariant: a passphrase is typed into GTK's locked memory and goes from there to the agent; the page is not
// there, and no string holds it.

internal import CGTK
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWidgets
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
    private var asking: StoreUnlocking?

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
        guard unsafe strlen(gtk_editable_get_text(entry.opaque)!) > 0 else { return }
        asking = StoreUnlocking(store, environment, entry: entry) { [unowned self] words in judge(words) }
        // Overwritten by GTK when it gives the memory back.
        unsafe gtk_editable_set_text(entry.opaque, "")
        guard asking != nil else { return complain("The agent does not run: coffret unlock starts it.") }
        unsafe gtk_widget_set_sensitive(entry.widget, 0)
        complain("One moment …")
    }

    private func judge(_ words: String?) {
        // It may be its own call that ends it.
        let judged = asking
        asking = nil
        defer { withExtendedLifetime(judged) {} }
        unsafe gtk_widget_set_sensitive(entry.widget, 1)
        // The page has the keyboard from here on.
        guard let words else { return unlocked() }
        complain(words)
        _ = unsafe gtk_widget_grab_focus(entry.widget)
    }

    private func complain(_ words: String) { complaint.say(words) }
}
