// Requests of a client to the agent. Invariant: no message carries a key in clear; what a client wants done is done where
// the keys are.

internal import CoffretBase

/// With what a store is to be unlocked.
package enum AgentSecretKind: UInt8, Sendable {
    case passphrase = 1
    case recoveryKey = 2
    case pin = 3
    /// The agent asks the person itself, through pinentry; the secret is empty.
    case asked = 4
    /// No secret: the agent asks whether the person is there. For a store that is unlocked.
    case presence = 5
}

/// A secret, and the store that it opens.
package struct AgentSecret: Equatable, Sendable {
    package let store: String
    package let kind: AgentSecretKind
    /// Zeroed by the code that handles the request.
    package var bytes: [UInt8]
    /// The variables that say where this machine's memory of the store lies, by name.
    package let environment: [String: String]

    package init(store: String, kind: AgentSecretKind, bytes: [UInt8], environment: [String: String]) {
        self.store = store
        self.kind = kind
        self.bytes = bytes
        self.environment = environment
    }
}

/// A request with a secret, without the secret and the variables.
package struct AgentSecretHead: Equatable, Sendable {
    package enum Wanted: Equatable, Sendable {
        case unlock(seconds: UInt64?)
        /// nil leaves an interval as it is.
        case settings(idle: UInt64?, absolute: UInt64?)
    }

    package let store: String
    /// nil for a kind that this version does not know.
    package let kind: AgentSecretKind?
    package let wanted: Wanted

    package init(store: String, kind: AgentSecretKind?, wanted: Wanted) {
        self.store = store
        self.kind = kind
        self.wanted = wanted
    }
}

/// A message from a client to the agent.
///
/// Layout: deterministic CBOR [kind, fields…], as Spec/agent.md lists them.
package enum AgentRequest: Equatable, Sendable {
    /// The first message: which version of the protocol the client speaks.
    case hello(version: UInt32)
    /// Unlocks for the time of the settings, or for this many seconds.
    case unlock(AgentSecret, seconds: UInt64?)
    /// Locks one store, or all.
    case lock(store: String?)
    case status(store: String?)
    /// Locks all stores and ends the agent.
    case stop
    /// Changes after how many seconds the store locks by itself; nil leaves an interval as it is.
    case settings(AgentSecret, idleSeconds: UInt64?, absoluteSeconds: UInt64?)
    /// A command beside the agent, with the secret of a person, has changed the keyring of a store: the key that opens it
    /// now, sealed under the one before; nil if somebody who got in so far does not any more.
    case renewed(store: String, sealedKey: [UInt8]?)
    /// A process with the store open that answers operations over this connection from then on.
    case session(AgentSession)
    /// The sessions of one store, or of all.
    case sessions(store: String?)
    /// Ends a session.
    case endSession(processID: UInt32)
}

/// For whom a session answers.
package enum SessionManner: Equatable, Sendable {
    /// A program that asks again and again.
    case program
    /// A program with a token.
    case limited
    /// One command, which is a use of the store for as long as it runs. The client's terminal may come with the request.
    case command
    /// A command for a program that goes on looking, which is no use of the store.
    case look
    /// A paired browser, which asks over a channel of its own (`Spec/bridge.md`).
    case bridge
    /// A browser that is to be paired: a process without keys answers it.
    case pairing
    /// A security key, which asks by CTAP for passkeys (`Spec/authenticator.md`).
    case authenticator

    /// Whether opening the session is a use of the store.
    package var isUse: Bool { self == .program || self == .command }
    /// Whether the session is that of one command.
    package var isBrief: Bool { self == .command || self == .look }
    /// Whether it answers a protocol of its own, with a list of its own.
    package var isForBrowsers: Bool { self == .bridge || self == .authenticator }

    /// The number of the request's form where it is 15.
    fileprivate var browserForm: UInt8? {
        switch self {
        case .bridge: 0
        case .pairing: 1
        case .authenticator: 2
        default: nil
        }
    }

    fileprivate static func read(from decoder: inout CBORDecoder) throws(CBORError) -> SessionManner {
        switch try decoder.readUnsigned(as: UInt8.self, max: 2) {
        case 0: .bridge
        case 1: .pairing
        default: .authenticator
        }
    }
}

/// A session to be opened.
package struct AgentSession: Equatable, Sendable {
    /// An absolute path without links.
    package let store: String
    /// Whether requests and replies are JSON; CBOR otherwise.
    package let isJSON: Bool
    /// The variables of the client, by name.
    package let environment: [String: String]
    /// What narrows the session down: a secret, which the process that serves the session compares.
    package let token: String?
    package let manner: SessionManner

    package init(store: String, isJSON: Bool, environment: [String: String], token: String? = nil) {
        self.store = store
        self.isJSON = isJSON
        self.environment = environment
        self.token = token
        manner = token == nil ? .program : .limited
    }

    /// A session of one command, in CBOR.
    package init(store: String, environment: [String: String], isUse: Bool) {
        self.store = store
        isJSON = false
        self.environment = environment
        token = nil
        manner = isUse ? .command : .look
    }

    /// A session of a browser: `bridge`, `pairing` or `authenticator`.
    package init(store: String, environment: [String: String], _ manner: SessionManner) {
        self.store = store
        isJSON = false
        self.environment = environment
        token = nil
        self.manner = manner
    }

    /// The longest request and reply: a note's text may have 16 MiB.
    package static let messageByteCountMax = 32 << 20
}

