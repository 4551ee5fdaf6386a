// The window: the page while the store is open, the lock screen while it is locked, and a cover while nobody looks. Invariant: when
// the store locks, the process that has the page ends in the same turn of the loop.

internal import CGTK
internal import CoffretBase
internal import CoffretClient
internal import CoffretFront
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

@safe final class DesktopWindow {
    private let store: String
    private let environment: ProcessEnvironment
    private let window: Widget
    private let stack: Widget
    private let cover: Widget
    private let files: PageFiles
    /// Begins behind the lock screen, once that has been drawn.
    private var page: PageView?
    private let overlay = unsafe Widget(gtk_overlay_new())
    private let loop: OpaquePointer
    private let attendant: Attendant
    private let clipboard = ClipboardCommands()
    private var lock: LockScreen?
    private var desk: PageDesk?
    private var watch: LockWatch?
    /// The sources of the sessions' answers, by descriptor.
    private var sources: [Int32: Source] = [:]
    private var coverTimer: Source?
    /// Files dropped on the page that it has not fetched yet.
    private var dropped: [DroppedFile] = []

    /// After so long without the keyboard the window is covered.
    private static let coverSeconds: UInt32 = 60

    static let style = """
        .locked, .cover { background: #101817; color: #e3ecea; }
        .locked { background: radial-gradient(circle at top, #24433e, #101817); }
        .cover { background: #1a2a29; }
        .locked .title { font-size: 1.7em; }
        .dim { color: #9db2ad; }
        .locked .complaint { color: #ff9b8f; }
        .locked passwordentry { min-height: 42px; border-radius: 8px; }
        """

    init(store: String, files: PageFiles, environment: ProcessEnvironment) {
        (self.store, self.files, self.environment) = (store, files, environment)
        unsafe loop = g_main_loop_new(nil, 0)!
        window = unsafe Widget(gtk_window_new())
        attendant = Attendant(over: window)
        stack = unsafe Widget(gtk_stack_new())
        let words = Widget.label("Covered while you are elsewhere.\nClick or press any key.", style: "dim")
        unsafe gtk_widget_set_valign(words.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_vexpand(words.widget, 1)
        cover = .box(GTK_ORIENTATION_VERTICAL, spacing: 0, [words])
        cover.add(style: "cover")
        Self.forgetRecentFiles()
        unsafe gtk_widget_set_visible(cover.widget, 0)
        build()
    }

    deinit { unsafe g_main_loop_unref(loop) }

    /// GTK keeps a list of what was chosen in its dialogs, in clear and for all programs.
    private static func forgetRecentFiles() {
        // G_TYPE_BOOLEAN is a macro, which Swift does not see.
        var value = GValue()
        unsafe g_value_init(&value, GType(5 << 2))
        unsafe g_value_set_boolean(&value, 0)
        unsafe g_object_set_property(
            UnsafeMutableRawPointer(gtk_settings_get_default()).assumingMemoryBound(to: GObject.self),
            "gtk-recent-files-enabled", &value)
    }

    private func build() {
        let lock = LockScreen(store, environment) { [unowned self] in open() }
        self.lock = lock
        let ground = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 0, [lock.widget])
        ground.add(style: "locked")
        unsafe gtk_widget_set_vexpand(lock.widget.widget, 1)
        unsafe gtk_stack_add_named(stack.opaque, ground.widget, "locked")
        unsafe gtk_overlay_add_overlay(overlay.opaque, cover.widget)
        unsafe gtk_stack_add_named(stack.opaque, overlay.widget, "page")
        let frame = unsafe window.window
        unsafe gtk_window_set_title(frame, "Coffret")
        unsafe gtk_window_set_icon_name(frame, "coffret")
        unsafe gtk_window_set_default_size(frame, 1280, 800)
        unsafe gtk_window_set_child(frame, stack.widget)
        window.onClosing { [unowned self] in unsafe g_main_loop_quit(loop) }
        window.on("notify::is-active") { [unowned self] in focusChanged() }
        window.on("realize") { [unowned self] in
            // Minimised, or on another workspace.
            let surface = unsafe Widget(gtk_native_get_surface(window.opaque)!)
            surface.on("notify::state") { [unowned self] in stateChanged() }
        }
        // The key and the click that take the cover away do nothing else.
        window.onKey { [unowned self] _ in uncover() }
        cover.onPress { [unowned self] in _ = uncover() }
    }

    /// Brings the window to the front.
    func raise() { unsafe gtk_window_present(window.window) }

    /// Shows the window until it is closed.
    func run() {
        if LockWatch.isUnlocked(store, environment) { open() } else { show(locked: nil) }
        raise()
        window.afterFrame { [unowned self] in _ = begunPage() }
        let ends = [SIGTERM, SIGINT, SIGHUP].map { signal in
            Source.signal(signal) { [unowned self] in unsafe g_main_loop_quit(loop) }
        }
        unsafe g_main_loop_run(loop)
        ends.forEach { $0.remove() }
        page?.end()
    }

