// The Noise protocols that this library speaks, as data. A pattern is exactly the token table of the
// specification; nothing else decides what a message holds.

internal import CoffretCrypto

/// Which side of a handshake one is.
public enum NoiseRole: Sendable {
    /// Sends the first message.
    case initiator
    /// Answers it.
    case responder
}

/// A handshake pattern.
public enum NoisePattern: String, Sendable, CaseIterable {
    /// The initiator is anonymous; the responder sends its static key. Two messages.
    case nx = "NX"
    /// Both know the other's static key beforehand. Two messages.
    case kk = "KK"
    /// Both send their static keys, encrypted. Three messages.
    case xx = "XX"
    /// The initiator knows the responder's static key and sends its own at once. Two messages.
    case ik = "IK"
    /// The initiator knows the responder's static key and sends its own in the end. Three messages.
    case xk = "XK"
    /// No static keys; both hold a pre-shared key. Two messages.
    case nnPSK0 = "NNpsk0"
    /// The initiator is anonymous and knows the responder's static key; both hold a pre-shared key. Two messages.
    case nkPSK0 = "NKpsk0"
    /// The pre-shared-key mode of the specification up to revision 31. Not `nnPSK0`: the two give different
    /// bytes and do not talk to each other. Two messages.
    case oldPSKNN = "NoisePSK_NN"

    enum Token { case e, s, ee, es, se, ss, psk }

    /// The messages in turn, the initiator's first.
    var messages: [[Token]] {
        switch self {
        case .nx: [[.e], [.e, .ee, .s, .es]]
        case .kk: [[.e, .es, .ss], [.e, .ee, .se]]
        case .xx: [[.e], [.e, .ee, .s, .es], [.s, .se]]
        case .ik: [[.e, .es, .s, .ss], [.e, .ee, .se]]
        case .xk: [[.e, .es], [.e, .ee], [.s, .se]]
        case .nnPSK0: [[.psk, .e], [.e, .ee]]
        case .nkPSK0: [[.psk, .e, .es], [.e, .ee]]
        case .oldPSKNN: [[.e], [.e, .ee]]
        }
    }

    /// Whose static keys both know beforehand, in the order in which they are hashed.
    var knownBeforehand: [NoiseRole] {
        switch self {
        case .kk: [.initiator, .responder]
        case .ik, .xk, .nkPSK0: [.responder]
        default: []
        }
    }

    /// Whether both need the same 32-byte pre-shared key.
    public var needsPreSharedKey: Bool { self == .nnPSK0 || self == .nkPSK0 || self == .oldPSKNN }

    /// Whether that side needs a static key of its own.
    public func needsStaticKey(_ role: NoiseRole) -> Bool {
        switch self {
        case .nx, .nkPSK0: role == .responder
        case .kk, .xx, .ik, .xk: true
        case .nnPSK0, .oldPSKNN: false
        }
    }

    /// Whether that side has to know the other's static key before it begins.
    public func needsRemoteStaticKey(_ role: NoiseRole) -> Bool { knownBeforehand.contains { $0 != role } }
}

/// The cipher of a protocol.
public enum NoiseCipher: String, Sendable, CaseIterable {
    /// ChaCha20-Poly1305.
    case chaChaPoly = "ChaChaPoly"
    /// AES-256 in GCM.
    case aesGCM = "AESGCM"

    var algorithm: AEADAlgorithm {
        switch self {
        case .chaChaPoly: .chaCha20Poly1305
        case .aesGCM: .aes256GCM
        }
    }

    /// The 12 bytes that the cipher takes for a counter: little-endian for ChaChaPoly, big-endian for AESGCM.
    func nonce(_ counter: UInt64) -> InlineArray<12, UInt8> {
        var nonce = InlineArray<12, UInt8>(repeating: 0)
        for index in 0..<8 {
            let byte = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index))
            nonce[self == .chaChaPoly ? 4 + index : 11 - index] = byte
        }
        return nonce
    }
}

/// A protocol: a pattern and a cipher; the rest is 25519 and SHA256.
///
/// Spec: Spec/interop-noise.md §1. Source: The Noise Protocol Framework, revision 34; for `oldPSKNN`
/// revision 31.
public struct NoiseProtocol: Sendable, Hashable {
    /// The pattern.
    public let pattern: NoisePattern
    /// The cipher.
    public let cipher: NoiseCipher

    /// A protocol of these parts.
    public init(_ pattern: NoisePattern, _ cipher: NoiseCipher = .chaChaPoly) {
        self.pattern = pattern
        self.cipher = cipher
    }

    /// The protocol of that name; nil for any that this library does not speak.
    public init?(name: String) {
        let all = NoisePattern.allCases.flatMap { pattern in NoiseCipher.allCases.map { Self(pattern, $0) } }
        guard let match = all.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// The name, which goes into the handshake hash: `Noise_XX_25519_ChaChaPoly_SHA256`.
    public var name: String {
        let prefix = pattern == .oldPSKNN ? pattern.rawValue : "Noise_" + pattern.rawValue
        return "\(prefix)_25519_\(cipher.rawValue)_SHA256"
    }
}
