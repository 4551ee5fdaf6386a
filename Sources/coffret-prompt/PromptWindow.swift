// The window that asks. Invariant: typed text goes from GTK's locked memory into ours, and from there to the program that asked; no
// string ever holds it.

internal import CGTK
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// A question as the client has put it together.
struct PromptQuestion {
    enum Kind { case secret, confirm, message }

    var kind = Kind.secret
    var title: String?
    var description: String?
    var prompt: String?
    var complaint: String?
    var accept: String?
    var refuse: String?
    var cancel: String?
    /// Seconds until nobody waits for the answer any more; nil for never.
    var timeoutSeconds: UInt32?
    /// Who asks, in words of this program and not of the client.
    var asker: String?
}

/// One question on the screen.
@safe final class PromptWindow {
    enum Outcome { case accepted, refused, cancelled, timedOut, abandoned }

    private let question: PromptQuestion
    private let window: Widget
    private let entry: Widget
    private let loop: OpaquePointer
    private var outcome: Outcome?

    /// - Returns: false where there is no screen.
    static func open() -> Bool {
        guard gtk_init_check() != 0 else { return false }
        let provider = unsafe gtk_css_provider_new()!
        unsafe gtk_css_provider_load_from_data(provider, style, -1)
        unsafe gtk_style_context_add_provider_for_display(
            gdk_display_get_default(), OpaquePointer(provider), UInt32(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
        return true
    }

    /// Verdigris for what acts, red for what was wrong; all else is the desktop's.
    private static let style = """
        window { font-family: Inter, Cantarell, sans-serif; }
        .question { padding: 26px 28px 24px 28px; }
        .title { font-size: 1.25em; font-weight: 700; }
        .description { opacity: .85; }
        .asker { font-size: .88em; opacity: .7; }
        .complaint { color: #c2332a; font-weight: 600; }
        passwordentry { min-height: 38px; }
        button { min-height: 34px; }
        button.accept { background: #11695c; color: #ffffff; }
        button.accept:hover { background: #0d574c; }
        """

    init(_ question: PromptQuestion) {
        self.question = question
        window = unsafe Widget(gtk_window_new())
        entry = unsafe Widget(gtk_password_entry_new())
        unsafe loop = g_main_loop_new(nil, 0)!
        build()
    }

    deinit { unsafe g_main_loop_unref(loop) }

    private func build() {
        var parts: [Widget] = []
        func add(_ text: String?, _ style: String) {
            guard let text, !text.isEmpty else { return }
            parts.append(.label(TextWidth.displaySafe(text, keepsLines: true), style: style))
        }
        add(question.title ?? "Coffret", "title")
        add(question.description, "description")
        add(question.complaint, "complaint")
        if question.kind == .secret {
            let label = Widget.label(TextWidth.displaySafe(question.prompt ?? "Passphrase:"), style: "description")
            unsafe gtk_label_set_xalign(label.opaque, 0)
            // A screen reader says it at the entry.
            unsafe gtk_label_set_mnemonic_widget(label.opaque, entry.widget)
            unsafe gtk_password_entry_set_show_peek_icon(entry.opaque, 0)
            entry.on("activate") { [unowned self] in end(.accepted) }
            parts += [label, entry]
        }
        parts.append(buttons())
        add(question.asker, "asker")
        let box = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 14, parts)
        box.add(style: "question")
        let frame = unsafe window.cast(GtkWindow.self)
        unsafe gtk_window_set_title(frame, TextWidth.displaySafe(question.title ?? "Coffret"))
        unsafe gtk_window_set_resizable(frame, 0)
        unsafe gtk_window_set_default_size(frame, 420, -1)
        unsafe gtk_window_set_child(frame, box.widget)
        window.onClosing { [unowned self] in end(.cancelled) }
        window.onEscape { [unowned self] in end(.cancelled) }
    }

    private func buttons() -> Widget {
        let accept = Widget.button(Self.label(question.accept) ?? "OK", style: "accept") { [unowned self] in
            end(.accepted)
        }
        var all: [Widget] = []
        if question.kind != .message {
            all.append(.button(Self.label(question.cancel) ?? "Cancel") { [unowned self] in end(.cancelled) })
        }
        if question.kind == .confirm, let text = Self.label(question.refuse) {
            all.append(.button(text) { [unowned self] in end(.refused) })
        }
        return .box(GTK_ORIENTATION_HORIZONTAL, spacing: 8, all + [accept])
    }

    /// Pinentry's clients mark a letter by an underscore.
    private static func label(_ text: String?) -> String? {
        text.map { TextWidth.displaySafe($0.replacing("_", with: "")) }
    }

    private func end(_ outcome: Outcome) {
        if self.outcome == nil { self.outcome = outcome }
        unsafe g_main_loop_quit(loop)
    }

    /// Shows the question until it is answered, or until nobody wants the answer.
    ///
    /// - Parameter isAbandoned: called where there is something to read from the client.
    func run(isAbandoned: @escaping () -> Bool) -> Outcome {
        let timer = question.timeoutSeconds.map { seconds in
            Source.timer(seconds: seconds) { [unowned self] in
                end(.timedOut)
                return false
            }
        }
        let client = Source.readable(STDIN_FILENO) { [unowned self] in
            guard isAbandoned() else { return false }
            end(.abandoned)
            return false
        }
        unsafe gtk_window_present(window.cast(GtkWindow.self))
        if question.kind == .secret { _ = unsafe gtk_widget_grab_focus(entry.widget) }
        unsafe g_main_loop_run(loop)
        timer?.remove()
        client.remove()
        return outcome ?? .cancelled
    }

    /// What was typed as `encode` writes it, and takes it off the screen.
    func takeSecret(_ encode: (UnsafeRawBufferPointer) -> SecretBytes) -> SecretBytes {
        let text = unsafe gtk_editable_get_text(entry.opaque)
        let result = unsafe encode(UnsafeRawBufferPointer(start: text, count: text.map { unsafe strlen($0) } ?? 0))
        // GTK keeps it in locked memory, and overwrites what it gives back.
        unsafe gtk_editable_set_text(entry.opaque, "")
        return result
    }

    /// Takes the window off the screen.
    func close() {
        unsafe gtk_window_destroy(window.cast(GtkWindow.self))
        while g_main_context_iteration(nil, 0) != 0 {}
    }
}

/// Something that GLib's loop waits for.
final class Source {
    private let number: guint
    private let isOver: () -> Bool

