// One request on its way through libmicrohttpd. The one thing to keep true: a body is bounded before it is kept,
// and what was taken from the budget is given back once.

internal import CMicroHTTPD
internal import CoffretBase
internal import CoffretNet
internal import Glibc
internal import Synchronization

/// The connection that a callback was called for.
@safe struct HTTPConnection {
    // SAFETY: the library's pointer; used within its callbacks only.
    let pointer: OpaquePointer

    func header(_ name: String) -> String? { value(.HEADER_KIND, name) }

    /// A field as the library holds it, for those that every request is asked for.
    func field(_ name: StaticString) -> UnsafePointer<CChar>? {
        // SAFETY: a static string ends with a zero.
        unsafe UnsafeRawPointer(name.utf8Start).withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount) {
            unsafe MHD_lookup_connection_value(pointer, .HEADER_KIND, $0)
        }
    }

    /// What is kept of this connection; nil when it could not be made.
    var state: ConnectionState? {
        guard let opaque = unsafe coffret_mhd_state(pointer) else { return nil }
        // SAFETY: retained when the connection began, released when the library says that it ended.
        return unsafe Unmanaged<ConnectionState>.fromOpaque(opaque).takeUnretainedValue()
    }
    func query(_ name: String) -> String? { value(.GET_ARGUMENT_KIND, name) }

    private func value(_ kind: MHD_ValueKind, _ name: String) -> String? {
        let text = unsafe MHD_lookup_connection_value(pointer, kind, name)
        return unsafe text.map { unsafe String(cString: $0) }
    }

    var descriptor: Int32 { unsafe coffret_mhd_socket(pointer) }

    /// The peer's network.
    var peer: [UInt8] { unsafe Self.peer(coffret_mhd_peer(pointer)) }

    static func peer(_ address: UnsafePointer<sockaddr>?) -> [UInt8] {
        guard let address = unsafe address else { return [] }
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                unsafe PeerNetwork.of(address.pointee.sin_addr)
            }
        case AF_INET6:
            return unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                unsafe PeerNetwork.of(address.pointee.sin6_addr)
            }
        default: return []
        }
    }
}

/// What is known of a connection, from one request to the next.
// SAFETY: the library calls for one connection from one thread at a time.
final class ConnectionState: @unchecked Sendable {
    /// A token that was looked up, as it stands in the field, and whose it is.
    struct Session {
        let digits: [UInt8]
        let token: [UInt8]
        let owner: SessionOwner
        let expiry: Int64
        /// What `ServerStore.sessionChanges` was before the look-up; another value may mean that it ended.
        let changes: Int
        let bucket: RateBucket
    }

    let descriptor: Int32
    /// The network that limits are counted for.
    let peer: [UInt8]
    let place: ConnectionPlace
    let bucket: RateBucket
    /// Whose daemon it belongs to.
    let loop: HTTPLoop
    var session: Session?

    init(descriptor: Int32, peer: [UInt8], place: ConnectionPlace, bucket: RateBucket, loop: HTTPLoop) {
        self.descriptor = descriptor
        self.peer = peer
        self.place = place
        self.bucket = bucket
        self.loop = loop
    }
}

/// What is known of one request between the library's calls.
// SAFETY: the library calls for one connection from one thread at a time.
final class HTTPExchange: @unchecked Sendable {
    let match: RouteTable.Match
    let startedAt = Monotonic.nanoseconds
    let descriptor: Int32
    var body: [UInt8] = []
    var byteCountStated = 0
    /// The memory that its body takes, and later its stream.
    var share: BudgetShare?
    var owner: SessionOwner?
    var token: [UInt8] = []
    /// What will be answered whatever the body is.
    var refusal: ServerResponse?
    /// What a lane has found.
    var response: ServerResponse?
    /// When the asker may come again, if that is why he is refused.
    var retryAfterSeconds = 1

    init(_ match: RouteTable.Match, descriptor: Int32) {
        self.match = match
        self.descriptor = descriptor
    }

    var row: Route? { if case .route(let row, _) = match { row } else { nil } }
    var routeName: String { row?.name ?? "unknown" }
}

/// What the library calls for a socket that left HTTP.
final class UpgradeContext: Sendable {
    let hub: LiveHub
    let kind: LiveKind

    init(hub: LiveHub, kind: LiveKind) {
        self.hub = hub
        self.kind = kind
    }

    /// Nobody will serve it.
    func refuse() {
        if case .relayCreator(let id) = kind { hub.rooms.close(id) }
    }
}

/// A stream with the watch that gives it time and the budget that gives it memory for each batch.
final class StreamContext: Sendable {
    let stream: ByteStream
    let watch: ConnectionWatch
    let metrics: ServerMetrics
    let log: ServerLog
    let descriptor: Int32
    private let share: BudgetShare?

