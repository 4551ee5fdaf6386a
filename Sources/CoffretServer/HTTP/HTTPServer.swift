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
    let watch: ConnectionWatch
    private let store: ServerStore
    private let addressLimit: RateLimiter
    private let accountLimit: RateLimiter
    private let loginLimit: RateLimiter
    let budget: MemoryBudget
    let counts: ConnectionCounts
    private let loops = Mutex<[HTTPLoop]>([])
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
        // Descriptors are the lowest free numbers: two listeners' connections, and what else the process has open.
        watch = ConnectionWatch(descriptorCountMax: 2 * configuration.connectionCountMax + 4_096)
        let perAddress = Double(configuration.requestsPerSecondPerAddress)
        addressLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 10, perSecond: perAddress))
        let perAccount = Double(configuration.requestsPerSecondPerAccount)
        accountLimit = RateLimiter(RateLimiter.Rate(burst: perAccount * 4, perSecond: perAccount))
        // A login costs a signature and two durable writes.
        loginLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 2, perSecond: max(perAddress / 5, 1)))
        budget = MemoryBudget(byteCountMax: configuration.bodyMemoryByteCount)
        counts = ConnectionCounts(
            countMax: configuration.connectionCountMax, countMaxPerPeer: configuration.connectionCountMaxPerAddress)
    }

    /// Serves a listening socket, which it takes over.
    func start(socket: Int32, certificate: String? = nil, key: String? = nil) throws(ServerFailure) {
        var flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_UPGRADE.rawValue
        var options = unsafe [
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: configuration.connectionCountMax, ptr_value: nil),
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
        for number in 0..<configuration.threadCount {
            // Each daemon closes its own when it ends.
            let own = number == 0 ? socket : coffret_mhd_own_descriptor(socket)
            let listening = unsafe [MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(own), ptr_value: nil)]
            let loop = HTTPLoop(self)
            guard own >= 0, unsafe loop.start(flags, listening + options) else {
                stop()
                throw ServerFailure(
                    .listenFailed,
                    certificate == nil
                        ? "the HTTP library did not start"
                        : "the HTTP library did not start: are tls-certificate and tls-key good, and do they belong together?"
                )
            }
            loops.withLock { $0.append(loop) }
        }
    }

    /// Ends all requests and waits for the threads. WebSockets must have been ended before.
    func stop() {
        watch.stop()
        let ended = loops.withLock { loops in
            defer { loops = [] }
            return loops
        }
        for loop in ended { loop.end() }
        for loop in ended { loop.stop() }
    }

    /// A connection was accepted.
    fileprivate func opened(_ connection: HTTPConnection, _ loop: HTTPLoop) -> ConnectionState {
        let (peer, descriptor) = (connection.peer, connection.descriptor)
        watch.set(descriptor, ConnectionWatch.headMilliseconds)
        let bucket = addressLimit.bucket(peer, now: Monotonic.nanoseconds)
        return ConnectionState(
            descriptor: descriptor, peer: peer, place: ConnectionPlace(counts, peer), bucket: bucket, loop: loop)
    }

    // MARK: A request, call by call

    /// The head is whole: decides whether the body is wanted.
    fileprivate func begin(_ exchange: HTTPExchange, _ connection: HTTPConnection, _ state: ConnectionState) {
        do throws(ServerFailure) {
            let row = try admit(exchange, connection, state)
            let stated = try bodyByteCount(connection, row)
            exchange.byteCountStated = stated
            if stated > 0 {
                guard budget.take(stated, for: exchange.asker) else { throw ServerFailure(.busy) }
                exchange.byteCountReserved = stated
                exchange.body.reserveCapacity(stated)
            }
            // Also without a body: what is left of the time between requests is not for the answer.
            watch.set(exchange.descriptor, forByteCount: stated)
        } catch {
            var refusal = ServerResponse(error, retryAfterSeconds: exchange.retryAfterSeconds)
            if error.code == .method, case .method(let allowed) = exchange.match {
                refusal.fields.append(("Allow", allowed))
            }
            exchange.refusal = refusal
        }
    }

    private func admit(
        _ exchange: HTTPExchange, _ connection: HTTPConnection, _ state: ConnectionState
    ) throws(ServerFailure) -> RouteRow {
        let now = exchange.startedAt
        let asker = forwarded(connection)
        let bucket = asker.map { addressLimit.bucket($0, now: now) } ?? state.bucket
        try take(bucket, addressLimit.rate, exchange)
        let row: RouteRow
        switch exchange.match {
        case .route(_, let found): row = found
        case .unknown: throw ServerFailure(.unknownRoute)
        case .method: throw ServerFailure(.method)
        case .malformed: throw ServerFailure(.malformed)
        }
        if isMetricsOnly || configuration.metricsListen != nil {
            guard case .route(let route, _) = exchange.match, (route == .metrics) == isMetricsOnly || route == .health
            else { throw ServerFailure(.unknownRoute) }
        }
        if row.isCostly {
            try take(loginLimit.bucket(asker ?? state.peer, now: now), loginLimit.rate, exchange)
        }
        if row.needsSession {
            let session = try session(connection, state, now: now)
            try take(session.bucket, accountLimit.rate, exchange)
            exchange.owner = session.owner
            exchange.token = session.token
        }
        exchange.asker = exchange.owner?.accountID ?? asker ?? state.peer
        return row
    }

    private func take(
        _ bucket: RateBucket, _ rate: RateLimiter.Rate, _ exchange: HTTPExchange
    ) throws(ServerFailure) {
        let seconds = bucket.take(rate, now: exchange.startedAt)
        guard seconds == 0 else {
            exchange.retryAfterSeconds = seconds
            throw ServerFailure(.rateExceeded)
        }
    }

    /// Whose token the request shows. It is looked up once for a connection, unless sessions may have ended since, or
    /// other processes may end them.
    private func session(
        _ connection: HTTPConnection, _ state: ConnectionState, now: Int64
    ) throws(ServerFailure) -> ConnectionState.Session {
        let prefix: StaticString = "Bearer "
        guard let text = unsafe connection.field("Authorization"),
            unsafe strncmp(text, prefix.utf8Start, 7) == 0, unsafe strnlen(text + 7, 65) == 64
        else { throw ServerFailure(.sessionUnknown) }
        return try unsafe (text + 7).withMemoryRebound(to: UInt8.self, capacity: 64) {
            (digits) throws(ServerFailure) -> ConnectionState.Session in
            let changes = store.sessionChanges.value
            if let known = state.session, known.changes == changes, store.database.servesAlone,
                known.expiry >= store.now,
                unsafe known.digits.withUnsafeBytes({ unsafe memcmp($0.baseAddress!, digits, 64) == 0 })
            {
                return known
            }
            let digits = unsafe UnsafeBufferPointer(start: digits, count: 64)
            guard let token = unsafe RouteTable.hex(digits, 32) else { throw ServerFailure(.sessionUnknown) }
            let (owner, expiry) = try store.sessionWithExpiry(token: token)
            let session = ConnectionState.Session(
                digits: unsafe Array(digits), token: token, owner: owner, expiry: expiry, changes: changes,
                bucket: accountLimit.bucket(owner.accountID, now: now))
            state.session = session
            return session
        }
    }

    /// The address that a trusted proxy names; nil without one.
    private func forwarded(_ connection: HTTPConnection) -> [UInt8]? {
        guard configuration.trustsForwardedFor, let text = connection.header("X-Forwarded-For"),
            // The last entry is the proxy's own; what stands before it is the client's word.
            let last = text.split(separator: ",").last
        else { return nil }
        return Array(last.utf8.drop { $0 == 32 }.prefix(64))
    }

    private func bodyByteCount(_ connection: HTTPConnection, _ row: RouteRow) throws(ServerFailure) -> Int {
        guard unsafe connection.field("Transfer-Encoding") == nil else { throw ServerFailure(.lengthRequired) }
        guard let text = unsafe connection.field("Content-Length") else { return 0 }
        guard let count = try unsafe ServerService.number(String(cString: text), max: .max) else { return 0 }
        guard count <= Int64(row.bodyByteCountMax) else { throw ServerFailure(.tooLarge) }
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
            if !budget.take(StreamContext.byteCount, for: exchange.asker) {
                response = ServerResponse(ServerFailure(.busy))
            }
        }
        let microseconds = (Monotonic.nanoseconds - exchange.startedAt) / 1_000
        let byteCount = response.byteCount
        metrics.record(
            route: exchange.row?.number ?? RouteTable.unknownNumber, status: response.status,
            microseconds: microseconds, bytesIn: exchange.byteCountStated, bytesOut: byteCount)
        log.request(
            route: exchange.routeName, status: response.status, microseconds: microseconds,
            bytesIn: exchange.byteCountStated, bytesOut: byteCount)
        let made = unsafe response.libraryResponse(self, exchange)
        guard let made = unsafe made else { return false }
        if response.status == 101 {
            watch.remove(exchange.descriptor)
        } else {
            watch.set(exchange.descriptor, forByteCount: byteCount)
        }
        let result = unsafe MHD_queue_response(connection.pointer, UInt32(response.status), made)
        unsafe MHD_destroy_response(made)
        return result == .YES
    }

    private func answer(_ exchange: HTTPExchange, _ connection: HTTPConnection) -> ServerResponse {
        guard case .route(let route, _) = exchange.match else { return ServerResponse(ServerFailure(.unknownRoute)) }
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

private func loop(_ context: UnsafeMutableRawPointer?) -> HTTPLoop {
    // SAFETY: a loop outlives its daemon: `HTTPLoop.stop` ends it.
    unsafe Unmanaged<HTTPLoop>.fromOpaque(context!).takeUnretainedValue()
}

func acceptsPeer(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ byteCount: socklen_t
) -> MHD_Result {
    unsafe loop(context).server.counts.hasPlace(HTTPConnection.peer(address)) ? .YES : .NO
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
