// Which request is meant. The one thing to keep true: a path is matched whole, ids in their one spelling, and what is
// not in the table is not there; a test holds the table against Spec/openapi.yaml.

internal import CoffretBase
internal import CoffretTrust
internal import CoffretWire
internal import Glibc

/// A request's target with what its path says.
enum Route: Equatable {
    case health, metrics
    case loginChallenge, login, logout, register
    case chain(ChainKind, [UInt8]), appendChain(ChainKind, [UInt8])
    case links, chainUpdates
    case usage
    case zones, createZone
    case deleteZone([UInt8]), head([UInt8]), push([UInt8]), changes([UInt8]), fetch([UInt8])
    case storedObjects([UInt8]), storedChunks([UInt8]), sweep([UInt8]), collections([UInt8])
    case chunk([UInt8], [UInt8]), putChunk([UInt8], [UInt8]), deleteChunk([UInt8], [UInt8]), missing([UInt8])
    case acks([UInt8]), putAck([UInt8], UniqueID)
    case postMail([UInt8]), mail([UInt8]), deleteMail([UInt8], UniqueID)
    case events, pairings, relayCreate
    case relayJoin([UInt8])
}

/// What an address takes, and what is known of it before a request comes.
final class RouteRow: Sendable {
    /// Its place in the table.
    let number: Int
    let method: String
    /// The path as in Spec/openapi.yaml.
    let template: String
    /// The name in logs and metrics, without ids.
    let name: String
    let needsSession: Bool
    /// Whether it costs as much as a login, and has its own limit.
    let isCostly: Bool
    let isWebSocket: Bool
    let lane: RouteTable.Lane
    /// The longest body that is read.
    let bodyByteCountMax: Int
    /// The route of a path's ids; nil if one of them is not as it must be.
    let make: @Sendable (RouteTable.Parts) -> Route?

    init(_ number: Int, _ definition: RouteTable.Definition) {
        self.number = number
        method = definition.method
        template = definition.template
        name = definition.name
        needsSession = definition.access == .session
        isCostly = definition.access == .costly
        isWebSocket = definition.isWebSocket
        lane = definition.lane
        bodyByteCountMax = definition.body
        make = definition.make
    }
}

/// All addresses.
enum RouteTable {
    /// The ids of a path in their order, and the kind of chain if it names one.
    struct Parts {
        var ids: [[UInt8]] = []
        var kind = ChainKind.device
    }

    enum Access {
        case session, open, costly
    }

    /// Where a request is answered.
    enum Lane {
        /// On the thread that serves the connection: a look-up, or what is sent piece by piece.
        case here
        case reading, writing
    }

    struct Definition {
        let method: String
        let template: String
        let name: String
        var access = Access.session
        var body = 0
        var isWebSocket = false
        let lane: Lane
        let make: @Sendable (Parts) -> Route?

        init(
            _ method: String, _ template: String, _ name: String, _ access: Access = .session, body: Int = 0,
            isWebSocket: Bool = false, _ lane: Lane? = nil, _ make: @escaping @Sendable (Parts) -> Route?
        ) {
            self.method = method
            self.template = template
            self.name = name
            self.access = access
            self.body = body
            self.isWebSocket = isWebSocket
            self.lane = lane ?? (method == "GET" || method == "HEAD" ? .here : .writing)
            self.make = make
        }
    }

    private static let link = ServerLimits.linkByteCountMax + 1_024
    private static let addresses = ServerLimits.addressCountMax * 34 + 16
    private static let list = ServerLimits.addressCountMax * 70 + 16
    private static let updates = ServerLimits.chainCountMaxPerRequest * 64 + 16
    private static let sweep = 2 * ServerLimits.sweepAddressCountMax * 34 + 256
    private static let mailEntry = ServerLimits.mailboxEntryByteCountMax + 64

