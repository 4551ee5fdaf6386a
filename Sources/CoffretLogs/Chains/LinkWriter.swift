// Own links: closings, epochs, ends of forked logs, checkpoints. The one thing to keep true: a link goes through the same
// checks as one of somebody else before it is signed.

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

/// A signed link that no server has taken yet.
package struct LinkDraft: Sendable {
    package let link: UnverifiedLink
    /// Of its checkpoint; the tree is stored here, and goes to the server before the link.
    package let root: BlobName?
    package let opens: UInt32?
    /// The head that its author had read: for links that close (K2).
    package let closes: Bool
    /// Bare forms of tips that name what is deleted for good (P2); they are at the server before the link.
    package let bareForms: [BlobName]
}

/// Writes the next link of one vault.
package struct LinkWriter {
    private let repository: LogRepository
    private let members: VerifiedMembers
    private let accounts: [ChainID: FollowedAccount]
    private let keys: any LogKeyring

    /// - Returns: nil before the vault's foundation is here.
    package init?(repository: LogRepository, chains: FollowedChains, keys: any LogKeyring) {
        guard let members = chains.members else { return nil }
        self.repository = repository
        self.members = members
        accounts = chains.accounts
        self.keys = keys
    }

    /// Why a link is due, and for how long this device waits at most before it writes it; nil: none is due.
    package struct Due {
        let links: DueLinks
        let isRootDue: Bool
        let lacksKey: Bool
        let isAsked: Bool
        package var opensEpoch: Bool { !links.closings.isEmpty || lacksKey }
        package let delay: Milliseconds
    }

    package func due(asked: Bool, now: Milliseconds) throws -> Due? {
        let newest = members.state.states[members.state.count - 1].epoch
        let lacksOwn = keys.vaultKey(ofEpoch: newest) == nil
        let random = repository.sealingRandom
        return try repository.step { (machine) throws(StorageError) -> Due? in
            let links = try machine.due()
            let isRootDue = try machine.isRootDue(now: now, byteCount: machine.byteCountBehindBase())
            let lacksKey = lacksOwn && machine.lacksKey(ofEpoch: newest, now: now)
            let isPressing = !links.closings.isEmpty || !links.ends.isEmpty || links.betterRoot
            guard isPressing || lacksKey || isRootDue || asked else { return nil }
            let delay: Milliseconds =
                if asked || lacksKey { 0 } else if isPressing { machine.delay(before: links, random) } else {
                    HistoryMachine<DiskHistoryStore>.delayBeforeRoot(random)
                }
            return Due(links: links, isRootDue: isRootDue, lacksKey: lacksKey, isAsked: asked, delay: delay)
        }
    }

    /// The link that closes what this account's chain takes the right from, by chains that the server does not have yet: it goes
    /// there with the device link that does so (K2).
    ///
    /// - Parameter cursor: as in `draft`.
    /// - Returns: nil where none can be written now; the next sync writes it.
    package func closing(hasUnreadable: Bool, cursor: [UInt8]?, now: Milliseconds) throws -> LinkDraft? {
        let links = DueLinks(closings: [repository.author.accountID], ends: [], betterRoot: false, unconfirmed: [])
        let due = Due(links: links, isRootDue: false, lacksKey: false, isAsked: true, delay: 0)
        return try draft(due, hasUnreadable: hasUnreadable, cursor: cursor, now: now)?.get()
    }

    /// The link that is due (K2, K3, K6, C6, C9, a root by age or size, or what a person asked for).
    ///
    /// - Parameters:
    ///   - purges: entities that the link deletes for good (P2).
    ///   - frontier: what the link accepts of what is applied here; nil: all of it.
    ///   - isAlone: nobody else has the vault: a person may have checkpoints as often as he likes.
    ///   - cursor: of the zone, behind all that this device has received; nil for a vault without a server.
    /// - Returns: nil where the link would need a root and this device cannot write one.
    package func draft(
        _ due: Due, purges: [EntityID] = [], upTo frontier: Frontier? = nil, isAlone: Bool = false,
        hasUnreadable: Bool, cursor: [UInt8]?, now: Milliseconds
    ) throws -> Result<LinkDraft, LinkObstacle>? {
        let newest = members.state.states[members.state.count - 1]
        let (opensEpoch, links) = (due.opensEpoch, due.links)
        let purpose = LinkPurpose(opensEpoch: opensEpoch, purges: purges, refutes: links.betterRoot)
        let obstacle = try repository.step { (machine) throws(StorageError) in
            try machine.obstacle(to: purpose, hasUnreadable: hasUnreadable, now: now)
        }
        // C3 is for the links that devices write by themselves.
        if let obstacle, !((isAlone || due.isAsked) && obstacle == .tooSoon) { return .failure(obstacle) }
        // A tree under the key of before would show the ones who leave what was written since.
        let writesRoot = !opensEpoch
        if writesRoot { try writeMergedTexts(now: now) }
        let made = try opensEpoch ? keys.makeKey(ofEpoch: newest.epoch + 1) : nil
        let operation = try operation(stating: links.closings, made: made)
        let preview = try members.preview(
            operation, signedBy: repository.author.deviceID, accounts: accounts.mapValues(\.devices))
        let plan = try repository.plan(
            for: preview, purges: purges, covers: links.betterRoot, writesRoot: writesRoot, upTo: frontier,
            accounts: accounts.mapValues(\.devices))
        guard plan.root != nil || !purpose.refutes && purges.isEmpty else { return nil }
        let bareTips = try repository.keepBareForms(of: plan.purgedTips)
        let base = plan.base.map { members.state.states[Int($0)].accepted } ?? Frontier()
        let checkpoint = Checkpoint(
            base: plan.base, accepted: plan.accepted.differing(from: base), root: plan.root,
            digest: plan.summary.digest.bytes32, factCount: plan.summary.factCount, ends: plan.ends,
            purges: plan.purges, bareTips: bareTips, refutes: plan.refutes)
        guard let link = sign(operation, checkpoint, made: made, cursor: cursor, now: now) else { return nil }
        return .success(
            LinkDraft(
                link: link, root: plan.root, opens: made?.epoch, closes: !links.closings.isEmpty,
                bareForms: bareTips.values.sorted()))
    }

    /// T6.
    private func writeMergedTexts(now: Milliseconds) throws(StorageError) {
        let changes = try repository.mergedTexts().compactMap { merged in
            merged.text.text.map { LogChange(key: merged.key, value: $0, replaces: merged.text.replaces) }
        }
        if !changes.isEmpty { try repository.commit(changes, time: now) }
    }

    private func operation(stating due: [ChainID], made: MadeKey?) throws -> MemberOperation {
        let author = repository.author
        let heads = due.filter { $0 != author.accountID }.compactMap { account in
            accounts[account].flatMap { Bytes32($0.chain.head.linkHash) }
                .map { StatedHead(accountID: account, device: $0) }
        }
        let newest = members.state.states[members.state.count - 1]
        let opening = made.flatMap { made in
            EpochOpening(
                epoch: made.epoch, keyCommitment: made.key.commitment(in: members.vaultID, epoch: made.epoch),
                splitKeyCommitment: newest.splitKeyCommitment ?? splitKeyCommitment, historyHash: made.historyHash,
                checkpointEpoch: checkpointEpoch)
        }
        return MemberOperation(
            .state, by: author.accountID,
            deviceHead: accounts[author.accountID].flatMap { Bytes32($0.chain.head.linkHash) }
                ?? author.deviceHead.hash,
            heads: heads, opening: opening)
    }

    private var splitKeyCommitment: Bytes32 {
        guard let bytes = Bytes32(MemberSealing.splitKeyCommitment(to: keys.splitKey, in: members.vaultID)) else {
            preconditionFailure("a commitment has 32 bytes")
        }
        return bytes
    }

    /// The newest epoch whose key is here.
    private var checkpointEpoch: UInt32 {
        let newest = members.state.states[members.state.count - 1].epoch
        return (1...newest).reversed().first { keys.vaultKey(ofEpoch: $0) != nil } ?? newest
    }

    private func sign(
        _ operation: MemberOperation, _ checkpoint: Checkpoint, made: MadeKey?, cursor: [UInt8]?, now: Milliseconds
    ) -> UnverifiedLink? {
        let (number, vaultID) = (UInt64(members.state.count), members.vaultID)
        let sealed: [UInt8]
        let random = repository.sealingRandom
        if let made {
            guard let before = keys.vaultKey(ofEpoch: checkpointEpoch) else { return nil }
            sealed = MemberSealing.seal(
                MemberDetails(time: now, cursor: cursor), checkpoint, number: number, in: vaultID,
                opened: (made.epoch, made.key), before: (checkpointEpoch, before), random: random)
        } else {
            let epoch = members.state.states[members.state.count - 1].epoch
            guard let key = keys.vaultKey(ofEpoch: epoch) else { return nil }
            sealed = MemberSealing.seal(
                MemberDetails(time: now, checkpoint: checkpoint, cursor: cursor), number: number, in: vaultID,
                epoch: epoch, key: key, random: random)
        }
        guard sealed.count <= MemberSealing.byteCountMax, let key = repository.author.signingKey else { return nil }
        return UnverifiedLink.sign(
            kind: .member, chainID: ChainID(vaultID.bytes), sequenceNumber: number, publicPart: operation.encoded,
            sealedPart: sealed, previousLinkHash: members.state.links[members.state.count - 1].hash.bytes, with: key)
    }
}

extension VaultKey {
    fileprivate func commitment(in vaultID: VaultID, epoch: UInt32) -> Bytes32 {
        guard let bytes = Bytes32(EpochKeys.deriveCommitment(to: self, scope: vaultID.bytes, epoch: epoch)) else {
            preconditionFailure("a commitment has 32 bytes")
        }
        return bytes
    }
}
