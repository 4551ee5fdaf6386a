// What a link of an identity chain says, as bytes. The one thing to keep true: a link lists the keys that it brings, the head
// of the device chain that its signer knew, and nothing else.

package import CoffretBase
package import CoffretCrypto

/// Where a chain stands: the number of a link and its hash, as letters and links of identities state it.
///
/// Layout, deterministic CBOR: [number, link hash (32)].
package struct StatedLink: Hashable, Sendable {
    package let number: UInt64
    package let hash: Bytes32

    package init(number: UInt64, hash: Bytes32) {
        self.number = number
        self.hash = hash
    }

    /// The newest link of a verified chain.
    package init(_ head: RememberedHead) {
        guard let hash = Bytes32(head.linkHash) else { preconditionFailure("a hash has 32 bytes") }
        self.init(number: head.sequenceNumber, hash: hash)
    }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(unsigned: number)
        encoder.encode(bytes: hash.bytes)
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 2)
        number = try decoder.readUnsigned()
        guard let hash = Bytes32(try decoder.readBytes(count: 32)) else { preconditionFailure("a hash has 32 bytes") }
        self.hash = hash
    }
}

extension AccountDevices {
    /// Where a link stands if number and hash fit each other; nil: it is not known here.
    package func position(of stated: StatedLink) -> DevicePosition? {
        guard let place = position(of: stated.hash), UInt64(place.number) == stated.number else { return nil }
        return place
    }
}

/// A transient key and the times between which it is meant to be used, by its maker's clock.
package struct TransientKey: Equatable, Sendable {
    /// The longest time between the two: 45 days.
    package static let lifetimeMax: Milliseconds = 45 * 86_400_000

    package let key: AgreementPublicKey
    package let made: Milliseconds
    package let expires: Milliseconds

    /// - Parameter expires: after `made`, at most 45 days.
    package init(key: AgreementPublicKey, made: Milliseconds, expires: Milliseconds) {
        self.key = key
        self.made = made
        self.expires = expires
    }

    var isWithinLimits: Bool {
        let (lifetime, overflow) = expires.subtractingReportingOverflow(made)
        return !overflow && lifetime > 0 && lifetime <= Self.lifetimeMax
    }
}

