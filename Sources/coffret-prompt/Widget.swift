// GTK's widgets as values. Invariant: a widget is used while the window that holds it lives, and on the thread of GTK alone.

internal import CGTK

/// A widget, or another object of GTK.
@safe struct Widget {
    private let address: UnsafeMutableRawPointer

    init(_ widget: UnsafeMutablePointer<GtkWidget>) { unsafe address = UnsafeMutableRawPointer(widget) }

    init(_ object: OpaquePointer) { unsafe address = UnsafeMutableRawPointer(object) }

    var widget: UnsafeMutablePointer<GtkWidget> { unsafe address.assumingMemoryBound(to: GtkWidget.self) }
    var opaque: OpaquePointer { unsafe OpaquePointer(address) }
    func cast<Kind>(_ kind: Kind.Type) -> UnsafeMutablePointer<Kind> { unsafe address.assumingMemoryBound(to: kind) }

    // MARK: Making

    static func box(_ orientation: GtkOrientation, spacing: Int32, _ children: [Widget]) -> Widget {
        let box = unsafe Widget(gtk_box_new(orientation, spacing))
        for child in children { unsafe gtk_box_append(box.cast(GtkBox.self), child.widget) }
        return box
    }

    /// - Parameter text: shown as it is, without markup.
    static func label(_ text: String, style: String) -> Widget {
        let label = unsafe Widget(gtk_label_new(text))
        unsafe gtk_label_set_wrap(label.opaque, 1)
        unsafe gtk_label_set_wrap_mode(label.opaque, PANGO_WRAP_WORD_CHAR)
        unsafe gtk_label_set_max_width_chars(label.opaque, 52)
        unsafe gtk_label_set_justify(label.opaque, GTK_JUSTIFY_CENTER)
        label.add(style: style)
        return label
    }

    static func button(_ text: String, style: String? = nil, _ action: @escaping () -> Void) -> Widget {
        let button = unsafe Widget(gtk_button_new_with_label(text))
        unsafe gtk_widget_set_hexpand(button.widget, 1)
        if let style { button.add(style: style) }
        button.on("clicked", action)
        return button
    }

    func add(style: String) { unsafe gtk_widget_add_css_class(widget, style) }

    // MARK: Signals

    private final class Action {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    /// Calls `action` for a signal without parameters.
    func on(_ signal: String, _ action: @escaping () -> Void) {
        let call: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, action in
            unsafe Unmanaged<Action>.fromOpaque(action!).takeUnretainedValue().run()
        }
        unsafe connect(signal, unsafeBitCast(call, to: GCallback.self), action)
    }

    /// Calls `action` where the window is to be closed, and leaves the closing to it.
    func onClosing(_ action: @escaping () -> Void) {
        let call: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean = { _, action in
            unsafe Unmanaged<Action>.fromOpaque(action!).takeUnretainedValue().run()
            return 1
        }
        unsafe connect("close-request", unsafeBitCast(call, to: GCallback.self), action)
    }

    private func connect(_ signal: String, _ call: GCallback, _ action: @escaping () -> Void) {
        let held = unsafe Unmanaged.passRetained(Action(action)).toOpaque()
        unsafe g_signal_connect_data(
            address, signal, call, held,
            { held, _ in unsafe Unmanaged<Action>.fromOpaque(held!).release() }, GConnectFlags(rawValue: 0))
    }

    /// Calls `action` for Escape anywhere in the window.
    func onEscape(_ action: @escaping () -> Void) {
        let keys = unsafe Widget(gtk_event_controller_key_new()!)
        unsafe gtk_event_controller_set_propagation_phase(keys.opaque, GTK_PHASE_CAPTURE)
        let call:
            @convention(c) (
                UnsafeMutableRawPointer?, guint, guint, GdkModifierType.RawValue, UnsafeMutableRawPointer?
            ) -> gboolean = { _, key, _, _, action in
                guard key == UInt32(GDK_KEY_Escape) else { return 0 }
                unsafe Unmanaged<Action>.fromOpaque(action!).takeUnretainedValue().run()
                return 1
            }
        unsafe keys.connect("key-pressed", unsafeBitCast(call, to: GCallback.self), action)
        unsafe gtk_widget_add_controller(widget, keys.opaque)
    }
}
