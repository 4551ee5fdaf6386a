// Requests to one server through libcurl. Invariant: with a pin, nothing is sent to a server that does not hold the
// pinned key; without TLS, nothing leaves this machine unless somebody asked for exactly that.

internal import CCurl
internal import CoffretBase
internal import Glibc

/// Where a server is and how it is recognised.
package struct ServerAddress: Equatable, Sendable {
    /// Such as `https://vault.example:8443`, without a slash at the end.
    package let url: String
    package let isPlain: Bool
    /// Host and port as they stand in the URL.
    package let authority: String

    /// Takes an https URL of scheme, host and perhaps port and path; plain http to this machine only, or where
    /// `allowsPlain` says that a person asked for it.
    package init(_ text: String, allowsPlain: Bool = false) throws(HTTPError) {
        let lowered = text.lowercased()
        let isPlain = lowered.hasPrefix("http://")
        guard isPlain || lowered.hasPrefix("https://") else { throw HTTPError(.addressInvalid, at: "scheme") }
        var rest = String(text.dropFirst(isPlain ? 7 : 8))
        while rest.hasSuffix("/") { rest.removeLast() }
        let authority = String(rest.prefix { $0 != "/" })
        let isClean =
            rest.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !rest.contains { "?#@\\\"'<>".contains($0) }
        guard !authority.isEmpty, isClean else { throw HTTPError(.addressInvalid, at: "host") }
        let isHere = ["127.0.0.1", "[::1]", "localhost"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
        guard !isPlain || isHere || allowsPlain else { throw HTTPError(.addressInvalid, at: "plain http") }
        url = (isPlain ? "http://" : "https://") + rest
        guard url.utf8.count <= Limits.addressByteCountMax else { throw HTTPError(.addressInvalid, at: "length") }
        self.isPlain = isPlain
        self.authority = authority
    }

    /// The path in the URL, or nothing.
    var basePath: String { String(url.dropFirst((isPlain ? 7 : 8) + authority.count)) }
}

/// How a server is reached.
package struct HTTPSettings: Equatable, Sendable {
    package var address: ServerAddress
    /// The server's key. With it certificates are not looked at: the key is worth more.
    package var pin: ServerPin?
    /// A file of authorities, in place of the system's.
    package var authoritiesPath: String?
    /// Such as `http://proxy:3128`; nil takes what `https_proxy` says, empty takes none.
    package var proxy: String?
    package var connectTime: Duration = .seconds(20)
    /// How long a transfer may rest.
    package var stallTime: Duration = .seconds(60)

    package init(_ address: ServerAddress, pin: ServerPin? = nil) {
        self.address = address
        self.pin = pin
    }
}

package struct HTTPRequest: Sendable {
    package var method: String
    /// With its slash and query, below the server's address.
    package var path: String
    /// No name or value holds a line end.
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8]?
    /// Of the answer's body, when it is kept in memory.
    package var answerByteCountMax = 64 << 20
    /// For the whole exchange; nil is no limit but that of stalling.
    package var time: Duration? = .seconds(60)

    package init(_ method: String, _ path: String, body: [UInt8]? = nil) {
        self.method = method
        self.path = path
        self.body = body
    }
}

package struct HTTPResponse: Sendable {
    package let status: Int
    /// Names in lower case, in order.
    package let fields: [(name: String, value: String)]
    /// Empty if it went to a sink.
    package let body: [UInt8]

    package func field(_ name: String) -> String? { fields.last { $0.name == name }?.value }
}

