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
    private let budget: MemoryBudget
    /// For those who have no session: whoever has one does not wait for them.
    private let strangersBudget = MemoryBudget(byteCountMax: strangersByteCountMax)
    let counts: ConnectionCounts
    private let loops = Mutex<[HTTPLoop]>([])
    /// The socket that each loop has a descriptor of its own for.
    private let listening = Atomic<Int32>(-1)
    /// Whether only health and metrics are served: the operator's own address.
    private let isMetricsOnly: Bool
    private let lanes: WorkLanes

    /// A body of so many bytes may name more than a thousand rows.
    private static let largeByteCount = 128 << 10
    private static let laneMilliseconds: Int64 = 300_000
    private static let tlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
    private static let strangersByteCountMax = 16 << 20
    /// Bodies up to this length, logins among them, are always taken: there are no more than connections.
    private static let smallByteCountMax = 1 << 10
    /// The first memory that a longer body gets; then twice as much when it is full.
    private static let firstByteCount = 64 << 10

    init(
        service: ServerService, configuration: ServerConfiguration, metrics: ServerMetrics, log: ServerLog,
        hub: LiveHub, lanes: WorkLanes, isMetricsOnly: Bool = false
    ) {
        self.lanes = lanes
        self.service = service
        self.configuration = configuration
        self.metrics = metrics
        self.log = log
        self.hub = hub
        self.isMetricsOnly = isMetricsOnly
        store = service.store
        // Descriptors are the lowest free numbers: two listeners' connections, and what else the process has open.
        watch = ConnectionWatch(descriptorCountMax: 2 * configuration.connectionCountMax + 4_096, metrics: metrics)
        let perAddress = Double(configuration.requestsPerSecondPerAddress)
        addressLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 10, perSecond: perAddress))
        let perAccount = Double(configuration.requestsPerSecondPerAccount)
        accountLimit = RateLimiter(RateLimiter.Rate(burst: perAccount * 4, perSecond: perAccount))
        // A login costs a signature and two durable writes.
        loginLimit = RateLimiter(RateLimiter.Rate(burst: perAddress * 2, perSecond: max(perAddress / 5, 1)))
        budget = MemoryBudget(byteCountMax: configuration.bodyMemoryByteCount)
        counts = ConnectionCounts(
            countMax: configuration.connectionCountMax, countMaxPerPeer: configuration.connectionCountMaxPerAddress,
            isBehindProxy: configuration.trustsForwardedFor)
    }

    /// Serves a listening socket, which it takes over.
    func start(socket: Int32, certificate: String? = nil, key: String? = nil) throws {
        listening.store(socket, ordering: .relaxed)
        watch.start()
        do {
            let made = try makeLoops(certificate, key)
            loops.withLock { $0 = made }
        } catch {
            stop()
            throw error
        }
    }

    /// Serves new connections with another certificate; those that there are go on with theirs.
    func renew(certificate: String, key: String) throws {
        let made = try makeLoops(certificate, key)
        let before = loops.withLock { loops in
            defer { loops = made + loops.filter { !$0.isOver } }
            return loops
        }
        for loop in before { loop.isOver ? loop.stop() : loop.retire() }
    }

    private func makeLoops(_ certificate: String?, _ key: String?) throws -> [HTTPLoop] {
        var flags = MHD_USE_EPOLL.rawValue | MHD_ALLOW_UPGRADE.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        var options = unsafe [
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: configuration.connectionCountMax, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: 16 << 10, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: 70, ptr_value: nil),
        ]
        let priorityText = unsafe strdup(Self.tlsPriorities)
        defer { unsafe free(priorityText) }
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
            unsafe options.append(MHD_OptionItem(option: .HTTPS_PRIORITIES, value: 0, ptr_value: priorityText))
        }
        unsafe options.append(MHD_OptionItem(option: .END, value: 0, ptr_value: nil))
        var made: [HTTPLoop] = []
        for _ in 0..<configuration.threadCount {
            // Each daemon closes its own when it ends.
            let own = coffret_mhd_own_descriptor(listening.load(ordering: .relaxed))
            let listening = unsafe [MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(own), ptr_value: nil)]
            let loop = HTTPLoop(self)
            guard own >= 0, unsafe loop.start(flags, listening + options) else {
                for loop in made { loop.end() }
                for loop in made { loop.stop() }
                throw ServerFailure(
                    .listenFailed,
                    certificate == nil
                        ? "the HTTP library did not start"
                        : "the HTTP library did not start: are tls-certificate and tls-key good, and do they belong together?"
                )
            }
            made.append(loop)
        }
        return made
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
        let socket = listening.exchange(-1, ordering: .relaxed)
        if socket >= 0 { close(socket) }
    }

    /// A connection was accepted.
    func opened(_ connection: HTTPConnection, _ loop: HTTPLoop) -> ConnectionState {
        let (peer, descriptor) = (connection.peer, connection.descriptor)
        watch.set(descriptor, ConnectionWatch.headMilliseconds)
        let bucket = addressLimit.bucket(peer, now: Monotonic.nanoseconds)
        return ConnectionState(
            descriptor: descriptor, peer: peer, place: ConnectionPlace(counts, peer), bucket: bucket, loop: loop)
    }

    // MARK: A request, call by call

    /// The head is whole: decides whether the body is wanted.
    func begin(_ exchange: HTTPExchange, _ connection: HTTPConnection, _ state: ConnectionState) {
        do {
            let row = try admit(exchange, connection, state)
            let stated = try bodyByteCount(connection, row)
            exchange.byteCountStated = stated
            // Also without a body: what is left of the time between requests is not for the answer.
            watch.set(exchange.descriptor, forByteCount: stated)
        } catch {
            let failure = ServerFailure(error)
            var refusal = ServerResponse(failure, retryAfterSeconds: exchange.retryAfterSeconds)
            if failure.code == .method, case .method(let allowed) = exchange.match {
                refusal.fields.append(("Allow", allowed))
            }
            exchange.refusal = refusal
        }
    }

    private func admit(
        _ exchange: HTTPExchange, _ connection: HTTPConnection, _ state: ConnectionState
    ) throws -> Route {
        let now = exchange.startedAt
        let asker = try forwarded(connection)
        let bucket = asker.map { addressLimit.bucket($0, now: now) } ?? state.bucket
        try take(bucket, addressLimit.rate, exchange)
        let row: Route
        switch exchange.match {
        case .route(let found, _): row = found
        case .unknown: throw ServerFailure(.unknownRoute)
        case .method: throw ServerFailure(.method)
        case .malformed: throw ServerFailure(.malformed)
        }
        if isMetricsOnly || configuration.metricsListen != nil || !configuration.isLocal {
            guard (row.name == "metrics") == isMetricsOnly || row.name == "health" else {
                throw ServerFailure(.unknownRoute)
            }
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
        exchange.share = BudgetShare(
            exchange.owner == nil ? strangersBudget : budget, exchange.owner?.accountID ?? asker ?? state.peer)
        return row
    }

    private func take(
        _ bucket: RateBucket, _ rate: RateLimiter.Rate, _ exchange: HTTPExchange
    ) throws {
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
    ) throws -> ConnectionState.Session {
        let prefix: StaticString = "Bearer "
        guard let text = unsafe connection.field("Authorization"),
            unsafe strncmp(text, prefix.utf8Start, 7) == 0, unsafe strnlen(text + 7, 65) == 64
        else { throw ServerFailure(.sessionUnknown) }
        return try unsafe (text + 7).withMemoryRebound(to: UInt8.self, capacity: 64) {
            digits in
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

    /// The network that a trusted proxy names; nil without one.
    ///
    /// - Throws: `.malformed` for what is no address.
    private func forwarded(_ connection: HTTPConnection) throws -> [UInt8]? {
        guard configuration.trustsForwardedFor, let text = connection.header("X-Forwarded-For") else { return nil }
        // The last entry is the proxy's own; what stands before it is the client's word.
        let last = text.split(separator: ",", omittingEmptySubsequences: false).last ?? ""
        guard let network = PeerNetwork.of(last) else { throw ServerFailure(.malformed, "x-forwarded-for") }
        return network
    }

    private func bodyByteCount(_ connection: HTTPConnection, _ row: Route) throws -> Int {
        guard unsafe connection.field("Transfer-Encoding") == nil else { throw ServerFailure(.lengthRequired) }
        guard let text = unsafe connection.field("Content-Length") else { return 0 }
        guard let count = try unsafe ServerRequest.number(String(cString: text), max: .max) else { return 0 }
        guard count <= Int64(row.bodyByteCountMax) else { throw ServerFailure(.tooLarge) }
        return Int(count)
    }

    func receive(_ exchange: HTTPExchange, _ bytes: UnsafeRawBufferPointer) {
        guard exchange.refusal == nil, exchange.body.count + bytes.count <= exchange.byteCountStated else { return }
        let wanted = exchange.body.count + bytes.count
        if wanted > Self.smallByteCountMax, wanted > exchange.share?.byteCount ?? 0 {
            let next = min(max(2 * wanted, Self.firstByteCount), exchange.byteCountStated)
            guard exchange.share?.set(next) == true else {
                exchange.refusal = ServerResponse(ServerFailure(.busy))
                exchange.body = []
                release(exchange)
                return
            }
            exchange.body.reserveCapacity(next)
        }
        unsafe exchange.body += bytes
    }

    /// The request is whole: answers it.
    func finish(_ exchange: HTTPExchange, _ connection: HTTPConnection) -> Bool {
        if exchange.refusal == nil, exchange.response == nil, let lane = lanes.lane(of: exchange.row),
            let loop = connection.state?.loop
        {
            let request = request(exchange, connection, isDetached: true)
            exchange.body = []
            // Until its turn has come and its work is done; what is in the way is the server's own time.
            watch.set(exchange.descriptor, Self.laneMilliseconds)
            let suspended = SuspendedConnection(connection)
            let isTaken = lane.submit(
                for: exchange.share?.asker ?? [], isLarge: exchange.byteCountStated >= Self.largeByteCount
            ) { [self] in
                exchange.response = answer(request)
                loop.resume(suspended)
            }
            if !isTaken {
                exchange.refusal = ServerResponse(ServerFailure(.busy))
                loop.resume(suspended)
            }
            return true
        }
        var response = exchange.refusal ?? exchange.response ?? answer(request(exchange, connection))
        if case .webSocket = response.body { response = upgrade(response, connection) }
        exchange.body = []
        release(exchange)
        if case .stream = response.body, exchange.share?.set(ServerStore.batchByteCount) != true {
            response = ServerResponse(ServerFailure(.busy))
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

    /// - Parameter isDetached: whether it is answered where the library's connection must not be asked.
    private func request(
        _ exchange: HTTPExchange, _ connection: HTTPConnection, isDetached: Bool = false
    ) -> ServerRequest? {
        guard case .route(let route, let path) = exchange.match else { return nil }
        guard isDetached else {
            return ServerRequest(
                route: route, path: path, body: exchange.body, owner: exchange.owner, token: exchange.token,
                query: { connection.query($0) }, header: { connection.header($0) })
        }
        let query = Dictionary(uniqueKeysWithValues: ServerRequest.queryNames.map { ($0, connection.query($0)) })
        let header = Dictionary(uniqueKeysWithValues: ServerRequest.headerNames.map { ($0, connection.header($0)) })
        return ServerRequest(
            route: route, path: path, body: exchange.body, owner: exchange.owner, token: exchange.token,
            query: { query[$0] ?? nil }, header: { header[$0] ?? nil })
    }

    private func answer(_ request: ServerRequest?) -> ServerResponse {
        guard let request else { return ServerResponse(ServerFailure(.unknownRoute)) }
        do { return try request.route.answer(service, request) } catch {
            let failure = ServerFailure(error)
            if failure.code.status >= 500 { log.failure(failure) }
            return ServerResponse(failure)
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

    func release(_ exchange: HTTPExchange) {
        _ = exchange.share?.set(0)
    }
}
