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
    /// Enter was pressed again meanwhile.
    private var asksNext = false

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
        complain("")
        _ = unsafe gtk_widget_grab_focus(entry.widget)
    }

    private func unlock() {
        guard asking == nil else {
            asksNext = true
            return
        }
        guard unsafe strlen(gtk_editable_get_text(entry.opaque)!) > 0 else { return }
        asking = StoreUnlocking(store, environment, entry: entry) { [unowned self] words in judge(words) }
        empty()
        guard asking != nil else { return complain("The agent does not run: coffret unlock starts it.") }
        // The next try may be typed meanwhile.
        complaint.say("One moment …", isFault: false)
    }

    private func judge(_ words: String?) {
        // It may be its own call that ends it.
        let judged = asking
        asking = nil
        defer { withExtendedLifetime(judged) {} }
        let isNextAsked = asksNext
        asksNext = false
        guard let words else {
            empty()
            // The page has the keyboard from here on.
            return unlocked()
        }
        complain(words)
        if isNextAsked { unlock() }
    }

    /// What was typed is overwritten by GTK when it gives the memory back.
    private func empty() { unsafe gtk_editable_set_text(entry.opaque, "") }

    private func complain(_ words: String) { complaint.say(words, isFault: true) }
}
