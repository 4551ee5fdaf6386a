// The web view and its bounds. Invariant: it has the files of the page and the answers of its session, and no way to anything
// else: no network, no address but its own, no storage.

internal import CGTK
internal import CWebKit
internal import CoffretBase
internal import CoffretClient
internal import CoffretFront
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

/// WebKitGTK around the page.
@safe final class PageView {
    static let address = "coffret://vault/"

    let widget: Widget
    private let view: UnsafeMutablePointer<WebKitWebView>
    private let answers: Answers

    /// The requests of the page.
    final class Answers {
        let files: PageFiles
        /// Takes the body of a request; nil while the store is locked.
        fileprivate(set) var take: (([UInt8], @escaping PageDesk.Reply) -> Void)?
        /// Requests of a page that has begun behind the lock screen.
        fileprivate var waiting: [PageExchange] = []

        init(_ files: PageFiles) { self.files = files }
    }

    init(_ files: PageFiles) {
        answers = Answers(files)
        let session = unsafe webkit_network_session_new_ephemeral()!
        let proxy = unsafe webkit_network_proxy_settings_new("http://127.0.0.1:9", nil)
        unsafe webkit_network_session_set_proxy_settings(session, WEBKIT_NETWORK_PROXY_MODE_CUSTOM, proxy)
        unsafe webkit_network_proxy_settings_free(proxy)
        let context = unsafe webkit_web_context_new()!
        unsafe webkit_web_context_register_uri_scheme(
            context, "coffret",
            { request, held in
                let answers = unsafe Unmanaged<Answers>.fromOpaque(held!).takeUnretainedValue()
                unsafe PageExchange(request!).answer(answers)
            }, Unmanaged.passUnretained(answers).toOpaque(), nil)
        let security = unsafe webkit_web_context_get_security_manager(context)!
        unsafe webkit_security_manager_register_uri_scheme_as_secure(security, "coffret")
        unsafe webkit_security_manager_register_uri_scheme_as_cors_enabled(security, "coffret")
        let parts: [(String, OpaquePointer, GType)] = unsafe [
            ("network-session", session, webkit_network_session_get_type()),
            ("web-context", context, webkit_web_context_get_type()),
            ("settings", Self.settings(), webkit_settings_get_type()),
        ]
        var names = unsafe parts.map { unsafe UnsafePointer(strdup($0.0)) as UnsafePointer<CChar>? }
        var values = unsafe parts.map { part in
            var value = GValue()
            unsafe g_value_init(&value, part.2)
            unsafe g_value_set_object(&value, UnsafeMutableRawPointer(part.1))
            return value
        }
        let object = unsafe g_object_new_with_properties(
            webkit_web_view_get_type(), guint(parts.count), &names, &values)!
        for name in unsafe names.indices { unsafe free(UnsafeMutablePointer(mutating: names[name])) }
        unsafe view = UnsafeMutableRawPointer(object).assumingMemoryBound(to: WebKitWebView.self)
        unsafe widget = Widget(UnsafeMutableRawPointer(object).assumingMemoryBound(to: GtkWidget.self))
        refuseTheRest()
        // The page's own process ends with the lock, and is quicker with WebKit's memory.
        unsafe unsetenv(WindowStart.webKitWiping.name)
        begin()
    }

    private static func settings() -> OpaquePointer {
        let settings = unsafe webkit_settings_new()!
        unsafe webkit_settings_set_enable_developer_extras(settings, 0)
        unsafe webkit_settings_set_enable_html5_local_storage(settings, 0)
        unsafe webkit_settings_set_enable_html5_database(settings, 0)
        unsafe webkit_settings_set_enable_webrtc(settings, 0)
        unsafe webkit_settings_set_enable_webgl(settings, 0)
        unsafe webkit_settings_set_enable_media(settings, 0)
        unsafe webkit_settings_set_enable_media_stream(settings, 0)
        unsafe webkit_settings_set_enable_page_cache(settings, 0)
        unsafe webkit_settings_set_javascript_can_open_windows_automatically(settings, 0)
        unsafe webkit_settings_set_javascript_can_access_clipboard(settings, 0)
        unsafe webkit_settings_set_hardware_acceleration_policy(settings, WEBKIT_HARDWARE_ACCELERATION_POLICY_NEVER)
        return unsafe settings
    }

