// Which request is meant. The one thing to keep true: a path is matched whole, ids in their one spelling, and the
// list here is the list in Spec/openapi.yaml.

internal import CoffretBase
internal import CoffretTrust
internal import CoffretWire

/// A request's target with what its path says.
enum Route: Equatable {
    case health, metrics
    case loginChallenge, login, logout, register
    case chain(ChainKind, [UInt8]), appendChain(ChainKind, [UInt8])
    case zones, createZone
    case deleteZone([UInt8]), head([UInt8]), push([UInt8]), changes([UInt8]), fetch([UInt8])
    case chunk([UInt8], [UInt8]), putChunk([UInt8], [UInt8]), deleteChunk([UInt8], [UInt8]), missing([UInt8])
    case acks([UInt8]), putAck([UInt8], UniqueID)
    case postMail([UInt8]), mail([UInt8]), deleteMail([UInt8], UniqueID)
    case events, relayCreate
    case relayJoin([UInt8])

    enum Match: Equatable {
        case route(Route)
        case method
        case unknown
        case malformed
    }

    /// Finds the route of a method and a path without query.
    static func match(_ method: String, _ path: String) -> Match {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        if path == "/health" { return method == "GET" ? .route(.health) : .method }
        if path == "/metrics" { return method == "GET" ? .route(.metrics) : .method }
        guard parts.first == "v1" else { return .unknown }
        let words = Array(parts.dropFirst())
        switch (words.first ?? "", words.count) {
        case ("login", 1): return method == "POST" ? .route(.login) : .method
        case ("login", 2) where words[1] == "challenge": return method == "POST" ? .route(.loginChallenge) : .method
        case ("logout", 1): return method == "POST" ? .route(.logout) : .method
        case ("accounts", 1): return method == "POST" ? .route(.register) : .method
        case ("chains", 3): return chain(method, words)
        case ("zones", 1):
            return method == "GET" ? .route(.zones) : method == "POST" ? .route(.createZone) : .method
        case ("zones", 2...4): return zone(method, words)
        case ("mailboxes", 2...3): return mailbox(method, words)
        case ("events", 1): return method == "GET" ? .route(.events) : .method
        case ("relay", 1): return method == "GET" ? .route(.relayCreate) : .method
        case ("relay", 2):
            guard let id = hex(words[1], 16) else { return .malformed }
            return method == "GET" ? .route(.relayJoin(id)) : .method
        default: return .unknown
        }
    }

    private static func chain(_ method: String, _ words: [Substring]) -> Match {
        guard let id = hex(words[2], 32) else { return .malformed }
        let kind: ChainKind
        switch words[1] {
        case "device": kind = .device
        case "member": kind = .member
        default: return .unknown
        }
        return method == "GET" ? .route(.chain(kind, id)) : method == "POST" ? .route(.appendChain(kind, id)) : .method
    }

    private static func zone(_ method: String, _ words: [Substring]) -> Match {
        guard let id = hex(words[1], 32) else { return .malformed }
        if words.count == 2 { return method == "DELETE" ? .route(.deleteZone(id)) : .method }
        switch (words[2], words.count) {
        case ("head", 3): return method == "GET" ? .route(.head(id)) : .method
        case ("push", 3): return method == "POST" ? .route(.push(id)) : .method
        case ("changes", 3): return method == "GET" ? .route(.changes(id)) : .method
        case ("fetch", 3): return method == "POST" ? .route(.fetch(id)) : .method
        case ("acks", 3): return method == "GET" ? .route(.acks(id)) : .method
        case ("acks", 4):
            guard let device = hex(words[3], 16).flatMap({ UniqueID(bytes: $0) }) else { return .malformed }
            return method == "PUT" ? .route(.putAck(id, device)) : .method
        case ("chunks", 4) where words[3] == "missing": return method == "POST" ? .route(.missing(id)) : .method
        case ("chunks", 4):
            guard let address = hex(words[3], 32) else { return .malformed }
            switch method {
            case "GET", "HEAD": return .route(.chunk(id, address))
            case "PUT": return .route(.putChunk(id, address))
            case "DELETE": return .route(.deleteChunk(id, address))
            default: return .method
            }
        default: return .unknown
        }
    }

    private static func mailbox(_ method: String, _ words: [Substring]) -> Match {
        guard let account = hex(words[1], 32) else { return .malformed }
        if words.count == 3 {
            guard let id = hex(words[2], 16).flatMap({ UniqueID(bytes: $0) }) else { return .malformed }
            return method == "DELETE" ? .route(.deleteMail(account, id)) : .method
        }
        return method == "GET" ? .route(.mail(account)) : method == "POST" ? .route(.postMail(account)) : .method
    }

    /// Lower-case digits of exactly so many bytes.
    static func hex(_ text: Substring, _ byteCount: Int) -> [UInt8]? {
        guard text.utf8.count == byteCount * 2, !text.utf8.contains(where: { (65...70).contains($0) }) else {
            return nil
        }
        return try? Hex.decode(String(text))
    }

    /// The name in logs and metrics, without ids.
    var name: String {
        switch self {
        case .health: "health"
        case .metrics: "metrics"
        case .loginChallenge: "login.challenge"
        case .login: "login"
        case .logout: "logout"
        case .register: "accounts.register"
        case .chain: "chains.read"
        case .appendChain: "chains.append"
        case .zones: "zones.list"
        case .createZone: "zones.create"
        case .deleteZone: "zones.delete"
        case .head: "zones.head"
        case .push: "zones.push"
        case .changes: "zones.changes"
        case .fetch: "zones.fetch"
        case .chunk: "chunks.read"
        case .putChunk: "chunks.write"
        case .deleteChunk: "chunks.delete"
        case .missing: "chunks.missing"
        case .acks: "acks.read"
        case .putAck: "acks.write"
        case .postMail: "mail.post"
        case .mail: "mail.read"
        case .deleteMail: "mail.delete"
        case .events: "events"
        case .relayCreate: "relay.create"
        case .relayJoin: "relay.join"
        }
    }

    /// Whether a session is needed.
    var needsSession: Bool {
        switch self {
        case .health, .metrics, .loginChallenge, .login, .register, .relayCreate, .relayJoin: false
        default: true
        }
    }

    /// The longest body that is read.
    var bodyByteCountMax: Int {
        switch self {
        case .loginChallenge, .login: 1 << 10
        case .register, .appendChain, .createZone: ServerLimits.linkByteCountMax + 1_024
        case .push: ServerLimits.pushByteCountMax
        case .fetch: ServerLimits.addressCountMax * 34 + 16
        case .missing: ServerLimits.addressCountMax * 70 + 16
        case .putChunk: ServerLimits.chunkByteCountMax
        case .putAck: ServerLimits.acknowledgementByteCountMax
        case .postMail: ServerLimits.mailboxEntryByteCountMax + 64
        default: 0
        }
    }

    var isWebSocket: Bool {
        switch self {
        case .events, .relayCreate, .relayJoin: true
        default: false
        }
    }
}
