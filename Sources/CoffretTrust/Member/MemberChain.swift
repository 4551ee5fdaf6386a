// A vault's people. Invariant: a vault's id is the hash of the link that founded it, so nobody can pass one vault's
// history off as another's.

internal import CoffretBase
package import CoffretCrypto

/// A purpose that a vault has from its first link on; an ordinary vault has none.
package enum VaultPurpose: UInt64, Sendable {
    /// Facts of one account about people; nobody else is ever in it.
    case account = 3
}

/// The content of link 0 of a member chain.
///
/// Layout of the public part, deterministic CBOR: {0: 1, 1: 32 random bytes, 2: founder's account id,
/// 3: hash of the founder's newest device-chain link, 4: commitment to the vault key of epoch 1, ? 5: purpose}.
/// The commitment is KDF(vault key, "vault-key/commit", the random bytes ‖ epoch (4)).
package struct VaultFoundation: Equatable, Sendable {
    package static let randomByteCount = 32

    package let random: [UInt8]
    package let accountID: ChainID
    package let deviceChainHead: [UInt8]
    package let keyCommitment: [UInt8]
    /// nil: a vault of people.
    package let purpose: VaultPurpose?

    package init(
        random: [UInt8], accountID: ChainID, deviceChainHead: [UInt8], keyCommitment: [UInt8],
        purpose: VaultPurpose? = nil
    ) {
        self.purpose = purpose
        self.random = random
        self.accountID = accountID
        self.deviceChainHead = deviceChainHead
        self.keyCommitment = keyCommitment
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: purpose == nil ? 5 : 6)
            encoder.encode(unsigned: 0)
            encoder.encode(unsigned: 1)
            for (key, bytes) in [
                (1, random), (2, accountID.bytes), (3, deviceChainHead), (4, keyCommitment),
            ] as [(UInt64, [UInt8])] {
                encoder.encode(unsigned: key)
                encoder.encode(bytes: bytes)
            }
            guard let purpose else { return }
            encoder.encode(unsigned: 5)
            encoder.encode(unsigned: purpose.rawValue)
        }
    }

    /// Reads the public part of link 0; nothing of it is verified.
    package init(decoding link: UnverifiedLink) throws(TrustError) {
        let number = link.sequenceNumber
        let (code, parts, stated) = try withCBORDecoder(
            link.publicPart, convert: { _ in TrustError(.linkMalformed, at: number) }
        ) { (decoder) throws(CBORError) in
            var map = try decoder.readMapHeader()
            try decoder.expectKey(0, in: &map)
            let code = try decoder.readUnsigned()
            var parts: [[UInt8]] = []
            while parts.count < 4, try decoder.readUnsignedKey(in: &map) == UInt64(parts.count + 1) {
                parts.append(try decoder.readBytes(count: 32))
            }
            var purpose: UInt64?
            if parts.count == 4, try decoder.readUnsignedKey(in: &map) == 5 { purpose = try decoder.readUnsigned() }
            return (code, parts, purpose)
        }
        guard code == 1 else { throw TrustError(.linkUnsupported, at: number) }
        guard parts.count == 4, let accountID = ChainID(parts[1]) else {
            throw TrustError(.linkMalformed, at: number)
        }
        let purpose = stated.flatMap(VaultPurpose.init)
        // A vault for something that this version does not know is no vault of people.
        guard stated == nil || purpose != nil else { throw TrustError(.linkUnsupported, at: number) }
        self.init(
            random: parts[0], accountID: accountID, deviceChainHead: parts[2], keyCommitment: parts[3],
            purpose: purpose)
    }
}

