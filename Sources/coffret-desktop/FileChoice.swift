// A file or folder of the person's choice. Invariant: the page learns a name and a ticket, and never a path.

internal import CGTK
internal import CoffretBase
internal import CoffretFront
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

/// Asks for one file or folder, in the desktop's own dialog over the window.
@safe final class FileChoice {
    private let kind: FrontRequest.Choice
    // SAFETY: made by `init`, released by `deinit`.
    private let dialog: OpaquePointer
    private var done: ((String?) -> Void)?

    /// - Parameter name: what the file is called unless the person says otherwise.
    convenience init(_ kind: FrontRequest.Choice, name: String, over parent: Widget) {
        let (title, action, accept) =
            switch kind {
            case .folder: ("Take in a folder", GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, "Take in")
            case .target: ("Write into a folder", GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, "Write here")
            case .file, .dropped: ("Save the file", GTK_FILE_CHOOSER_ACTION_SAVE, "Save")
            }
        self.init(kind, title, action, accept, over: parent)
        if kind == .file, !name.isEmpty {
            unsafe gtk_file_chooser_set_current_name(dialog, PathText.name(of: name))
        }
    }

    /// Asks for a folder that is there.
    convenience init(title: String, accept: String, over parent: Widget) {
        self.init(.folder, title, GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, accept, over: parent)
    }

    private init(
        _ kind: FrontRequest.Choice, _ title: String, _ action: GtkFileChooserAction, _ accept: String,
        over parent: Widget
    ) {
        self.kind = kind
        unsafe dialog = gtk_file_chooser_native_new(title, parent.window, action, accept, "Cancel")!
    }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(dialog)) }

    /// - Parameter done: is called once, with the path, or with nil.
    func show(_ done: @escaping (String?) -> Void) {
        self.done = done
        let responded: @convention(c) (UnsafeMutableRawPointer?, Int32, UnsafeMutableRawPointer?) -> Void = {
            _, response, held in
            // SAFETY: retained by `show`; the dialog responds once.
            let choice = unsafe Unmanaged<FileChoice>.fromOpaque(held!).takeRetainedValue()
            choice.end(response == GTK_RESPONSE_ACCEPT.rawValue)
        }
        unsafe g_signal_connect_data(
            UnsafeMutableRawPointer(dialog), "response", unsafeBitCast(responded, to: GCallback.self),
            Unmanaged.passRetained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
        unsafe gtk_native_dialog_show(UnsafeMutablePointer<GtkNativeDialog>(dialog))
    }

    private func end(_ isAccepted: Bool) {
        guard isAccepted, let file = unsafe gtk_file_chooser_get_file(dialog) else { return answer(nil) }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(file)) }
        guard let path = unsafe g_file_get_path(file) else { return answer(nil) }
        defer { unsafe g_free(path) }
        unsafe answer(String(cString: path))
    }

    private func answer(_ path: String?) {
        done?(path)
        done = nil
    }

    /// What was chosen, opened as it is wanted.
    func open(_ path: String) throws(SystemFailure) -> OwnedDescriptor {
        try OwnedDescriptor.open(
            path, kind == .file ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY | O_DIRECTORY, mode: 0o600)
    }
}
