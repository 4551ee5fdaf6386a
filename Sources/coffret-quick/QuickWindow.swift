// A field, and what is found. Invariant: no secret comes into this process; a value is copied by `coffret copy`, which clears the
// clipboard afterwards.

internal import CGTK
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWidgets
internal import CoffretWire
internal import Glibc

/// Lives until it has copied something, or the person turns elsewhere.
@safe final class QuickWindow {
    static let style = """
        .quick { padding: 14px; }
        .quick entry { min-height: 40px; font-size: 1.1em; }
        .quick list { background: transparent; }
        .quick row { padding: 7px 10px; border-radius: 8px; }
        .quick row:selected { background: #11695c; color: #ffffff; }
        .quick .kind { font-size: .85em; opacity: .7; }
        .quick .note { opacity: .8; }
        """
    private static let countMax = 8

    private let store: String
    private let program: String
    private let environment: ProcessEnvironment
    private let window = unsafe Widget(gtk_window_new())
    private let entry = unsafe Widget(gtk_search_entry_new())
    private let list = unsafe Widget(gtk_list_box_new())
    private let note = Widget.label("", style: "note")
    private let loop: OpaquePointer
    private var session: SessionClient?
    private var found: [SummaryMessage] = []
    private var chosen = 0
    private var timer: Source?
    /// `coffret unlock`, which ends with the agent's question.
    private var asking: ChildProcess?
    /// A window that was never in front is not left.
    private var wasInFront = false

    init(store: String, program: String, environment: ProcessEnvironment) {
        (self.store, self.program, self.environment) = (store, program, environment)
        unsafe loop = g_main_loop_new(nil, 0)!
        let box = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 8, [entry, list, note])
        box.add(style: "quick")
        let frame = unsafe window.window
        unsafe gtk_window_set_title(frame, "Find in Coffret")
        unsafe gtk_window_set_icon_name(frame, "coffret")
        unsafe gtk_window_set_default_size(frame, 480, -1)
        unsafe gtk_window_set_resizable(frame, 0)
        unsafe gtk_window_set_child(frame, box.widget)
        unsafe gtk_search_entry_set_search_delay(entry.opaque, 0)
        entry.on("search-changed") { [unowned self] in search() }
        window.onKey { [unowned self] key in take(key) }
        window.onClosing { [unowned self] in end() }
        window.on("notify::is-active") { [unowned self] in
            let isInFront = unsafe gtk_window_is_active(window.window) != 0
            // The agent's question comes in front of it, and late where others have opened the store meanwhile.
            if wasInFront, !isInFront, session != nil, !isAsked { end() }
            wasInFront = isInFront
        }
    }

    deinit { unsafe g_main_loop_unref(loop) }

    func run() {
        open()
        unsafe gtk_window_present(window.window)
        let ends = [SIGTERM, SIGINT, SIGHUP].map { signal in Source.signal(signal) { [unowned self] in end() } }
        unsafe g_main_loop_run(loop)
        ends.forEach { $0.remove() }
        timer?.remove()
    }

    private func end() { unsafe g_main_loop_quit(loop) }

    // MARK: The store

    /// Opens a session, or has the person asked to unlock.
    private func open() {
        connect()
        guard session == nil else { return search() }
        say("The vault is locked. Coffret asks you to unlock it.")
        asking = try? ChildProcess.start(
            [program, "unlock", "--store", store], input: .null, output: .null, error: .null,
            environment: ["COFFRET_PASSPHRASE_FILE": ""], isDetached: true)
        timer?.remove()
        timer = .timer(seconds: 1) { [unowned self] in
            connect()
            guard session != nil else {
                if !isAsked { say("The vault is locked. Enter asks again.") }
                return true
            }
            timer = nil
            search()
            unsafe gtk_window_present(window.window)
            return false
        }
    }

    /// Whether the question stands.
    private var isAsked: Bool {
        if asking?.poll() != nil { asking = nil }
        return asking != nil
    }

    private func connect() {
        guard let client = try? AgentClient.connect(environment) else { return }
        session = try? SessionClient.open(environment, over: client, store: store, isUse: true).session
    }

    private func search() {
        guard let session else { return }
        let words = unsafe String(cString: gtk_editable_get_text(entry.opaque))
        guard words.contains(where: { !$0.isWhitespace }) else { return show([], "Type a word. Enter copies.") }
        var request = ItemSearch()
        (request.query, request.limit) = (words, Self.countMax)
        do {
            let answer = try session.perform(request)
            let hits = Array(answer.hits.prefix(Self.countMax))
            show(
                hits, hits.isEmpty ? "Nothing is found." : answer.total > hits.count ? "\(answer.total) are found." : ""
            )
        } catch let failure as OperationFailure {
            show([], failure.message)
        } catch {
            // Locked meanwhile.
            self.session = nil
            show([], "")
            open()
        }
    }

    // MARK: What is shown

    private func show(_ hits: [SummaryMessage], _ words: String) {
        (found, chosen) = (hits, 0)
        while let row = unsafe gtk_list_box_get_row_at_index(list.opaque, 0) {
            unsafe gtk_list_box_remove(
                list.opaque, UnsafeMutableRawPointer(row).assumingMemoryBound(to: GtkWidget.self))
        }
        for (index, hit) in hits.enumerated() {
            let title = Widget.label(TextWidth.displaySafe(hit.title), style: "name")
            let kind = Widget.label(
                TextWidth.displaySafe(([hit.kind] + hit.tags.map { "#" + $0 }).joined(separator: " ")), style: "kind")
            for label in [title, kind] {
                unsafe gtk_label_set_xalign(label.opaque, 0)
                unsafe gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_END)
                unsafe gtk_label_set_wrap(label.opaque, 0)
            }
            let row = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 1, [title, kind])
            row.onPress { [unowned self] in
                chosen = index
                copy()
            }
            unsafe gtk_list_box_append(list.opaque, row.widget)
        }
        select()
        say(words)
    }

    private func say(_ words: String) {
        note.say(words)
        unsafe gtk_widget_set_visible(note.widget, words.isEmpty ? 0 : 1)
    }

    private func select() {
        let row = unsafe gtk_list_box_get_row_at_index(list.opaque, Int32(chosen))
        unsafe gtk_list_box_select_row(list.opaque, row)
    }

    /// - Returns: whether the key ends here.
    private func take(_ key: UInt32) -> Bool {
        switch Int32(bitPattern: key) {
        case GDK_KEY_Escape: end()
        case GDK_KEY_Down where !found.isEmpty: chosen = min(chosen + 1, found.count - 1)
        case GDK_KEY_Up where !found.isEmpty: chosen = max(chosen - 1, 0)
        case GDK_KEY_Return, GDK_KEY_KP_Enter: if session != nil { copy() } else if !isAsked { open() }
        default: return false
        }
        select()
        return true
    }

    private func copy() {
        guard found.indices.contains(chosen) else { return }
        let words = [program, "copy", found[chosen].id, "--store", store]
        let outcome = try? ChildProcess.start(words, input: .null, output: .null, error: .null).wait()
        guard outcome?.isSuccess != true else { return end() }
        say("Nothing could be copied of it: coffret open shows it.")
    }
}
