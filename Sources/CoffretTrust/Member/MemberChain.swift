// A vault's people. Invariant: a vault's id is the hash of the link that founded it, so nobody can pass one vault's
// history off as another's.

internal import CoffretBase
package import CoffretCrypto

/// The content of link 0 of a member chain.
///
/// Layout of the public part, deterministic CBOR: {0: 1, 1: 32 random bytes, 2: founder's account id,
/// 3: hash of the founder's newest device-chain link, 4: commitment to the vault key of epoch 1, ? 5: purpose, ? 6: terms}.
/// The commitment is KDF(vault key, "vault-key/commit", the random bytes ‖ epoch (4)). A circle has key 6 and no key 4.
/// Spec: Spec/trust.md section 5.
package struct VaultFoundation: Equatable, Sendable {
    package static let randomByteCount = 32

    package let random: [UInt8]
    package let accountID: ChainID
    package let deviceChainHead: [UInt8]
    /// Empty in a circle, which has no key.
    package let keyCommitment: [UInt8]
    /// nil: an ordinary vault.
    package let purpose: VaultPurpose?

    package init(
        random: [UInt8], accountID: ChainID, deviceChainHead: [UInt8], keyCommitment: [UInt8],
        purpose: VaultPurpose? = nil
    ) {
        precondition(keyCommitment.isEmpty == (purpose?.terms != nil), "a circle alone has no key")
        self.random = random
        self.accountID = accountID
        self.deviceChainHead = deviceChainHead
        self.keyCommitment = keyCommitment
        self.purpose = purpose
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put(0) { $0.encode(unsigned: 1) }
                map.put(1) { $0.encode(bytes: random) }
                map.put(2) { $0.encode(bytes: accountID.bytes) }
                map.put(3) { $0.encode(bytes: deviceChainHead) }
                if purpose?.terms == nil { map.put(4) { $0.encode(bytes: keyCommitment) } }
                if let purpose { map.put(5) { $0.encode(unsigned: purpose.code) } }
                if let terms = purpose?.terms { map.put(6) { terms.encode(to: &$0) } }
            }
        }
    }

    /// Reads the public part of link 0; nothing of it is verified.
    package init(decoding link: UnverifiedLink) throws(TrustError) {
        let number = link.sequenceNumber
        let (code, foundation) = try withCBORDecoder(
            link.publicPart, convert: { _ in TrustError(.linkMalformed, at: number) }
        ) { (decoder) throws(CBORError) in try Self.read(&decoder) }
        guard code == 1 else { throw TrustError(.linkUnsupported, at: number) }
        guard let foundation else { throw TrustError(.linkMalformed, at: number) }
        self = foundation
    }

    private static func read(_ decoder: inout CBORDecoder) throws(CBORError) -> (UInt64, VaultFoundation?) {
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        let code = try decoder.readUnsigned()
        var (parts, purposeCode, terms) = ([] as [[UInt8]], nil as UInt64?, nil as CircleTerms?)
        while let key = try decoder.readUnsignedKey(in: &map) {
            switch key {
            case 1...4 where parts.count + 1 == Int(key): parts.append(try decoder.readBytes(count: 32))
            case 5 where parts.count >= 3:
                purposeCode = try decoder.readUnsigned()
                guard purposeCode == 2 || purposeCode == 3 else {
                    // A purpose of a later version, which may have keys of its own.
                    while try decoder.readUnsignedKey(in: &map) != nil { try decoder.skipItem() }
                    return (0, nil)
                }
            case 6 where purposeCode == 2: terms = try CircleTerms(from: &decoder)
            default: return (code, nil)
            }
        }
        let purpose: VaultPurpose?
        switch (purposeCode, terms, parts.count) {
        case (nil, nil, 4): purpose = nil
        case (2, let terms?, 3): purpose = .circle(terms)
        case (3, nil, 4): purpose = .account
        default: return (code, nil)
        }
        guard let accountID = ChainID(parts[1]) else { return (code, nil) }
        return (
            code,
            VaultFoundation(
                random: parts[0], accountID: accountID, deviceChainHead: parts[2],
                keyCommitment: parts.count == 4 ? parts[3] : [], purpose: purpose)
        )
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
    /// - Parameter allowsCircle: false: the chain of a circle is `.linkUnsupported`.
    package static func verify(
        _ links: [UnverifiedLink], founder: VerifiedDeviceChain, vaultID: VaultID? = nil,
        remembered: RememberedHead? = nil, allowsCircle: Bool = false
    ) throws(TrustError) -> VerifiedMemberChain {
        let chain = try VerifiedChain.verify(
            links, expectedID: vaultID.flatMap { ChainID($0.bytes) }, remembered: remembered,
            rules: MemberRules(founder: founder, allowsCircle: allowsCircle))
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

    let allowsCircle: Bool

    init(founder: VerifiedDeviceChain?, allowsCircle: Bool = false) {
        self.founder = founder
        self.allowsCircle = allowsCircle
    }

    var beginning: MemberRules { MemberRules(founder: founder, allowsCircle: allowsCircle) }

    mutating func apply(
        _ link: UnverifiedLink, by key: VerifyingKey, chainID: ChainID, isVerified: Bool
    ) throws(TrustError) {
        let number = link.sequenceNumber
        guard number == 0 else { throw TrustError(.linkUnsupported, at: number) }
        let stated = try VaultFoundation(decoding: link)
        if stated.purpose?.terms != nil {
            guard allowsCircle else { throw TrustError(.linkUnsupported, at: number) }
            guard link.sealedPart.isEmpty else { throw TrustError(.linkMalformed, at: number) }
        }
        guard let founder else {
            foundation = stated
            return
        }
        guard let device = founder.devices.first(where: { $0.keys.signing == key }) else {
            throw TrustError(.signerUnknown, at: number)
        }
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
