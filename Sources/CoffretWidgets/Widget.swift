// GTK's widgets as values. Invariant: a widget is used while the window that holds it lives, and on the thread of GTK alone.

package import CGTK

/// A widget, or another object of GTK.
@safe package struct Widget {
    private let address: UnsafeMutableRawPointer

    package init(_ widget: UnsafeMutablePointer<GtkWidget>) { unsafe address = UnsafeMutableRawPointer(widget) }

    package init(_ object: OpaquePointer) { unsafe address = UnsafeMutableRawPointer(object) }

    package var widget: UnsafeMutablePointer<GtkWidget> { unsafe address.assumingMemoryBound(to: GtkWidget.self) }
    package var window: UnsafeMutablePointer<GtkWindow> { unsafe address.assumingMemoryBound(to: GtkWindow.self) }
    package var opaque: OpaquePointer { unsafe OpaquePointer(address) }
    package var entry: UnsafeMutablePointer<GtkEntry> { unsafe address.assumingMemoryBound(to: GtkEntry.self) }
    package var checkButton: UnsafeMutablePointer<GtkCheckButton> {
        unsafe address.assumingMemoryBound(to: GtkCheckButton.self)
    }

    // MARK: Making

    package static func box(_ orientation: GtkOrientation, spacing: Int32, _ children: [Widget]) -> Widget {
        let box = unsafe Widget(gtk_box_new(orientation, spacing))
        for child in children {
            unsafe gtk_box_append(box.address.assumingMemoryBound(to: GtkBox.self), child.widget)
        }
        return box
    }

    /// - Parameter text: shown as it is, without markup.
    package static func label(_ text: String, style: String) -> Widget {
        let label = unsafe Widget(gtk_label_new(text))
        unsafe gtk_label_set_wrap(label.opaque, 1)
        unsafe gtk_label_set_wrap_mode(label.opaque, PANGO_WRAP_WORD_CHAR)
        unsafe gtk_label_set_max_width_chars(label.opaque, 52)
        unsafe gtk_label_set_justify(label.opaque, GTK_JUSTIFY_CENTER)
        label.add(style: style)
        return label
    }

    package static func button(_ text: String, style: String? = nil, _ action: @escaping () -> Void) -> Widget {
        let button = unsafe Widget(gtk_button_new_with_label(text))
        unsafe gtk_widget_set_hexpand(button.widget, 1)
        if let style { button.add(style: style) }
        button.on("clicked", action)
        return button
    }

    package func add(style: String) { unsafe gtk_widget_add_css_class(widget, style) }

    /// Shows another text in a label.
    package func say(_ text: String) { unsafe gtk_label_set_text(opaque, text) }

    /// Shows what was wrong, or that something is under way, which looks like no fault.
    package func say(_ text: String, isFault: Bool) {
        say(text)
        unsafe gtk_widget_remove_css_class(widget, isFault ? "dim" : "complaint")
        add(style: isFault ? "complaint" : "dim")
    }

    // MARK: Signals

    private final class Action {
        let run: () -> Bool
        init(_ run: @escaping () -> Bool) { self.run = run }
    }

    /// Calls `action` for a signal without parameters, or for the change of a property.
    package func on(_ signal: String, _ action: @escaping () -> Void) {
        let held = Action {
            action()
            return true
        }
        if signal.hasPrefix("notify::") {
            let call:
                @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void =
                    { _, _, held in _ = unsafe Widget.run(held) }
            unsafe connect(signal, unsafeBitCast(call, to: GCallback.self), held)
        } else {
            let call: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, held in
                _ = unsafe Widget.run(held)
            }
            unsafe connect(signal, unsafeBitCast(call, to: GCallback.self), held)
        }
    }

    /// Calls `action` where the window is to be closed, and leaves the closing to it.
    package func onClosing(_ action: @escaping () -> Void) {
        let call: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean = { _, held in
            unsafe Widget.run(held) ? 1 : 0
        }
        let held = Action {
            action()
            return true
        }
        unsafe connect("close-request", unsafeBitCast(call, to: GCallback.self), held)
    }

    /// Calls `action` for each key in the window, before the widget that has the keyboard.
    ///
    /// - Parameter action: gets GDK's number of the key, and returns whether the key ends there.
    package func onKey(_ action: @escaping (UInt32) -> Bool) {
        let keys = unsafe Widget(gtk_event_controller_key_new()!)
        unsafe gtk_event_controller_set_propagation_phase(keys.opaque, GTK_PHASE_CAPTURE)
        let call:
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, GdkModifierType.RawValue, UnsafeMutableRawPointer?
            ) -> gboolean = { _, key, _, _, held in
                unsafe Unmanaged<KeyAction>.fromOpaque(held!).takeUnretainedValue().run(key) ? 1 : 0
            }
        let held = unsafe Unmanaged.passRetained(KeyAction(action)).toOpaque()
        unsafe g_signal_connect_data(
            UnsafeMutableRawPointer(keys.opaque), "key-pressed", unsafeBitCast(call, to: GCallback.self), held,
            { held, _ in unsafe Unmanaged<KeyAction>.fromOpaque(held!).release() }, GConnectFlags(rawValue: 0))
        unsafe gtk_widget_add_controller(widget, keys.opaque)
    }

    private final class KeyAction {
        let run: (UInt32) -> Bool
        init(_ run: @escaping (UInt32) -> Bool) { self.run = run }
    }

    /// Calls `action` for each press of a button of the mouse.
    package func onPress(_ action: @escaping () -> Void) {
        let clicks = unsafe Widget(gtk_gesture_click_new()!)
        let call: @convention(c) (UnsafeMutableRawPointer?, gint, Double, Double, UnsafeMutableRawPointer?) -> Void = {
            _, _, _, _, held in
            _ = unsafe Widget.run(held)
        }
        let held = Action {
            action()
            return true
        }
        unsafe clicks.connect("pressed", unsafeBitCast(call, to: GCallback.self), held)
        unsafe gtk_widget_add_controller(widget, clicks.opaque)
    }

    /// Calls `action` with the paths of files that are dropped on the widget, and where; nothing below the widget gets them.
    package func onFiles(_ action: @escaping ([String], _ left: Double, _ top: Double) -> Void) {
        let target = unsafe gtk_drop_target_new(gdk_file_list_get_type(), GDK_ACTION_COPY)!
        unsafe gtk_event_controller_set_propagation_phase(target, GTK_PHASE_CAPTURE)
        let call:
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafePointer<GValue>?, Double, Double, UnsafeMutableRawPointer?
            ) -> gboolean = { _, value, left, top, held in
                let paths = unsafe Widget.paths(of: OpaquePointer(g_value_get_boxed(value)))
                guard !paths.isEmpty else { return 0 }
                unsafe Unmanaged<FilesAction>.fromOpaque(held!).takeUnretainedValue().run(paths, left, top)
                return 1
            }
        let held = unsafe Unmanaged.passRetained(FilesAction(action)).toOpaque()
        unsafe g_signal_connect_data(
            UnsafeMutableRawPointer(target), "drop", unsafeBitCast(call, to: GCallback.self), held,
            { held, _ in unsafe Unmanaged<FilesAction>.fromOpaque(held!).release() }, GConnectFlags(rawValue: 0))
        unsafe gtk_widget_add_controller(widget, target)
    }

    private final class FilesAction {
        let run: ([String], Double, Double) -> Void
        init(_ run: @escaping ([String], Double, Double) -> Void) { self.run = run }
    }

    /// Those of the files of this machine.
    private static func paths(of list: OpaquePointer?) -> [String] {
        guard let list = unsafe list else { return [] }
        let first = unsafe gdk_file_list_get_files(list)
        defer { unsafe g_slist_free(first) }
        var (paths, next) = unsafe ([String](), first)
        while let entry = unsafe next {
            if let path = unsafe g_file_get_path(OpaquePointer(entry.pointee.data)) {
                unsafe paths.append(String(cString: path))
                unsafe g_free(path)
            }
            unsafe next = entry.pointee.next
        }
        return paths
    }

    /// Calls `action` once, after the widget was drawn for the first time.
    package func afterFrame(_ action: @escaping () -> Void) {
        var isDrawn = false
        let held = Action {
            defer { isDrawn = true }
            if isDrawn { action() }
            return !isDrawn
        }
        _ = unsafe gtk_widget_add_tick_callback(
            widget, { _, _, held in unsafe Widget.run(held) ? 1 : 0 }, Unmanaged.passRetained(held).toOpaque(),
            { held in unsafe Unmanaged<Action>.fromOpaque(held!).release() })
    }

    private static func run(_ held: UnsafeMutableRawPointer?) -> Bool {
        unsafe Unmanaged<Action>.fromOpaque(held!).takeUnretainedValue().run()
    }

    /// Calls a function of C for a signal.
    ///
    /// - Parameter context: is given to the function, and stays the caller's.
    package func connect(_ signal: String, _ call: GCallback, context: UnsafeMutableRawPointer? = nil) {
        unsafe g_signal_connect_data(address, signal, call, context, nil, GConnectFlags(rawValue: 0))
    }

    private func connect(_ signal: String, _ call: GCallback, _ action: Action) {
        let held = unsafe Unmanaged.passRetained(action).toOpaque()
        unsafe g_signal_connect_data(
            address, signal, call, held,
            { held, _ in unsafe Unmanaged<Action>.fromOpaque(held!).release() }, GConnectFlags(rawValue: 0))
    }
}