/// A client of one server. It keeps its connection; one request at a time, on the calling thread.
///
/// libcurl is loaded with the first client, not with the program: 4 ms.
@safe package final class HTTPClient {
    // SAFETY: owned by this object alone and freed in `deinit`.
    let handle: OpaquePointer
    package let settings: HTTPSettings
    /// Whether the server ever answered.
    private var hasAnswered = false

    /// - Throws: `.unavailable`.
    package init(_ settings: HTTPSettings) throws(HTTPError) {
        guard Self.isLoaded, let handle = unsafe coffret_curl_new() else { throw HTTPError(.unavailable) }
        unsafe self.handle = handle
        self.settings = settings
    }

    deinit { unsafe coffret_curl_free(handle) }

    private static let isLoaded = coffret_curl_load() == 0

    /// Sends a request and keeps the answer's body in memory.
    ///
    /// - Throws: an `HTTPError`; any status is an answer.
    package func send(_ request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
        try send(request, source: nil, sourceByteCount: nil, sink: nil)
    }

    /// Sends a request, streaming.
    ///
    /// - Parameters:
    ///   - source: gives at most `count` bytes of the body, none at its end, or nil to end the transfer.
    ///   - sourceByteCount: of the whole body; nil if it is not known.
    ///   - sink: takes bytes of the answer's body with its status; false ends the transfer.
    package func send(
        _ request: HTTPRequest, source: ((_ count: Int) -> [UInt8]?)?, sourceByteCount: Int? = nil,
        sink: ((_ status: Int, _ bytes: [UInt8]) -> Bool)?
    ) throws(HTTPError) -> HTTPResponse {
        unsafe coffret_curl_reset(handle)
        try prepare(path: request.path, time: request.time)
        try check(unsafe coffret_curl_set_method(handle, request.method))
        // No waiting for "100 Continue": it costs a second with servers that do not know it.
        for (name, value) in request.fields + [("Expect", "")] {
            guard !(name + value).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw HTTPError(.failed, at: "header")
            }
            try check(unsafe coffret_curl_set_header(handle, value.isEmpty ? name + ":" : "\(name): \(value)"))
        }
        let transfer = Transfer(self, source: source, sink: sink, byteCountMax: request.answerByteCountMax)
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        if let body = request.body, source == nil {
            var rest = body[...]
            transfer.source = { count in
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
            // A kept connection may have ended meanwhile: the body is then given on a new one.
            transfer.beginsAnew = { rest = body[...] }
            try check(unsafe coffret_curl_set_again(handle, giveAgain, context))
        }
        if transfer.source != nil {
            let count = source == nil ? request.body?.count : sourceByteCount
            try check(unsafe coffret_curl_set_give(handle, giveBytes, count.map { Int64($0) } ?? -1, context))
            // Giving a body makes libcurl say PUT.
            try check(unsafe coffret_curl_set_method(handle, request.method))
        }
        try check(unsafe coffret_curl_set_take(handle, takeBody, takeHeader, context))
        let code = withExtendedLifetime(transfer) { unsafe coffret_curl_perform(handle) }
        if transfer.isTooLarge { throw HTTPError(.tooLarge) }
        try check(code)
        hasAnswered = true
        return HTTPResponse(status: status, fields: transfer.fields, body: transfer.body)
    }

    var status: Int { unsafe coffret_curl_status(handle) }

    /// The options of every connection to this server.
    func prepare(path: String, time: Duration?) throws(HTTPError) {
        let address = settings.address
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw HTTPError(.addressInvalid, at: "path")
        }
        try check(unsafe coffret_curl_set_url(handle, address.url + path, address.isPlain ? 1 : 0))
        try check(unsafe coffret_curl_set_agent(handle, "coffret"))
        try check(
            unsafe coffret_curl_set_times(
                handle, settings.connectTime.milliseconds, time?.milliseconds ?? 0,
                settings.stallTime.milliseconds / 1_000)
        )
        if let pin = settings.pin {
            try check(unsafe coffret_curl_set_pin(handle, pin.curlText))
            try check(unsafe coffret_curl_set_verifies(handle, 0))
        }
        if let path = settings.authoritiesPath { try check(unsafe coffret_curl_set_authorities(handle, path)) }
        if let proxy = settings.proxy { try check(unsafe coffret_curl_set_proxy(handle, proxy)) }
    }

    /// Connects and reads the key of the server, without sending it anything; for the first time that it is met.
    ///
    /// - Parameter checksCertificate: refuses a server without a certificate that the authorities signed.
    /// - Throws: `.certificateUntrusted`, `.unreachable`, `.failed`.
    package func readPin(checksCertificate: Bool) throws(HTTPError) -> ServerPin {
        unsafe coffret_curl_reset(handle)
        try prepare(path: "/", time: settings.connectTime)
        try check(unsafe coffret_curl_set_verifies(handle, checksCertificate ? 1 : 0))
        try check(unsafe coffret_curl_set_connect_only(handle))
        try check(unsafe coffret_curl_set_keeps_certificates(handle))
        try check(unsafe coffret_curl_perform(handle))
        guard let text = unsafe coffret_curl_certificate(handle),
            let pin = ServerPin(certificatePEM: unsafe String(cString: text))
        else { throw HTTPError(.failed, at: "certificate") }
        return pin
    }

    func check(_ code: CInt) throws(HTTPError) {
        let kind: HTTPError.Code
        switch unsafe Int(coffret_curl_class(handle, code)) {
        case Int(COFFRET_CURL_OK): return
        case Int(COFFRET_CURL_CONNECT): kind = .unreachable
        case Int(COFFRET_CURL_CERTIFICATE): kind = .certificateUntrusted
        case Int(COFFRET_CURL_PIN): kind = .pinDiffers
        case Int(COFFRET_CURL_TIME): kind = .timedOut
        case Int(COFFRET_CURL_ABORTED): kind = .aborted
        case Int(COFFRET_CURL_URL): kind = .addressInvalid
        // A peer that never said a word of HTTP is no server of this kind, such as one with TLS at an http:// address.
        case Int(COFFRET_CURL_BROKEN):
            kind = settings.address.isPlain && !hasAnswered && status == 0 ? .failed : .interrupted
        default: kind = .failed
        }
        throw HTTPError(kind, at: unsafe coffret_curl_message(code).map { unsafe String(cString: $0) })
    }
}

