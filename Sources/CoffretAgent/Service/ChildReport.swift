// What the agent's processes tell the agent, over a socket that only the two have.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages

/// A store that was opened.
struct OpenedStore: Sendable {
    let store: String
    let storageKey: StorageKey
    let generation: UInt64
    let intervals: LockIntervals
    /// Of who unlocked it.
    let variables: KeptVariables
}

enum ChildReport: Sendable {
    /// The secret was right.
    case opened(OpenedStore)
    /// The keyring was changed by the command.
    case renewed(StorageKey, generation: UInt64)
    /// A slot that opened the keyring so far opens it no more: who unlocked the store may be who was shut out.
    case slotExcluded
    /// The key that was handed down opens nothing any more; the command did nothing.
    case stale
    /// The secret was wrong, or was not looked at.
    case refused(code: String, waitSeconds: UInt64?)
    /// The lock intervals of a store were changed by somebody who is there.
    case settled(store: String, LockIntervals)
    /// A passphrase of locked notes was right, and its key may wait.
    case noteKeyHeld(HeldNoteKey)
    /// Notes of this password record are locked again.
    case noteKeyForgotten(UniqueID)
    /// The TPM has this key, or has given it back.
    case idleLock(IdleLock)
    /// The agent is to ask whether the person is there: for what, and where that person can be asked.
    case presenceWanted(reason: String, places: [String: String])
    /// The person has shown to be there.
    case confirmed
    /// A session answers its client, or a person has asked something of it.
    case used
    /// The client of a session wants the store locked.
    case lockWanted
    /// A browser wants something that it gets so many times only. `mark` is something that is permitted once; empty: nothing.
    case permitWanted(BrowserAct, mark: [UInt8])
    /// The agent is to have a person show to be there, by presence, PIN or passphrase: for what.
    case verificationWanted(reason: String)
    /// A browser was given something of a host, and the person wants to know.
    case valueGiven(browser: String, host: String)

    /// Somebody waits at this relay id and asks the store's device for a value.
    case askWaits(UniqueID)
    /// Another process has changed the keyring, and this one goes on with the key that opens it now.
    case keyWanted

    /// Whether it counts at once, however long the child goes on.
    var isNewsOfKeys: Bool {
        switch self {
        case .renewed, .slotExcluded, .noteKeyHeld, .noteKeyForgotten: true
        case .opened, .stale, .refused, .settled, .idleLock, .presenceWanted, .confirmed, .used, .lockWanted,
            .permitWanted, .verificationWanted, .valueGiven, .askWaits, .keyWanted:
            false
        }
    }

    /// Whether it says that other keys open the store now.
    var isKeyringChange: Bool {
        switch self {
        case .renewed, .slotExcluded: true
        default: false
        }
    }

    private static let codeByteCountMax = 256
    private static let reasonByteCountMax = 1_024
    /// In scheme 1 a key is as long as the passphrase and the constants together.
    static let noteKeyByteCountMax = 32 << 10
    private static let wrappedByteCountMax = 4096
    static let byteCountMax = 64 << 10

