// The keys to which an account receives. The one thing to keep true: a key leads to the account id, by a device that the
// account's chain trusts where the link says so; which keys are used is decided by what is known now.

package import CoffretBase
package import CoffretCrypto

/// A link of an identity chain whose every statement was checked.
package struct VerifiedIdentityLink: Equatable, Sendable {
    package let number: UInt64
    package let hash: Bytes32
    package let operation: IdentityOperation
    /// The device that signed it.
    package let signer: UniqueID
    /// Where the stated head of the device chain stands.
    package let headPosition: DevicePosition

    package var sets: Bool { operation.longTerm != nil }
    package var stated: StatedLink { StatedLink(number: number, hash: hash) }
}

/// An account's identity chain whose every link was checked with the account's devices.
package struct VerifiedIdentityChain: Equatable, Sendable {
    private let chain: VerifiedChain<IdentityRules>

    package var accountID: ChainID { chain.id }
    package var links: [VerifiedLink] { chain.links }
    /// What each link says, by number.
    package var identityLinks: [VerifiedIdentityLink] { chain.rules.links }
    package var head: RememberedHead { chain.head }
    /// The newest link that sets.
    package var newestSet: VerifiedIdentityLink { chain.rules.links[chain.rules.newestSet] }
    /// The newest link of all: its transient key is the one in use.
    package var newest: VerifiedIdentityLink { chain.rules.links[chain.rules.links.count - 1] }

    private init(_ chain: VerifiedChain<IdentityRules>) { self.chain = chain }

    /// Checks all links.
    ///
    /// Pure: no input but the arguments. Each link's signer is trusted at the head that it states; heads never go back; keys
    /// occur once; link 0 sets.
    /// - Parameters:
    ///   - devices: the account whose chain it is, with the branches that recoveries replaced.
    ///   - remembered: what the chain must contain. Up to there no signature is checked.
    /// - Throws: `TrustError`; `.identityHeadMissing` if a stated link of the device chain is not known yet.
    /// - Complexity: one hash per link, two signatures per link that sets and one per link that refreshes.
    package static func verify(
        _ links: [UnverifiedLink], devices: AccountDevices, remembered: RememberedHead? = nil
    ) throws(TrustError) -> VerifiedIdentityChain {
        VerifiedIdentityChain(
            try VerifiedChain.verify(
                links, expectedID: devices.accountID, remembered: remembered, rules: IdentityRules(devices: devices)))
    }

    /// A chain whose every link was verified before it was put where nobody else writes: hashes and places are checked again,
    /// and no signature.
    package static func resume(
        _ links: [UnverifiedLink], devices: AccountDevices
    ) throws(TrustError) -> VerifiedIdentityChain {
        guard let last = links.last else { throw TrustError(.chainEmpty) }
        let head = RememberedHead(
            sequenceNumber: UInt64(links.count - 1), linkHash: last.hash(inChain: devices.accountID))
        return try verify(links, devices: devices, remembered: head)
    }

    /// Goes on with what a server gives, from any link of this chain to the newest, by the account's devices as they are
    /// known now.
    ///
    /// - Throws: `.chainRolledBack`, `.chainForked`: nothing ever replaces a link of this chain.
    package func following(
        _ served: [UnverifiedLink], devices: AccountDevices
    ) throws(TrustError) -> VerifiedIdentityChain {
        guard let first = served.first else { throw TrustError(.chainRolledBack) }
        guard first.sequenceNumber <= UInt64(links.count) else { throw TrustError(.chainGap, at: first.sequenceNumber) }
        let known = links[..<Int(first.sequenceNumber)].map(\.link)
        return try Self.verify(known + served, devices: devices, remembered: head)
    }

    /// The link at which a chain stood that somebody states; nil: this chain does not contain it.
    package func link(at stated: StatedLink) -> VerifiedIdentityLink? {
        guard stated.number < UInt64(identityLinks.count) else { return nil }
        let link = identityLinks[Int(stated.number)]
        return link.hash == stated.hash ? link : nil
    }

    /// Whether something may be sealed to these keys: the newest link is by a device that the newest known chain trusts, and
    /// behind the head that the newest set states no device was revoked or left out.
    ///
    /// - Parameter devices: the account's devices as they are known now.
    package func isCurrent(for devices: AccountDevices) -> Bool {
        guard devices.accountID == accountID, devices.isTrusted(newest.signer),
            let place = devices.position(of: newestSet.operation.head)
        else { return false }
        return !devices.takesAway(from: place, to: devices.newest)
    }

    /// The keys to which something may be sealed.
    ///
    /// - Throws: `.identityStale` if they are not current.
    package func receivingKeys(for devices: AccountDevices) throws(TrustError) -> ReceivingKeys {
        guard isCurrent(for: devices), let longTerm = newestSet.operation.longTerm else {
            throw TrustError(.identityStale)
        }
        return ReceivingKeys(
            accountID: accountID, head: StatedLink(head), box: longTerm.box, transient: newest.operation.transient)
    }

    /// Signs the next link of an account's identity chain. It is verified when the chain is.
    ///
    /// - Parameter chain: nil for link 0.
    package static func sign(
        _ operation: IdentityOperation, after chain: VerifiedIdentityChain?, account: ChainID, with key: SigningKey
    ) -> UnverifiedLink {
        UnverifiedLink.sign(
            kind: .identity, chainID: account, sequenceNumber: UInt64(chain?.links.count ?? 0),
            publicPart: operation.encoded, sealedPart: [], previousLinkHash: chain?.head.linkHash ?? [], with: key)
    }
}

