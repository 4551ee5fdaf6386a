// A Noise session after its handshake. Nonces count up under a lock: two messages of one direction can never share
// one, for any callers.

internal import CoffretBase
internal import CoffretCrypto
internal import Synchronization

/// The result of a handshake: a direction to send in and one to receive in, which may be used side by side.
///
/// Messages arrive in the order in which they were sent, or they do not open: Noise numbers them without
/// writing the number down.
public struct NoiseSession: Sendable {
    /// Encrypts what goes to the other side.
    public let sender: NoiseSender
    /// Decrypts what comes from there.
    public let receiver: NoiseReceiver
    /// The hash of the whole handshake: equal on both sides, different for every session.
    public let handshakeHash: [UInt8]
    /// The other side's static key, where the pattern has one.
    public let remoteStaticKey: NoisePublicKey?

    init(_ sender: NoiseSender, _ receiver: NoiseReceiver, _ handshakeHash: [UInt8], _ remote: NoisePublicKey?) {
        self.sender = sender
        self.receiver = receiver
        self.handshakeHash = handshakeHash
        remoteStaticKey = remote
    }
}

/// The sending half of a session.
/// - Concurrency: safe from any task; messages must be delivered in the order of the calls.
public final class NoiseSender: Sendable {
    /// By how many bytes a message is longer than its plaintext: 16.
    public static let overheadByteCount = NoiseCipherState.tagByteCount
    /// The longest plaintext of one message: 65,519 bytes.
    public static let plaintextByteCountMax = NoiseHandshake.messageByteCountMax - overheadByteCount

    private let state: Mutex<NoiseCipherState>

    init(_ state: consuming NoiseCipherState) { self.state = Mutex(state) }

    /// Encrypts the next message.
    ///
    /// Layout: ciphertext (n) ‖ tag (16).
    /// - Parameter additionalData: is authenticated and not sent; the receiver must give the same.
    /// - Throws: `InteropError`: `.limitExceeded` above 65,519 bytes; `.nonceExhausted` after 2⁶⁴ - 1 messages.
    public func encrypt(_ plaintext: some Collection<UInt8>, additionalData: some Collection<UInt8> = [UInt8]())
        throws(InteropError) -> [UInt8]
    {
        let plaintextBytes = [UInt8](plaintext)
        let additionalData = [UInt8](additionalData)
        let plaintext = plaintextBytes.span
        guard plaintext.count <= Self.plaintextByteCountMax else { throw InteropError(.limitExceeded, at: "plaintext") }
        return try unsafe makeBytes(byteCount: plaintext.count + 16) { (output) throws(InteropError) in
            try unsafe plaintext.withUnsafeBytes { (plaintext) throws(InteropError) in
                try unsafe encrypt(plaintext, additionalData.span.bytes, into: output)
            }
        }
    }

    /// Encrypts the next message where it lies: all of `buffer` but its last 16 bytes is the plaintext, and
    /// afterwards all of it is the message. Allocates nothing.
    ///
    /// - Throws: as `encrypt(_:additionalData:)`, and `.invalidArgument` below 16 bytes.
    public func encryptInPlace(
        _ buffer: inout MutableRawSpan, additionalData: RawSpan = RawSpan()
    ) throws(InteropError) {
        guard buffer.byteCount >= 16 else { throw InteropError(.invalidArgument, at: "buffer size") }
        guard buffer.byteCount <= NoiseHandshake.messageByteCountMax else {
            throw InteropError(.limitExceeded, at: "plaintext")
        }
        try unsafe buffer.withUnsafeMutableBytes { (bytes) throws(InteropError) in
            try unsafe encrypt(UnsafeRawBufferPointer(bytes).part(0..<bytes.count - 16), additionalData, into: bytes)
        }
    }

    private func encrypt(
        _ plaintext: UnsafeRawBufferPointer, _ additionalData: RawSpan, into output: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        try state.withLock { (state) throws(InteropError) in
            try unsafe state.encrypt(plaintext, additionalData: additionalData, into: output)
        }
    }

    /// Replaces the key of this direction, one way; both sides must do it between the same two messages.
    ///
    /// The count of messages goes on: rekeying protects what was sent before, not against exhaustion.
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func rekey() throws(InteropError) {
        try state.withLock { (state) throws(InteropError) in try state.rekey() }
    }

    /// How many messages have been sent.
    public var messageCount: UInt64 { state.withLock { $0.nonce } }

    func withKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result where Result: Sendable {
        state.withLock { unsafe $0.withKey(body) }
    }
}

/// The receiving half of a session.
/// - Concurrency: safe from any task; messages must be given in the order in which they were sent.
public final class NoiseReceiver: Sendable {
    private let state: Mutex<NoiseCipherState>

    init(_ state: consuming NoiseCipherState) { self.state = Mutex(state) }

    /// Decrypts the next message.
    ///
    /// - Returns: the plaintext, which is the caller's to overwrite.
    /// - Throws: `InteropError`: `.authenticationFailed`, for any fault, a message twice or out of order
    ///   included; the session then stands as if the message had not come. `.limitExceeded` above 65,535 bytes;
    ///   `.nonceExhausted` after 2⁶⁴ - 1 messages.
    public func decrypt(_ message: some Collection<UInt8>, additionalData: some Collection<UInt8> = [UInt8]())
        throws(InteropError) -> [UInt8]
    {
        let messageBytes = [UInt8](message)
        let additionalData = [UInt8](additionalData)
        let message = messageBytes.span
        guard message.count <= NoiseHandshake.messageByteCountMax else {
            throw InteropError(.limitExceeded, at: "message")
        }
        guard message.count >= 16 else { throw .authenticationFailed }
        return try unsafe makeBytes(byteCount: message.count - 16) { (plaintext) throws(InteropError) in
            try unsafe message.withUnsafeBytes { (message) throws(InteropError) in
                try state.withLock { (state) throws(InteropError) in
                    try unsafe state.decrypt(message, additionalData: additionalData.span.bytes, into: plaintext)
                }
            }
        }
    }

    /// Decrypts the next message where it lies: afterwards all of `buffer` but its last 16 bytes is the
    /// plaintext, or, when this throws, zeros. Allocates nothing.
    ///
    /// - Throws: as `decrypt(_:additionalData:)`.
    public func decryptInPlace(
        _ buffer: inout MutableRawSpan, additionalData: RawSpan = RawSpan()
    ) throws(InteropError) {
        guard buffer.byteCount <= NoiseHandshake.messageByteCountMax else {
            throw InteropError(.limitExceeded, at: "message")
        }
        guard buffer.byteCount >= 16 else { throw .authenticationFailed }
        try unsafe buffer.withUnsafeMutableBytes { (bytes) throws(InteropError) in
            try state.withLock { (state) throws(InteropError) in
                try unsafe state.decrypt(
                    UnsafeRawBufferPointer(bytes), additionalData: additionalData,
                    into: bytes.part(0..<bytes.count - 16))
            }
        }
    }

    /// Replaces the key of this direction, one way; both sides must do it between the same two messages.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func rekey() throws(InteropError) {
        try state.withLock { (state) throws(InteropError) in try state.rekey() }
    }

    /// How many messages have been received.
    public var messageCount: UInt64 { state.withLock { $0.nonce } }

    func withKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result where Result: Sendable {
        state.withLock { unsafe $0.withKey(body) }
    }
}
