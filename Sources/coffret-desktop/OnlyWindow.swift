// One window for each store. Invariant: another start of the program can bring the window to the front, and nothing else.

internal import CGTK
internal import CoffretWidgets

/// The name of a store's window on the session bus, which one process has.
@safe final class OnlyWindow {
    /// Is called when the program was started once more for this store.
    var raised: () -> Void = {}

    // SAFETY: made by `init`, given back by `deinit`, used on GTK's thread.
    private let application: UnsafeMutablePointer<GApplication>

    /// - Parameter store: an absolute path without links.
    /// - Returns: nil if another process has the window, which it has brought to the front. Without a bus each start has its own.
    init?(of store: String) {
        // Names on the bus are short and know few letters.
        let digest = unsafe g_compute_checksum_for_string(G_CHECKSUM_SHA256, store, -1)!
        let name = unsafe "coffret.window.s" + String(cString: digest).prefix(32)
        unsafe g_free(digest)
        unsafe application = g_application_new(name, GApplicationFlags(rawValue: 0))
        guard unsafe g_application_register(application, nil, nil) != 0 else { return }
        guard unsafe g_application_get_is_remote(application) == 0 else {
            unsafe g_application_activate(application)
            // The message is sent before the process ends.
            unsafe g_dbus_connection_flush_sync(g_application_get_dbus_connection(application), nil, nil)
            return nil
        }
        let call: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, held in
            unsafe Unmanaged<OnlyWindow>.fromOpaque(held!).takeUnretainedValue().raised()
        }
        unsafe Widget(OpaquePointer(application)).connect(
            "activate", unsafeBitCast(call, to: GCallback.self), context: Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(application)) }
}
