// Letters between people, as they are stored and sent. The one thing to keep true: all that decides who may read a letter,
// and for what it is good, is under its key and under its signature.

package import CoffretBase
package import CoffretCrypto

/// What a letter is for; the number stands in its header.
package enum LetterPurpose: UInt8, Sendable, CaseIterable {
    case vaultKey = 1
    case contactRequest = 2
    case contactAnswer = 3
    case recoveryShare = 4
    case keyWanted = 5
}

/// The open part of a letter.
///
/// Layout, deterministic CBOR: [1, purpose, scope (32), subject (bytes), sender account (32), sender device (16), sender's
/// device head, recipient account (32), recipient's identity head, E (32)], heads = [number, link hash (32)].
/// Spec: Spec/people.md section 5.
package struct LetterHeader: Equatable, Sendable {
    package static let version: UInt64 = 1
    /// Bytes of a subject.
    package static let subjectByteCountMax = 256

    package let purpose: LetterPurpose
    /// The vault, the circle or the account that it is about.
    package let scope: [UInt8]
    /// Numbers that it is bound to, in CBOR; empty where the purpose has none.
    package let subject: [UInt8]
    package let sender: ChainID
    package let senderDevice: UniqueID
    package let senderHead: StatedLink
    package let recipient: ChainID
    package let recipientHead: StatedLink
    /// E.
    package let ephemeral: AgreementPublicKey

    package init(
        purpose: LetterPurpose, scope: [UInt8], subject: [UInt8], sender: ChainID, senderDevice: UniqueID,
        senderHead: StatedLink, recipient: ChainID, recipientHead: StatedLink, ephemeral: AgreementPublicKey
    ) {
        precondition(scope.count == 32 && subject.count <= Self.subjectByteCountMax, "a header within its limits")
        self.purpose = purpose
        self.scope = scope
        self.subject = subject
        self.sender = sender
        self.senderDevice = senderDevice
        self.senderHead = senderHead
        self.recipient = recipient
        self.recipientHead = recipientHead
        self.ephemeral = ephemeral
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 10)
            encoder.encode(unsigned: Self.version)
            encoder.encode(unsigned: UInt64(purpose.rawValue))
            encoder.encode(bytes: scope)
            encoder.encode(bytes: subject)
            encoder.encode(bytes: sender.bytes)
            encoder.encode(bytes: senderDevice.bytes)
            senderHead.encode(to: &encoder)
            encoder.encode(bytes: recipient.bytes)
            recipientHead.encode(to: &encoder)
            encoder.encode(bytes: ephemeral.bytes)
        }
    }

    /// Reads a header that is all of `bytes`.
    ///
    /// - Throws: `.unexpectedItem` for another version or an unknown purpose, and what the decoder throws.
    package init(decoding bytes: [UInt8]) throws(CBORError) {
        self = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 10)
            let start = decoder.byteOffset
            guard try decoder.readUnsigned() == Self.version,
                let purpose = LetterPurpose(rawValue: try decoder.readUnsigned(as: UInt8.self))
            else { throw CBORError(.unexpectedItem, byteOffset: start) }
            let scope = try decoder.readBytes(count: 32)
            let subject = try decoder.readBytes(countMax: Self.subjectByteCountMax)
            let sender = ChainID(try decoder.readBytes(count: ChainID.byteCount))
            let device = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount))
            let senderHead = try StatedLink(from: &decoder)
            let recipient = ChainID(try decoder.readBytes(count: ChainID.byteCount))
            let recipientHead = try StatedLink(from: &decoder)
            let key = try? AgreementPublicKey(try decoder.readBytes(count: AgreementPublicKey.byteCount))
            guard let sender, let device, let recipient, let key else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return LetterHeader(
                purpose: purpose, scope: scope, subject: subject, sender: sender, senderDevice: device,
                senderHead: senderHead, recipient: recipient, recipientHead: recipientHead, ephemeral: key)
        }
    }
}

/// A letter that nobody has checked yet.
///
/// Layout, deterministic CBOR: [header (bytes), sealed, signature]. Signature: the sender's device, context
/// "letter/signature", scope = the header's, message = header ‖ lp(sealed).
package struct UnverifiedLetter: Equatable, Sendable {
    /// Bytes of a letter; the server takes no longer one.
    package static let byteCountMax = 4 << 10

    package let header: LetterHeader
    package let sealed: [UInt8]
    package let signature: [UInt8]

    /// Signs what was sealed.
    package init(header: LetterHeader, sealed: [UInt8], with key: SigningKey) {
        self.header = header
        self.sealed = sealed
        signature = key.sign(
            .letterSignature, scope: header.scope, message: Self.message(header.encoded, sealed))
    }

    private init(header: LetterHeader, sealed: [UInt8], signature: [UInt8]) {
        self.header = header
        self.sealed = sealed
        self.signature = signature
    }

    private static func message(_ header: [UInt8], _ sealed: [UInt8]) -> [UInt8] {
        var message = header
        message.appendLengthPrefixed(sealed)
        return message
    }

    /// - Throws: `.letterInvalid` for more bytes than a letter may have, or another shape.
    package init(decoding bytes: [UInt8]) throws(TrustError) {
        guard bytes.count <= Self.byteCountMax else { throw TrustError(.letterInvalid) }
        self = try withCBORDecoder(bytes, convert: { _ in TrustError(.letterInvalid) }) {
            (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            let header = try LetterHeader(decoding: try decoder.readBytes())
            return UnverifiedLetter(
                header: header, sealed: try decoder.readBytes(),
                signature: try decoder.readBytes(count: signatureByteCount))
        }
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(bytes: header.encoded)
            encoder.encode(bytes: sealed)
            encoder.encode(bytes: signature)
        }
    }

    /// Checks who wrote it: the account's chain has the stated head, trusts the device there and now, and its signature
    /// verifies.
    ///
    /// - Parameter mayHaveGone: trust at the stated head is enough: what the letter brings counts for another reason.
    /// - Throws: `.letterInvalid`.
    package func checkSender(_ devices: AccountDevices, mayHaveGone: Bool = false) throws(TrustError) {
        let device = header.senderDevice
        guard devices.accountID == header.sender, let place = devices.position(of: header.senderHead),
            devices.isTrusted(device, at: place), mayHaveGone || devices.isTrusted(device),
            let bytes = devices.signingKey(of: device, at: place), let key = try? VerifyingKey(bytes)
        else { throw TrustError(.letterInvalid) }
        do throws(CryptoError) {
            try key.verify(
                signature, .letterSignature, scope: header.scope, message: Self.message(header.encoded, sealed))
        } catch {
            throw TrustError(.letterInvalid)
        }
    }
}