/// A member chain whose every link was checked, against the founder's device chain where that is at hand.
package struct VerifiedMemberChain: Equatable, Sendable {
    package let vaultID: VaultID
    package let links: [VerifiedLink]
    package let foundation: VaultFoundation

    package var head: RememberedHead {
        RememberedHead(sequenceNumber: UInt64(links.count - 1), linkHash: links[links.count - 1].hash)
    }

    fileprivate init(vaultID: VaultID, links: [VerifiedLink], foundation: VaultFoundation) {
        self.vaultID = vaultID
        self.links = links
        self.foundation = foundation
    }

    /// Checks all links; see `TrustError` for what may be wrong.
    ///
    /// A chain of this format version has one link; operations that follow it are `.linkUnsupported`.
    package static func verify(
        _ links: [UnverifiedLink], founder: VerifiedDeviceChain, vaultID: VaultID? = nil,
        remembered: RememberedHead? = nil
    ) throws(TrustError) -> VerifiedMemberChain {
        let chain = try VerifiedChain.verify(
            links, expectedID: vaultID.flatMap { ChainID($0.bytes) }, remembered: remembered,
            rules: MemberRules(founder: founder))
        guard let foundation = chain.rules.foundation, let vaultID = VaultID(chain.id.bytes) else {
            throw TrustError(.chainEmpty)
        }
        return VerifiedMemberChain(vaultID: vaultID, links: chain.links, foundation: foundation)
    }

    /// A vault that somebody else founded, by its id alone: link 0 has that hash, form and signature. Whether its signer was
    /// a device of the founder shows when the founder's chain is at hand.
    ///
    /// - Throws: `.founderDiffers` if `account` founded it, whose chain has to say so.
    package static func identify(
        _ links: [UnverifiedLink], vaultID: VaultID, notBy account: ChainID
    ) throws(TrustError) -> VerifiedMemberChain {
        let chain = try VerifiedChain.verify(
            links, expectedID: ChainID(vaultID.bytes), remembered: nil, rules: MemberRules(founder: nil))
        guard let foundation = chain.rules.foundation else { throw TrustError(.chainEmpty) }
        guard foundation.accountID != account else { throw TrustError(.founderDiffers, at: 0) }
        return VerifiedMemberChain(vaultID: vaultID, links: chain.links, foundation: foundation)
    }

    /// Founds a vault: link 0, signed by a device of the founder.
    package static func found(
        _ foundation: VaultFoundation, details: [UInt8], with key: SigningKey
    ) -> UnverifiedLink {
        UnverifiedLink.sign(
            kind: .member, chainID: nil, sequenceNumber: 0, publicPart: foundation.encoded, sealedPart: details,
            previousLinkHash: [], with: key)
    }
}

/// The state of a member chain.
struct MemberRules: ChainRules {
    static let kind = ChainKind.member

    /// nil: it is not at hand, and the vault's id alone says which link is meant.
    let founder: VerifiedDeviceChain?
    private(set) var foundation: VaultFoundation?

    init(founder: VerifiedDeviceChain?) { self.founder = founder }

    var beginning: MemberRules { MemberRules(founder: founder) }

    mutating func apply(
        _ link: UnverifiedLink, by key: VerifyingKey, chainID: ChainID, isVerified: Bool
    ) throws(TrustError) {
        let number = link.sequenceNumber
        guard number == 0 else { throw TrustError(.linkUnsupported, at: number) }
        guard let founder else {
            foundation = try VaultFoundation(decoding: link)
            return
        }
        guard let device = founder.devices.first(where: { $0.keys.signing == key }) else {
            throw TrustError(.signerUnknown, at: number)
        }
        let stated = try VaultFoundation(decoding: link)
        // The founder's chain as it stood then: a device revoked later founded rightly.
        guard let head = founder.links.firstIndex(where: { $0.hash == stated.deviceChainHead }) else {
            throw TrustError(.founderDiffers, at: number)
        }
        guard device.addedAt <= UInt64(head) else { throw TrustError(.signerUnknown, at: number) }
        if let revokedAt = device.revokedAt, revokedAt <= UInt64(head) {
            throw TrustError(.signerRevoked, at: number)
        }
        guard stated.accountID == founder.accountID else { throw TrustError(.founderDiffers, at: number) }
        foundation = stated
    }

    func checkReplacement(
        by link: UnverifiedLink, of replaced: ArraySlice<VerifiedLink>, seen: MemberRules
    ) throws(TrustError) {
        throw TrustError(.chainForked, at: link.sequenceNumber)
    }
}
