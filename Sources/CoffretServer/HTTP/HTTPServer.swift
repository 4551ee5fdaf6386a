// HTTP through libmicrohttpd. The one thing to keep true: nobody is served before he is known to be within his
// limits, and a callback never lets an error of ours reach C.

internal import CMicroHTTPD
internal import CoffretBase
internal import CoffretNet
internal import Glibc
internal import Synchronization

/// A listening HTTP server with its threads.
@safe final class HTTPServer: Sendable {
    let service: ServerService
    let configuration: ServerConfiguration
    let metrics: ServerMetrics
    let log: ServerLog
    let hub: LiveHub
    let watch = ConnectionWatch()
    private let store: ServerStore
    private let addressLimit: RateLimiter
    private let accountLimit: RateLimiter
    private let loginLimit: RateLimiter
    let budget: MemoryBudget
    // SAFETY: the library's handles, written by `start` and read by `stop`, which one thread calls in turn.
    nonisolated(unsafe) private var daemons: [OpaquePointer] = unsafe []
    /// Whether only health and metrics are served: the operator's own address.
    private let isMetricsOnly: Bool

    init(
        service: ServerService, configuration: ServerConfiguration, metrics: ServerMetrics, log: ServerLog,
        hub: LiveHub, isMetricsOnly: Bool = false
    ) {
        self.service = service
        self.configuration = configuration
        self.metrics = metrics
        self.log = log
        self.hub = hub
        self.isMetricsOnly = isMetricsOnly
        store = service.store
        let perAddress = Double(configuration.requestsPerSecondPerAddress)
        addressLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 10, perSecond: perAddress))
        let perAccount = Double(configuration.requestsPerSecondPerAccount)
        accountLimit = RateLimiter(RateLimiter.Rate(burst: perAccount * 4, perSecond: perAccount))
        // A login costs a signature and two durable writes.
        loginLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 2, perSecond: max(perAddress / 5, 1)))
        budget = MemoryBudget(byteCountMax: configuration.bodyMemoryByteCount)
    }

    /// Serves a listening socket, which it takes over.
    func start(socket: Int32, certificate: String? = nil, key: String? = nil) throws(ServerFailure) {
        var flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_UPGRADE.rawValue
        var options = unsafe [
            MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(socket), ptr_value: nil),
            MHD_OptionItem(option: .THREAD_POOL_SIZE, value: configuration.threadCount, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: configuration.connectionCountMax, ptr_value: nil),
            MHD_OptionItem(
                option: .PER_IP_CONNECTION_LIMIT, value: configuration.connectionCountMaxPerAddress,
                ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: 16 << 10, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: 70, ptr_value: nil),
        ]
        let (certificateText, keyText) = unsafe (certificate.map { unsafe strdup($0) }, key.map { unsafe strdup($0) })
        defer {
            // The library has parsed both by then.
            unsafe free(certificateText ?? nil)
            unsafe free(keyText ?? nil)
        }
        if let certificateText = unsafe certificateText, let keyText = unsafe keyText {
            flags |= MHD_USE_TLS.rawValue
            unsafe options.append(
                MHD_OptionItem(option: .HTTPS_MEM_CERT, value: 0, ptr_value: certificateText))
            unsafe options.append(MHD_OptionItem(option: .HTTPS_MEM_KEY, value: 0, ptr_value: keyText))
        }
        unsafe options.append(MHD_OptionItem(option: .END, value: 0, ptr_value: nil))
        watch.start()
        let daemon = unsafe coffret_mhd_start(
            flags, handleRequest, Unmanaged.passUnretained(self).toOpaque(), requestCompleted, connectionChanged,
            options)
        guard let daemon = unsafe daemon else {
            watch.stop()
            throw ServerFailure(.listenFailed, "the HTTP library did not start; is the certificate good?")
        }
        unsafe daemons.append(daemon)
    }

    /// Ends all requests and waits for the threads. WebSockets must have been ended before.
    func stop() {
        watch.stop()
        while let daemon = unsafe daemons.popLast() { unsafe MHD_stop_daemon(daemon) }
    }

    // MARK: A request, call by call

    /// The head is whole: decides whether the body is wanted.
    fileprivate func begin(_ exchange: HTTPExchange, _ connection: HTTPConnection) {
        exchange.descriptor = connection.descriptor
        do throws(ServerFailure) {
            let route = try admit(exchange, connection)
            let stated = try bodyByteCount(connection, route)
            exchange.byteCountStated = stated
            if stated > 0 {
                exchange.asker = exchange.owner?.accountID ?? peer(connection)
                guard budget.take(stated, for: exchange.asker) else { throw ServerFailure(.busy) }
                exchange.byteCountReserved = stated
                exchange.body.reserveCapacity(stated)
            }
            watch.set(exchange.descriptor, forByteCount: stated)
        } catch {
            exchange.refusal = ServerResponse(error)
        }
    }

    private func admit(_ exchange: HTTPExchange, _ connection: HTTPConnection) throws(ServerFailure) -> Route {
        let now = Monotonic.milliseconds
        let asker = peer(connection)
        let wait = addressLimit.take(asker, now: now)
        guard wait == 0 else { throw ServerFailure(.rateExceeded) }
        let route: Route
        switch exchange.match {
        case .route(let found): route = found
        case .unknown: throw ServerFailure(.unknownRoute)
        case .method: throw ServerFailure(.method)
        case .malformed: throw ServerFailure(.malformed)
        }
        if isMetricsOnly || configuration.metricsListen != nil {
            guard (route == .metrics) == isMetricsOnly || route == .health else { throw ServerFailure(.unknownRoute) }
        }
        switch route {
        case .loginChallenge, .login, .register, .relayCreate, .relayJoin:
            guard loginLimit.take(asker, now: now) == 0 else { throw ServerFailure(.rateExceeded) }
        default: break
        }
        if route.needsSession {
            guard let text = connection.header("Authorization"), text.hasPrefix("Bearer "),
                let token = Route.hex(text.dropFirst(7), 32)
            else { throw ServerFailure(.sessionUnknown) }
            let owner = try store.session(token: token)
            guard accountLimit.take(owner.accountID, now: now) == 0 else { throw ServerFailure(.rateExceeded) }
            exchange.owner = owner
            exchange.token = token
        }
        return route
    }

    /// The address that limits are counted for.
    private func peer(_ connection: HTTPConnection) -> [UInt8] {
        if configuration.trustsForwardedFor, let text = connection.header("X-Forwarded-For"),
            // The last entry is the proxy's own; what stands before it is the client's word.
            let last = text.split(separator: ",").last
        {
            return Array(last.utf8.drop { $0 == 32 }.prefix(64))
        }
        return connection.peer
    }

    private func bodyByteCount(_ connection: HTTPConnection, _ route: Route) throws(ServerFailure) -> Int {
        guard connection.header("Transfer-Encoding") == nil else { throw ServerFailure(.lengthRequired) }
        guard let text = connection.header("Content-Length") else { return 0 }
        guard let count = try ServerService.number(text, max: .max) else { return 0 }
        guard count <= Int64(route.bodyByteCountMax) else { throw ServerFailure(.tooLarge) }
        return Int(count)
    }

    fileprivate func receive(_ exchange: HTTPExchange, _ bytes: UnsafeRawBufferPointer) {
        guard exchange.refusal == nil, exchange.body.count + bytes.count <= exchange.byteCountStated else { return }
        unsafe exchange.body += bytes
    }

    /// The request is whole: answers it.
    fileprivate func finish(_ exchange: HTTPExchange, _ connection: HTTPConnection) -> Bool {
        var response = exchange.refusal ?? answer(exchange, connection)
        if case .webSocket = response.body { response = upgrade(response, connection) }
        exchange.body = []
        release(exchange)
        if case .stream = response.body {
            exchange.asker = exchange.owner?.accountID ?? []
            if !budget.take(StreamContext.byteCount, for: exchange.asker) {
                response = ServerResponse(ServerFailure(.busy))
            }
        }
        let milliseconds = Double(Monotonic.microseconds - exchange.startedAt) / 1_000
        metrics.record(
            route: exchange.routeName, status: response.status, milliseconds: milliseconds,
            bytesIn: exchange.byteCountStated,
            bytesOut: response.byteCount)
        log.request(
            route: exchange.routeName, status: response.status, milliseconds: milliseconds,
            bytesIn: exchange.byteCountStated,
            bytesOut: response.byteCount)
        let made = unsafe response.libraryResponse(self, exchange)
        guard let made = unsafe made else { return false }
        if response.status == 101 {
            watch.remove(exchange.descriptor)
        } else {
            watch.set(exchange.descriptor, forByteCount: response.byteCount)
        }
        let result = unsafe MHD_queue_response(connection.pointer, UInt32(response.status), made)
        unsafe MHD_destroy_response(made)
        return result == .YES
    }

    private func answer(_ exchange: HTTPExchange, _ connection: HTTPConnection) -> ServerResponse {
        guard let route = exchange.route else { return ServerResponse(ServerFailure(.unknownRoute)) }
        let request = ServerRequest(
            route: route, body: exchange.body, owner: exchange.owner, token: exchange.token,
            query: { connection.query($0) }, header: { connection.header($0) })
        do throws(ServerFailure) { return try service.answer(request) } catch {
            if error.code.status >= 500 { log.failure(error) }
            return ServerResponse(error)
        }
    }

    /// Agrees to the upgrade, or says why not.
    private func upgrade(_ response: ServerResponse, _ connection: HTTPConnection) -> ServerResponse {
        let names = ["host", "upgrade", "connection", "sec-websocket-version", "sec-websocket-key"]
        let fields = names.compactMap { name in connection.header(name).map { (name, $0) } }
        var response = response
        do throws(WebSocketRefusal) {
            let answer = try WebSocketServerHandshake.answer(HTTPHead(startLine: "GET / HTTP/1.1", fields: fields))
            // The library writes Connection itself.
            response.fields += answer.filter { $0.name != "Connection" }
            return response
        } catch {
            if case .webSocket(.relayCreator(let id)) = response.body { service.rooms.close(id) }
            return ServerResponse(ServerFailure(.malformed))
        }
    }

    fileprivate func release(_ exchange: HTTPExchange) {
        budget.give(exchange.byteCountReserved, from: exchange.asker)
        exchange.byteCountReserved = 0
    }
}