    /// The paths that say more about an address stand before those with an id in its place.
    private static let definitions: [Definition] = [
        Definition("GET", "/health", "health", .open) { _ in .health },
        Definition("GET", "/metrics", "metrics", .open) { _ in .metrics },
        Definition("POST", "/v1/login/challenge", "login.challenge", .costly, body: 1 << 10, .here) { _ in
            .loginChallenge
        },
        Definition("POST", "/v1/login", "login", .costly, body: 1 << 10) { _ in .login },
        Definition("POST", "/v1/logout", "logout") { _ in .logout },
        Definition("POST", "/v1/accounts", "accounts.register", .costly, body: link) { _ in .register },
        Definition("GET", "/v1/chains/{kind}/{id}", "chains.read", .session, .reading) { .chain($0.kind, $0.ids[0]) },
        Definition("POST", "/v1/chains/{kind}/{id}", "chains.append", body: link) { .appendChain($0.kind, $0.ids[0]) },
        Definition("POST", "/v1/chains/updates", "chains.updates", body: updates, .reading) { _ in .chainUpdates },
        Definition("POST", "/v1/links", "links.post", body: ServerLimits.pushByteCountMax) { _ in .links },
        Definition("GET", "/v1/usage", "accounts.usage") { _ in .usage },
        Definition("GET", "/v1/zones", "zones.list") { _ in .zones },
        Definition("POST", "/v1/zones", "zones.create", body: link) { _ in .createZone },
        Definition("POST", "/v1/zones/{zone}/delete", "zones.delete", body: 256) { .deleteZone($0.ids[0]) },
        Definition("GET", "/v1/zones/{zone}/head", "zones.head") { .head($0.ids[0]) },
        Definition("POST", "/v1/zones/{zone}/push", "zones.push", body: ServerLimits.pushByteCountMax) {
            .push($0.ids[0])
        },
        Definition("GET", "/v1/zones/{zone}/changes", "zones.changes") { .changes($0.ids[0]) },
        Definition("POST", "/v1/zones/{zone}/fetch", "zones.fetch", body: addresses, .reading) { .fetch($0.ids[0]) },
        Definition("GET", "/v1/zones/{zone}/objects", "objects.list", .session, .reading) { .storedObjects($0.ids[0]) },
        Definition("POST", "/v1/zones/{zone}/sweep", "zones.sweep", body: sweep) { .sweep($0.ids[0]) },
        Definition("GET", "/v1/zones/{zone}/collections", "collections.list", .session, .reading) {
            .collections($0.ids[0])
        },
        Definition("GET", "/v1/zones/{zone}/acks", "acks.read", .session, .reading) { .acks($0.ids[0]) },
        Definition(
            "PUT", "/v1/zones/{zone}/acks/{device}", "acks.write", body: ServerLimits.acknowledgementByteCountMax
        ) { parts in UniqueID(bytes: parts.ids[1]).map { .putAck(parts.ids[0], $0) } },
        Definition("GET", "/v1/zones/{zone}/chunks", "chunks.list", .session, .reading) { .storedChunks($0.ids[0]) },
        Definition("POST", "/v1/zones/{zone}/chunks/missing", "chunks.missing", body: list, .reading) {
            .missing($0.ids[0])
        },
        Definition("GET", "/v1/zones/{zone}/chunks/{address}", "chunks.read") { .chunk($0.ids[0], $0.ids[1]) },
        Definition("HEAD", "/v1/zones/{zone}/chunks/{address}", "chunks.size") { .chunk($0.ids[0], $0.ids[1]) },
        Definition(
            "PUT", "/v1/zones/{zone}/chunks/{address}", "chunks.write", body: ServerLimits.chunkByteCountMax
        ) { .putChunk($0.ids[0], $0.ids[1]) },
        Definition("DELETE", "/v1/zones/{zone}/chunks/{address}", "chunks.delete") {
            .deleteChunk($0.ids[0], $0.ids[1])
        },
        Definition("GET", "/v1/mailboxes/{account}", "mail.read", .session, .reading) { .mail($0.ids[0]) },
        Definition("POST", "/v1/mailboxes/{account}", "mail.post", body: mailEntry) { .postMail($0.ids[0]) },
        Definition("DELETE", "/v1/mailboxes/{account}/{entry}", "mail.delete") { parts in
            UniqueID(bytes: parts.ids[1]).map { .deleteMail(parts.ids[0], $0) }
        },
        Definition("GET", "/v1/events", "events", isWebSocket: true) { _ in .events },
        Definition("GET", "/v1/pairings", "pairings.list") { _ in .pairings },
        Definition("GET", "/v1/relay", "relay.create", .costly, isWebSocket: true, .writing) { _ in .relayCreate },
        Definition("GET", "/v1/relay/{relay}", "relay.join", .costly, isWebSocket: true) { .relayJoin($0.ids[0]) },
    ]

    static let rows = definitions.enumerated().map { RouteRow($0.offset, $0.element) }
    /// One place more than there are rows: for what is not there.
    static let unknownNumber = rows.count

    // MARK: Matching

    enum Match {
        case route(Route, RouteRow)
        /// The path is there and takes others: the methods that it takes, as in `Allow`.
        case method(allowed: String)
        case unknown
        case malformed
    }

    /// A part of a path: plain values, since every request is compared with several.
    private struct Segment {
        enum Kind {
            case word, id, chainKind
        }

        let kind: Kind
        /// Where a word stands in the template.
        let start: Int
        let count: Int
        /// Of an id.
        let byteCount: Int
    }

    /// A path with its rows.
    private final class Path: Sendable {
        let segments: [Segment]
        let template: [UInt8]
        let rows: [RouteRow]
        let allowed: String

