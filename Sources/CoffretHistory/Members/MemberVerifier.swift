// Whether a link may stand where it stands. The one thing to keep true: only this file makes a `VerifiedMemberLink` of
// bytes, and the first failure ends the chain there.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage
package import CoffretTrust

/// A member chain as far as it was verified, from the founding link on.
package struct VerifiedMembers: Equatable, Sendable {
    package static let memberCountMax = 256
    package static let ownerCountMax = 16
    package static let epochCountMax: UInt32 = 4_096
    /// Of these, the last that owners alone open.
    package static let ownersEpochCount: UInt32 = 256
    /// Epoch links of one device without a link of another one between them.
    package static let epochRowMax = 16

    package let vaultID: VaultID
    package let foundation: VaultFoundation
    package private(set) var state = MemberState()
    /// Commitments to the vault's keys by epoch, those of later epochs by their links.
    package private(set) var keyCommitments: [UInt32: Bytes32] = [:]
    private var newest: VerifiedLink

    package static func == (left: VerifiedMembers, right: VerifiedMembers) -> Bool {
        left.vaultID == right.vaultID && left.state == right.state
    }

    /// Begins with link 0.
    ///
    /// - Throws: `TrustError`, as `VerifiedMemberChain.verify` does.
    package init(
        founding link: UnverifiedLink, founder: AccountDevices, chain: VerifiedDeviceChain, vaultID: VaultID? = nil
    ) throws(TrustError) {
        let founded = try VerifiedMemberChain.verify([link], founder: chain, vaultID: vaultID)
        self.vaultID = founded.vaultID
        foundation = founded.foundation
        newest = founded.links[0]
        guard let hash = Bytes32(newest.hash), let head = Bytes32(foundation.deviceChainHead),
            let place = founder.position(of: head), let signer = founder.signer(link.signerKey, at: place)
        else { throw TrustError(.founderDiffers, at: 0) }
        keyCommitments[1] = Bytes32(foundation.keyCommitment)
        state.append(
            VerifiedMemberLink(
                number: 0, hash: hash, accountID: foundation.accountID, deviceID: signer.device,
                roleChanges: [foundation.accountID: .owner], accepts: [foundation.accountID], confirms: [],
                heads: [foundation.accountID: head], opensEpoch: false,
                keyCommitment: Bytes32(foundation.keyCommitment),
                splitKeyCommitment: nil, endsReading: false, checkpoint: nil, details: nil))
    }

    /// Checks the next link and takes it in.
    ///
    /// Order of section 8: place, hash and signature; the stated heads are here; the signer is trusted at its own; no head
    /// is older than before; the operation is allowed and applies.
    /// - Parameter keys: open the sealed part; nil for a server, which reads none.
    /// - Throws: `MemberError`, `.keyMissing` where the checkpoint cannot be opened for lack of a key; the chain is unchanged
    ///   then.
    package mutating func append(
        _ link: UnverifiedLink, accounts: [ChainID: AccountDevices], keys: (any MemberKeys)?
    ) throws(MemberError) {
        let number = link.sequenceNumber
        let placed: VerifiedLink
        do throws(TrustError) {
            placed = try VerifiedLink.verify(link, kind: .member, after: newest, chainID: vaultID)
        } catch {
            switch error.code {
            case .signatureInvalid: throw MemberError(.signatureInvalid, at: number)
            // A link that names another one before it is of another continuation of the chain.
            case .chainBroken: throw MemberError(.forked, at: number)
            default: throw MemberError(.linkBroken, at: number)
            }
        }
        let operation = try MemberOperation(decoding: link)
        let check = MemberCheck(operation: operation, number: number, state: state, accounts: accounts)
        let signer = try check.signer(of: link)
        try check.checkHeads()
        try check.checkPermission(signedBy: signer)
        let verified = try verified(placed, operation, signer, check, keys)
        if let opening = operation.opening { keyCommitments[opening.epoch] = opening.keyCommitment }
        newest = placed
        state.append(verified)
    }

    /// Goes on with what a server gives, from any link of this chain to the newest.
    ///
    /// - Returns: the failure at which the chain ends for now; nil: all links were taken in. `.forked` names a link that
    ///   differs from the one here: nothing is changed, and each device stays with the links that it has (K9).
    package mutating func follow(
        _ served: [UnverifiedLink], accounts: [ChainID: AccountDevices], keys: (any MemberKeys)?
    ) -> MemberError? {
        for link in served {
            let number = link.sequenceNumber
            if number < UInt64(state.count) {
                let hash = Bytes32(link.hash(inChain: number == 0 ? nil : ChainID(vaultID.bytes)))
                guard hash == state.links[Int(number)].hash else { return MemberError(.forked, at: number) }
                continue
            }
            do throws(MemberError) {
                try append(link, accounts: accounts, keys: keys)
            } catch {
                return error
            }
        }
        return nil
    }

    /// The next link as its author plans it: the same checks as for a link of somebody else, before anything is signed.
    ///
    /// - Returns: the link without a checkpoint and without its hash; for `HistoryMachine.plan`, and nothing else.
    /// - Throws: `MemberError`.
    package func preview(
        _ operation: MemberOperation, signedBy device: UniqueID, accounts: [ChainID: AccountDevices]
    ) throws(MemberError) -> VerifiedMemberLink {
        let number = UInt64(state.count)
        let check = MemberCheck(operation: operation, number: number, state: state, accounts: accounts)
        guard let devices = accounts[operation.accountID], let place = devices.position(of: operation.deviceHead),
            let key = devices.signingKey(of: device, at: place)
        else { throw MemberError(.chainMissing, at: number) }
        guard try check.signer(withKey: key) == device else { throw MemberError(.signerUnknown, at: number) }
        try check.checkHeads()
        try check.checkPermission(signedBy: device)
        return verified(operation, Bytes32(0, 0, 0, 0), device, check, .unreadable)
    }

    private func verified(
        _ placed: VerifiedLink, _ operation: MemberOperation, _ signer: UniqueID, _ check: MemberCheck,
        _ keys: (any MemberKeys)?
    ) throws(MemberError) -> VerifiedMemberLink {
        let number = placed.link.sequenceNumber
        let before = state.states[state.count - 1]
        let reading = keys.map {
            MemberSealing.open(
                placed.link.sealedPart, number: number, in: vaultID, epoch: operation.opening?.epoch ?? before.epoch,
                opening: operation.opening, keys: $0)
        }
        if case .needsKey = reading { throw MemberError(.keyMissing, at: number) }
        guard let hash = Bytes32(placed.hash) else { preconditionFailure("a hash has 32 bytes") }
        return verified(operation, hash, signer, check, reading ?? .unreadable)
    }

    private func verified(
        _ operation: MemberOperation, _ hash: Bytes32, _ signer: UniqueID, _ check: MemberCheck,
        _ reading: SealedReading
    ) -> VerifiedMemberLink {
        let before = state.states[state.count - 1]
        var (details, checkpoint) = (nil as MemberDetails?, nil as Checkpoint?)
        if case .read(let read, let found) = reading { (details, checkpoint) = (read, found) }
        // Who may not write writes no checkpoint; a base that is none makes no checkpoint either.
        if let found = checkpoint, !state.isBase(found.base) || before.members[operation.accountID]?.writes != true {
            checkpoint = nil
        }
        return VerifiedMemberLink(
            number: state.count, hash: hash, accountID: operation.accountID, deviceID: signer,
            roleChanges: operation.roleChanges, accepts: operation.accepts, confirms: Set(operation.confirms),
            heads: check.stated, opensEpoch: operation.opening != nil, keyCommitment: operation.opening?.keyCommitment,
            splitKeyCommitment: operation.opening?.splitKeyCommitment, endsReading: check.endsReading,
            checkpoint: checkpoint, details: details)
    }
}

