// Which request is meant. The one thing to keep true: a path is matched whole, ids in their one spelling, and what is
// not in the table is not there; a test holds the table against Spec/openapi.yaml.

internal import CoffretBase
internal import CoffretTrust
internal import CoffretWire
internal import Glibc

/// What an address takes, how it is answered, and what is known of it before a request comes.
final class Route: Sendable {
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
    let answer: RouteTable.Handler

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
        answer = definition.answer
    }
}

/// All addresses.
enum RouteTable {
    typealias Handler = @Sendable (ServerService, ServerRequest) throws -> ServerResponse
    typealias OwnerHandler = @Sendable (ServerService, ServerRequest, SessionOwner) throws -> ServerResponse

    /// The ids of a path in their order, and the kind of chain if it names one.
    struct Parts {
        var ids: [[UInt8]] = []
        var kind = ChainKind.device
        /// A name of several segments, with which a path ends.
        var tile = ""
    }

    enum Access {
        case session, open, costly
    }

    /// Where a request is answered.
    enum Lane {
        /// On the thread that serves the connection: a look-up, or what is sent piece by piece.
        case here
        case reading, writing

        /// What a method suggests.
        static func usual(_ method: String) -> Lane { method == "GET" || method == "HEAD" ? .here : .writing }
    }

    struct Definition {
        let method: String
        let template: String
        let name: String
        let access: Access
        let body: Int
        let isWebSocket: Bool
        let lane: Lane
        let answer: Handler

        /// An address for those without a session.
        ///
        /// - Parameter body: its longest, in bytes.
        static func open(
            _ method: String, _ template: String, _ name: String, _ access: Access = .open, body: Int = 0,
            isWebSocket: Bool = false, _ lane: Lane? = nil, _ answer: @escaping Handler
        ) -> Definition {
            Definition(
                method: method, template: template, name: name, access: access, body: body, isWebSocket: isWebSocket,
                lane: lane ?? .usual(method), answer: answer)
        }

        /// An address for a session's account.
        ///
        /// - Parameter body: its longest, in bytes.
        static func owned(
            _ method: String, _ template: String, _ name: String, body: Int = 0, isWebSocket: Bool = false,
            _ lane: Lane? = nil, _ answer: @escaping OwnerHandler
        ) -> Definition {
            open(method, template, name, .session, body: body, isWebSocket: isWebSocket, lane) { service, request in
                guard let owner = request.owner else { throw ServerFailure(.sessionUnknown) }
                return try answer(service, request, owner)
            }
        }
    }

    static let rows = (accounts + zones + log + live).enumerated().map { Route($0.offset, $0.element) }
    /// One place more than there are rows: for what is not there.
    static let unknownNumber = rows.count

    // MARK: Matching

    enum Match {
        case route(Route, Parts)
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
        let rows: [Route]
        let allowed: String

        init(_ rows: [Route]) {
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

    private static let tile = "{tile}"
    /// Paths that end with a tile's name, and what stands before it; the longer ones first.
    private static let tilePaths: [(start: [UInt8], rows: [Route])] = {
        let templates = Set(rows.map(\.template)).filter { $0.hasSuffix(tile) }
        return templates.sorted { $0.utf8.count > $1.utf8.count }.map { template in
            (Array(template.utf8.dropLast(tile.utf8.count)), rows.filter { $0.template == template })
        }
    }()

    private static let segmentCountMax = 5
    /// By the number of segments.
    private static let paths: [[Path]] = {
        var paths = [[Path]](repeating: [], count: segmentCountMax + 1)
        var templates: [String] = []
        for row in rows where !templates.contains(row.template) && !row.template.hasSuffix(tile) {
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
        for (start, rows) in tilePaths where unsafe path.starts(with: start) {
            guard let row = rows.first(where: { $0.method == method }) else {
                return .method(allowed: rows.map(\.method).joined(separator: ", "))
            }
            let name = unsafe String(decoding: path.dropFirst(start.count), as: UTF8.self)
            return .route(row, Parts(tile: name))
        }
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
                case "identity": parts.kind = .identity
                case "member": parts.kind = .member
                default: return .unknown
                }
                continue
            }
            guard let id = unsafe hex(bytes, segment.byteCount) else { return .malformed }
            parts.ids.append(id)
        }
        return .route(row, parts)
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