extension AgentRequest {
    package static let version: UInt32 = 1
    static let pathByteCountMax = 4096
    private static let secretByteCountMax = 64 << 10
    private static let tokenByteCountMax = 256
    private static let sealedKeyByteCountMax = 4096

    /// The part of a request that a server of several clients reads. The rest may be secret, and is for the process
    /// that works for the client alone.
    package enum Head: Equatable, Sendable {
        /// With a secret: the message is handed on as it is.
        case secret(AgentSecretHead)
        /// A session with the store at this path: handed on, too.
        case session(store: String, SessionManner)
        /// Nothing that anybody would hide.
        case open
    }

    /// Reads no more of a request than its head, and copies nothing else.
    ///
    /// - Throws: `.malformed`.
    package static func head(of bytes: UnsafeRawBufferPointer) throws(WireError) -> Head {
        var decoder = unsafe CBORDecoder(over: bytes)
        do throws(CBORError) {
            let count = try decoder.readArrayHeader()
            switch (try decoder.readUnsigned(), count) {
            case (12, 4), (12, 5):
                return .session(
                    store: try decoder.readText(byteCountMax: pathByteCountMax), count == 5 ? .limited : .program)
            case (14, 4):
                let store = try decoder.readText(byteCountMax: pathByteCountMax)
                return .session(store: store, try readFlag(from: &decoder) ? .command : .look)
            case (15, 4):
                let store = try decoder.readText(byteCountMax: pathByteCountMax)
                return .session(store: store, try SessionManner.read(from: &decoder))
            case (3, 6):
                let (store, kind) = try readSecretHead(from: &decoder)
                return .secret(
                    AgentSecretHead(
                        store: store, kind: kind, wanted: .unlock(seconds: try decoder.readOptionalUnsigned())))
            case (7, 7):
                let (store, kind) = try readSecretHead(from: &decoder)
                let idle = try decoder.readOptionalUnsigned()
                return .secret(
                    AgentSecretHead(
                        store: store, kind: kind,
                        wanted: .settings(idle: idle, absolute: try decoder.readOptionalUnsigned())))
            default: return .open
            }
        } catch {
            throw WireError(error)
        }
    }

    /// Steps over the secret and the variables.
    private static func readSecretHead(
        from decoder: inout CBORDecoder
    ) throws(CBORError) -> (store: String, kind: AgentSecretKind?) {
        let store = try decoder.readText(byteCountMax: pathByteCountMax)
        let kind = AgentSecretKind(rawValue: try decoder.readUnsigned(as: UInt8.self))
        for _ in 0..<2 { try decoder.skipItem() }
        return (store, kind)
    }

