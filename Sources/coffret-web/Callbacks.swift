// The callbacks of libmicrohttpd. Invariant: an object that the library holds is retained once and released once.

internal import CMicroHTTPD
internal import CoffretBase
internal import CoffretFront
internal import Glibc

private func server(_ context: UnsafeMutableRawPointer?) -> WebServer {
    // SAFETY: the server stops its daemon before it goes.
    unsafe Unmanaged<WebServer>.fromOpaque(context!).takeUnretainedValue()
}

/// Another user's connection is closed before a byte is read (R124).
func acceptsPeer(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ byteCount: socklen_t
) -> MHD_Result {
    guard let address = unsafe address, Int32(unsafe address.pointee.sa_family) == AF_INET else { return .NO }
    let peer = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe $0.pointee }
    return PeerUser.of(peer, connectedTo: unsafe server(context).port) == geteuid() ? .YES : .NO
}

private func header(_ connection: OpaquePointer, _ name: String) -> String? {
    let text = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name)
    return unsafe text.map { unsafe String(cString: $0) }
}

private func head(_ connection: OpaquePointer, method: String, path: String) -> Gate.Head {
    var head = Gate.Head()
    (head.method, head.path) = (method, path)
    head.hostCount = Int(unsafe coffret_mhd_header_count(connection, "Host"))
    head.host = unsafe header(connection, "Host")
    head.origin = unsafe header(connection, "Origin")
    head.fetchSite = unsafe header(connection, "Sec-Fetch-Site")
    head.contentType = unsafe header(connection, "Content-Type")
    head.contentLength = unsafe header(connection, "Content-Length")
    head.hasTransferEncoding = unsafe header(connection, "Transfer-Encoding") != nil
    head.hasArguments = unsafe coffret_mhd_argument_count(connection) > 0
    head.token = unsafe header(connection, "Coffret-Session")
    return head
}

func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
    _ byteCount: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let connection = unsafe connection, let url = unsafe url, let method = unsafe method,
        let byteCount = unsafe byteCount, let state = unsafe state
    else { return .NO }
    let server = unsafe server(context)
    guard let opaque = unsafe state.pointee else {
        let head = unsafe head(connection, method: String(cString: method), path: String(cString: url))
        let exchange = Exchange(server.gate.judge(head))
        unsafe state.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
        // A body that nobody wants is not read: the answer goes out and the connection closes.
        guard case .refused(let status) = exchange.verdict else { return .YES }
        return unsafe queue((status, nil, []), connection)
    }
    // SAFETY: retained at the first call, released when the library says that the request is over.
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeUnretainedValue()
    if unsafe byteCount.pointee > 0 {
        let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: byteCount.pointee)
        guard case .wanted(_, let stated) = exchange.verdict, exchange.body.count + piece.count <= stated else {
            return .NO
        }
        unsafe exchange.body += piece
        unsafe byteCount.pointee = 0
        return .YES
    }
    if exchange.answer == nil { unsafe server.finish(exchange, connection) }
    // Without an answer the connection is suspended until there is one.
    guard let answer = exchange.answer else { return .YES }
    defer {
        exchange.answer?.content.zero()
        exchange.answer?.content = []
    }
    return unsafe queue(answer, connection)
}

private func queue(
    _ answer: Exchange.Answer, _ connection: OpaquePointer
) -> MHD_Result {
    // The library's own copy is overwritten by it when it has been sent.
    let count = answer.content.count
    let memory = unsafe malloc(max(count, 1))
    guard let memory = unsafe memory else { return .NO }
    unsafe answer.content.withUnsafeBytes { content in
        if let base = content.baseAddress { unsafe memcpy(memory, base, count) }
    }
    let holder = unsafe Holder(UnsafeMutableRawBufferPointer(start: memory, count: count))
    let response = unsafe MHD_create_response_from_callback(
        UInt64(count), 64 << 10, readHeld, Unmanaged.passRetained(holder).toOpaque(), releaseHeld)
    guard let response = unsafe response else { return .NO }
    if let type = answer.mediaType { _ = unsafe MHD_add_response_header(response, "Content-Type", type) }
    for header in PageFiles.headers { _ = unsafe MHD_add_response_header(response, header.name, header.value) }
    defer { unsafe MHD_destroy_response(response) }
    return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
}

/// The one copy of an answer, which is overwritten once it was sent.
@safe private final class Holder {
    // SAFETY: made by malloc for this object alone.
    let memory: UnsafeMutableRawBufferPointer

    init(_ memory: UnsafeMutableRawBufferPointer) { unsafe self.memory = unsafe memory }

    deinit {
        unsafe zero(memory)
        unsafe free(memory.baseAddress)
    }
}

private func readHeld(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
    guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
    // SAFETY: retained when the response was made, released by `releaseHeld`.
    let holder = unsafe Unmanaged<Holder>.fromOpaque(context).takeUnretainedValue()
    let count = min(capacity, unsafe holder.memory.count - Int(position))
    guard count > 0 else { return -1 }
    unsafe memcpy(buffer, holder.memory.baseAddress! + Int(position), count)
    return count
}

private func releaseHeld(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Holder>.fromOpaque(context).release()
}

func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let state = unsafe state, let opaque = unsafe state.pointee else { return }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(opaque).takeRetainedValue()
    exchange.body.zero()
    unsafe state.pointee = nil
}

func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {}