/// The public part of a link of an identity chain.
///
/// Layout, deterministic CBOR, head = [number, link hash (32)] of the account's device chain as the signer knew it:
///
///     {0: 1, 1: head, 2: signing key, 3: box key, 4: countersignature, 5: transient key, 6: made, 7: expires}      sets
///     {0: 2, 1: head, 2: transient key, 3: made, 4: expires}                                                       refreshes
///
/// Countersignature: by the new signing key, context "identity/countersignature", scope = 02 ‖ account id, message =
/// box key ‖ transient key ‖ number of the link (8). Spec: Spec/trust.md section 6.
package struct IdentityOperation: Equatable, Sendable {
    /// The keys that stay until another link sets.
    package struct LongTermKeys: Equatable, Sendable {
        package let signing: VerifyingKey
        package let box: AgreementPublicKey
        package let countersignature: [UInt8]
    }

    package let head: StatedLink
    /// nil: the link refreshes the transient key and leaves these.
    package let longTerm: LongTermKeys?
    package let transient: TransientKey

    private init(head: StatedLink, longTerm: LongTermKeys?, transient: TransientKey) {
        self.head = head
        self.longTerm = longTerm
        self.transient = transient
    }

    /// A link that brings all keys.
    ///
    /// - Parameter number: of the link in the identity chain.
    package static func set(
        head: StatedLink, box: AgreementPublicKey, transient: TransientKey, number: UInt64, of account: ChainID,
        signing key: SigningKey
    ) -> IdentityOperation {
        let signature = key.sign(
            .identityCountersignature, scope: scope(account), message: countersigned(box, transient.key, number))
        return IdentityOperation(
            head: head,
            longTerm: LongTermKeys(signing: key.verifyingKey, box: box, countersignature: signature),
            transient: transient)
    }

    /// A link that brings a new transient key.
    package static func refresh(head: StatedLink, transient: TransientKey) -> IdentityOperation {
        IdentityOperation(head: head, longTerm: nil, transient: transient)
    }

    private static func scope(_ account: ChainID) -> [UInt8] {
        UnverifiedLink.scope(kind: .identity, chainID: account.bytes)
    }

    private static func countersigned(
        _ box: AgreementPublicKey, _ transient: AgreementPublicKey, _ number: UInt64
    ) -> [UInt8] { box.bytes + transient.bytes + number.bigEndianBytes }

    /// - Throws: `.identityCountersignatureInvalid`.
    func checkCountersignature(number: UInt64, account: ChainID) throws(TrustError) {
        guard let longTerm else { return }
        do throws(CryptoError) {
            try longTerm.signing.verify(
                longTerm.countersignature, .identityCountersignature, scope: Self.scope(account),
                message: Self.countersigned(longTerm.box, transient.key, number))
        } catch {
            throw TrustError(.identityCountersignatureInvalid, at: number)
        }
    }

    /// The public keys that the link brings.
    var keys: [[UInt8]] {
        [transient.key.bytes] + (longTerm.map { [$0.signing.bytes, $0.box.bytes] } ?? [])
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put(0) { $0.encode(unsigned: longTerm == nil ? 2 : 1) }
                map.put(1) { head.encode(to: &$0) }
                var key: UInt64 = 2
                if let longTerm {
                    map.put(2) { $0.encode(bytes: longTerm.signing.bytes) }
                    map.put(3) { $0.encode(bytes: longTerm.box.bytes) }
                    map.put(4) { $0.encode(bytes: longTerm.countersignature) }
                    key = 5
                }
                map.put(key) { $0.encode(bytes: transient.key.bytes) }
                map.put(key + 1) { $0.encode(signed: transient.made) }
                map.put(key + 2) { $0.encode(signed: transient.expires) }
            }
        }
    }

    /// Reads the public part of a link; nothing of it is verified.
    ///
    /// - Throws: `.linkMalformed`; `.linkUnsupported` for an operation of a later version.
    package init(decoding link: UnverifiedLink) throws(TrustError) {
        let number = link.sequenceNumber
        let read = try withCBORDecoder(link.publicPart, convert: { _ in TrustError(.linkMalformed, at: number) }) {
            (decoder) throws(CBORError) in try Self.read(&decoder)
        }
        guard let read else { throw TrustError(.linkUnsupported, at: number) }
        self = read
    }

    /// nil for an operation of a later version, which is skipped.
    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> IdentityOperation? {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        let code = try decoder.readUnsigned()
        guard code == 1 || code == 2 else {
            while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
            return nil
        }
        try decoder.expectKey(1, in: &map)
        let head = try StatedLink(from: &decoder)
        var next: UInt64 = 2
        var longTerm: LongTermKeys?
        if code == 1 {
            try decoder.expectKey(2, in: &map)
            let signing = try decoder.readBytes(count: VerifyingKey.byteCount)
            try decoder.expectKey(3, in: &map)
            let box = try readAgreementKey(&decoder)
            try decoder.expectKey(4, in: &map)
            let signature = try decoder.readBytes(count: signatureByteCount)
            guard let signing = try? VerifyingKey(signing) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            longTerm = LongTermKeys(signing: signing, box: box, countersignature: signature)
            next = 5
        }
        try decoder.expectKey(next, in: &map)
        let key = try readAgreementKey(&decoder)
        try decoder.expectKey(next + 1, in: &map)
        let made = try decoder.readSigned()
        try decoder.expectKey(next + 2, in: &map)
        let transient = TransientKey(key: key, made: made, expires: try decoder.readSigned())
        guard map.remaining == 0, transient.isWithinLimits else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return IdentityOperation(head: head, longTerm: longTerm, transient: transient)
    }

    private static func readAgreementKey(_ decoder: inout CBORDecoder) throws(CBORError) -> AgreementPublicKey {
        let start = decoder.byteOffset
        guard let key = try? AgreementPublicKey(try decoder.readBytes(count: AgreementPublicKey.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return key
    }
}
