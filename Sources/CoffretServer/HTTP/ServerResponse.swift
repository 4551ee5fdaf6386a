// Requests and answers without the library that carries them. The one thing to keep true: an answer that says a
// thing is done is made after it is durable.

internal import CoffretBase
internal import CoffretWire
internal import Synchronization

/// A request whose head and body are whole.
// SAFETY: its closures ask the library's connection on the thread that serves it, or what was read there before.
struct ServerRequest: @unchecked Sendable {
    /// What routes that a lane answers ask for.
    static let queryNames = ["from", "after", "account"]
    static let headerNames = ["Content-Range"]

    let route: Route
    let body: [UInt8]
    /// Who asks, for routes that need a session.
    let owner: SessionOwner?
    let token: [UInt8]
    /// The value of a name in the query, once decoded; nil if it is missing.
    let query: (String) -> String?
    /// The value of a field, by its name in any case; nil if it is missing.
    let header: (String) -> String?

    func message<Message: ServerMessage>(_ type: Message.Type) throws -> Message {
        do throws(WireError) { return try Message(decoding: body) } catch {
            throw ServerFailure(.malformed, error.code.rawValue)
        }
    }
}

struct ServerResponse {
    enum Body {
        case empty
        case cbor([UInt8])
        case octets([UInt8])
        case text(String)
        case stream(ByteStream)
        case webSocket(LiveKind)
    }

    var status: Int
    var body: Body
    var fields: [(name: String, value: String)] = []

    init(_ status: Int, _ body: Body = .empty) {
        self.status = status
        self.body = body
    }

    init<Message: ServerMessage>(_ status: Int, _ message: Message) {
        self.init(status, .cbor(message.encoded()))
    }

    init(_ failure: ServerFailure, retryAfterSeconds: Int = 1) {
        let code = failure.code
        self.init(code.status, ServerRefusal(code: code.rawValue, message: code.message))
        if code.status == 429 || code.status == 503 { fields.append(("Retry-After", "\(max(retryAfterSeconds, 1))")) }
        if code.status == 401 { fields.append(("WWW-Authenticate", "Bearer")) }
    }
}

/// What a WebSocket is for.
enum LiveKind: Equatable, Sendable {
    case events(SessionOwner)
    case relayCreator(id: [UInt8])
    case relayJoiner(id: [UInt8])
}

/// Bytes that are made while they are sent.
///
/// - Concurrency: pulled by one thread at a time.
// SAFETY: the HTTP library pulls a connection's bytes on that connection's one thread.
final class ByteStream: @unchecked Sendable {
    private let produce: () throws -> [UInt8]?
    private var current: [UInt8] = []
    private var offset = 0

    /// - Parameter produce: the next piece; nil at the end.
    init(_ produce: @escaping () throws -> [UInt8]?) { self.produce = produce }

    /// Whether the next bytes have to be made.
    var isEmpty: Bool { offset == current.count }
    /// What is held.
    var byteCount: Int { current.count }

    /// Copies the next bytes.
    ///
    /// - Returns: how many; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while offset == current.count {
            guard let next = try produce() else { return 0 }
            (current, offset) = (next, 0)
        }
        let count = min(buffer.count, current.count - offset)
        unsafe current.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        }
        offset += count
        if isEmpty { (current, offset) = ([], 0) }
        return count
    }
}
