// Whether a link may stand where it stands. The one thing to keep true: only this file makes a `MemberEffect` of bytes, and
// the first failure ends the chain there.

package import CoffretBase
package import CoffretCrypto

/// A member chain as far as it was verified, from the founding link on, without what is sealed in it.
package struct VerifiedMemberRights: Equatable, Sendable {
    package static let memberCountMax = 256
    package static let ownerCountMax = 16
    package static let epochCountMax: UInt32 = 4_096
    /// Of these, the last that owners alone open.
    package static let ownersEpochCount: UInt32 = 256
    /// Epoch links of one device without a link of another one between them.
    package static let epochRowMax = 16

    package let vaultID: VaultID
    package let foundation: VaultFoundation
    /// What each link does, by number.
    package private(set) var links: [MemberEffect] = []
    /// After the newest link.
    package private(set) var rights = MemberRights()
    /// Commitments to the vault's keys by epoch, those of later epochs by their links.
    package private(set) var keyCommitments: [UInt32: Bytes32] = [:]
    /// Of a circle, as its chain has it, with links that lack confirmation; see `circle(known:)`.
    private(set) var circleState: CircleState?
    private var newest: VerifiedLink

    package var count: Int { links.count }

    package static func == (left: VerifiedMemberRights, right: VerifiedMemberRights) -> Bool {
        left.vaultID == right.vaultID && left.links == right.links
    }

    /// Begins with link 0.
    ///
    /// - Parameters:
    ///   - allowsCircle: false: the chain of a circle is `.linkUnsupported`.
    ///   - isKnown: the link was verified before it was put where nobody else writes.
    /// - Throws: `TrustError`, as `VerifiedMemberChain.verify` does.
    package init(
        founding link: UnverifiedLink, founder: AccountDevices, chain: VerifiedDeviceChain, vaultID: VaultID? = nil,
        allowsCircle: Bool = false, isKnown: Bool = false
    ) throws(TrustError) {
        let remembered = isKnown ? RememberedHead(sequenceNumber: 0, linkHash: link.hash(inChain: nil)) : nil
        let founded = try VerifiedMemberChain.verify(
            [link], founder: chain, vaultID: vaultID, remembered: remembered, allowsCircle: allowsCircle)
        self.vaultID = founded.vaultID
        foundation = founded.foundation
        newest = founded.links[0]
        circleState = foundation.purpose?.terms.map(CircleState.init)
        guard let hash = Bytes32(newest.hash), let head = Bytes32(foundation.deviceChainHead),
            let place = founder.position(of: head), let signer = founder.signer(link.signerKey, at: place)
        else { throw TrustError(.founderDiffers, at: 0) }
        let commitment = Bytes32(foundation.keyCommitment)
        keyCommitments[1] = commitment
        fold(
            MemberEffect(
                number: 0, hash: hash, accountID: foundation.accountID, deviceID: signer.device,
                roleChanges: [foundation.accountID: .owner], accepts: [foundation.accountID], confirms: [],
                heads: [foundation.accountID: head], opensEpoch: false, keyCommitment: commitment,
                splitKeyCommitment: nil, endsReading: false))
    }

    /// The next link of the chain after its checks, until it is taken in.
    package struct Step: Sendable {
        package let effect: MemberEffect
        package let opening: EpochOpening?
        fileprivate let placed: VerifiedLink
    }

    /// Checks the next link.
    ///
    /// Order of section 8: place, hash and signature; the stated heads are here; the signer is trusted at its own; no head
    /// is older than before; the operation is allowed and applies.
    /// - Parameter isKnown: the link was verified before it was put where nobody else writes: its signature is not looked at
    ///   again.
    /// - Throws: `MemberError`.
    package func check(
        _ link: UnverifiedLink, accounts: [ChainID: AccountDevices], isKnown: Bool = false
    ) throws(MemberError) -> Step {
        let number = link.sequenceNumber
        let placed: VerifiedLink
        do throws(TrustError) {
            placed = try VerifiedLink.verify(link, kind: .member, after: newest, chainID: vaultID, isKnown: isKnown)
        } catch {
            switch error.code {
            case .signatureInvalid: throw MemberError(.signatureInvalid, at: number)
            // A link that names another one before it is of another continuation of the chain.
            case .chainBroken: throw MemberError(.forked, at: number)
            default: throw MemberError(.linkBroken, at: number)
            }
        }
        guard circleState == nil || link.sealedPart.isEmpty else { throw MemberError(.linkMalformed, at: number) }
        let operation = try MemberOperation(decoding: link)
        let check = MemberCheck(operation: operation, number: number, chain: self, accounts: accounts)
        let signer = try check.signer(of: link)
        try check.checkHeads()
        try check.checkPermission(signedBy: signer)
        guard let hash = Bytes32(placed.hash) else { preconditionFailure("a hash has 32 bytes") }
        return Step(effect: check.effect(hash, signedBy: signer), opening: operation.opening, placed: placed)
    }

    /// Takes in the link that was checked last.
    package mutating func take(_ step: Step) {
        precondition(step.effect.number == links.count, "links are taken in their order")
        newest = step.placed
        if let opening = step.opening { keyCommitments[opening.epoch] = opening.keyCommitment }
        fold(step.effect)
    }

    /// Checks the next link and takes it in.
    ///
    /// - Throws: `MemberError`; the chain is unchanged then.
    package mutating func append(
        _ link: UnverifiedLink, accounts: [ChainID: AccountDevices]
    ) throws(MemberError) {
        take(try check(link, accounts: accounts))
    }

    /// The next link as its author plans it: the same checks as for a link of somebody else, before anything is signed.
    ///
    /// - Returns: what it does, without its hash.
    /// - Throws: `MemberError`.
    package func preview(
        _ operation: MemberOperation, signedBy device: UniqueID, accounts: [ChainID: AccountDevices]
    ) throws(MemberError) -> MemberEffect {
        let number = UInt64(count)
        let check = MemberCheck(operation: operation, number: number, chain: self, accounts: accounts)
        guard let devices = accounts[operation.accountID], let place = devices.position(of: operation.deviceHead),
            let key = devices.signingKey(of: device, at: place)
        else { throw MemberError(.chainMissing, at: number) }
        guard try check.signer(withKey: key) == device else { throw MemberError(.signerUnknown, at: number) }
        try check.checkHeads()
        try check.checkPermission(signedBy: device)
        return check.effect(Bytes32(0, 0, 0, 0), signedBy: device)
    }

    private mutating func fold(_ effect: MemberEffect) {
        links.append(effect)
        rights.fold(effect)
        if let operation = effect.circle { circleState?.fold(operation, by: effect.accountID, link: effect.number) }
    }
}

