// Cards: what a person hands to another so that he is found. The one thing to keep true: the account id comes from the card,
// and all else on it counts only if that account signed it.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// A card, whose signature is checked when its account's identity is known.
///
/// Layout, deterministic CBOR: [1, account id (32), server URL, SHA-256 of its key (32), name, code (16) or empty, server
/// invitation or empty, time, signature]. Signature: the identity's signing key, context "card/signature", scope = account
/// id, over the array without it. Spec: Spec/people.md section 3.
package struct Card: Equatable, Sendable {
    package static let scheme = "coffret-contact:1:"
    package static let codeByteCount = 16
    private static let version: UInt64 = 1
    private static let invitationByteCountMax = 64
    private static let textByteCountMax = 8 << 10

    package let accountID: ChainID
    package let serverURL: String
    package let serverFingerprint: [UInt8]
    /// What the person calls himself, 1 to 64 bytes.
    package let name: String
    /// Of an invitation; nil: none.
    package let code: ContactCode?
    /// To the server, for who has no account there; empty: none.
    package let invitation: [UInt8]
    package let time: Milliseconds
    package let signature: [UInt8]

    /// Makes and signs a card.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 bytes of UTF-8.
    ///   - serverFingerprint: 32 bytes, zeros for a server without TLS.
    ///   - key: the signing key of the account's identity.
    /// - Throws: `.cardInvalid` for a name or an address that is empty or too long.
    package static func sign(
        accountID: ChainID, serverURL: String, serverFingerprint: [UInt8], name: String, code: ContactCode? = nil,
        invitation: [UInt8] = [], time: Milliseconds, with key: SigningKey
    ) throws(SharingError) -> Card {
        guard isName(name) else { throw SharingError(.cardInvalid, at: "name") }
        guard serverURL.utf8.count <= Limits.addressByteCountMax, invitation.count <= invitationByteCountMax else {
            throw SharingError(.cardInvalid, at: "server")
        }
        let unsigned = Card(
            accountID: accountID, serverURL: serverURL, serverFingerprint: serverFingerprint, name: name, code: code,
            invitation: invitation, time: time, signature: [])
        return Card(
            accountID: accountID, serverURL: serverURL, serverFingerprint: serverFingerprint, name: name, code: code,
            invitation: invitation, time: time,
            signature: key.sign(.cardSignature, scope: accountID.bytes, message: unsigned.bytes(count: 8)))
    }

    private init(
        accountID: ChainID, serverURL: String, serverFingerprint: [UInt8], name: String, code: ContactCode?,
        invitation: [UInt8], time: Milliseconds, signature: [UInt8]
    ) {
        precondition(serverFingerprint.count == 32, "a fingerprint has 32 bytes")
        self.accountID = accountID
        self.serverURL = serverURL
        self.serverFingerprint = serverFingerprint
        self.name = name
        self.code = code
        self.invitation = invitation
        self.time = time
        self.signature = signature
    }

    private static func isName(_ name: String) -> Bool {
        1...PersonAddress.nameByteCountMax ~= name.utf8.count
    }

    /// Checks that the account of the card signed it, with the signing key that it has now.
    ///
    /// - Throws: `.cardInvalid`.
    package func verify(_ identity: VerifiedIdentityChain) throws(SharingError) {
        guard identity.accountID == accountID, let key = identity.newestSet.operation.longTerm?.signing else {
            throw SharingError(.cardInvalid, at: "account")
        }
        do throws(CryptoError) {
            try key.verify(signature, .cardSignature, scope: accountID.bytes, message: bytes(count: 8))
        } catch {
            throw SharingError(.cardInvalid, at: "signature")
        }
    }

    package var encoded: [UInt8] { bytes(count: 9) }

    private func bytes(count: Int) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: count)
            encoder.encode(unsigned: Self.version)
            encoder.encode(bytes: accountID.bytes)
            encoder.encode(text: serverURL)
            encoder.encode(bytes: serverFingerprint)
            encoder.encode(text: name)
            encoder.encode(bytes: code?.bytes ?? [])
            encoder.encode(bytes: invitation)
            encoder.encode(signed: time)
            if count == 9 { encoder.encode(bytes: signature) }
        }
    }

    /// Reads a card; its signature is not checked.
    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 9)
        let start = decoder.byteOffset
        let version = try decoder.readUnsigned()
        let account = ChainID(try decoder.readBytes(count: ChainID.byteCount))
        let url = try decoder.readText(byteCountMax: Limits.addressByteCountMax)
        let fingerprint = try decoder.readBytes(count: 32)
        let name = try decoder.readText(byteCountMax: PersonAddress.nameByteCountMax)
        let code = try decoder.readBytes(countMax: Self.codeByteCount)
        let invitation = try decoder.readBytes(countMax: Self.invitationByteCountMax)
        guard version == Self.version, let account, Self.isName(name), code.isEmpty || ContactCode(code) != nil else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self.init(
            accountID: account, serverURL: url, serverFingerprint: fingerprint, name: name, code: ContactCode(code),
            invitation: invitation, time: try decoder.readSigned(),
            signature: try decoder.readBytes(count: signatureByteCount))
    }

    /// Reads a card that is all of `bytes`.
    ///
    /// - Throws: `.cardInvalid`.
    package init(decoding bytes: [UInt8]) throws(SharingError) {
        self = try withCBORDecoder(bytes, convert: { _ in SharingError(.cardInvalid) }) {
            (decoder) throws(CBORError) in try Card(from: &decoder)
        }
    }

    // MARK: Links

    /// The link of the card: the scheme, and base32 of RFC 4648 without padding, in lower case.
    package var link: String { Self.scheme + Base32.rfc4648Unpadded.encode(encoded).lowercased() }
    /// The same in upper case: a QR code of it is smaller.
    package var linkForQR: String { link.uppercased() }

    /// Whether a text claims to be a link to a card.
    package static func isLink(_ text: String) -> Bool { text.lowercased().hasPrefix("coffret-contact:") }

    /// Reads a link, in any case.
    ///
    /// - Throws: `.addressInvalid` for a text that is none, such as one that was cut off.
    package init(link text: String) throws(SharingError) {
        guard text.utf8.count <= Self.textByteCountMax, text.lowercased().hasPrefix(Self.scheme),
            let bytes = try? Base32.rfc4648Unpadded.decode(String(text.dropFirst(Self.scheme.count))),
            let card = try? Card(decoding: bytes)
        else { throw SharingError(.addressInvalid) }
        self = card
    }
}

