// The messages by which two devices introduce themselves. Invariant: these bytes are hashed and signed as they were
// sent, never encoded anew.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust

/// A new device's description of itself: B_N.
///
/// Layout, deterministic CBOR: [1, device id, signing key, box key, Noise key, instance id, name, model,
/// notification address].
package struct RequesterIdentity: Equatable, Sendable {
    package static let textByteCountMax = 1_024

    package let deviceID: UniqueID
    package let keys: DeviceKeys
    package let instanceID: UniqueID
    package let name: String
    package let model: String
    package let notificationAddress: String

    package init(
        deviceID: UniqueID, keys: DeviceKeys, instanceID: UniqueID, name: String, model: String = "",
        notificationAddress: String = ""
    ) {
        self.deviceID = deviceID
        self.keys = keys
        self.instanceID = instanceID
        self.name = name
        self.model = model
        self.notificationAddress = notificationAddress
    }

    var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 9)
            encoder.encode(unsigned: 1)
            for bytes in [
                deviceID.bytes, keys.signing.bytes, keys.box.bytes, keys.noise.bytes, instanceID.bytes,
            ] {
                encoder.encode(bytes: bytes)
            }
            for text in [name, model, notificationAddress] { encoder.encode(text: text) }
        }
    }

    /// Throws `.mismatch` if it is not of this shape, `.unsupported` if of another version.
    init(decoding bytes: [UInt8]) throws {
        self = try readPairing(bytes, count: 9) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            let deviceID = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
            let signing = try? VerifyingKey(try decoder.readBytes(count: 32))
            let box = try? AgreementPublicKey(try decoder.readBytes(count: 32))
            let noise = try? AgreementPublicKey(try decoder.readBytes(count: 32))
            let instanceID = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
            guard let deviceID, let signing, let box, let noise, let instanceID else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return RequesterIdentity(
                deviceID: deviceID, keys: DeviceKeys(signing: signing, box: box, noise: noise), instanceID: instanceID,
                name: try decoder.readText(byteCountMax: RequesterIdentity.textByteCountMax),
                model: try decoder.readText(byteCountMax: RequesterIdentity.textByteCountMax),
                notificationAddress: try decoder.readText(byteCountMax: RequesterIdentity.textByteCountMax))
        }
    }
}

/// A trusted device's description of the account: B_T.
///
/// Layout, deterministic CBOR: [1, account id, newest sequence number of the device chain, its link's hash, server
/// fingerprint].
package struct ApproverIdentity: Equatable, Sendable {
    package static let fingerprintByteCount = 32

    package let accountID: ChainID
    /// The chain that the new device gets must contain this link.
    package let head: RememberedHead
    /// SHA-256 of the server's public key, as this device knows it; zeros if there is none.
    package let serverFingerprint: [UInt8]

    package init(accountID: ChainID, head: RememberedHead, serverFingerprint: [UInt8]) {
        precondition(serverFingerprint.count == Self.fingerprintByteCount, "a fingerprint has 32 bytes")
        self.accountID = accountID
        self.head = head
        self.serverFingerprint = serverFingerprint
    }

    var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: accountID.bytes)
            encoder.encode(unsigned: head.sequenceNumber)
            encoder.encode(bytes: head.linkHash)
            encoder.encode(bytes: serverFingerprint)
        }
    }

    /// As `RequesterIdentity.init(decoding:)`.
    init(decoding bytes: [UInt8]) throws {
        self = try readPairing(bytes, count: 5) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            guard let accountID = ChainID(try decoder.readBytes(count: ChainID.byteCount)) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let number = try decoder.readUnsigned()
            let hash = try decoder.readBytes(count: 32)
            return ApproverIdentity(
                accountID: accountID, head: RememberedHead(sequenceNumber: number, linkHash: hash),
                serverFingerprint: try decoder.readBytes(count: ApproverIdentity.fingerprintByteCount))
        }
    }
}

/// Reads [1, item...] with `count` items in all; anything malformed is `.mismatch`, another version `.unsupported`.
private func readPairing<Value>(
    _ bytes: [UInt8], count: Int, _ body: (inout CBORDecoder) throws(CBORError) -> Value
) throws -> Value {
    let value = try withCBORDecoder(bytes, convert: { _ in PairingError(.mismatch) }) {
        (decoder) throws(CBORError) -> Value? in
        let start = decoder.byteOffset
        let found = try decoder.readArrayHeader()
        guard try decoder.readUnsigned() == 1 else {
            for _ in 1..<max(found, 1) { try decoder.skipItem() }
            return nil
        }
        guard found == count else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return try body(&decoder)
    }
    guard let value else { throw PairingError(.unsupported) }
    return value
}

/// The place where a new device waits, with the other contents of a scanned code.
///
/// Text: "COFFRET-PAIR:1:" and in base32 (RFC 4648, without padding) relay id (16) ‖ static key (32) ‖
/// one-time secret (32). A bare relay id is 32 hex digits.
package struct PairingInvitation: Equatable, Sendable {
    package static let relayIDByteCount = 16
    private static let prefix = "COFFRET-PAIR:1:"

    package let relayID: [UInt8]
    let staticKey: [UInt8]
    let secret: [UInt8]

    init(relayID: [UInt8], staticKey: [UInt8], secret: [UInt8]) {
        self.relayID = relayID
        self.staticKey = staticKey
        self.secret = secret
    }

    /// For a QR code. It holds a secret that is worth something until it was used once.
    package var text: String { Self.prefix + Base32.rfc4648Unpadded.encode(relayID + staticKey + secret) }

    package static func parse(_ text: String) throws -> PairingInvitation {
        guard text.uppercased().hasPrefix(prefix),
            let bytes = try? Base32.rfc4648Unpadded.decode(String(text.uppercased().dropFirst(prefix.count))),
            bytes.count == relayIDByteCount + 64
        else { throw PairingError(.invitationMalformed) }
        return PairingInvitation(
            relayID: Array(bytes[..<16]), staticKey: Array(bytes[16..<48]), secret: Array(bytes[48...]))
    }
}
