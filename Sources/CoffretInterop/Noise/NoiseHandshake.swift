// A Noise handshake as a state machine: messages in, messages out, no I/O. It goes one way only: after a
// failure nothing more can be done with it, and the keys it leads to are handed out once.

internal import CoffretBase
package import CoffretCrypto

/// A handshake in progress.
///
/// Call `writeMessage` and `readMessage` in turn, as `nextStep` says, carry the bytes to the other side by
/// whatever means, and call `makeSession` in the end.
///
/// The protection of a payload depends on the pattern and the message: in the first message of NX and XX
/// it is **readable by everyone**. A remote static key that came in the handshake proves only that the other
/// side holds it: look at `remoteStaticKey` and decide whether you know it.
///
/// Not Sendable: one task drives a handshake.
/// Spec: Spec/interop-noise.md. Vectors: noise/found.json, generated.json, invalid.json.
public final class NoiseHandshake {
    /// The longest message of Noise, of a handshake or of a session: 65,535 bytes.
    public static let messageByteCountMax = 65_535
    /// The size of a pre-shared key.
    public static let preSharedKeyByteCount = 32

    /// A step of the handshake.
    public enum Step: Sendable {
        /// It is this side's turn to send.
        case write
        /// It is the other side's turn to send.
        case read
        /// All messages have been exchanged: `makeSession`.
        case split
        /// A session has been made, or a step has failed.
        case over
    }

    /// The protocol.
    public let noiseProtocol: NoiseProtocol
    /// Which side this is.
    public let role: NoiseRole
    /// The other side's static key, once it is known: given, or received and authenticated as its sender's.
    public private(set) var remoteStaticKey: NoisePublicKey?

    private(set) var symmetric: NoiseSymmetricState
    private let staticKey: NoiseStaticKey?
    private var ephemeralKey: AgreementKey?
    private var remoteEphemeralKey: AgreementPublicKey?
    /// Empty where the pattern has none.
    private let preSharedKey: SecretBytes
    private var messageIndex = 0
    private var isOver = false
    private let fixedEphemeralKey: AgreementKey?

    /// Starts a handshake.
    ///
    /// - Parameter prologue: what both sides must agree on beforehand, such as a version or a channel; any
    ///   difference makes the handshake fail.
    /// - Parameter staticKey: this side's, where the pattern needs one.
    /// - Parameter remoteStaticKey: the other side's, where the pattern needs it beforehand.
    /// - Parameter preSharedKey: 32 bytes, where the pattern needs them; the array stays the caller's to overwrite.
    /// - Throws: `InteropError`: `.invalidArgument` for a key that is missing or not needed; `.invalidKey` for a
    ///   pre-shared key of another size.
    public convenience init(
        _ noiseProtocol: NoiseProtocol, role: NoiseRole, prologue: some Collection<UInt8> = [UInt8](),
        staticKey: NoiseStaticKey? = nil,
        remoteStaticKey: NoisePublicKey? = nil, preSharedKey: [UInt8]? = nil
    ) throws(InteropError) {
        let prologue = [UInt8](prologue)
        try self.init(
            noiseProtocol, role: role, prologue: prologue, staticKey: staticKey, remoteStaticKey: remoteStaticKey,
            preSharedKey: preSharedKey, ephemeralKey: nil)
    }

