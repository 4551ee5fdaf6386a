// The encrypted channel between extension and session. Invariant: a message that was altered, repeated, reordered or made for
// another session ends the channel; nothing of it is looked at.

internal import CoffretBase
internal import CoffretInterop

/// How a channel begins: the extension's first message.
///
/// Layout: 1 ‖ id of the pairing (8) ‖ first message of Noise (48); or 2 ‖ first message of Noise (48), for a pairing.
/// Spec: Spec/bridge.md section 2.
package enum BridgeOpening: Equatable {
    case session(pairing: [UInt8], handshake: [UInt8])
    case pairing(handshake: [UInt8])

    /// X25519 key and the tag of an empty payload.
    private static let handshakeByteCount = 32 + 16

    /// - Throws: `.messageInvalid`.
    package init(_ bytes: [UInt8]) throws(BridgeError) {
        let rest = Array(bytes.dropFirst())
        switch (bytes.first, rest.count - Self.handshakeByteCount) {
        case (1, Pairing.idByteCount):
            self = .session(
                pairing: Array(rest.prefix(Pairing.idByteCount)), handshake: Array(rest.dropFirst(Pairing.idByteCount)))
        case (2, 0): self = .pairing(handshake: rest)
        default: throw BridgeError(.messageInvalid)
        }
    }
}

/// A channel whose handshake is over, on the side of the session.
///
/// Noise_NNpsk0_25519_AESGCM_SHA256; the extension is initiator. One isolation domain at a time.
package final class BridgeChannel {
    /// The longest plaintext of one message.
    package static let byteCountMax = NoiseSender.plaintextByteCountMax
    private static let sessionPrologue = Array("coffret/bridge/1".utf8)
    private static let pairingPrologue = Array("coffret/bridge/pair/1".utf8)
    /// Before a pairing both sides have no secret; this one everybody knows.
    private static let openKey = [UInt8](repeating: 0, count: Pairing.keyByteCount)

    private let session: NoiseSession
    /// The same on both sides, and different for each channel.
    package var handshakeHash: [UInt8] { session.handshakeHash }

    /// Answers the handshake of a paired browser.
    ///
    /// - Returns: the channel, and the message that goes to the extension.
    /// - Throws: `.messageInvalid` if the extension does not have the key.
    package static func open(
        _ handshake: [UInt8], with pairing: Pairing
    ) throws(BridgeError) -> (channel: BridgeChannel, reply: [UInt8]) {
        // EXPOSE: into an array that is zeroed once the handshake has taken its copy.
        var key = unsafe pairing.key.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { key.zero() }
        return try open(handshake, prologue: sessionPrologue + pairing.id, key: key)
    }

    /// Answers the handshake of a browser that is to be paired.
    ///
    /// - Throws: `.messageInvalid`.
    package static func openPairing(
        _ handshake: [UInt8]
    ) throws(BridgeError) -> (channel: BridgeChannel, reply: [UInt8]) {
        try open(handshake, prologue: pairingPrologue, key: openKey)
    }

    private static func open(
        _ handshake: [UInt8], prologue: [UInt8], key: [UInt8]
    ) throws(BridgeError) -> (channel: BridgeChannel, reply: [UInt8]) {
        do throws(InteropError) {
            let noise = try NoiseHandshake(
                NoiseProtocol(.nnPSK0, .aesGCM), role: .responder, prologue: prologue, preSharedKey: key)
            _ = try noise.readMessage(handshake)
            let reply = try noise.writeMessage()
            return (BridgeChannel(try noise.makeSession()), reply)
        } catch {
            throw BridgeError(.messageInvalid, at: "handshake")
        }
    }

    private init(_ session: NoiseSession) { self.session = session }

    /// - Returns: the plaintext, which the caller zeroes.
    /// - Throws: `.messageInvalid`; the channel is over.
    package func open(_ message: [UInt8]) throws(BridgeError) -> [UInt8] {
        do throws(InteropError) {
            return try session.receiver.decrypt(message)
        } catch {
            throw BridgeError(.messageInvalid, at: "channel")
        }
    }

    /// - Throws: `.messageInvalid` for more than `byteCountMax` bytes.
    package func seal(_ plaintext: [UInt8]) throws(BridgeError) -> [UInt8] {
        do throws(InteropError) {
            return try session.sender.encrypt(plaintext)
        } catch {
            throw BridgeError(.messageInvalid, at: "channel")
        }
    }
}