    private final class Call {
        let run: () -> Bool
        var isDone = false
        init(_ run: @escaping () -> Bool) { self.run = run }
    }

    private init(_ number: guint, _ call: Call) {
        self.number = number
        isOver = { call.isDone }
    }

    /// - Parameter run: returns whether it wants to be called again.
    static func timer(seconds: UInt32, _ run: @escaping () -> Bool) -> Source {
        let call = Call(run)
        let number = unsafe g_timeout_add_seconds_full(
            G_PRIORITY_DEFAULT, seconds,
            { held in
                let call = unsafe Unmanaged<Call>.fromOpaque(held!).takeUnretainedValue()
                call.isDone = !call.run()
                return call.isDone ? 0 : 1
            }, Unmanaged.passRetained(call).toOpaque(), { held in unsafe Unmanaged<Call>.fromOpaque(held!).release() })
        return Source(number, call)
    }

    static func readable(_ descriptor: Int32, _ run: @escaping () -> Bool) -> Source {
        let call = Call(run)
        let number = unsafe g_unix_fd_add_full(
            G_PRIORITY_DEFAULT, descriptor, GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue),
            { _, _, held in
                let call = unsafe Unmanaged<Call>.fromOpaque(held!).takeUnretainedValue()
                call.isDone = !call.run()
                return call.isDone ? 0 : 1
            }, Unmanaged.passRetained(call).toOpaque(), { held in unsafe Unmanaged<Call>.fromOpaque(held!).release() })
        return Source(number, call)
    }

    func remove() { if !isOver() { g_source_remove(number) } }
}
