// The order of a chain: kind, numbers, hashes, signatures. Invariant: only this file makes a `VerifiedLink`, and it
// makes one only after its place, its hash and its signature were checked.

internal import CoffretBase
package import CoffretCrypto

/// The last link of a chain that this device has verified.
///
/// It is kept at a place where nobody else can write: a chain that contains it is not verified again up to there.
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

    /// Checks that a link is the next one of a chain: kind, number, hash of the one before, signature. Whether its signer
    /// may sign it is for the rules of that kind of chain.
    ///
    /// - Parameter isKnown: it was verified before it was put where nobody else writes: its signature is not looked at again.
    /// - Throws: `.chainKindDiffers`, `.chainGap`, `.chainBroken`, `.linkMalformed`, `.signatureInvalid`.
    package static func verify(
        _ link: UnverifiedLink, kind: ChainKind, after previous: VerifiedLink, chainID: VaultID, isKnown: Bool = false
    ) throws(TrustError) -> VerifiedLink {
        guard let id = ChainID(chainID.bytes) else { preconditionFailure("an id has 32 bytes") }
        let hash = try link.hash(
            at: previous.link.sequenceNumber + 1, after: previous.hash, kind: kind, in: id)
        if !isKnown { try link.checkSignature(hash: hash, in: id) }
        return VerifiedLink(link, hash: hash)
    }
}

extension UnverifiedLink {
    /// The hash of a link that stands in its place.
    fileprivate func hash(
        at place: UInt64, after previous: [UInt8], kind: ChainKind, in id: ChainID
    ) throws(TrustError) -> [UInt8] {
        guard self.kind == kind else { throw TrustError(.chainKindDiffers, at: sequenceNumber) }
        guard sequenceNumber == place else { throw TrustError(.chainGap, at: sequenceNumber) }
        guard previousLinkHash == previous else { throw TrustError(.chainBroken, at: sequenceNumber) }
        return hash(inChain: id)
    }

    /// The signer's key, if the signature verifies with it.
    @discardableResult
    fileprivate func checkSignature(hash: [UInt8], in id: ChainID) throws(TrustError) -> VerifyingKey {
        let signer = try signer
        do throws(CryptoError) {
            try signer.verify(
                signature, .link, scope: Self.scope(kind: kind, chainID: id.bytes), message: hash)
        } catch {
            throw TrustError(.signatureInvalid, at: sequenceNumber)
        }
        return signer
    }

    fileprivate var signer: VerifyingKey {
        get throws(TrustError) {
            do { return try VerifyingKey(signerKey) } catch { throw TrustError(.signatureInvalid, at: sequenceNumber) }
        }
    }
}

/// The additions of one kind of chain to the common rules: its operations, and the state that they make.
protocol ChainRules: Equatable, Sendable {
    static var kind: ChainKind { get }
    /// The state before the first link.
    var beginning: Self { get }
    /// Applies a link that is in order and signed by `signer`, if `signer` may do that in this state.
    ///
    /// - Parameter isVerified: the same link was applied before: signatures inside it need no second look.
    mutating func apply(
        _ link: UnverifiedLink, by signer: VerifyingKey, chainID: ChainID, isVerified: Bool
    ) throws(TrustError)
    /// Whether `link`, the next one in this state, may take the place of links that were seen there; throws
    /// `.chainForked`, or what else speaks against it.
    ///
    /// - Parameter seen: the state behind `replaced`.
    func checkReplacement(
        by link: UnverifiedLink, of replaced: ArraySlice<VerifiedLink>, seen: Self
    ) throws(TrustError)
}

/// A chain with its state.
struct VerifiedChain<Rules: ChainRules>: Equatable, Sendable {
    let id: ChainID
    private(set) var links: [VerifiedLink] = []
    private(set) var rules: Rules
    private var byteCount = 0

    private init(id: ChainID, rules: Rules) {
        self.id = id
        self.rules = rules.beginning
    }

    var head: RememberedHead {
        RememberedHead(sequenceNumber: UInt64(links.count - 1), linkHash: links[links.count - 1].hash)
    }

