// What the agent answers.

internal import CoffretBase

/// One store as the agent knows it.
package struct AgentStoreStatus: Equatable, Sendable {
    package let store: String
    package let isUnlocked: Bool
    /// Why it is locked, as a stable word; empty while it is unlocked.
    package let lockReason: String
    /// Seconds until it locks by itself; nil while it is locked.
    package let secondsLeft: UInt64?

    package init(store: String, isUnlocked: Bool, lockReason: String, secondsLeft: UInt64?) {
        self.store = store
        self.isUnlocked = isUnlocked
        self.lockReason = lockReason
        self.secondsLeft = secondsLeft
    }
}

/// A message from the agent to a client.
///
/// Layout: deterministic CBOR [kind, fields…]: [1, version], [2, exit code], [3, reason],
/// [4, [[store, unlocked, reason, seconds or null]…]], [5, code, seconds or null], [6].
/// Spec: Spec/agent.md.
package enum AgentResponse: Equatable, Sendable {
    /// The version that the agent speaks; a client of another version goes without the agent.
    case hello(version: UInt32)
    /// The command ran to its end.
    case exited(code: UInt8)
    /// Nothing was run: the store is locked, for this reason.
    case locked(reason: String)
    case status([AgentStoreStatus])
    /// Refused, with the stable code of an error and, where waiting helps, for how long.
    case failed(code: String, waitSeconds: UInt64?)
    case done
}

extension AgentResponse {
    private static let wordByteCountMax = 256

    package func encoded() -> [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .hello(let version): encoder.encode(kind: 1, [UInt64(version)])
            case .exited(let code): encoder.encode(kind: 2, [UInt64(code)])
            case .locked(let reason):
                encoder.encode(kind: 3, fieldCount: 1)
                encoder.encode(text: reason)
            case .status(let stores):
                encoder.encode(kind: 4, fieldCount: 1)
                encoder.encodeArrayHeader(count: stores.count)
                for store in stores {
                    encoder.encodeArrayHeader(count: 4)
                    encoder.encode(text: store.store)
                    encoder.encode(bool: store.isUnlocked)
                    encoder.encode(text: store.lockReason)
                    encoder.encode(optionalUnsigned: store.secondsLeft)
                }
            case .failed(let code, let waitSeconds):
                encoder.encode(kind: 5, fieldCount: 2)
                encoder.encode(text: code)
                encoder.encode(optionalUnsigned: waitSeconds)
            case .done: encoder.encode(kind: 6, fieldCount: 0)
            }
        }
    }

    /// - Throws: `.malformed`, `.unsupported`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        let response = try withCBORDecoder(bytes, convert: { WireError($0) }) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            return try Self.read(kind: decoder.readUnsigned(), fieldCount: count - 1, from: &decoder)
        }
        guard let response else { throw WireError(.unsupported) }
        self = response
    }

    private static func read(
        kind: UInt64, fieldCount: Int, from decoder: inout CBORDecoder
    ) throws(CBORError) -> AgentResponse? {
        switch (kind, fieldCount) {
        case (1, 1): return .hello(version: try decoder.readUnsigned(as: UInt32.self))
        case (2, 1): return .exited(code: try decoder.readUnsigned(as: UInt8.self))
        case (3, 1): return .locked(reason: try decoder.readText(byteCountMax: wordByteCountMax))
        case (4, 1):
            var stores: [AgentStoreStatus] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                try decoder.readArrayHeader(count: 4)
                stores.append(
                    AgentStoreStatus(
                        store: try decoder.readText(), isUnlocked: try decoder.readBool(),
                        lockReason: try decoder.readText(byteCountMax: wordByteCountMax),
                        secondsLeft: try decoder.readOptionalUnsigned()))
            }
            return .status(stores)
        case (5, 2):
            return .failed(
                code: try decoder.readText(byteCountMax: wordByteCountMax),
                waitSeconds: try decoder.readOptionalUnsigned())
        case (6, 0): return .done
        default:
            for _ in 0..<max(fieldCount, 0) { try decoder.skipItem() }
            return nil
        }
    }
}

extension CBOREncoder {
    fileprivate mutating func encode(kind: UInt64, fieldCount: Int) {
        encodeArrayHeader(count: fieldCount + 1)
        encode(unsigned: kind)
    }

    fileprivate mutating func encode(kind: UInt64, _ fields: [UInt64]) {
        encode(kind: kind, fieldCount: fields.count)
        for field in fields { encode(unsigned: field) }
    }

    fileprivate mutating func encode(optionalUnsigned value: UInt64?) {
        if let value { encode(unsigned: value) } else { encodeNull() }
    }

    mutating func encode(optionalText text: String?) {
        if let text { encode(text: text) } else { encodeNull() }
    }
}

extension CBORDecoder {
    fileprivate mutating func readOptionalUnsigned() throws(CBORError) -> UInt64? {
        if isNextNull {
            try readNull()
            return nil
        }
        return try readUnsigned()
    }

    mutating func readOptionalText(byteCountMax: Int) throws(CBORError) -> String? {
        if isNextNull {
            try readNull()
            return nil
        }
        return try readText(byteCountMax: byteCountMax)
    }
}