extension MemberOperation {
    fileprivate var roleChanges: [ChainID: MemberRole?] {
        switch kind {
        case .add(let head, let role): [head.accountID: role]
        case .changeRoles(let changes): Dictionary(uniqueKeysWithValues: changes.map { ($0.accountID, $0.role) })
        case .leave: [accountID: nil]
        case .accept, .state: [:]
        }
    }

    fileprivate var accepts: Set<ChainID> {
        if case .accept = kind { [accountID] } else { [] }
    }
}

/// The checks of one link against the state before it.
private struct MemberCheck {
    let operation: MemberOperation
    let number: UInt64
    let state: MemberState
    let accounts: [ChainID: AccountDevices]

    private var before: LinkState { state.states[state.count - 1] }

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

    /// Rule 5.
    func checkPermission(signedBy device: UniqueID) throws(MemberError) {
        guard let member = before.members[operation.accountID] else { throw refused }
        let isOwner = member.role == .owner && member.hasAccepted
        switch operation.kind {
        case .add(let head, let role):
            guard isOwner, before.members[head.accountID] == nil,
                before.members.count < VerifiedMembers.memberCountMax,
                role != .owner || ownersLeft < VerifiedMembers.ownerCountMax
            else { throw refused }
        case .accept(let adding):
            guard !member.hasAccepted, state.links[member.addedAt].hash == adding else { throw refused }
        case .changeRoles(let changes):
            guard isOwner else { throw refused }
            try checkRoles(changes, by: member)
        case .leave:
            guard !isOwner || acceptedOwners > 1 else { throw refused }
        case .state: break
        }
        try checkRest(isOwner: isOwner, writes: member.writes)
        if let opening = operation.opening { try check(opening, isOwner: isOwner, device: device) }
    }