// MARK: - The library's callbacks

private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer {
    // SAFETY: the server outlives its daemons: `stop` waits for them.
    unsafe Unmanaged<HTTPServer>.fromOpaque(context!).takeUnretainedValue()
}

private func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
    _ byteCount: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let pointer = unsafe connection, let url = unsafe url, let method = unsafe method,
        let byteCount = unsafe byteCount, let state = unsafe state
    else { return .NO }
    let server = unsafe server(context)
    let connection = unsafe HTTPConnection(pointer: pointer)
    guard let opaque = unsafe state.pointee else {
        let exchange = unsafe HTTPExchange(method: String(cString: method), path: String(cString: url))
        unsafe state.pointee = unsafe Unmanaged.passRetained(exchange).toOpaque()
        server.begin(exchange, connection)
        // A body that nobody wants is not read: the answer goes out and the connection closes.
        let hasBody = connection.header("Content-Length").map { $0 != "0" } ?? false
        let isRefused = exchange.refusal != nil && (hasBody || connection.header("Transfer-Encoding") != nil)
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

private func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let state = unsafe state, let opaque = unsafe state.pointee else { return }
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(opaque).takeRetainedValue()
    unsafe state.pointee = nil
    let server = unsafe server(context)
    server.release(exchange)
    if reason == .REQUEST_TERMINATED_COMPLETED_OK, exchange.route?.isWebSocket != true {
        server.watch.set(exchange.descriptor, ConnectionWatch.idleMilliseconds)
    }
}

private func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let pointer = unsafe connection else { return }
    let server = unsafe server(context)
    let descriptor = unsafe HTTPConnection(pointer: pointer).descriptor
    if change == .CONNECTION_NOTIFY_STARTED {
        server.watch.set(descriptor, ConnectionWatch.headMilliseconds)
    } else {
        server.watch.remove(descriptor)
    }
}