        init(_ rows: [RouteRow]) {
            self.rows = rows
            allowed = rows.map(\.method).joined(separator: ", ")
            template = Array(rows[0].template.utf8)
            var start = 1
            segments = rows[0].template.split(separator: "/").map { word in
                let count = word.utf8.count
                defer { start += count + 1 }
                let (kind, byteCount): (Segment.Kind, Int) =
                    switch word {
                    case "{zone}", "{address}", "{account}", "{id}": (.id, 32)
                    case "{device}", "{entry}", "{relay}": (.id, 16)
                    case "{kind}": (.chainKind, 0)
                    default: (.word, 0)
                    }
                return Segment(kind: kind, start: start, count: count, byteCount: byteCount)
            }
        }
    }

    private static let segmentCountMax = 5
    /// By the number of segments.
    private static let paths: [[Path]] = {
        var paths = [[Path]](repeating: [], count: segmentCountMax + 1)
        var templates: [String] = []
        for row in rows where !templates.contains(row.template) {
            templates.append(row.template)
            let path = Path(rows.filter { $0.template == row.template })
            paths[path.segments.count].append(path)
        }
        return paths
    }()

    /// Finds the route of a method and a path without query.
    static func match(_ method: String, _ path: UnsafeBufferPointer<UInt8>) -> Match {
        // Where each segment begins, and where the one after the last would.
        var starts: (Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0)
        return unsafe withUnsafeMutableBytes(of: &starts) { raw in
            let starts = unsafe raw.bindMemory(to: Int.self)
            guard unsafe path.first == UInt8(ascii: "/") else { return .unknown }
            var count = 0
            for index in path.indices where unsafe path[index] == UInt8(ascii: "/") {
                guard count < segmentCountMax else { return .unknown }
                unsafe starts[count] = index + 1
                count += 1
            }
            unsafe starts[count] = path.count + 1
            for candidate in paths[count] {
                if unsafe agrees(candidate, path, UnsafeBufferPointer(starts)) {
                    return unsafe found(candidate, method, path, UnsafeBufferPointer(starts))
                }
            }
            return .unknown
        }
    }

    /// Whether all words of a path are there.
    private static func agrees(
        _ candidate: Path, _ path: UnsafeBufferPointer<UInt8>, _ starts: UnsafeBufferPointer<Int>
    ) -> Bool {
        unsafe candidate.template.withUnsafeBufferPointer { template in
            for index in candidate.segments.indices {
                let segment = candidate.segments[index]
                guard segment.kind == .word else { continue }
                let count = unsafe starts[index + 1] - 1 - starts[index]
                guard count == segment.count,
                    unsafe memcmp(template.baseAddress! + segment.start, path.baseAddress! + starts[index], count) == 0
                else { return false }
            }
            return true
        }
    }

    private static func found(
        _ candidate: Path, _ method: String, _ path: UnsafeBufferPointer<UInt8>, _ starts: UnsafeBufferPointer<Int>
    ) -> Match {
        guard let row = candidate.rows.first(where: { $0.method == method }) else {
            return .method(allowed: candidate.allowed)
        }
        var parts = Parts()
        parts.ids.reserveCapacity(2)
        for index in candidate.segments.indices {
            let segment = candidate.segments[index]
            guard segment.kind != .word else { continue }
            let bytes = unsafe UnsafeBufferPointer(rebasing: path[starts[index]..<starts[index + 1] - 1])
            guard segment.kind == .id else {
                switch unsafe String(decoding: bytes, as: UTF8.self) {
                case "device": parts.kind = .device
                case "member": parts.kind = .member
                default: return .unknown
                }
                continue
            }
            guard let id = unsafe hex(bytes, segment.byteCount) else { return .malformed }
            parts.ids.append(id)
        }
        return row.make(parts).map { .route($0, row) } ?? .malformed
    }

    /// Lower-case digits of exactly so many bytes.
    static func hex(_ digits: UnsafeBufferPointer<UInt8>, _ byteCount: Int) -> [UInt8]? {
        guard digits.count == byteCount * 2 else { return nil }
        var wrong: UInt8 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { bytes, count in
            for index in 0..<byteCount {
                let high = unsafe digit(digits[2 * index])
                let low = unsafe digit(digits[2 * index + 1])
                wrong |= high | low
                unsafe bytes[index] = high << 4 | low & 15
            }
            count = byteCount
        }
        return wrong & 0x80 == 0 ? bytes : nil
    }

    /// 0 to 15, or 128 for what is no lower-case digit.
    private static func digit(_ character: UInt8) -> UInt8 {
        switch character {
        case 48...57: character - 48
        case 97...102: character - 87
        default: 0x80
        }
    }
}

/// The table for tests and tools.
package enum ServerInterface {
    /// Methods and path templates of all that the server answers, and their names in its log.
    package static var operations: [(method: String, path: String, name: String)] {
        RouteTable.rows.map { ($0.method, $0.template, $0.name) }
    }
}