    /// As above, with an ephemeral key that is fixed: for vectors alone.
    package init(
        _ noiseProtocol: NoiseProtocol, role: NoiseRole, prologue: [UInt8], staticKey: NoiseStaticKey?,
        remoteStaticKey: NoisePublicKey?, preSharedKey: [UInt8]?, ephemeralKey: AgreementKey?
    ) throws(InteropError) {
        let pattern = noiseProtocol.pattern
        guard pattern.needsStaticKey(role) == (staticKey != nil) else {
            throw InteropError(.invalidArgument, at: "static key")
        }
        guard pattern.needsRemoteStaticKey(role) == (remoteStaticKey != nil) else {
            throw InteropError(.invalidArgument, at: "remote static key")
        }
        guard pattern.needsPreSharedKey == (preSharedKey != nil) else {
            throw InteropError(.invalidArgument, at: "pre-shared key")
        }
        guard preSharedKey == nil || preSharedKey?.count == Self.preSharedKeyByteCount else {
            throw InteropError(.invalidKey, at: "pre-shared key size")
        }
        self.noiseProtocol = noiseProtocol
        self.role = role
        self.staticKey = staticKey
        self.remoteStaticKey = remoteStaticKey
        fixedEphemeralKey = ephemeralKey
        let preSharedBytes = preSharedKey ?? []
        self.preSharedKey = unsafe SecretBytes(byteCount: preSharedBytes.count) {
            unsafe $0.copyBytes(from: preSharedBytes)
        }
        symmetric = NoiseSymmetricState(noiseProtocol)
        symmetric.mixHash(prologue)
        if pattern == .oldPSKNN {
            try withPreSharedKey { (key) throws(InteropError) in try symmetric.mixOldPreSharedKey(key) }
        }
        for owner in pattern.knownBeforehand {
            let key = owner == role ? staticKey?.publicKey : remoteStaticKey
            symmetric.mixHash(key?.bytes ?? [])
        }
    }

    /// The next step.
    public var nextStep: Step {
        if isOver { return .over }
        if messageIndex == noiseProtocol.pattern.messages.count { return .split }
        return (messageIndex % 2 == 0) == (role == .initiator) ? .write : .read
    }

    // MARK: Messages

    /// Makes the next handshake message, with a payload in it.
    ///
    /// - Throws: `InteropError`: `.outOfOrder` when it is not this side's turn; `.limitExceeded` when the
    ///   message would exceed 65,535 bytes, after which a shorter payload may be tried; `.invalidKey` when
    ///   the other side's key is of small order, after which the handshake is over.
    public func writeMessage(_ payload: some Collection<UInt8> = [UInt8]()) throws(InteropError) -> [UInt8] {
        let payload = [UInt8](payload)
        guard nextStep == .write else { throw InteropError(.outOfOrder, at: "write") }
        let tokens = noiseProtocol.pattern.messages[messageIndex]
        // Each token sends at most a key and a tag; nothing has changed yet when this refuses.
        guard payload.count + 16 + 48 * tokens.count <= Self.messageByteCountMax else {
            throw InteropError(.limitExceeded, at: "handshake payload")
        }
        do throws(InteropError) {
            var message: [UInt8] = []
            for token in tokens {
                switch token {
                case .e:
                    let key = fixedEphemeralKey ?? AgreementKey.generate(from: SystemRandomSource())
                    ephemeralKey = key
                    message += key.publicKey.bytes
                    try mixEphemeral(key.publicKey.bytes)
                case .s:
                    message += try symmetric.encryptAndHash(staticKey?.publicKey.bytes ?? [])
                default: try mix(token)
                }
            }
            message += try symmetric.encryptAndHash(payload)
            messageIndex += 1
            return message
        } catch {
            end()
            throw error
        }
    }

    /// Reads the other side's next handshake message and returns its payload.
    ///
    /// - Throws: `InteropError`: `.outOfOrder` when it is not the other side's turn; `.limitExceeded` above
    ///   65,535 bytes; `.authenticationFailed`, whatever else is wrong. After any failure but the first the
    ///   handshake is over.
    public func readMessage(_ message: some Collection<UInt8>) throws(InteropError) -> [UInt8] {
        let message = [UInt8](message)
        guard nextStep == .read else { throw InteropError(.outOfOrder, at: "read") }
        guard message.count <= Self.messageByteCountMax else {
            end()
            throw InteropError(.limitExceeded, at: "handshake message")
        }
        do throws(InteropError) {
            var rest = message[...]
            for token in noiseProtocol.pattern.messages[messageIndex] {
                switch token {
                case .e:
                    let bytes = try take(32, from: &rest)
                    remoteEphemeralKey = try publicKey(Array(bytes))
                    try mixEphemeral(Array(bytes))
                case .s:
                    let sealed = try take(symmetric.hasKey ? 48 : 32, from: &rest)
                    remoteStaticKey = NoisePublicKey(try publicKey(symmetric.decryptAndHash(sealed)))
                default: try mix(token)
                }
            }
            let payload = try symmetric.decryptAndHash(rest)
            messageIndex += 1
            return payload
        } catch {
            end()
            // A key that was received and not authenticated is discarded.
            if !noiseProtocol.pattern.needsRemoteStaticKey(role) { remoteStaticKey = nil }
            throw .authenticationFailed
        }
    }

