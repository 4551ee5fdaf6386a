// The window that asks. Invariant: typed text goes from GTK's locked memory into ours, and from there to the program that asked; no
// string ever holds it.

internal import CGTK
package import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// A question to the person at the screen.
package struct Question {
    package enum Kind { case secret, confirm, message }

    package var kind = Kind.secret
    package var title: String?
    package var description: String?
    package var prompt: String?
    package var complaint: String?
    package var accept: String?
    package var refuse: String?
    package var cancel: String?
    /// Seconds until nobody waits for the answer any more; nil for never.
    package var timeoutSeconds: UInt32?
    /// The program that asks, in words of this program and not of the other one.
    package var asker: String?
    /// True for a secret that the person chooses, which is typed twice.
    package var isTypedTwice = false
    /// True for digits that another screen shows: they are seen while they are typed.
    package var isPeeked = false
    /// Digits that the person types elsewhere.
    package var code: String?

    package init() {}
}

/// One question on the screen.
@safe package final class QuestionWindow {
    package enum Outcome { case accepted, refused, cancelled, timedOut, abandoned }

    private let question: Question
    private let window: Widget
    private let entry: Widget
    private let second: Widget
    private let complaint: Widget
    private let ended: (Outcome) -> Void
    private var timer: Source?
    private var isOver = false

    /// Prepares GTK.
    ///
    /// - Parameter style: rules of the program beside those of questions.
    /// - Returns: false where there is no screen.
    package static func open(style more: String = "") -> Bool {
        // WebKit draws the page without a graphics card, and questions are small: GTK needs none to show them. Its driver would take half of
        // a window's memory, and a third of the time until it is there.
        unsafe setenv("GSK_RENDERER", "cairo", 1)
        unsafe setenv("GDK_DEBUG", "gl-disable", 1)
        guard gtk_init_check() != 0 || opensLater() else { return false }
        let provider = unsafe gtk_css_provider_new()!
        unsafe gtk_css_provider_load_from_data(provider, style + more, -1)
        unsafe gtk_style_context_add_provider_for_display(
            gdk_display_get_default(), OpaquePointer(provider), UInt32(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
        return true
    }

    /// Tries a screen again for two seconds: a server of X turns programs away while it starts anew, as after its last window.
    private static func opensLater() -> Bool {
        let environment = ProcessEnvironment()
        guard environment.value(.display) ?? environment.value(.waylandDisplay) != nil else { return false }
        return (0..<20).contains { _ in
            usleep(100_000)
            return unsafe gdk_display_open(nil) != nil
        }
    }

    /// Verdigris for what acts, red for what was wrong; all else is the desktop's.
    private static let style = """
        window { font-family: Inter, Cantarell, sans-serif; }
        .question { padding: 26px 28px 24px 28px; }
        .title { font-size: 1.25em; font-weight: 700; }
        .description { opacity: .85; }
        .digits { font-family: "JetBrains Mono", monospace; font-size: 1.9em; letter-spacing: .15em; }
        label.digits { background: #dcefeb; color: #11695c; border-radius: 8px; padding: 8px 4px 8px 16px; }
        .asker { font-size: .88em; opacity: .7; }
        .complaint { color: #c2332a; font-weight: 600; }
        passwordentry { min-height: 38px; }
        button { min-height: 34px; }
        button.accept { background: #11695c; color: #ffffff; }
        button.accept:hover { background: #0d574c; }

        """

    /// - Parameters:
    ///   - parent: a window that takes no keys meanwhile.
    ///   - ended: is called once; `close` is left to the caller.
    package init(_ question: Question, over parent: Widget? = nil, ended: @escaping (Outcome) -> Void) {
        (self.question, self.ended) = (question, ended)
        window = unsafe Widget(gtk_window_new())
        entry = unsafe Widget(gtk_password_entry_new())
        second = unsafe Widget(gtk_password_entry_new())
        complaint = .label(TextWidth.displaySafe(question.complaint ?? "", keepsLines: true), style: "complaint")
        // Not all of them stand in every question.
        for widget in [entry, second, complaint] { unsafe g_object_ref_sink(UnsafeMutableRawPointer(widget.opaque)) }
        build()
        if let parent {
            unsafe gtk_window_set_transient_for(window.window, parent.window)
            unsafe gtk_window_set_modal(window.window, 1)
        }
    }

    deinit {
        for widget in [entry, second, complaint] { unsafe g_object_unref(UnsafeMutableRawPointer(widget.opaque)) }
    }

    private func build() {
        var parts: [Widget] = []
        func add(_ text: String?, _ style: String) {
            guard let text, !text.isEmpty else { return }
            parts.append(.label(TextWidth.displaySafe(text, keepsLines: true), style: style))
        }
        add(question.title ?? "Coffret", "title")
        add(question.description, "description")
        if let code = question.code {
            let digits = Widget.label(TextWidth.displaySafe(code), style: "digits")
            unsafe gtk_label_set_selectable(digits.opaque, 1)
            unsafe gtk_label_set_wrap(digits.opaque, 0)
            parts.append(digits)
        }
        parts.append(complaint)
        unsafe gtk_widget_set_visible(complaint.widget, question.complaint == nil ? 0 : 1)
        if question.kind == .secret {
            parts += labelled(entry, question.prompt ?? "Passphrase:")
            if question.isTypedTwice { parts += labelled(second, "Again:") }
            entry.on("activate") { [unowned self] in
                if question.isTypedTwice { _ = unsafe gtk_widget_grab_focus(second.widget) } else { accept() }
            }
            second.on("activate") { [unowned self] in accept() }
        }
        parts.append(buttons())
        add(question.asker, "asker")
        let box = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 14, parts)
        box.add(style: "question")
        let frame = unsafe window.window
        unsafe gtk_window_set_title(frame, TextWidth.displaySafe(question.title ?? "Coffret"))
        unsafe gtk_window_set_resizable(frame, 0)
        unsafe gtk_window_set_default_size(frame, 420, -1)
        unsafe gtk_window_set_child(frame, box.widget)
        window.onClosing { [unowned self] in end(.cancelled) }
        window.onKey { [unowned self] key in
            guard key == UInt32(GDK_KEY_Escape) else { return false }
            end(.cancelled)
            return true
        }
    }

    private func labelled(_ entry: Widget, _ text: String) -> [Widget] {
        let label = Widget.label(TextWidth.displaySafe(text), style: "description")
        unsafe gtk_label_set_xalign(label.opaque, 0)
        // A screen reader says it at the entry.
        unsafe gtk_label_set_mnemonic_widget(label.opaque, entry.widget)
        if question.isPeeked {
            let text = unsafe UnsafeMutableRawPointer(gtk_editable_get_delegate(entry.opaque)!)
            unsafe gtk_text_set_visibility(text.assumingMemoryBound(to: GtkText.self), 1)
            entry.add(style: "digits")
        }
        return [label, entry]
    }

    private func accept() {
        if question.kind == .secret, question.isTypedTwice {
            let isSame = unsafe strcmp(gtk_editable_get_text(entry.opaque), gtk_editable_get_text(second.opaque)) == 0
            guard isSame else {
                complaint.say("These are not the same.")
                unsafe gtk_widget_set_visible(complaint.widget, 1)
                _ = unsafe gtk_widget_grab_focus(entry.widget)
                return
            }
        }
        end(.accepted)
    }

    private func buttons() -> Widget {
        let yes = Widget.button(Self.label(question.accept) ?? "OK", style: "accept") { [unowned self] in accept() }
        var all: [Widget] = []
        if question.kind != .message {
            all.append(.button(Self.label(question.cancel) ?? "Cancel") { [unowned self] in end(.cancelled) })
        }
        if question.kind == .confirm, let text = Self.label(question.refuse) {
            all.append(.button(text) { [unowned self] in end(.refused) })
        }
        return .box(GTK_ORIENTATION_HORIZONTAL, spacing: 8, all + [yes])
    }

    /// Pinentry's clients mark a letter by an underscore.
    private static func label(_ text: String?) -> String? {
        text.map { TextWidth.displaySafe($0.replacing("_", with: "")) }
    }

    /// Ends the question, as where the program that asked has gone.
    package func end(_ outcome: Outcome) {
        guard !isOver else { return }
        isOver = true
        timer?.remove()
        ended(outcome)
    }

    /// Shows the question, until it is answered or its time is over.
    package func show() {
        timer = question.timeoutSeconds.map { seconds in
            Source.timer(seconds: seconds) { [unowned self] in
                end(.timedOut)
                return false
            }
        }
        unsafe gtk_window_present(window.window)
        if question.kind == .secret { _ = unsafe gtk_widget_grab_focus(entry.widget) }
    }

    /// Encodes the typed secret, and takes it off the screen.
    package func takeSecret(_ encode: (UnsafeRawBufferPointer) -> SecretBytes) -> SecretBytes {
        let text = unsafe gtk_editable_get_text(entry.opaque)
        let result = unsafe encode(UnsafeRawBufferPointer(start: text, count: text.map { unsafe strlen($0) } ?? 0))
        // GTK keeps it in locked memory, and overwrites what it gives back.
        for each in [entry, second] { unsafe gtk_editable_set_text(each.opaque, "") }
        return result
    }

    /// Takes the window off the screen.
    package func close() { unsafe gtk_window_destroy(window.window) }
}
