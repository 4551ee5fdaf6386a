// The order of a chain: kind, numbers, hashes, signatures. The one thing to keep true: only this file
// makes a `VerifiedLink`, and it makes one only after all four were checked.

internal import CoffretBase
internal import CoffretCrypto

/// The last link of a chain that this device has seen.
package struct RememberedHead: Equatable, Sendable {
    package let sequenceNumber: UInt64
    package let linkHash: [UInt8]

    package init(sequenceNumber: UInt64, linkHash: [UInt8]) {
        self.sequenceNumber = sequenceNumber
        self.linkHash = linkHash
    }
}

/// A link in its place in a chain, with a good signature by a key that the chain trusts there.
package struct VerifiedLink: Equatable, Sendable {
    package let link: UnverifiedLink
    package let hash: [UInt8]

    fileprivate init(_ link: UnverifiedLink, hash: [UInt8]) {
        self.link = link
        self.hash = hash
    }
}

/// What a kind of chain adds to the common rules.
protocol ChainRules {
    /// Whether `key` may sign `link` in the state before it. Throws the reason if not.
    func checkSigner(_ key: VerifyingKey, of link: UnverifiedLink) throws(TrustError)
    /// Applies a link that is in order and properly signed.
    mutating func apply(_ link: UnverifiedLink, chainID: ChainID) throws(TrustError)
}

enum ChainVerifier {
    /// Checks links one after the other, feeding `rules`.
    ///
    /// Pure: no input but the arguments. One Ed25519 verification per link.
    /// - Parameter expectedID: the chain's id, if it is known already.
    /// - Parameter remembered: what the chain must contain.
    static func verify<Rules: ChainRules>(
        _ links: [UnverifiedLink], kind: ChainKind, expectedID: ChainID?, remembered: RememberedHead?,
        rules: inout Rules
    ) throws(TrustError) -> (id: ChainID, links: [VerifiedLink]) {
        guard let first = links.first else { throw TrustError(.chainEmpty) }
        guard links.count <= Limits.chainLinkCountMax else { throw TrustError(.chainTooLong) }
        guard first.sequenceNumber == 0 else { throw TrustError(.chainGap, at: first.sequenceNumber) }
        guard let id = ChainID(first.hash(inChain: nil)) else { preconditionFailure("a hash has 32 bytes") }
        if let expectedID, expectedID != id { throw TrustError(.chainIDDiffers) }
        var verified: [VerifiedLink] = []
        verified.reserveCapacity(links.count)
        for (index, link) in links.enumerated() {
            let number = link.sequenceNumber
            guard link.kind == kind else { throw TrustError(.chainKindDiffers, at: number) }
            guard number == UInt64(index) else { throw TrustError(.chainGap, at: number) }
            guard link.previousLinkHash == (verified.last?.hash ?? []) else {
                throw TrustError(.chainBroken, at: number)
            }
            let hash = link.hash(inChain: id)
            guard let signer = try? VerifyingKey(link.signerKey) else {
                throw TrustError(.signatureInvalid, at: number)
            }
            do throws(CryptoError) {
                try signer.verify(
                    link.signature, .link, scope: UnverifiedLink.scope(kind: kind, chainID: id.bytes), message: hash)
            } catch {
                throw TrustError(.signatureInvalid, at: number)
            }
            try rules.checkSigner(signer, of: link)
            try rules.apply(link, chainID: id)
            verified.append(VerifiedLink(link, hash: hash))
        }
        if let remembered {
            guard remembered.sequenceNumber < UInt64(verified.count) else {
                throw TrustError(.chainRolledBack, at: UInt64(verified.count - 1))
            }
            guard verified[Int(remembered.sequenceNumber)].hash == remembered.linkHash else {
                throw TrustError(.chainForked, at: remembered.sequenceNumber)
            }
        }
        return (id, verified)
    }
}