    init(_ stream: ByteStream, _ server: HTTPServer, _ exchange: HTTPExchange) {
        self.stream = stream
        watch = server.watch
        metrics = server.metrics
        log = server.log
        descriptor = exchange.descriptor
        share = exchange.share
    }

    /// Copies the next bytes; what is held is what is left of a batch.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if stream.isEmpty, share?.set(ServerStore.batchByteCount) == false { throw ServerFailure(.busy) }
        let count = try unsafe stream.read(into: buffer)
        _ = share?.set(stream.isEmpty ? 0 : min(stream.byteCount, share?.byteCount ?? 0))
        return count
    }
}

extension ServerResponse {
    /// The library's form of this answer.
    @unsafe func libraryResponse(_ server: HTTPServer, _ exchange: HTTPExchange) -> OpaquePointer? {
        let response: OpaquePointer?
        switch body {
        case .empty: unsafe response = unsafe Self.copied([], type: nil)
        case .cbor(let bytes): unsafe response = unsafe Self.copied(bytes, type: "application/cbor")
        case .octets(let bytes): unsafe response = unsafe Self.copied(bytes, type: "application/octet-stream")
        case .text(let text): unsafe response = unsafe Self.copied(Array(text.utf8), type: "text/plain; version=0.0.4")
        case .page(let bytes): unsafe response = unsafe Self.copied(bytes, type: "text/html; charset=utf-8")
        case .stream(let stream):
            let context = StreamContext(stream, server, exchange)
            unsafe response = unsafe MHD_create_response_from_callback(
                UInt64.max, 128 << 10, readStream, Unmanaged.passRetained(context).toOpaque(), releaseStream)
            _ = unsafe MHD_add_response_header(response, "Content-Type", "application/octet-stream")
        case .webSocket(let kind):
            let context = UpgradeContext(hub: server.hub, kind: kind)
            unsafe response = unsafe MHD_create_response_for_upgrade(
                upgraded, Unmanaged.passRetained(context).toOpaque())
        }
        for field in fields { _ = unsafe MHD_add_response_header(response, field.name, field.value) }
        _ = unsafe MHD_add_response_header(response, "Cache-Control", "no-store")
        return unsafe response
    }

    private static func copied(_ bytes: [UInt8], type: String?) -> OpaquePointer? {
        let response = unsafe bytes.withUnsafeBytes { buffer in
            // The library copies them and changes nothing.
            unsafe MHD_create_response_from_buffer(
                buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
        }
        if let type { _ = unsafe MHD_add_response_header(response, "Content-Type", type) }
        return unsafe response
    }

    var byteCount: Int {
        switch body {
        case .cbor(let bytes), .octets(let bytes): bytes.count
        case .text(let text): text.utf8.count
        case .page(let bytes): bytes.count
        case .empty, .stream, .webSocket: 0
        }
    }
}

private func readStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
    guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
    // SAFETY: retained when the response was made, released by `releaseStream`.
    let stream = unsafe Unmanaged<StreamContext>.fromOpaque(context).takeUnretainedValue()
    do {
        let count = try unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
        guard count > 0 else { return -1 }
        stream.metrics.sent(count)
        stream.watch.set(stream.descriptor, forByteCount: count)
        return count
    } catch {
        // The status is out; a stream without its last mark says that it broke.
        stream.log.failure(ServerFailure(error))
        return -2
    }
}

private func releaseStream(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<StreamContext>.fromOpaque(context).release()
}

private func upgraded(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ request: UnsafeMutableRawPointer?,
    _ extra: UnsafePointer<CChar>?, _ extraByteCount: Int, _ socket: Int32, _ handle: OpaquePointer?
) {
    guard let context = unsafe context, let pointer = unsafe handle, let connection = unsafe connection else { return }
    // SAFETY: retained when the response was made; the library upgrades a response once.
    let upgrade = unsafe Unmanaged<UpgradeContext>.fromOpaque(context).takeRetainedValue()
    let handle = unsafe UpgradeHandle(pointer: pointer)
    guard let state = unsafe HTTPConnection(pointer: connection).state else { return }
    // Messages are short, and none waits for the one before.
    var yes: Int32 = 1
    unsafe setsockopt(state.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    let carrier: UpgradedSocket.Carrier
    if socket == state.descriptor {
        // The peer's own socket: a second descriptor for it is all that is needed, and the library forgets the rest.
        state.loop.giveBack(handle)
        let own = coffret_mhd_own_descriptor(socket)
        guard own >= 0 else { return upgrade.refuse() }
        carrier = .own(own, state.place)
    } else {
        carrier = .library(socket, peer: state.descriptor, handle, state.loop)
    }
    let early = unsafe [UInt8](UnsafeRawBufferPointer(start: extra, count: extraByteCount))
    upgrade.hub.post(.adopt(UpgradedSocket(carrier: carrier, kind: upgrade.kind, early: early)))
}