/// The code of an invitation: who shows what follows from it was invited.
package struct ContactCode: Equatable, Sendable {
    /// 16 random bytes.
    package let bytes: [UInt8]

    /// - Returns: nil for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Card.codeByteCount else { return nil }
        self.bytes = bytes
    }

    package static func generate(from random: any RandomSource) -> ContactCode {
        guard let code = ContactCode(random.bytes(count: Card.codeByteCount)) else {
            preconditionFailure("a source gives as many bytes as it is asked for")
        }
        return code
    }

    private func derive(_ label: Context, _ context: [UInt8]) -> [UInt8] {
        var copy = bytes
        let key = SecretBytes(consuming: &copy)
        // EXPOSE: a token and a proof are sent to the server and in letters.
        return unsafe KDF.derive(from: key, label, context).withUnsafeBytes { derived in unsafe [UInt8](derived) }
    }

    /// KDF(code, "contact/token", inviter), 32 bytes: who shows it may write one letter to the inviter.
    package func token(inviter: ChainID) -> [UInt8] { derive(.contactToken, inviter.bytes) }

    /// BLAKE2b-256 of the token: what the server keeps.
    package func tokenHash(inviter: ChainID) -> [UInt8] { BLAKE2b.hash(token(inviter: inviter)) }

    /// KDF(code, "contact/proof", inviter ‖ claimant), 32 bytes: shows the inviter that the claimant has the code.
    package func proof(inviter: ChainID, claimant: ChainID) -> [UInt8] {
        derive(.contactProof, inviter.bytes + claimant.bytes)
    }

    /// The same with "answer" behind the ids: shows the claimant that the inviter has the code.
    package func answerProof(inviter: ChainID, claimant: ChainID) -> [UInt8] {
        derive(.contactProof, inviter.bytes + claimant.bytes + Array("answer".utf8))
    }
}