extension BidirectionalCollection<MemberEffect> {
    /// How many epochs this device opened since the last link of another one.
    package func epochRow(of device: UniqueID, in account: ChainID) -> Int {
        reversed().prefix { $0.deviceID == device && $0.accountID == account }.count(where: \.opensEpoch)
    }
}

extension MemberOperation {
    fileprivate var circle: CircleOperation? { if case .circle(let operation) = kind { operation } else { nil } }

    fileprivate var roleChanges: [ChainID: MemberRole?] {
        switch kind {
        case .add(let head, let role): [head.accountID: role]
        case .changeRoles(let changes): Dictionary(uniqueKeysWithValues: changes.map { ($0.accountID, $0.role) })
        case .leave: [accountID: nil]
        case .accept, .state, .circle: [:]
        }
    }

    fileprivate var accepts: Set<ChainID> {
        if case .accept = kind { [accountID] } else { [] }
    }
}

/// The checks of one link against the state before it.
struct MemberCheck {
    let operation: MemberOperation
    let number: UInt64
    let chain: VerifiedMemberRights
    let accounts: [ChainID: AccountDevices]

    var before: MemberRights { chain.rights }

    /// Heads that the link states, by account; the signer's own counts as stated too.
    var stated: [ChainID: Bytes32] {
        var heads = Dictionary(operation.heads.map { ($0.accountID, $0.device) }, uniquingKeysWith: { $1 })
        if case .add(let head, _) = operation.kind { heads[head.accountID] = head.device }
        if heads[operation.accountID] == nil { heads[operation.accountID] = operation.deviceHead }
        return heads
    }

    /// Rules 2 and 3.
    func signer(of link: UnverifiedLink) throws(MemberError) -> UniqueID { try signer(withKey: link.signerKey) }

    func signer(withKey key: [UInt8]) throws(MemberError) -> UniqueID {
        guard let devices = accounts[operation.accountID], let place = devices.position(of: operation.deviceHead) else {
            throw MemberError(.chainMissing, at: number)
        }
        for (account, head) in stated where accounts[account]?.position(of: head) == nil {
            throw MemberError(.chainMissing, at: number)
        }
        guard let signer = devices.signer(key, at: place) else {
            throw MemberError(.signerUnknown, at: number)
        }
        guard signer.isTrusted else { throw MemberError(.signerRevoked, at: number) }
        return signer.device
    }

    private func place(_ account: ChainID, _ head: Bytes32?) -> DevicePosition? {
        head.flatMap { accounts[account]?.position(of: $0) }
    }

    /// Rule 4.
    func checkHeads() throws(MemberError) {
        var heads = stated.map { ($0.key, $0.value) }
        // Where key 9 has the signer's account too, both are stated.
        heads.append((operation.accountID, operation.deviceHead))
        for (account, head) in heads {
            guard let now = place(account, head), let was = place(account, before.heads[account]) else { continue }
            guard now >= was else { throw MemberError(.headsBehind, at: number) }
        }
    }

