// What libmicrohttpd calls. The one thing to keep true: what it holds for us is retained once and released once.

internal import CMicroHTTPD
internal import CoffretBase
internal import Glibc

private func loop(_ context: UnsafeMutableRawPointer?) -> HTTPLoop {
    // SAFETY: a loop outlives its daemon: `HTTPLoop.stop` ends it.
    unsafe Unmanaged<HTTPLoop>.fromOpaque(context!).takeUnretainedValue()
}

func acceptsPeer(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ byteCount: socklen_t
) -> MHD_Result {
    let server = unsafe loop(context).server
    if unsafe server.counts.hasPlace(HTTPConnection.peer(address)) { return .YES }
    server.metrics.connectionRefused()
    return .NO
}

func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
    _ byteCount: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let pointer = unsafe connection, let url = unsafe url, let method = unsafe method,
        let byteCount = unsafe byteCount, let state = unsafe state
    else { return .NO }
    let server = unsafe loop(context).server
    let connection = unsafe HTTPConnection(pointer: pointer)
    guard let opaque = unsafe state.pointee else {
        guard let known = connection.state else { return .NO }
        let length = unsafe strlen(url)
        let match = unsafe url.withMemoryRebound(to: UInt8.self, capacity: length) {
            unsafe RouteTable.match(String(cString: method), UnsafeBufferPointer(start: $0, count: length))
        }
        let exchange = HTTPExchange(match, descriptor: known.descriptor)
        unsafe state.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
        server.begin(exchange, connection, known)
        guard exchange.refusal != nil else { return .YES }
        // A body that nobody wants is not read: the answer goes out and the connection closes.
        let hasBody = connection.header("Content-Length").map { $0 != "0" } ?? false
        let isRefused = unsafe hasBody || connection.field("Transfer-Encoding") != nil
        return isRefused ? (server.finish(exchange, connection) ? .YES : .NO) : .YES
    }
    // SAFETY: retained at the first call, released when the library says that the request is over.
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(opaque).takeUnretainedValue()
    if unsafe byteCount.pointee > 0 {
        unsafe server.receive(exchange, UnsafeRawBufferPointer(start: bytes, count: byteCount.pointee))
        unsafe byteCount.pointee = 0
        return .YES
    }
    return server.finish(exchange, connection) ? .YES : .NO
}

func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let state = unsafe state, let opaque = unsafe state.pointee else { return }
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(opaque).takeRetainedValue()
    unsafe state.pointee = nil
    let server = unsafe loop(context).server
    server.release(exchange)
    if reason == .REQUEST_TERMINATED_COMPLETED_OK, exchange.row?.isWebSocket != true {
        server.watch.set(exchange.descriptor, ConnectionWatch.idleMilliseconds)
    }
}

func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let pointer = unsafe connection, let state = unsafe state else { return }
    let loop = unsafe loop(context)
    if change == .CONNECTION_NOTIFY_STARTED {
        let known = loop.server.opened(unsafe HTTPConnection(pointer: pointer), loop)
        unsafe state.pointee = unsafe Unmanaged.passRetained(known).toOpaque()
    } else if let opaque = unsafe state.pointee {
        // SAFETY: retained above, for this one release.
        let known = unsafe Unmanaged<ConnectionState>.fromOpaque(opaque).takeRetainedValue()
        unsafe state.pointee = nil
        loop.server.watch.remove(known.descriptor)
    }
}