    private func take(_ byteCount: Int, from bytes: inout ArraySlice<UInt8>) throws(InteropError) -> ArraySlice<UInt8> {
        guard bytes.count >= byteCount else { throw .authenticationFailed }
        defer { bytes = bytes.dropFirst(byteCount) }
        return bytes.prefix(byteCount)
    }

    private func publicKey(_ bytes: [UInt8]) throws(InteropError) -> AgreementPublicKey {
        try translatingErrors(AgreementPublicKey(bytes))
    }

    private func mixEphemeral(_ bytes: [UInt8]) throws(InteropError) {
        symmetric.mixHash(bytes)
        // With a pre-shared key the ephemeral key also goes into the chain, so that nonces never repeat.
        if noiseProtocol.pattern.needsPreSharedKey { try unsafe symmetric.mixKey(bytes.span.bytes) }
    }

    private func withPreSharedKey(_ body: (RawSpan) throws(InteropError) -> Void) throws(InteropError) {
        // EXPOSE: read by the derivation, which keeps no copy.
        try unsafe preSharedKey.withUnsafeBytes { (bytes) throws(InteropError) in try unsafe body(bytes.bytes) }
    }

    /// The tokens that send nothing.
    private func mix(_ token: NoisePattern.Token) throws(InteropError) {
        let own: AgreementKey?
        let other: AgreementPublicKey?
        switch token {
        case .psk: return try withPreSharedKey { (key) throws(InteropError) in try symmetric.mixKeyAndHash(key) }
        case .ee: (own, other) = (ephemeralKey, remoteEphemeralKey)
        case .ss: (own, other) = (staticKey?.key, remoteStaticKey?.key)
        // The first letter is the initiator's key, on either side.
        case .es where role == .initiator, .se where role == .responder:
            (own, other) = (ephemeralKey, remoteStaticKey?.key)
        default: (own, other) = (staticKey?.key, remoteEphemeralKey)
        }
        guard let own, let other else { preconditionFailure("a pattern uses a key before it is known") }
        // All-zero results are refused: see Spec/interop-noise.md §5.
        let secret = try translatingErrors(own.sharedSecret(with: other))
        // EXPOSE: read by the derivation, which keeps no copy.
        try unsafe secret.withUnsafeBytes { (bytes) throws(InteropError) in try unsafe symmetric.mixKey(bytes.bytes) }
    }

    // MARK: The end

    /// The hash of all that was said, once all messages are exchanged: equal on both sides, different for
    /// every session. Sign it, or compare it, to bind something to this channel.
    public var handshakeHash: [UInt8]? { messageIndex == noiseProtocol.pattern.messages.count ? symmetric.hash : nil }

    /// The session that the handshake has led to. It is made once.
    ///
    /// - Throws: `InteropError` `.outOfOrder` before the last message, and after the first call.
    public func makeSession() throws(InteropError) -> NoiseSession {
        guard nextStep == .split else { throw InteropError(.outOfOrder, at: "split") }
        let keys = try symmetric.split()
        // EXPOSE: from locked memory to locked memory.
        let first = unsafe keys.withUnsafeBytes { unsafe SecretBytes(copying: $0.part(0..<32)) }
        let second = unsafe keys.withUnsafeBytes { unsafe SecretBytes(copying: $0.part(32..<64)) }
        let cipher = noiseProtocol.cipher
        let hash = symmetric.hash
        let remote = remoteStaticKey
        end()
        return switch role {
        case .initiator:
            try NoiseSession(
                NoiseSender(NoiseCipherState(cipher, .seal, key: first)),
                NoiseReceiver(NoiseCipherState(cipher, .open, key: second)), hash, remote)
        case .responder:
            try NoiseSession(
                NoiseSender(NoiseCipherState(cipher, .seal, key: second)),
                NoiseReceiver(NoiseCipherState(cipher, .open, key: first)), hash, remote)
        }
    }

    /// Forgets the ephemeral key; nothing can be done any more.
    private func end() {
        isOver = true
        ephemeralKey = nil
    }
}
