// Requests and answers without the library that carries them. The one thing to keep true: an answer that says a
// thing is done is made after it is durable.

internal import CoffretBase
internal import CoffretWire
internal import Synchronization

/// A request whose head and body are whole.
// SAFETY: its closures ask the library's connection on the thread that serves it, or what was read there before.
struct ServerRequest: @unchecked Sendable {
    /// What routes that a lane answers ask for.
    static let queryNames = ["from", "after", "account", "device", "epoch"]
    static let headerNames = ["Content-Range"]

    let route: Route
    let path: RouteTable.Parts
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

    /// The first id of the path.
    var id: [UInt8] { path.ids[0] }

    /// The second id of the path, of 16 bytes.
    func secondID() throws -> UniqueID {
        guard let id = UniqueID(bytes: path.ids[1]) else { throw ServerFailure(.malformed) }
        return id
    }

    /// Refuses a path that names another's account: accounts have nothing to say to each other here, and nobody fills
    /// another's mailbox.
    func requireAccount(of owner: SessionOwner) throws {
        guard id == owner.accountID else { throw ServerFailure(.forbidden) }
    }

    /// A number in the query; nil if it is missing.
    func number(_ name: String, max: Int64) throws -> Int64? {
        try Self.number(query(name), max: max)
    }

    static func number(_ text: String?, max: Int64) throws -> Int64? {
        guard let text else { return nil }
        guard text.utf8.count <= 19, text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text),
            number <= max
        else { throw ServerFailure(.malformed, "a number") }
        return number
    }

    /// A place in a list; no bytes if it is missing.
    func cursor(_ name: String) throws -> [UInt8] {
        guard let bytes = try? Hex.decode(query(name) ?? ""), bytes.count <= ServerLimits.cursorByteCountMax else {
            throw ServerFailure(.malformed, name)
        }
        return bytes
    }
}

struct ServerResponse {
    enum Body {
        case empty
        case cbor([UInt8])
        case octets([UInt8])
        case text(String)
        case page([UInt8])
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

    init(_ outcome: AppendOutcome, created: Bool) {
        switch outcome {
        case .appended(let head): self.init(created ? 201 : 200, head)
        case .conflict(let head): self.init(409, head)
        case .untrusted(let code): self.init(untrusted: code)
        }
    }

    init(_ outcome: LinksOutcome) {
        switch outcome {
        case .taken(let heads): self.init(200, LinkReceipt(heads.map(\.sequenceNumber)))
        case .conflict(let index, let head): self.init(409, LinkConflict(index: UInt64(index), head: head))
        case .moved(let index, let state): self.init(412, LinkHeadMoved(index: UInt64(index), state: state))
        case .untrusted(let code): self.init(untrusted: code)
        case .tooMany(let seconds): self.init(ServerFailure(.rateExceeded), retryAfterSeconds: seconds)
        }
    }

    /// The answer to a request with one link of a vault.
    init(link outcome: LinksOutcome) {
        switch outcome {
        case .taken(let heads): self.init(200, heads[0])
        case .conflict(_, let head): self.init(409, head)
        case .moved(_, let state): self.init(412, state)
        case .untrusted, .tooMany: self.init(outcome)
        }
    }

    private init(untrusted code: String) {
        self.init(422, ServerRefusal(code: code, message: "the link does not verify with its chain"))
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
