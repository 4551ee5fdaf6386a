// The window of a computer without a store: a first vault, one more device of an account, or a backup. Invariant: no page is here,
// so that this process may reach a server by the program that it runs; the window of the store is another start of it.

internal import CGTK
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

/// Asks what is to be made, and shows the number, the picture and the codes of a pairing.
@safe final class StartWindow {
    private let store: String
    private let environment: ProcessEnvironment
    private let window: Widget
    private let stack: Widget
    private let loop: OpaquePointer
    private let passphrase = unsafe Widget(gtk_password_entry_new())
    private let again = unsafe Widget(gtk_password_entry_new())
    private let address = unsafe Widget(gtk_entry_new())
    private let account = unsafe Widget(gtk_entry_new())
    private let fingerprint = unsafe Widget(gtk_entry_new())
    private let showsPicture = unsafe Widget(
        gtk_check_button_new_with_label("Show a picture (QR code), so that no code is typed"))
    /// A fault is said below the button that was pressed.
    private let complaints = Dictionary(
        uniqueKeysWithValues: Way.allCases.map { ($0, Widget.label("", style: "complaint")) })
    private let picture = unsafe Widget(gtk_picture_new())
    private let howTo = Widget.label("", style: "dim")
    private let number = Widget.label("", style: "number")
    private let codeWords = Widget.label("Type this code there", style: "step")
    private let code = Widget.label("", style: "code")
    private let answerWords = Widget.label("Then type the code that it shows", style: "step")
    private let answer = unsafe Widget(gtk_entry_new())
    private let state = Widget.label("", style: "dim")
    private var making: StoreMaking?
    private var unlocking: StoreUnlocking?
    private var choice: FileChoice?
    private var isMade = false
    private var way = Way.making

    private enum Way: CaseIterable { case making, joining, restoring }

    static let style = """
        .start { background: radial-gradient(circle at top, #24433e, #101817); color: #e3ecea; }
        .start entry, .start passwordentry { min-height: 36px; border-radius: 8px; }
        .start .number, .start .code { font-family: "JetBrains Mono", monospace; }
        .start .dialogue .title { font-size: 1.8em; }
        .start .number { font-size: 1.25em; }
        .start .step { font-weight: 600; }
        .start .code, .start entry.answer { font-size: 1.7em; letter-spacing: .15em; }
        .start .code { color: #a8ecd9; background: rgba(255,255,255,.1); border-radius: 8px; padding: 8px 8px 8px 20px; }
        .start .paper { background: #ffffff; border-radius: 14px; padding: 14px; }
        .start .complaint { color: #ff9b8f; }
        .start .or { margin-top: 14px; font-weight: 600; }
        .start button { background: #2d4745; color: #e3ecea; border-radius: 8px; }
        .start button.accept { background: #11695c; color: #ffffff; }

        """

    init(store: String, environment: ProcessEnvironment) {
        (self.store, self.environment) = (store, environment)
        unsafe loop = g_main_loop_new(nil, 0)!
        window = unsafe Widget(gtk_window_new())
        stack = unsafe Widget(gtk_stack_new())
        unsafe gtk_stack_add_named(stack.opaque, ground(form()).widget, "form")
        unsafe gtk_stack_add_named(stack.opaque, ground(dialogue()).widget, "dialogue")
        let frame = unsafe window.window
        unsafe gtk_window_set_title(frame, "Coffret")
        unsafe gtk_window_set_icon_name(frame, "coffret")
        unsafe gtk_window_set_default_size(frame, 1100, 760)
        unsafe gtk_window_set_child(frame, stack.widget)
        window.onClosing { [unowned self] in unsafe g_main_loop_quit(loop) }
    }

    deinit { unsafe g_main_loop_unref(loop) }

    /// Shows the window until a store is there, or the person closes it.
    ///
    /// - Returns: whether a store is there.
    func run() -> Bool {
        unsafe gtk_window_present(window.window)
        _ = unsafe gtk_widget_grab_focus(passphrase.widget)
        let ends = [SIGTERM, SIGINT, SIGHUP].map { signal in
            Source.signal(signal) { [unowned self] in unsafe g_main_loop_quit(loop) }
        }
        unsafe g_main_loop_run(loop)
        ends.forEach { $0.remove() }
        making?.end()
        unsafe gtk_window_destroy(window.window)
        return isMade
    }

    // MARK: Building