extension Duration {
    var milliseconds: Int { Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}

/// The state that libcurl's callbacks work on, during one request.
private final class Transfer {
    private unowned let client: HTTPClient
    var source: ((Int) -> [UInt8]?)?
    /// Begins the body anew; nil for one that comes once.
    var beginsAnew: (() -> Void)?
    private let sink: ((Int, [UInt8]) -> Bool)?
    private let byteCountMax: Int
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var isTooLarge = false

    init(
        _ client: HTTPClient, source: ((Int) -> [UInt8]?)?, sink: ((Int, [UInt8]) -> Bool)?,
        byteCountMax: Int
    ) {
        self.client = client
        self.source = source
        self.sink = sink
        self.byteCountMax = byteCountMax
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let sink { return sink(client.status, unsafe [UInt8](bytes)) }
        guard bytes.count <= byteCountMax - body.count else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    func takeHeader(_ bytes: UnsafeRawBufferPointer) {
        let line = unsafe String(decoding: bytes, as: UTF8.self)
        // Another status line begins another answer, such as the one behind "100 Continue" or a proxy's.
        if line.hasPrefix("HTTP/") {
            fields = []
            return
        }
        guard let colon = line.firstIndex(of: ":"), fields.count < 200 else { return }
        let value = line[line.index(after: colon)...]
        fields.append((name: line[..<colon].lowercased(), value: Self.trimmed(value)))
    }

    private static func trimmed(_ text: Substring) -> String {
        var rest = text
        while let first = rest.first, first.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else { preconditionFailure("libcurl hands back its context") }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

private let takeBody: coffret_curl_take = { bytes, size, count, context in
    let total = size * count
    return unsafe transfer(context).take(UnsafeRawBufferPointer(start: bytes, count: total)) ? total : total &+ 1
}

private let takeHeader: coffret_curl_take = { bytes, size, count, context in
    unsafe transfer(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

private let giveAgain: coffret_curl_again = { context, offset, origin in
    // CURL_SEEKFUNC_CANTSEEK: libcurl goes no further.
    guard offset == 0, origin == SEEK_SET, let begin = unsafe transfer(context).beginsAnew else { return 2 }
    begin()
    return 0
}

/// CURL_READFUNC_ABORT.
private let abortReading = 0x1000_0000

private let giveBytes: coffret_curl_give = { bytes, size, count, context in
    let total = size * count
    guard let given = unsafe transfer(context).source?(total) else { return abortReading }
    guard given.count <= total, let bytes = unsafe bytes else { return abortReading }
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: total).copyBytes(from: given)
    return given.count
}
