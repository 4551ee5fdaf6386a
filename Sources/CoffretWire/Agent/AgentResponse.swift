// Answers of the agent.

internal import CoffretBase

/// One store as the agent knows it.
package struct AgentStoreStatus: Equatable, Sendable {
    package let store: String
    package let isUnlocked: Bool
    /// Why it is locked, as a stable word; empty while it is unlocked.
    package let lockReason: String
    /// Seconds until it locks by itself, if nothing happens; nil while it is locked.
    package let secondsLeft: UInt64?
    /// After how many seconds without a request it locks, and how long after it was unlocked.
    package let idleSeconds: UInt64
    package let absoluteSeconds: UInt64

    package init(
        store: String, isUnlocked: Bool, lockReason: String, secondsLeft: UInt64?, idleSeconds: UInt64,
        absoluteSeconds: UInt64
    ) {
        self.store = store
        self.isUnlocked = isUnlocked
        self.lockReason = lockReason
        self.secondsLeft = secondsLeft
        self.idleSeconds = idleSeconds
        self.absoluteSeconds = absoluteSeconds
    }
}

/// One session as the agent knows it.
package struct AgentSessionStatus: Equatable, Sendable {
    /// For whom it answers.
    package enum Kind: String, Sendable {
        case program, token, browser, authenticator
    }

    /// The process that answers.
    package let processID: UInt32
    package let store: String
    /// The program that opened it, and the one that started that, in words.
    package let program: String
    package let kind: Kind
    /// Seconds since it was opened, and since a person last asked something in it; nil where nobody has.
    package let secondsOpen: UInt64
    package let secondsSinceUse: UInt64?

    package init(
        processID: UInt32, store: String, program: String, kind: Kind, secondsOpen: UInt64, secondsSinceUse: UInt64?
    ) {
        (self.processID, self.store, self.program, self.kind) = (processID, store, program, kind)
        (self.secondsOpen, self.secondsSinceUse) = (secondsOpen, secondsSinceUse)
    }

    fileprivate func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 6)
        encoder.encode(unsigned: UInt64(processID))
        for text in [store, program, kind.rawValue] { encoder.encode(text: text) }
        encoder.encode(unsigned: secondsOpen)
        encoder.encode(optionalUnsigned: secondsSinceUse)
    }

    fileprivate static func read(from decoder: inout CBORDecoder) throws(CBORError) -> AgentSessionStatus {
        try decoder.readArrayHeader(count: 6)
        let processID = try decoder.readUnsigned(as: UInt32.self)
        let (store, program, word) = (try decoder.readText(), try decoder.readText(), try decoder.readText())
        let (open, use) = (try decoder.readUnsigned(), try decoder.readOptionalUnsigned())
        guard let kind = Kind(rawValue: word) else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        return AgentSessionStatus(
            processID: processID, store: store, program: program, kind: kind, secondsOpen: open,
            secondsSinceUse: use)
    }
}

extension AgentResponse {
    /// Why no session began with a store that is unlocked: its keys were replaced meanwhile. It may be asked for again.
    package static var reasonToRunAgain: String { "keys-renewed" }
}

/// A message from the agent to a client.
///
/// Layout: deterministic CBOR [kind, fields…], as Spec/agent.md lists them.
package enum AgentResponse: Equatable, Sendable {
    /// The version that the agent speaks; a client of another version goes without the agent.
    case hello(version: UInt32)
    /// Nothing was done: the store is locked, for this reason.
    case locked(reason: String)
    case status([AgentStoreStatus])
    /// Refused, with the stable code of an error and, where waiting helps, for how long.
    case failed(code: String, waitSeconds: UInt64?)
    case done
    case sessions([AgentSessionStatus])
}

extension AgentResponse {
    private static let wordByteCountMax = 256

    package func encoded() -> [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .hello(let version): encoder.encode(kind: 1, [UInt64(version)])
            case .locked(let reason):
                encoder.encode(kind: 3, fieldCount: 1)
                encoder.encode(text: reason)
            case .status(let stores):
                encoder.encode(kind: 4, fieldCount: 1)
                encoder.encodeArrayHeader(count: stores.count)
                for store in stores {
                    encoder.encodeArrayHeader(count: 6)
                    encoder.encode(text: store.store)
                    encoder.encode(bool: store.isUnlocked)
                    encoder.encode(text: store.lockReason)
                    encoder.encode(optionalUnsigned: store.secondsLeft)
                    encoder.encode(unsigned: store.idleSeconds)
                    encoder.encode(unsigned: store.absoluteSeconds)
                }
            case .failed(let code, let waitSeconds):
                encoder.encode(kind: 5, fieldCount: 2)
                encoder.encode(text: code)
                encoder.encode(optionalUnsigned: waitSeconds)
            case .done: encoder.encode(kind: 6, fieldCount: 0)
            case .sessions(let sessions):
                encoder.encode(kind: 7, fieldCount: 1)
                encoder.encodeArrayHeader(count: sessions.count)
                for session in sessions { session.encode(to: &encoder) }
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
        case (3, 1): return .locked(reason: try decoder.readText(byteCountMax: wordByteCountMax))
        case (4, 1):
            var stores: [AgentStoreStatus] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                try decoder.readArrayHeader(count: 6)
                stores.append(
                    AgentStoreStatus(
                        store: try decoder.readText(), isUnlocked: try decoder.readBool(),
                        lockReason: try decoder.readText(byteCountMax: wordByteCountMax),
                        secondsLeft: try decoder.readOptionalUnsigned(), idleSeconds: try decoder.readUnsigned(),
                        absoluteSeconds: try decoder.readUnsigned()))
            }
            return .status(stores)
        case (5, 2):
            return .failed(
                code: try decoder.readText(byteCountMax: wordByteCountMax),
                waitSeconds: try decoder.readOptionalUnsigned())
        case (6, 0): return .done
        case (7, 1):
            var sessions: [AgentSessionStatus] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                sessions.append(try AgentSessionStatus.read(from: &decoder))
            }
            return .sessions(sessions)
        default:
            for _ in 0..<max(fieldCount, 0) { try decoder.skipItem() }
            return nil
        }
    }
}

extension CBOREncoder {
    mutating func encode(kind: UInt64, fieldCount: Int) {
        encodeArrayHeader(count: fieldCount + 1)
        encode(unsigned: kind)
    }

    mutating func encode(kind: UInt64, _ fields: [UInt64]) {
        encode(kind: kind, fieldCount: fields.count)
        for field in fields { encode(unsigned: field) }
    }

    mutating func encode(optionalUnsigned value: UInt64?) {
        if let value { encode(unsigned: value) } else { encodeNull() }
    }

    mutating func encode(texts: [String: String]) {
        encodeMap { map in
            for (name, value) in texts { map.put(name) { $0.encode(text: value) } }
        }
    }

    mutating func encode(optionalText text: String?) {
        if let text { encode(text: text) } else { encodeNull() }
    }
}

extension CBORDecoder {
    mutating func readOptionalUnsigned() throws(CBORError) -> UInt64? {
        if isNextNull {
            try readNull()
            return nil
        }
        return try readUnsigned()
    }

    mutating func readTextMap() throws(CBORError) -> [String: String] {
        var texts: [String: String] = [:]
        var map = try readMapHeader()
        while let name = try readTextKey(in: &map) { texts[name] = try readText() }
        return texts
    }

    mutating func readOptionalText(byteCountMax: Int) throws(CBORError) -> String? {
        if isNextNull {
            try readNull()
            return nil
        }
        return try readText(byteCountMax: byteCountMax)
    }
}