    private var refused: MemberError { MemberError(.notPermitted, at: number) }
    private var acceptedOwners: Int { before.members.values.count { $0.role == .owner && $0.hasAccepted } }
    private var ownersLeft: Int { before.members.values.count { $0.role == .owner } }

    private func checkRoles(_ changes: [MemberOperation.RoleChange], by signer: Member) throws(MemberError) {
        var (owners, all) = (acceptedOwners, ownersLeft)
        for change in changes {
            guard let target = before.members[change.accountID], target.role != change.role else { throw refused }
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
        guard owners > 0, all <= VerifiedMembers.ownerCountMax else { throw refused }
    }

    private func checkRest(isOwner: Bool, writes: Bool) throws(MemberError) {
        let isOthers = operation.heads.contains { $0.accountID != operation.accountID }
        guard writes || !isOthers && operation.opening == nil else { throw refused }
        guard operation.heads.allSatisfy({ before.members[$0.accountID] != nil }) else { throw refused }
        guard isOwner || operation.confirms.allSatisfy({ $0 == operation.accountID }) else { throw refused }
    }

    private func check(_ opening: EpochOpening, isOwner: Bool, device: UniqueID) throws(MemberError) {
        guard opening.epoch == before.epoch + 1, opening.epoch <= VerifiedMembers.epochCountMax,
            isOwner || opening.epoch <= VerifiedMembers.epochCountMax - VerifiedMembers.ownersEpochCount,
            1...before.epoch ~= opening.checkpointEpoch,
            before.splitKeyCommitment.map({ $0 == opening.splitKeyCommitment }) ?? true
        else { throw refused }
        guard !endsReading else { return }
        guard state.epochRow(of: device) < VerifiedMembers.epochRowMax else { throw refused }
    }
}

extension MemberState {
    /// How many epochs this device opened since the last link of another one.
    package func epochRow(of device: UniqueID) -> Int {
        links.reversed().prefix { $0.deviceID == device }.count { $0.opensEpoch }
    }
}