/// The keys of an account that is current; only a verified chain makes them.
package struct ReceivingKeys: Equatable, Sendable {
    package let accountID: ChainID
    /// The newest link of the identity chain.
    package let head: StatedLink
    package let box: AgreementPublicKey
    package let transient: TransientKey

    fileprivate init(accountID: ChainID, head: StatedLink, box: AgreementPublicKey, transient: TransientKey) {
        self.accountID = accountID
        self.head = head
        self.box = box
        self.transient = transient
    }
}

/// The state of an identity chain.
struct IdentityRules: ChainRules {
    static let kind = ChainKind.identity

    let devices: AccountDevices
    private(set) var links: [VerifiedIdentityLink] = []
    private(set) var newestSet = 0
    private var keys: Set<[UInt8]> = []

    init(devices: AccountDevices) { self.devices = devices }

    var beginning: IdentityRules { IdentityRules(devices: devices) }

    mutating func apply(
        _ link: UnverifiedLink, by key: VerifyingKey, chainID: ChainID, isVerified: Bool
    ) throws(TrustError) {
        let number = link.sequenceNumber
        let operation = try IdentityOperation(decoding: link)
        guard number > 0 || operation.longTerm != nil else { throw TrustError(.linkMalformed, at: number) }
        guard let place = devices.position(of: operation.head) else {
            throw TrustError(.identityHeadMissing, at: number)
        }
        guard let signer = devices.signer(key.bytes, at: place) else { throw TrustError(.signerUnknown, at: number) }
        guard signer.isTrusted else { throw TrustError(.signerRevoked, at: number) }
        if let last = links.last {
            guard place >= last.headPosition else { throw TrustError(.identityHeadsBehind, at: number) }
        }
        if !isVerified { try operation.checkCountersignature(number: number, account: chainID) }
        let taken = devices.keys(at: place)
        for key in operation.keys {
            guard keys.insert(key).inserted, !taken.contains(key) else {
                throw TrustError(.identityKeyReused, at: number)
            }
        }
        guard let hash = Bytes32(link.hash(inChain: chainID)) else { preconditionFailure("a hash has 32 bytes") }
        if operation.longTerm != nil { newestSet = links.count }
        links.append(
            VerifiedIdentityLink(
                number: number, hash: hash, operation: operation, signer: signer.device, headPosition: place))
    }

    func checkReplacement(
        by link: UnverifiedLink, of replaced: ArraySlice<VerifiedLink>, seen: IdentityRules
    ) throws(TrustError) {
        throw TrustError(.chainForked, at: link.sequenceNumber)
    }
}
