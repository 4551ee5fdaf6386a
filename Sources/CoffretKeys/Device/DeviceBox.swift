// Keys on their way from one of a person's devices to another. Invariant: a box opens for one device, names its
// sender, and nothing in it is believed that a verified chain does not confirm.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust

/// A sealed and signed box, not checked yet.
///
/// Layout, deterministic CBOR: [1, purpose (1: vault keys, 2: keys wanted), account id, sender, recipient, link hash, sealed,
/// signature].
/// sealed = envelope to the recipient's box key, context "device-box/content", ad = CBOR of the first six items.
/// Signature: the sender's signing key, context "device-box/signature", scope = account id, message = CBOR of the
/// first seven. The link is the newest of the device chain as the sender knew it. A box that asks for keys is for no device:
/// its recipient is 16 zero bytes, and what is sealed is empty.
/// Spec: Spec/keys.md. Source: protocol decision 16.
package struct DeviceBox: Equatable, Sendable {
    static let byteCountMax = 8 << 20
    private static let nobody = [UInt8](repeating: 0, count: UniqueID.byteCount)

    package enum Purpose: UInt64, Sendable {
        case vaultKeys = 1
        /// Its sender lacks keys that a device of the account may have.
        case keysWanted = 2
    }

    package let purpose: Purpose

    package let accountID: ChainID
    package let senderID: UniqueID
    package let recipientID: UniqueID
    let linkHash: [UInt8]
    private let sealed: [UInt8]
    private let signature: [UInt8]

    private static func header(
        count: Int, _ purpose: Purpose, _ accountID: ChainID, _ senderID: UniqueID,
        _ recipientID: UniqueID, _ linkHash: [UInt8],
        _ rest: [[UInt8]] = []
    ) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: count)
            encoder.encode(unsigned: 1)
            encoder.encode(unsigned: purpose.rawValue)
            for bytes in [accountID.bytes, senderID.bytes, recipientID.bytes, linkHash] + rest {
                encoder.encode(bytes: bytes)
            }
        }
    }

    package var encoded: [UInt8] {
        Self.header(count: 8, purpose, accountID, senderID, recipientID, linkHash, [sealed, signature])
    }

    /// Throws `.boxInvalid` if the bytes are no box.
    package init(decoding bytes: [UInt8]) throws(KeyError) {
        guard bytes.count <= Self.byteCountMax else { throw KeyError(.boxInvalid, at: "size") }
        self = try withCBORDecoder(bytes, convert: { KeyError(.boxInvalid, at: "shape", cause: $0) }) {
            (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 8)
            let start = decoder.byteOffset
            let (version, purpose) = (try decoder.readUnsigned(), Purpose(rawValue: try decoder.readUnsigned()))
            let account = ChainID(try decoder.readBytes(count: ChainID.byteCount))
            let sender = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
            let recipient = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
            guard version == 1, let purpose, let account, let sender, let recipient else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return DeviceBox(
                purpose: purpose, accountID: account, senderID: sender, recipientID: recipient,
                linkHash: try decoder.readBytes(count: 32), sealed: try decoder.readBytes(),
                signature: try decoder.readBytes(count: signatureByteCount))
        }
    }

    private init(
        purpose: Purpose = .vaultKeys, accountID: ChainID, senderID: UniqueID, recipientID: UniqueID, linkHash: [UInt8],
        sealed: [UInt8],
        signature: [UInt8]
    ) {
        self.purpose = purpose
        self.accountID = accountID
        self.senderID = senderID
        self.recipientID = recipientID
        self.linkHash = linkHash
        self.sealed = sealed
        self.signature = signature
    }

    /// Seals `content` to a device that `chain` trusts.
    static func seal(
        _ content: UnsafeRawBufferPointer, to recipient: VerifiedDevice, from sender: DevicePrivateKeys,
        chain: VerifiedDeviceChain, random: any RandomSource
    ) throws(KeyError) -> DeviceBox {
        let linkHash = chain.head.linkHash
        let bound = header(count: 6, .vaultKeys, chain.accountID, sender.deviceID, recipient.id, linkHash)
        let sealed: [UInt8]
        do throws(CryptoError) {
            sealed = try unsafe PublicKeyEnvelope.seal(
                content, to: recipient.keys.box, context: .deviceBox, associatedData: bound, random: random)
        } catch {
            throw KeyError(.boxInvalid, at: "recipient", cause: error)
        }
        let message = header(count: 7, .vaultKeys, chain.accountID, sender.deviceID, recipient.id, linkHash, [sealed])
        return DeviceBox(
            accountID: chain.accountID, senderID: sender.deviceID, recipientID: recipient.id, linkHash: linkHash,
            sealed: sealed,
            signature: sender.signing.sign(.deviceBoxSignature, scope: chain.accountID.bytes, message: message))
    }

    /// Checks who sent it, opens it and lends the content, which is zeroed afterwards.
    ///
    /// - Throws: `.boxInvalid`: for another device or account, from a device that `chain` does not trust, at a link
    ///   that it does not have, or altered.
    func open<Result>(
        with device: DevicePrivateKeys, chain: VerifiedDeviceChain, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(KeyError) -> Result {
        guard purpose == .vaultKeys, recipientID == device.deviceID else {
            throw KeyError(.boxInvalid, at: "recipient")
        }
        let sender = try sender(in: chain)
        let bound = Self.header(count: 6, .vaultKeys, accountID, senderID, recipientID, linkHash)
        let message = Self.header(count: 7, .vaultKeys, accountID, senderID, recipientID, linkHash, [sealed])
        do throws(CryptoError) {
            try sender.keys.signing.verify(
                signature, .deviceBoxSignature, scope: accountID.bytes, message: message)
            return try unsafe PublicKeyEnvelope.open(
                sealed, with: device.box, context: .deviceBox, associatedData: bound
            ) { (content) throws(CryptoError) in unsafe body(content) }
        } catch {
            throw KeyError(.boxInvalid, at: "content", cause: error)
        }
    }

    /// Asks the account's other devices for keys.
    static func wanting(from sender: DevicePrivateKeys, chain: VerifiedDeviceChain) -> DeviceBox {
        guard let recipient = UniqueID(bytes: nobody) else { preconditionFailure("an id has 16 bytes") }
        let linkHash = chain.head.linkHash
        let message = header(
            count: 7, .keysWanted, chain.accountID, sender.deviceID, recipient, linkHash, [[]])
        return DeviceBox(
            purpose: .keysWanted, accountID: chain.accountID, senderID: sender.deviceID, recipientID: recipient,
            linkHash: linkHash, sealed: [],
            signature: sender.signing.sign(.deviceBoxSignature, scope: chain.accountID.bytes, message: message))
    }

    /// Checks that a box asks for keys, and that a device which `chain` trusts wrote it.
    ///
    /// - Throws: `.boxInvalid`.
    func checkWanted(_ chain: VerifiedDeviceChain) throws(KeyError) {
        guard purpose == .keysWanted, recipientID.bytes == Self.nobody, sealed.isEmpty else {
            throw KeyError(.boxInvalid, at: "purpose")
        }
        let sender = try sender(in: chain)
        let message = Self.header(count: 7, .keysWanted, accountID, senderID, recipientID, linkHash, [sealed])
        do throws(CryptoError) {
            try sender.keys.signing.verify(
                signature, .deviceBoxSignature, scope: accountID.bytes, message: message)
        } catch {
            throw KeyError(.boxInvalid, at: "signature", cause: error)
        }
    }

    private func sender(in chain: VerifiedDeviceChain) throws(KeyError) -> VerifiedDevice {
        guard accountID == chain.accountID else { throw KeyError(.boxInvalid, at: "recipient") }
        guard let place = chain.links.firstIndex(where: { $0.hash == linkHash }) else {
            throw KeyError(.boxInvalid, at: "link")
        }
        guard let sender = chain.device(senderID), sender.isTrusted, sender.addedAt <= UInt64(place) else {
            throw KeyError(.boxInvalid, at: "sender")
        }
        return sender
    }
}
