// Links of chains, as they are stored and sent. Invariant: everything a link says is under its hash, and the hash is
// under its signature.

package import CoffretBase
package import CoffretCrypto

/// The subject of a chain; part of every link's hash and signature.
package enum ChainKind: UInt8, Sendable {
    case device = 1
    /// Its id is the account id, and link 0 is hashed with it too.
    case identity = 2
    case member = 3

    /// Bytes of a link's sealed part: names and times, or, of a vault's people, what a checkpoint accepts. Links of identities
    /// have none.
    package var sealedPartByteCountMax: Int {
        switch self {
        case .device: 4 << 10
        case .identity: 0
        case .member: 64 << 10
        }
    }

    /// Whether the hash of link 0 is the chain's id.
    var isFoundedByLink: Bool { self != .identity }
}

/// The id of a chain: the hash of its first link. Of a device chain it is the account id, of a member
/// chain the vault id. An identity chain has the id of its account.
package struct ChainID: Hashable, Sendable {
    package static let byteCount = 32

    private let value: Bytes32

    package init?(_ bytes: [UInt8]) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    package var bytes: [UInt8] { value.bytes }

    package var hex: String { Hex.encode(bytes) }
}

/// A link that nobody has checked yet.
///
/// Layout, deterministic CBOR: [version 1, chain kind, sequence number, public part, sealed part,
/// previous link hash, signer's public key, signature]; the parts are byte strings, the public part
/// being CBOR of its own. The previous hash of link 0 is empty.
///
/// linkHash = BLAKE2b-256("coffret/link/1" ‖ CBOR [chain kind, chain id, sequence number, public part,
/// sealed part, previous link hash, signer's public key]); the chain id in link 0 is empty, but of an identity chain.
/// Signature: context "link/signature", scope = chain kind (1) ‖ chain id, message = linkHash.
/// Spec: Spec/trust.md.
package struct UnverifiedLink: Equatable, Sendable {
    package static let version: UInt64 = 1
    package static let publicPartByteCountMax = 64 << 10

    package let kind: ChainKind
    package let sequenceNumber: UInt64
    package let publicPart: [UInt8]
    package let sealedPart: [UInt8]
    package let previousLinkHash: [UInt8]
    package let signerKey: [UInt8]
    package let signature: [UInt8]

    /// Makes and signs the next link of a chain.
    ///
    /// - Parameter chainID: nil for the first link of a chain that it founds.
    package static func sign(
        kind: ChainKind, chainID: ChainID?, sequenceNumber: UInt64, publicPart: [UInt8], sealedPart: [UInt8],
        previousLinkHash: [UInt8], with key: SigningKey
    ) -> UnverifiedLink {
        precondition(
            (chainID == nil) == (sequenceNumber == 0 && kind.isFoundedByLink), "only a founding link has no chain id")
        let unsigned = UnverifiedLink(
            kind: kind, sequenceNumber: sequenceNumber, publicPart: publicPart, sealedPart: sealedPart,
            previousLinkHash: previousLinkHash, signerKey: key.verifyingKey.bytes, signature: [])
        let hash = unsigned.hash(inChain: chainID)
        let signature = key.sign(
            .link, scope: Self.scope(kind: kind, chainID: chainID?.bytes ?? hash), message: hash)
        return UnverifiedLink(
            kind: kind, sequenceNumber: sequenceNumber, publicPart: publicPart, sealedPart: sealedPart,
            previousLinkHash: previousLinkHash, signerKey: key.verifyingKey.bytes, signature: signature)
    }

    private init(
        kind: ChainKind, sequenceNumber: UInt64, publicPart: [UInt8], sealedPart: [UInt8],
        previousLinkHash: [UInt8], signerKey: [UInt8], signature: [UInt8]
    ) {
        self.kind = kind
        self.sequenceNumber = sequenceNumber
        self.publicPart = publicPart
        self.sealedPart = sealedPart
        self.previousLinkHash = previousLinkHash
        self.signerKey = signerKey
        self.signature = signature
    }

    /// The scope that signatures in a chain are bound to.
    static func scope(kind: ChainKind, chainID: [UInt8]) -> [UInt8] { [kind.rawValue] + chainID }

    /// The link's hash in a chain; nil for a first link whose hash becomes the chain's id.
    package func hash(inChain chainID: ChainID?) -> [UInt8] {
        BLAKE2b.hash(
            Array("coffret/link/1".utf8),
            CBOREncoder.encode { encoder in
                encoder.encodeArrayHeader(count: 7)
                encoder.encode(unsigned: UInt64(kind.rawValue))
                encoder.encode(bytes: sequenceNumber == 0 && kind.isFoundedByLink ? [] : chainID?.bytes ?? [])
                encoder.encode(unsigned: sequenceNumber)
                encoder.encode(bytes: publicPart)
                encoder.encode(bytes: sealedPart)
                encoder.encode(bytes: previousLinkHash)
                encoder.encode(bytes: signerKey)
            })
    }

    /// The link's share of `Limits.chainByteCountMax`.
    var countedByteCount: Int { publicPart.count + sealedPart.count + 160 }

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 8)
        encoder.encode(unsigned: Self.version)
        encoder.encode(unsigned: UInt64(kind.rawValue))
        encoder.encode(unsigned: sequenceNumber)
        encoder.encode(bytes: publicPart)
        encoder.encode(bytes: sealedPart)
        encoder.encode(bytes: previousLinkHash)
        encoder.encode(bytes: signerKey)
        encoder.encode(bytes: signature)
    }

    /// Reads a link; its content is checked by the verifiers.
    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 8)
        let start = decoder.byteOffset
        guard try decoder.readUnsigned() == Self.version,
            let kind = ChainKind(rawValue: try decoder.readUnsigned(as: UInt8.self))
        else { throw CBORError(.unexpectedItem, byteOffset: start) }
        self.kind = kind
        sequenceNumber = try decoder.readUnsigned()
        publicPart = try decoder.readBytes(countMax: Self.publicPartByteCountMax)
        sealedPart = try decoder.readBytes(countMax: kind.sealedPartByteCountMax)
        previousLinkHash = try decoder.readBytes(countMax: 32)
        signerKey = try decoder.readBytes(count: VerifyingKey.byteCount)
        signature = try decoder.readBytes(count: signatureByteCount)
    }

    /// Reads one link that is all of `bytes`.
    package init(decoding bytes: [UInt8]) throws(TrustError) {
        self = try withCBORDecoder(bytes, convert: { _ in TrustError(.linkMalformed) }) {
            (decoder) throws(CBORError) in
            try UnverifiedLink(from: &decoder)
        }
    }

    package var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0) } }
}
