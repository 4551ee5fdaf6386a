// What a client asks of the agent. The one thing to keep true: no message carries a key; commands travel
// to the keys, and results come back.

internal import CoffretBase

/// A command line to be run by the agent, as the client was called.
///
/// Its standard input, output and error are the descriptors that travel with the message, in this order.
package struct AgentCommand: Equatable, Sendable {
    /// Without the program's name.
    package let arguments: [String]
    package let workingDirectory: String
    /// The few variables that commands read, by name.
    package let environment: [String: String]

    package init(arguments: [String], workingDirectory: String, environment: [String: String]) {
        self.arguments = arguments
        self.workingDirectory = workingDirectory
        self.environment = environment
    }
}

/// With what a store is to be unlocked.
package enum AgentSecretKind: UInt8, Sendable {
    case passphrase = 1
    case recoveryKey = 2
    case pin = 3
}

/// A message from a client to the agent.
///
/// Layout: deterministic CBOR [kind, fields…]: [1, version], [2, arguments, directory, {name: value}],
/// [3, store, secret kind, secret], [4, store or null], [5, store or null].
/// Spec: Spec/agent.md.
package enum AgentRequest: Equatable, Sendable {
    /// The first message: which version of the protocol the client speaks.
    case hello(version: UInt32)
    case run(AgentCommand)
    /// The secret's bytes are zeroed by whoever handles the request.
    case unlock(store: String, kind: AgentSecretKind, secret: [UInt8])
    /// Locks one store, or all.
    case lock(store: String?)
    case status(store: String?)
}

extension AgentRequest {
    package static let version: UInt32 = 1
    private static let pathByteCountMax = 4096
    private static let secretByteCountMax = 64 << 10

    package func encoded() -> [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .hello(let version):
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: 1)
                encoder.encode(unsigned: UInt64(version))
            case .run(let command):
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(unsigned: 2)
                encoder.encodeArrayHeader(count: command.arguments.count)
                for argument in command.arguments { encoder.encode(text: argument) }
                encoder.encode(text: command.workingDirectory)
                encoder.encodeMap { map in
                    for (name, value) in command.environment { map.put(name) { $0.encode(text: value) } }
                }
            case .unlock(let store, let kind, let secret):
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(unsigned: 3)
                encoder.encode(text: store)
                encoder.encode(unsigned: UInt64(kind.rawValue))
                encoder.encode(bytes: secret)
            case .lock(let store):
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: 4)
                encoder.encode(optionalText: store)
            case .status(let store):
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: 5)
                encoder.encode(optionalText: store)
            }
        }
    }

    /// - Throws: `.malformed`, `.unsupported`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        let request = try withCBORDecoder(bytes, convert: { WireError($0) }) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            return try Self.read(kind: decoder.readUnsigned(), fieldCount: count - 1, from: &decoder)
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
        case (2, 3):
            var arguments: [String] = []
            for _ in 0..<(try decoder.readArrayHeader()) { arguments.append(try decoder.readText()) }
            let directory = try decoder.readText(byteCountMax: pathByteCountMax)
            var environment: [String: String] = [:]
            var map = try decoder.readMapHeader()
            while let name = try decoder.readTextKey(in: &map) { environment[name] = try decoder.readText() }
            return .run(AgentCommand(arguments: arguments, workingDirectory: directory, environment: environment))
        case (3, 3):
            let store = try decoder.readText(byteCountMax: pathByteCountMax)
            let kind = try decoder.readUnsigned(as: UInt8.self)
            let secret = try decoder.readBytes(countMax: secretByteCountMax)
            return AgentSecretKind(rawValue: kind).map { .unlock(store: store, kind: $0, secret: secret) }
        case (4, 1): return .lock(store: try decoder.readOptionalText(byteCountMax: pathByteCountMax))
        case (5, 1): return .status(store: try decoder.readOptionalText(byteCountMax: pathByteCountMax))
        default:
            for _ in 0..<max(fieldCount, 0) { try decoder.skipItem() }
            return nil
        }
    }
}