    /// The page, which may wait for its store. WebKit takes longer to start than all the rest of the window.
    private func begunPage() -> PageView {
        if let page { return page }
        let page = PageView(files)
        self.page = page
        unsafe gtk_overlay_set_child(overlay.opaque, page.widget.widget)
        page.widget.onFiles { [unowned self] paths, left, top in take(paths, left: left, top: top) }
        return page
    }

    // MARK: Open and locked

    private func open() {
        let watch = LockWatch(store, environment) { [unowned self] in
            let now = Self.clock
            close()
            show(locked: "Since \(now), by the agent.")
        }
        guard let watch else { return show(locked: "The agent does not let the window in.") }
        self.watch = watch
        attendant.answered = { [unowned self] in listen() }
        let desk = PageDesk(.window, store: store, environment: environment, attendant: attendant) {
            [unowned self] request, reply in
            if case .choose(.dropped, _) = request { return reply(nextDropped()) }
            if case .choose(let kind, let name) = request { return choose(kind, name, reply) }
            clipboard.perform(request, store: store, reply: reply)
        }
        self.desk = desk
        let page = begunPage()
        page.open { [unowned self, unowned desk] body, reply in
            desk.take(body) { message in reply(message) }
            listen()
        }
        unsafe gtk_stack_set_visible_child_name(stack.opaque, "page")
        _ = unsafe gtk_widget_grab_focus(page.widget.widget)
    }

    /// Has the page fetch what was dropped on it.
    private func take(_ paths: [String], left: Double, top: Double) {
        guard desk != nil, let page else { return }
        dropped = paths.map { DroppedFile(path: $0) }
        page.dropped(left: left, top: top)
    }

    private func nextDropped() -> [UInt8] {
        guard let desk, !dropped.isEmpty else { return FrontReply.error(FrontError(.nothingChosen)) }
        return desk.hold(dropped: dropped.removeFirst())
    }

    /// Asks for a file or folder. If the store locks meanwhile, nothing of the choice reaches a page.
    private func choose(_ kind: FrontRequest.Choice, _ name: String, _ reply: @escaping PageDesk.Reply) {
        let choice = FileChoice(kind, name: name, over: window)
        choice.show { [weak desk, choice] path in
            guard let desk else { return }
            do throws(FrontError) {
                guard let path else { throw FrontError(.nothingChosen) }
                guard let file = try? choice.open(path) else {
                    throw FrontError(.nothingChosen, at: PathText.name(of: path))
                }
                reply(desk.hold(chosen: file, name: PathText.name(of: path)))
            } catch {
                reply(FrontReply.error(error))
            }
        }
    }

    private func show(locked reason: String?) {
        unsafe gtk_stack_set_visible_child_name(stack.opaque, "locked")
        lock?.appear(reason)
    }

    /// Lets go of all that the page has.
    private func close() {
        page?.end()
        for source in sources.values { source.remove() }
        sources = [:]
        desk?.end()
        (desk, watch, dropped) = (nil, nil, [])
        attendant.questionIsOver()
        _ = uncover()
    }

    /// Waits for what the sessions of the page answer.
    private func listen() {
        let wanted = Set(desk?.descriptors ?? [])
        for (descriptor, source) in sources where !wanted.contains(descriptor) {
            source.remove()
            sources[descriptor] = nil
        }
        for descriptor in wanted where sources[descriptor] == nil {
            sources[descriptor] = .readable(descriptor) { [unowned self] in
                // Another one may have this number by the next time.
                sources[descriptor] = nil
                desk?.process(descriptor)
                listen()
                return false
            }
        }
    }

    private static var clock: String {
        var (now, parts) = unsafe (time(nil), tm())
        unsafe localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return unsafe "\(two(parts.tm_hour)):\(two(parts.tm_min))"
    }

    // MARK: The cover

    private func focusChanged() {
        coverTimer?.remove()
        coverTimer = nil
        guard unsafe gtk_window_is_active(window.window) == 0 else {
            // It may have been unlocked elsewhere.
            if desk == nil, LockWatch.isUnlocked(store, environment) { open() }
            return
        }
        coverTimer = .timer(seconds: Self.coverSeconds) { [unowned self] in
            coverTimer = nil
            hide()
            return false
        }
    }

    private func stateChanged() {
        let surface = unsafe gtk_native_get_surface(window.opaque)
        let state = unsafe gdk_toplevel_get_state(surface)
        if state.rawValue & GDK_TOPLEVEL_STATE_MINIMIZED.rawValue != 0 { hide() }
    }

    private func hide() { unsafe gtk_widget_set_visible(cover.widget, 1) }

    /// - Returns: whether there was a cover.
    private func uncover() -> Bool {
        defer { unsafe gtk_widget_set_visible(cover.widget, 0) }
        return unsafe gtk_widget_get_visible(cover.widget) != 0
    }
}