    /// K3: see `VerifiedMemberLink.endsReading`.
    var endsReading: Bool {
        if !operation.removes.isEmpty { return true }
        return stated.contains { account, head in
            guard before.members[account] != nil, let devices = accounts[account], let now = place(account, head),
                let was = place(account, before.heads[account])
            else { return false }
            return devices.takesAway(from: was, to: now)
        }
    }

    func effect(_ hash: Bytes32, signedBy device: UniqueID) -> MemberEffect {
        MemberEffect(
            number: chain.count, hash: hash, accountID: operation.accountID, deviceID: device,
            roleChanges: operation.roleChanges, accepts: operation.accepts, confirms: Set(operation.confirms),
            heads: stated, opensEpoch: operation.opening != nil, keyCommitment: operation.opening?.keyCommitment,
            splitKeyCommitment: operation.opening?.splitKeyCommitment, endsReading: endsReading,
            circle: operation.circle)
    }

    /// Rule 5.
    func checkPermission(signedBy device: UniqueID) throws(MemberError) {
        guard let member = before.members[operation.accountID] else { throw refused }
        let isOwner = member.owns
        if let circle = chain.circleState {
            try checkCircle(circle, by: member)
            return try checkRest(isOwner: isOwner, writes: member.writes)
        }
        switch operation.kind {
        case .add(let head, let role):
            guard isOwner, role != .contact, chain.foundation.purpose == nil, before.members[head.accountID] == nil
            else { throw refused }
            guard before.members.count < VerifiedMemberRights.memberCountMax,
                role != .owner || ownersLeft < VerifiedMemberRights.ownerCountMax
            else { throw MemberError(.tooMany, at: number) }
        case .accept(let adding): try checkAcceptance(adding, by: member)
        case .changeRoles(let changes):
            guard isOwner else { throw refused }
            try checkRoles(changes, by: member)
        case .leave:
            guard !isOwner || acceptedOwners > 1 else { throw refused }
        case .state: break
        case .circle: throw refused
        }
        try checkRest(isOwner: isOwner, writes: member.writes)
        if let opening = operation.opening { try check(opening, isOwner: isOwner, device: device) }
    }

    func checkAcceptance(_ adding: Bytes32, by member: Member) throws(MemberError) {
        guard !member.hasAccepted, chain.links[member.addedAt].hash == adding else { throw refused }
    }

    var refused: MemberError { MemberError(.notPermitted, at: number) }
    private var acceptedOwners: Int { before.members.values.count(where: \.owns) }
    private var ownersLeft: Int { before.members.values.count { $0.role == .owner } }

    private func checkRoles(_ changes: [MemberOperation.RoleChange], by signer: Member) throws(MemberError) {
        var (owners, all) = (acceptedOwners, ownersLeft)
        for change in changes {
            guard let target = before.members[change.accountID], target.role != change.role, change.role != .contact
            else { throw refused }
            if target.role == .owner {
                if change.accountID != operation.accountID {
                    guard let rank = target.ownerSince, let own = signer.ownerSince, own < rank else {
                        throw MemberError(.outranked, at: number)
                    }
                }
                all -= 1
                if target.hasAccepted { owners -= 1 }
            } else if change.role == .owner {
                all += 1
                if target.hasAccepted { owners += 1 }
            }
        }
        guard owners > 0 else { throw refused }
        guard all <= VerifiedMemberRights.ownerCountMax else { throw MemberError(.tooMany, at: number) }
    }

    private func checkRest(isOwner: Bool, writes: Bool) throws(MemberError) {
        let isOthers = operation.heads.contains { $0.accountID != operation.accountID }
        guard writes || !isOthers && operation.opening == nil else { throw refused }
        guard operation.heads.allSatisfy({ before.members[$0.accountID] != nil }) else { throw refused }
        guard isOwner || operation.confirms.allSatisfy({ $0 == operation.accountID }) else { throw refused }
    }

    private func check(_ opening: EpochOpening, isOwner: Bool, device: UniqueID) throws(MemberError) {
        guard opening.epoch == before.epoch + 1, opening.epoch <= VerifiedMemberRights.epochCountMax,
            isOwner || opening.epoch <= VerifiedMemberRights.epochCountMax - VerifiedMemberRights.ownersEpochCount,
            1...before.epoch ~= opening.checkpointEpoch,
            before.splitKeyCommitment.map({ $0 == opening.splitKeyCommitment }) ?? true
        else { throw refused }
        guard !endsReading else { return }
        guard chain.links.epochRow(of: device, in: operation.accountID) < VerifiedMemberRights.epochRowMax else {
            throw refused
        }
    }
}