    /// Navigation to another place, windows, downloads and the menu with "reload".
    private func refuseTheRest() {
        let decide:
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutablePointer<WebKitPolicyDecision>?, UInt32, UnsafeMutableRawPointer?
            ) -> gboolean = { _, decision, kind, _ in
                // Answers of the scheme are ours; a response that is to become a download is none.
                if kind == WEBKIT_POLICY_DECISION_TYPE_RESPONSE.rawValue {
                    let response = unsafe OpaquePointer(decision!)
                    let uri = unsafe webkit_uri_request_get_uri(
                        webkit_response_policy_decision_get_request(response))
                    let isOwn = unsafe uri.map { unsafe String(cString: $0).hasPrefix(PageView.address) } ?? false
                    let isShown = unsafe webkit_response_policy_decision_is_mime_type_supported(response) != 0
                    if isOwn, isShown { return 0 }
                } else if kind == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION.rawValue {
                    let action = unsafe webkit_navigation_policy_decision_get_navigation_action(
                        OpaquePointer(decision!))
                    let uri = unsafe webkit_uri_request_get_uri(webkit_navigation_action_get_request(action))
                    if unsafe uri.map({ unsafe String(cString: $0) }) == PageView.address { return 0 }
                }
                unsafe webkit_policy_decision_ignore(decision)
                return 1
            }
        unsafe widget.connect("decide-policy", unsafeBitCast(decide, to: GCallback.self))
        let menu:
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
            ) -> gboolean = { _, _, _, _ in 1 }
        unsafe widget.connect("context-menu", unsafeBitCast(menu, to: GCallback.self))
        let permission:
            @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> gboolean = {
                _, request, _ in
                unsafe webkit_permission_request_deny(request)
                return 1
            }
        unsafe widget.connect("permission-request", unsafeBitCast(permission, to: GCallback.self))
    }

    /// Lets the page ask from now on. It has begun before, and waits for its first answer.
    func open(_ take: @escaping ([UInt8], @escaping PageDesk.Reply) -> Void) {
        answers.take = take
        let waiting = answers.waiting
        answers.waiting = []
        for exchange in waiting { exchange.answer(answers) }
    }

    /// Tells the page that files were dropped on it. WebKit itself gives a page none: it takes what another program says of files for
    /// words alone.
    func dropped(left: Double, top: Double) {
        let place = "{ left: \(Int(left)), top: \(Int(top)) }"
        let script = "dispatchEvent(new CustomEvent('coffret-drop', { detail: \(place) }))"
        unsafe webkit_web_view_evaluate_javascript(view, script, -1, nil, nil, nil, nil, nil)
    }

    /// Ends the process that has the page, with all that it knows. A new page begins in another one.
    func end() {
        answers.take = nil
        answers.waiting = []
        unsafe webkit_web_view_terminate_web_process(view)
    }

    /// Loads the page, also in place of one whose process has ended.
    private func begin() {
        let ended:
            @convention(c) (UnsafeMutableRawPointer?, WebKitWebProcessTerminationReason, UnsafeMutableRawPointer?)
                -> Void = { view, _, _ in
                    unsafe webkit_web_view_load_uri(view?.assumingMemoryBound(to: WebKitWebView.self), PageView.address)
                }
        unsafe widget.connect("web-process-terminated", unsafeBitCast(ended, to: GCallback.self))
        unsafe webkit_web_view_load_uri(view, Self.address)
    }
}

/// One request of the page, from its arrival to its answer.
@safe final class PageExchange {
    private let request: OpaquePointer

    init(_ request: OpaquePointer) {
        unsafe self.request = request
        unsafe g_object_ref(UnsafeMutableRawPointer(request))
    }

    deinit { unsafe g_object_unref(UnsafeMutableRawPointer(request)) }

    func answer(_ answers: PageView.Answers) {
        let path = unsafe webkit_uri_scheme_request_get_path(request).map { unsafe String(cString: $0) } ?? ""
        let method = unsafe webkit_uri_scheme_request_get_http_method(request).map { unsafe String(cString: $0) } ?? ""
        switch (method, path) {
        case ("POST", "/do"):
            guard let take = answers.take else { return answers.waiting.append(self) }
            guard let body = body() else { return finish(403, nil, []) }
            take(body) { [self] message in finish(200, "application/json", message) }
        case ("GET", _):
            let name = path == "/" || path.isEmpty ? "index.html" : String(path.dropFirst())
            guard let file = answers.files.files[name] else { return finish(404, nil, []) }
            finish(200, file.mediaType, file.content)
        default: finish(403, nil, [])
        }
    }

    /// - Returns: nil for a body that is too long.
    private func body() -> [UInt8]? {
        guard let stream = unsafe webkit_uri_scheme_request_get_http_body(request) else { return [] }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(stream)) }
        var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        defer { part.zero() }
        while bytes.count <= PageRequest.byteCountMax {
            let count = unsafe g_input_stream_read(stream, &part, gsize(part.count), nil, nil)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += part[..<Int(count)]
        }
        bytes.zero()
        return nil
    }

    /// The bytes are in memory that is overwritten once WebKit has read them.
    private func finish(_ status: UInt32, _ type: String?, _ content: [UInt8]) {
        let held = WipedMemory(content)
        let bytes = unsafe g_bytes_new_with_free_func(
            held.start, gsize(held.count),
            { held in unsafe Unmanaged<WipedMemory>.fromOpaque(held!).release() },
            Unmanaged.passRetained(held).toOpaque())
        let stream = unsafe g_memory_input_stream_new_from_bytes(bytes)
        unsafe g_bytes_unref(bytes)
        let response = unsafe webkit_uri_scheme_response_new(stream, gint64(content.count))
        unsafe webkit_uri_scheme_response_set_status(response, status, nil)
        let headers = unsafe soup_message_headers_new(SOUP_MESSAGE_HEADERS_RESPONSE)
        for header in PageFiles.headers { unsafe soup_message_headers_append(headers, header.name, header.value) }
        if let type {
            // In both places: with nosniff a type that WebKit alone was told is not believed.
            unsafe webkit_uri_scheme_response_set_content_type(response, type)
            unsafe soup_message_headers_append(headers, "Content-Type", type)
        }
        unsafe webkit_uri_scheme_response_set_http_headers(response, headers)
        unsafe webkit_uri_scheme_request_finish_with_response(request, response)
        unsafe g_object_unref(UnsafeMutableRawPointer(response))
        unsafe g_object_unref(UnsafeMutableRawPointer(stream))
    }
}

/// Memory of this process that is overwritten at its end.
@safe private final class WipedMemory {
    let start: UnsafeMutableRawPointer
    let count: Int

    init(_ bytes: [UInt8]) {
        count = bytes.count
        unsafe start = UnsafeMutableRawPointer.allocate(byteCount: max(1, count), alignment: 1)
        unsafe bytes.withUnsafeBytes { buffer in
            if count > 0 { unsafe memcpy(start, buffer.baseAddress!, count) }
        }
    }

    deinit {
        unsafe explicit_bzero(start, count)
        unsafe start.deallocate()
    }
}