    /// Layout, deterministic CBOR: [1, store, key, generation, idle, absolute, variables], [2, key, generation], [3],
    /// [4, code, seconds or null], [5, record, scheme, key], [6, record],
    /// [7, store, idle, absolute], [8, key, wrapped key], [9], [10, reason, [name, value, …]], [11], [12], [13], [14, act, mark],
    /// [15, reason], [16, browser, host], [17, relay id], [18].
    /// The caller zeroes the bytes.
    var encoded: [UInt8] {
        var encoder = CBOREncoder(reservingByteCount: 8192)
        switch self {
        case .opened(let opened):
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: 1)
            encoder.encode(text: opened.store)
            Self.encode(opened.storageKey, to: &encoder)
            encoder.encode(unsigned: opened.generation)
            encoder.encode(unsigned: opened.intervals.idleSeconds)
            encoder.encode(unsigned: opened.intervals.absoluteSeconds)
            opened.variables.encode(to: &encoder)
        case .renewed(let key, let generation):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 2)
            Self.encode(key, to: &encoder)
            encoder.encode(unsigned: generation)
        case .stale:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 3)
        case .slotExcluded:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 9)
        case .refused(let code, let waitSeconds):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 4)
            encoder.encode(text: code)
            if let waitSeconds { encoder.encode(unsigned: waitSeconds) } else { encoder.encodeNull() }
        case .settled(let store, let intervals):
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 7)
            encoder.encode(text: store)
            encoder.encode(unsigned: intervals.idleSeconds)
            encoder.encode(unsigned: intervals.absoluteSeconds)
        case .noteKeyHeld(let key):
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 5)
            encoder.encode(bytes: key.record.bytes)
            encoder.encode(unsigned: key.scheme.rawValue)
            // EXPOSE: into the message to the parent process, which is zeroed once it is sent.
            unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        case .noteKeyForgotten(let record):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 6)
            encoder.encode(bytes: record.bytes)
        case .idleLock(let lock):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 8)
            Self.encode(lock.key, to: &encoder)
            encoder.encode(bytes: lock.wrapped)
        case .presenceWanted(let reason, let places):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 10)
            encoder.encode(text: reason)
            encoder.encodeArrayHeader(count: places.count * 2)
            for (name, value) in places {
                encoder.encode(text: name)
                encoder.encode(text: value)
            }
        case .confirmed:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 11)
        case .used:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 12)
        case .lockWanted:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 13)
        case .permitWanted(let act, let mark):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 14)
            encoder.encode(unsigned: UInt64(act.rawValue))
            encoder.encode(bytes: mark)
        case .verificationWanted(let reason):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 15)
            encoder.encode(text: reason)
        case .valueGiven(let browser, let host):
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 16)
            encoder.encode(text: browser)
            encoder.encode(text: host)
        case .askWaits(let relayID):
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 17)
            encoder.encode(bytes: relayID.bytes)
        case .keyWanted:
            encoder.encodeArrayHeader(count: 1)
            encoder.encode(unsigned: 18)
        }
        defer { encoder.zero() }
        return Array(encoder.bytes)
    }

    private static func encode<Purpose>(_ key: SymmetricKey<Purpose>, to encoder: inout CBOREncoder) {
        // EXPOSE: into the message to the parent process, which is zeroed once it is sent.
        unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
    }

    init?(decoding bytes: [UInt8]) {
        let report = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            let count = try decoder.readArrayHeader()
            let kind = try decoder.readUnsigned()
            switch (kind, count) {
            case (1, 7):
                let store = try decoder.readText()
                let key: StorageKey = try Self.readKey(from: &decoder)
                let generation = try decoder.readUnsigned()
                let intervals = try Self.readIntervals(from: &decoder)
                return ChildReport.opened(
                    OpenedStore(
                        store: store, storageKey: key, generation: generation, intervals: intervals,
                        variables: try KeptVariables(from: &decoder)))
            case (2, 3):
                let key: StorageKey = try Self.readKey(from: &decoder)
                return .renewed(key, generation: try decoder.readUnsigned())
            case (3, 1): return .stale
            case (9, 1): return .slotExcluded
            case (7, 4):
                let store = try decoder.readText()
                return .settled(store: store, try Self.readIntervals(from: &decoder))
            case (4, 3):
                let code = try decoder.readText(byteCountMax: Self.codeByteCountMax)
                if decoder.isNextNull {
                    try decoder.readNull()
                    return .refused(code: code, waitSeconds: nil)
                }
                return .refused(code: code, waitSeconds: try decoder.readUnsigned())
            case (5, 4):
                let record = try Self.readRecord(from: &decoder)
                guard let scheme = LockScheme(rawValue: try decoder.readUnsigned()) else {
                    throw CBORError(.unexpectedItem, byteOffset: 0)
                }
                let secret = try decoder.readSecret(counts: 0...Self.noteKeyByteCountMax)
                return .noteKeyHeld(HeldNoteKey(record: record, scheme: scheme, secret: secret))
            case (6, 2): return .noteKeyForgotten(try Self.readRecord(from: &decoder))
            case (8, 3):
                let key: IdleKey = try Self.readKey(from: &decoder)
                return .idleLock(
                    IdleLock(key: key, wrapped: try decoder.readBytes(countMax: Self.wrappedByteCountMax)))
            case (10, 3):
                let reason = try decoder.readText(byteCountMax: Self.codeByteCountMax)
                var places: [String: String] = [:]
                for _ in 0..<(try decoder.readArrayHeader() / 2) {
                    let name = try decoder.readText()
                    places[name] = try decoder.readText()
                }
                return .presenceWanted(reason: reason, places: places)
            case (11, 1): return .confirmed
            case (12, 1): return .used
            case (13, 1): return .lockWanted
            case (18, 1): return .keyWanted
            case (14, 3):
                guard let act = BrowserAct(rawValue: try decoder.readUnsigned(as: UInt8.self)) else {
                    throw CBORError(.unexpectedItem, byteOffset: 0)
                }
                return .permitWanted(act, mark: try decoder.readBytes(countMax: 32))
            case (15, 2):
                return .verificationWanted(reason: try decoder.readText(byteCountMax: Self.reasonByteCountMax))
            case (16, 3):
                let browser = try decoder.readText(byteCountMax: Self.codeByteCountMax)
                return .valueGiven(browser: browser, host: try decoder.readText(byteCountMax: Self.codeByteCountMax))
            case (17, 2): return .askWaits(try Self.readRecord(from: &decoder))
            default: throw CBORError(.unexpectedItem, byteOffset: 0)
            }
        }
        guard let report else { return nil }
        self = report
    }

    private static func readIntervals(from decoder: inout CBORDecoder) throws(CBORError) -> LockIntervals {
        let (idle, absolute) = (try decoder.readUnsigned(), try decoder.readUnsigned())
        guard let intervals = LockIntervals(idleSeconds: idle, absoluteSeconds: absolute) else {
            throw CBORError(.unexpectedItem, byteOffset: 0)
        }
        return intervals
    }

    private static func readKey<Purpose>(
        from decoder: inout CBORDecoder
    ) throws(CBORError) -> SymmetricKey<Purpose> {
        let byteCount = SymmetricKey<Purpose>.byteCount
        return SymmetricKey(try decoder.readSecret(counts: byteCount...byteCount))
    }

    private static func readRecord(from decoder: inout CBORDecoder) throws(CBORError) -> UniqueID {
        guard let record = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: 0)
        }
        return record
    }
}