    /// Checks a whole chain.
    ///
    /// Pure: no input but the arguments.
    /// - Parameter expectedID: the chain's id, if it is known already.
    /// - Parameter remembered: what the chain must contain. Up to there the hashes are checked, which fixes what
    ///   was verified when it was remembered, and no signature.
    /// - Complexity: one hash per link, one Ed25519 verification per link that was not verified before.
    static func verify(
        _ links: [UnverifiedLink], expectedID: ChainID?, remembered: RememberedHead?, rules: Rules
    ) throws(TrustError) -> VerifiedChain {
        guard let first = links.first else { throw TrustError(.chainEmpty) }
        guard links.count <= Limits.chainLinkCountMax else { throw TrustError(.chainTooLong) }
        guard first.sequenceNumber == 0 else { throw TrustError(.chainGap, at: first.sequenceNumber) }
        let id: ChainID
        if Rules.kind.isFoundedByLink {
            guard let hash = ChainID(first.hash(inChain: nil)) else { preconditionFailure("a hash has 32 bytes") }
            if let expectedID, expectedID != hash { throw TrustError(.chainIDDiffers) }
            id = hash
        } else {
            guard let expectedID else { throw TrustError(.chainIDDiffers) }
            id = expectedID
        }
        var ordered: [VerifiedLink] = []
        ordered.reserveCapacity(links.count)
        for link in links {
            let hash = try link.hash(
                at: UInt64(ordered.count), after: ordered.last?.hash ?? [], kind: Rules.kind, in: id)
            ordered.append(VerifiedLink(link, hash: hash))
        }
        if let remembered {
            guard remembered.sequenceNumber < UInt64(ordered.count) else {
                throw TrustError(.chainRolledBack, at: UInt64(ordered.count - 1))
            }
            guard ordered[Int(remembered.sequenceNumber)].hash == remembered.linkHash else {
                throw TrustError(.chainForked, at: remembered.sequenceNumber)
            }
        }
        var chain = VerifiedChain(id: id, rules: rules)
        let verifiedCount = remembered.map { Int($0.sequenceNumber) + 1 } ?? 0
        for (index, link) in ordered.enumerated() { try chain.append(link, isVerified: index < verifiedCount) }
        return chain
    }

    /// Goes on with links that reach from some place in this chain to the end of the one that is served.
    ///
    /// - Returns: the longer chain, and the links that another one replaced, if the rules allow that.
    /// - Throws: `.chainRolledBack` if the links end before this chain does, `.chainForked` if they differ.
    /// - Complexity: one hash per link, one Ed25519 verification per new link.
    func following(
        _ served: [UnverifiedLink]
    ) throws(TrustError) -> (chain: VerifiedChain, replaced: [VerifiedLink]) {
        guard let first = served.first else { throw TrustError(.chainRolledBack) }
        guard first.sequenceNumber <= UInt64(links.count) else { throw TrustError(.chainGap, at: first.sequenceNumber) }
        var place = Int(first.sequenceNumber)
        guard served.count <= Limits.chainLinkCountMax - place else { throw TrustError(.chainTooLong) }
        if place > 0, first.kind == Rules.kind, first.previousLinkHash != links[place - 1].hash {
            throw TrustError(.chainForked, at: UInt64(place - 1))
        }
        var rest = served[...]
        while place < links.count, let link = rest.first {
            let hash = try link.hash(
                at: UInt64(place), after: place > 0 ? links[place - 1].hash : [], kind: Rules.kind, in: id)
            guard hash == links[place].hash else { break }
            rest.removeFirst()
            place += 1
        }
        guard let next = rest.first else {
            guard place == links.count else { throw TrustError(.chainRolledBack, at: UInt64(place) - 1) }
            return (self, [])
        }
        var chain = self
        let replaced = links[place...]
        if !replaced.isEmpty {
            guard place > 0 else { throw TrustError(.chainIDDiffers) }
            chain = try prefix(place)
            try chain.rules.checkReplacement(by: next, of: replaced, seen: rules)
        }
        for link in rest {
            let hash = try link.hash(
                at: UInt64(chain.links.count), after: chain.head.linkHash, kind: Rules.kind, in: id)
            try chain.append(VerifiedLink(link, hash: hash), isVerified: false)
        }
        return (chain, Array(replaced))
    }

    /// The chain as it was when it had `count` links, at least one.
    func prefix(_ count: Int) throws(TrustError) -> VerifiedChain {
        var chain = VerifiedChain(id: id, rules: rules)
        for link in links[..<count] { try chain.append(link, isVerified: true) }
        return chain
    }

    private mutating func append(_ link: VerifiedLink, isVerified: Bool) throws(TrustError) {
        let number = link.link.sequenceNumber
        byteCount += link.link.countedByteCount
        guard link.link.publicPart.count <= UnverifiedLink.publicPartByteCountMax,
            link.link.sealedPart.count <= Rules.kind.sealedPartByteCountMax
        else { throw TrustError(.linkMalformed, at: number) }
        guard byteCount <= Limits.chainByteCountMax else { throw TrustError(.chainTooLong, at: number) }
        let signer = try isVerified ? link.link.signer : link.link.checkSignature(hash: link.hash, in: id)
        try rules.apply(link.link, by: signer, chainID: id, isVerified: isVerified)
        links.append(link)
    }
}