    private func ground(_ content: Widget) -> Widget {
        unsafe gtk_widget_set_halign(content.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_valign(content.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_vexpand(content.widget, 1)
        let ground = Widget.box(GTK_ORIENTATION_VERTICAL, spacing: 0, [content])
        ground.add(style: "start")
        return ground
    }

    private func labelled(_ text: String, _ entry: Widget) -> [Widget] {
        let label = Widget.label(text, style: "dim")
        unsafe gtk_label_set_xalign(label.opaque, 0)
        unsafe gtk_label_set_justify(label.opaque, GTK_JUSTIFY_LEFT)
        unsafe gtk_label_set_mnemonic_widget(label.opaque, entry.widget)
        unsafe gtk_widget_set_size_request(entry.widget, 420, -1)
        return [label, entry]
    }

    private func form() -> Widget {
        let make = Widget.button("Make a vault", style: "accept") { [unowned self] in makeVault() }
        let join = Widget.button("Join my devices", style: "accept") { [unowned self] in self.join() }
        passphrase.on("activate") { [unowned self] in _ = unsafe gtk_widget_grab_focus(again.widget) }
        again.on("activate") { [unowned self] in makeVault() }
        for entry in [address, account, fingerprint] { entry.on("activate") { [unowned self] in self.join() } }
        let restore = Widget.button("Choose the folder of your backups", style: "accept") { [unowned self] in
            self.restore()
        }
        let parts: [[Widget]] = [
            [.label("There is no vault here yet", style: "title")],
            [
                .label(
                    "Choose a passphrase for this computer. Five random words are strong and easy to type.",
                    style: "dim")
            ],
            labelled("Passphrase", passphrase), labelled("Again", again), [make] + complaint(of: .making),
            [.label("Or bring in the vaults of your other devices:", style: "or")],
            labelled("Address of their server, such as https://vault.example", address),
            labelled("Name of the account, so that they are told of this one (may be left out)", account),
            labelled("Fingerprint of the server's key, if no authority has signed for it", fingerprint),
            [showsPicture, join] + complaint(of: .joining),
            [.label("Or put back a backup, whose passphrase you type above:", style: "or")],
            [restore] + complaint(of: .restoring),
        ]
        return .box(GTK_ORIENTATION_VERTICAL, spacing: 8, parts.flatMap(\.self))
    }

    private func complaint(of way: Way) -> [Widget] {
        let label = complaints[way]
        if let label { show([label], false) }
        return label.map { [$0] } ?? []
    }

    private func dialogue() -> Widget {
        let cancel = Widget.button("Cancel") { [unowned self] in end("") }
        for label in [number, howTo, codeWords, code, answerWords, state] {
            unsafe gtk_label_set_xalign(label.opaque, 0)
            unsafe gtk_label_set_justify(label.opaque, GTK_JUSTIFY_LEFT)
        }
        // As wide as what they say.
        for part in [number, code, cancel] {
            unsafe gtk_widget_set_hexpand(part.widget, 0)
            unsafe gtk_widget_set_halign(part.widget, GTK_ALIGN_START)
        }
        for label in [number, code] { unsafe gtk_label_set_selectable(label.opaque, 1) }
        unsafe gtk_label_set_wrap(code.opaque, 0)
        unsafe gtk_label_set_mnemonic_widget(answerWords.opaque, answer.widget)
        answer.add(style: "answer")
        answer.on("activate") { [unowned self] in give() }
        let title = Widget.label("Join your devices", style: "title")
        unsafe gtk_label_set_xalign(title.opaque, 0)
        let words = Widget.box(
            GTK_ORIENTATION_VERTICAL, spacing: 12,
            [title, howTo, number, codeWords, code, answerWords, answer, state, cancel])
        unsafe gtk_widget_set_valign(words.widget, GTK_ALIGN_CENTER)
        unsafe gtk_widget_set_size_request(words.widget, 420, -1)
        picture.add(style: "paper")
        unsafe gtk_widget_set_valign(picture.widget, GTK_ALIGN_CENTER)
        let whole = Widget.box(GTK_ORIENTATION_HORIZONTAL, spacing: 40, [picture, words])
        whole.add(style: "dialogue")
        return whole
    }

    // MARK: Making

    private func makeVault() {
        way = .making
        begin(["init", "--no-recovery", "--store", store])
    }

    private func join() {
        way = .joining
        let (url, name, key) = (text(of: address), text(of: account), text(of: fingerprint))
        guard !url.isEmpty else { return complain("The address of the server is missing.", at: address) }
        var words = ["device", "pair", "--store", store]
        if !name.isEmpty { words += ["--account", name] }
        if !key.isEmpty { words += ["--fingerprint", key] }
        if unsafe gtk_check_button_get_active(showsPicture.checkButton) != 0 { words.append("--qr") }
        begin(words + [url])
    }

    private func restore() {
        way = .restoring
        guard unsafe strlen(gtk_editable_get_text(passphrase.opaque)!) > 0 else {
            return complain("The passphrase of the backup is missing.", at: passphrase)
        }
        let choice = FileChoice(title: "The folder of your backups", accept: "Put it back", over: window)
        self.choice = choice
        choice.show { [unowned self] folder in
            self.choice = nil
            if let folder { begin(["backup", "restore", folder, "--store", store]) }
        }
    }

    private func begin(_ words: [String]) {
        guard making == nil, unlocking == nil else { return }
        let (first, second) = unsafe (gtk_editable_get_text(passphrase.opaque), gtk_editable_get_text(again.opaque))
        guard unsafe strlen(first!) > 0 else {
            return complain("An empty passphrase protects nothing.", at: passphrase)
        }
        // That of a backup was chosen before.
        let isSame = unsafe strcmp(first!, second!) == 0
        guard isSame || way == .restoring else { return complain("These are not the same.", at: passphrase) }
        complain("One moment …", isFault: false, at: nil)
        do {
            making = try StoreMaking(words, passphrase: passphrase) { [unowned self] step in take(step) }
        } catch {
            complain("coffret cannot be started: \(error.message)", at: nil)
        }
    }

    private func take(_ step: StoreMaking.Step) {
        switch step {
        case .waiting(let pairing): show(pairing)
        case .code(let text):
            code.say(text)
            show([codeWords, code], true)
            state.say("Waiting for the other device …")
        case .asks:
            show([answerWords, answer], true)
            state.say("It shows it once the first was right there. Six digits, and one try.")
            _ = unsafe gtk_widget_grab_focus(answer.widget)
            unsafe gtk_label_select_region(number.opaque, 0, 0)
        case .made:
            making = nil
            isMade = true
            unlock()
        case .failed(let words): end(words)
        }
    }

    /// Shows the number, or the picture with its text, for the other device.
    private func show(_ pairing: String) {
        let isScanned = unsafe gtk_check_button_get_active(showsPicture.checkButton) != 0
        let grid = isScanned ? QRCode.encode(pairing) : nil
        unsafe gtk_widget_set_visible(picture.widget, grid == nil ? 0 : 1)
        if let grid { draw(grid) }
        howTo.say(
            isScanned
                ? "On a device that is in: Devices, Add a device. It takes the text of this picture:"
                : "On a device that is in: Devices, Add a device. It takes this number:")
        number.say(isScanned ? pairing : Self.grouped(pairing))
        show([codeWords, code, answerWords, answer], false)
        state.say("Waiting for the other device …")
        unsafe gtk_stack_set_visible_child_name(stack.opaque, "dialogue")
        // It has the keyboard, and would stand there as if it were chosen.
        unsafe gtk_label_select_region(number.opaque, 0, 0)
    }

    private func show(_ parts: [Widget], _ isShown: Bool) {
        for part in parts { unsafe gtk_widget_set_visible(part.widget, isShown ? 1 : 0) }
    }

    private static func grouped(_ digits: String) -> String {
        var text = ""
        for (place, digit) in digits.enumerated() { text += (place > 0 && place % 4 == 0 ? " " : "") + String(digit) }
        return text
    }

    private func draw(_ grid: QRCode) {
        let (pixels, side) = grid.pixels(moduleSide: 6)
        let bytes = unsafe g_bytes_new(pixels, gsize(pixels.count))
        let texture = unsafe gdk_memory_texture_new(Int32(side), Int32(side), GDK_MEMORY_R8G8B8, bytes, gsize(side * 3))
        unsafe g_bytes_unref(bytes)
        unsafe gtk_picture_set_paintable(picture.opaque, texture)
        unsafe gtk_picture_set_can_shrink(picture.opaque, 0)
        unsafe gtk_picture_set_alternative_text(picture.opaque, "QR code with the text beside it")
        unsafe g_object_unref(UnsafeMutableRawPointer(texture!))
    }

    private func give() {
        let text = text(of: answer)
        // Half a code is an Enter too early, and no guess.
        guard text.filter(\.isNumber).count == 6 else { return state.say("A code has six digits.") }
        unsafe gtk_widget_set_sensitive(answer.widget, 0)
        state.say("One moment …")
        making?.answer(text)
    }

    /// Nobody is asked for a passphrase twice: it was just chosen. Without an agent the lock screen asks.
    private func unlock() {
        unlocking = StoreUnlocking(store, environment, entry: passphrase) { [unowned self] _ in
            unsafe g_main_loop_quit(loop)
        }
        for entry in [passphrase, again] { unsafe gtk_editable_set_text(entry.opaque, "") }
        if unlocking == nil { unsafe g_main_loop_quit(loop) }
    }

    private func end(_ words: String) {
        making?.end()
        making = nil
        unsafe gtk_widget_set_sensitive(answer.widget, 1)
        unsafe gtk_editable_set_text(answer.opaque, "")
        unsafe gtk_stack_set_visible_child_name(stack.opaque, "form")
        complain(words, at: way == .joining ? address : passphrase)
    }

    private func complain(_ words: String, isFault: Bool = true, at entry: Widget?) {
        for (other, label) in complaints {
            label.say(words, isFault: isFault)
            show([label], other == way && !words.isEmpty)
        }
        if let entry { _ = unsafe gtk_widget_grab_focus(entry.widget) }
    }

    private func text(of entry: Widget) -> String {
        let text = unsafe gtk_editable_get_text(entry.opaque).map { unsafe String(cString: $0) } ?? ""
        return text.split(separator: " ").joined(separator: " ")
    }
}