    package func encoded() -> [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .hello(let version): encoder.encode(kind: 1, [UInt64(version)])
            case .unlock(let secret, let seconds):
                encoder.encode(kind: 3, fieldCount: 5)
                Self.encode(secret, to: &encoder)
                encoder.encode(optionalUnsigned: seconds)
            case .lock(let store):
                encoder.encode(kind: 4, fieldCount: 1)
                encoder.encode(optionalText: store)
            case .status(let store):
                encoder.encode(kind: 5, fieldCount: 1)
                encoder.encode(optionalText: store)
            case .stop: encoder.encode(kind: 6, fieldCount: 0)
            case .sessions(let store):
                encoder.encode(kind: 16, fieldCount: 1)
                encoder.encode(optionalText: store)
            case .endSession(let processID): encoder.encode(kind: 17, [UInt64(processID)])
            case .settings(let secret, let idle, let absolute):
                encoder.encode(kind: 7, fieldCount: 6)
                Self.encode(secret, to: &encoder)
                encoder.encode(optionalUnsigned: idle)
                encoder.encode(optionalUnsigned: absolute)
            case .renewed(let store, let sealedKey):
                encoder.encode(kind: 11, fieldCount: 2)
                encoder.encode(text: store)
                if let sealedKey { encoder.encode(bytes: sealedKey) } else { encoder.encodeNull() }
            case .session(let session) where session.manner.isBrief:
                encoder.encode(kind: 14, fieldCount: 3)
                encoder.encode(text: session.store)
                encoder.encode(unsigned: session.manner.isUse ? 1 : 0)
                encoder.encode(texts: session.environment)
            case .session(let session):
                if let form = session.manner.browserForm {
                    encoder.encode(kind: 15, fieldCount: 3)
                    encoder.encode(text: session.store)
                    encoder.encode(unsigned: UInt64(form))
                    return encoder.encode(texts: session.environment)
                }
                encoder.encode(kind: 12, fieldCount: session.token == nil ? 3 : 4)
                encoder.encode(text: session.store)
                encoder.encode(unsigned: session.isJSON ? 1 : 0)
                encoder.encode(texts: session.environment)
                if let token = session.token { encoder.encode(text: token) }
            }
        }
    }

    private static func encode(_ secret: AgentSecret, to encoder: inout CBOREncoder) {
        encoder.encode(text: secret.store)
        encoder.encode(unsigned: UInt64(secret.kind.rawValue))
        encoder.encode(bytes: secret.bytes)
        encoder.encode(texts: secret.environment)
    }

    /// - Throws: `.malformed`, `.unsupported`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        self = try unsafe bytes.span.withUnsafeBytes { (bytes) throws(WireError) in
            try unsafe AgentRequest(decoding: bytes)
        }
    }

    /// - Throws: `.malformed`, `.unsupported`.
    package init(decoding bytes: UnsafeRawBufferPointer) throws(WireError) {
        let request: AgentRequest?
        do throws(CBORError) {
            request = try unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in
                let count = try decoder.readArrayHeader()
                return try Self.read(kind: decoder.readUnsigned(), fieldCount: count - 1, from: &decoder)
            }
        } catch {
            throw WireError(error)
        }
        guard let request else { throw WireError(.unsupported) }
        self = request
    }

    private static func read(
        kind: UInt64, fieldCount: Int, from decoder: inout CBORDecoder
    ) throws(CBORError) -> AgentRequest? {
        switch (kind, fieldCount) {
        case (1, 1):
            return .hello(version: try decoder.readUnsigned(as: UInt32.self))
        case (3, 5):
            guard let secret = try readSecret(from: &decoder) else {
                try decoder.skipItem()
                return nil
            }
            return .unlock(secret, seconds: try decoder.readOptionalUnsigned())
        case (4, 1): return .lock(store: try decoder.readOptionalText(byteCountMax: pathByteCountMax))
        case (5, 1): return .status(store: try decoder.readOptionalText(byteCountMax: pathByteCountMax))
        case (6, 0): return .stop
        case (16, 1): return .sessions(store: try decoder.readOptionalText(byteCountMax: pathByteCountMax))
        case (17, 1): return .endSession(processID: try decoder.readUnsigned(as: UInt32.self))
        case (7, 6):
            guard let secret = try readSecret(from: &decoder) else {
                for _ in 0..<2 { try decoder.skipItem() }
                return nil
            }
            let idle = try decoder.readOptionalUnsigned()
            return .settings(secret, idleSeconds: idle, absoluteSeconds: try decoder.readOptionalUnsigned())
        case (11, 2):
            let store = try decoder.readText(byteCountMax: pathByteCountMax)
            if decoder.isNextNull {
                try decoder.readNull()
                return .renewed(store: store, sealedKey: nil)
            }
            return .renewed(store: store, sealedKey: try decoder.readBytes(countMax: sealedKeyByteCountMax))
        case (12, 3), (12, 4):
            let store = try decoder.readText(byteCountMax: pathByteCountMax)
            let isJSON = try decoder.readUnsigned(as: UInt8.self, max: 1) == 1
            let environment = try decoder.readTextMap()
            let token = fieldCount == 4 ? try decoder.readText(byteCountMax: tokenByteCountMax) : nil
            return .session(AgentSession(store: store, isJSON: isJSON, environment: environment, token: token))
        case (14, 3):
            let store = try decoder.readText(byteCountMax: pathByteCountMax)
            let isUse = try readFlag(from: &decoder)
            return .session(AgentSession(store: store, environment: try decoder.readTextMap(), isUse: isUse))
        case (15, 3):
            let store = try decoder.readText(byteCountMax: pathByteCountMax)
            let manner = try SessionManner.read(from: &decoder)
            return .session(AgentSession(store: store, environment: try decoder.readTextMap(), manner))
        default:
            for _ in 0..<max(fieldCount, 0) { try decoder.skipItem() }
            return nil
        }
    }

    private static func readFlag(from decoder: inout CBORDecoder) throws(CBORError) -> Bool {
        try decoder.readUnsigned(as: UInt8.self, max: 1) == 1
    }

    /// - Returns: nil for a kind of secret that this version does not know.
    private static func readSecret(from decoder: inout CBORDecoder) throws(CBORError) -> AgentSecret? {
        let store = try decoder.readText(byteCountMax: pathByteCountMax)
        let kind = try decoder.readUnsigned(as: UInt8.self)
        let bytes = try decoder.readBytes(countMax: secretByteCountMax)
        let environment = try decoder.readTextMap()
        return AgentSecretKind(rawValue: kind).map {
            AgentSecret(store: store, kind: $0, bytes: bytes, environment: environment)
        }
    }
}
