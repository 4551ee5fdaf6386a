// Own links: closings, epochs, ends of forked logs, checkpoints. The one thing to keep true: a link goes through the same
// checks as one of somebody else before it is signed.

package import CoffretBase
package import CoffretCrypto
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
    /// The history object of the epoch that it opens; empty: nobody needs one.
    package let history: [UInt8]
    /// The key of that epoch, which is not the vault's before a server has the link.
    package let key: VaultKey?
    /// What it does, as its author checked it.
    package let effect: MemberEffect
    /// Whether it accepts entries, which are at the server before it.
    package let hasCheckpoint: Bool
}

/// Writes the next link of one vault.
package struct LinkWriter {
    private let repository: LogRepository
    private let members: VerifiedMembers
    private let accounts: [ChainID: FollowedAccount]
    private let keys: any LogKeyring
    /// Somebody is about to be added: a new epoch needs a history object also where the account is alone.
    package var isShared = false
    /// The newest history object lacks keys that are here: another epoch brings them.
    package var bringsKeys = false

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
        /// Somebody left, and the epoch that this makes due was not opened.
        let isEpochDue: Bool
        package var opensEpoch: Bool { !links.closings.isEmpty || lacksKey || isEpochDue }
        package let delay: Milliseconds
    }

    /// - Parameter shown: as in `draft`: what is due then is due behind the links that are taken.
    package func due(asked: Bool, shown: ShownLinks? = nil, now: Milliseconds) throws -> Due? {
        let newest = members.state.states[members.state.count - 1].epoch
        let lacksOwn = keys.vaultKey(ofEpoch: newest) == nil
        let random = repository.sealingRandom
        // Each sync asks; a store that is not that large need not count what lies behind the base.
        let mayBeLarge = repository.blobs.fileByteCount >= LinkSchedule.byteCountMax
        return try repository.step { (machine) throws(StorageError) -> Due? in
            var planned = machine
            if let shown {
                planned.takeAll(heldFrom: shown.undoneFrom)
                try planned.update()
            }
            let links = try planned.due()
            let byteCount = mayBeLarge ? try repository.byteCountBehindBase(of: machine) : 0
            let isRootDue = machine.isRootDue(now: now, byteCount: byteCount)
            let lacksKey = (lacksOwn || bringsKeys) && machine.lacksKey(ofEpoch: newest, now: now)
            let state = planned.members.newestState
            let isEpochDue = state.oldestEpoch > state.epoch
            let isPressing = !links.closings.isEmpty || !links.ends.isEmpty || links.betterRoot || isEpochDue
            guard isPressing || lacksKey || isRootDue || asked else { return nil }
            let delay: Milliseconds =
                if asked || lacksKey { 0 } else if isPressing { machine.delay(before: links, random) } else {
                    HistoryMachine<DiskHistoryStore>.delayBeforeRoot(random)
                }
            return Due(
                links: links, isRootDue: isRootDue, lacksKey: lacksKey, isAsked: asked, isEpochDue: isEpochDue,
                delay: delay)
        }
    }

    /// The link that closes what this account's chain takes the right from, by chains that the server does not have yet: it goes
    /// there with the device link that does so (K2).
    ///
    /// - Parameter cursor: as in `draft`.
    /// - Returns: nil where none can be written now; the next sync writes it.
    package func closing(hasUnreadable: Bool, cursor: [UInt8]?, now: Milliseconds) throws -> LinkDraft? {
        let links = DueLinks(closings: [repository.author.accountID], ends: [], betterRoot: false, unconfirmed: [])
        let due = Due(links: links, isRootDue: false, lacksKey: false, isAsked: true, isEpochDue: false, delay: 0)
        return try draft(due, hasUnreadable: hasUnreadable, cursor: cursor, now: now)?.get()
    }

    /// The link that is due (K2, K3, K6, C6, C9, a root by age or size, or what a person asked for).
    ///
    /// - Parameters:
    ///   - purges: entities that the link deletes for good (P2).
    ///   - frontier: what the link accepts of what is applied here; nil: all of it.
    ///   - change: what the link does besides; what stands alone comes with nothing that is due.
    ///   - confirms: accounts whose links it confirms besides (K8), or whose person was shown them.
    ///   - shown: the person was shown links that lack confirmation, which it takes.
    ///   - isAlone: nobody else has the vault: a person may have checkpoints as often as he likes.
    ///   - cursor: of the zone, behind all that this device has received; nil for a vault without a server.
    /// - Returns: nil where the link would need a root and this device cannot write one.
    package func draft(
        _ due: Due, change: MemberChange? = nil, confirms: [ChainID] = [], shown: ShownLinks? = nil,
        purges: [EntityID] = [], upTo frontier: Frontier? = nil, isAlone: Bool = false, hasUnreadable: Bool,
        cursor: [UInt8]?, now: Milliseconds
    ) throws -> Result<LinkDraft, LinkObstacle>? {
        let links = due.links
        if let change, change.standsAlone { return try draft(alone: change, now: now) }
        let opensEpoch = due.opensEpoch || change?.opensEpoch == true
        let newest = members.state.states[members.state.count - 1]
        let writes = newest.members[repository.author.accountID]?.writes == true
        // Who may not write confirms without a checkpoint; a raised role needs none.
        let isBare = change != nil && !opensEpoch && change?.closes != true || !writes
        if isBare, let change { return try draft(bare: change, confirms, now: now) }
        let purpose = LinkPurpose(
            changesRoles: change != nil, opensEpoch: opensEpoch, confirms: !confirms.isEmpty || shown != nil,
            purges: purges, refutes: links.betterRoot)
        let obstacle = try repository.step { (machine) throws(StorageError) in
            try machine.obstacle(to: purpose, hasUnreadable: hasUnreadable, now: now)
        }
        // C3 is for the links that devices write by themselves.
        let isAllowed =
            switch obstacle {
            case .tooSoon: isAlone || due.isAsked
            case .behind: shown != nil
            // A removal needs its epoch, whoever opened those before.
            case .epochRow: change?.endsReading == true
            default: false
            }
        if let obstacle, !isAllowed { return .failure(obstacle) }
        // A tree under the key of before would show the ones who leave what was written since.
        let writesRoot = !opensEpoch
        if writesRoot { try writeMergedTexts(now: now) }
        let made = try opensEpoch ? keys.makeKey(ofEpoch: newest.epoch + 1) : nil
        let history = made.map(history) ?? []
        let operation = try operation(change, stating: links.closings, confirms, made: made, history)
        let preview = try members.preview(
            operation, signedBy: repository.author.deviceID, accounts: accounts.mapValues(\.devices))
        func planned(_ purges: [EntityID], covers: Bool) throws -> CheckpointPlan {
            try repository.plan(
                for: preview, purges: purges, covers: covers, writesRoot: writesRoot, upTo: frontier, shown: shown,
                accounts: accounts.mapValues(\.devices))
        }
        var plan = try planned(purges, covers: links.betterRoot)
        if plan.root == nil, purpose.refutes || !purges.isEmpty {
            // An end goes first; what needs a root comes behind it.
            guard !links.ends.isEmpty else { return nil }
            plan = try planned([], covers: false)
        }
        let bareTips = try repository.keepBareForms(of: plan.purgedTips)
        let base = plan.base.map { members.state.states[Int($0)].accepted } ?? Frontier()
        let checkpoint = Checkpoint(
            base: plan.base, accepted: plan.accepted.differing(from: base), root: plan.root,
            digest: plan.summary.digest.bytes32, factCount: plan.summary.factCount, ends: plan.ends,
            purges: plan.purges, bareTips: bareTips, refutes: plan.refutes)
        guard let link = sign(operation, checkpoint, made: made, cursor: cursor, now: now) else { return nil }
        return .success(
            LinkDraft(
                link: link, root: plan.root, opens: made?.epoch,
                closes: !links.closings.isEmpty || change?.closes == true, bareForms: bareTips.values.sorted(),
                history: history, key: made?.key, effect: preview.effect, hasCheckpoint: true))
    }

    /// A link that adds, accepts or leaves.
    private func draft(alone change: MemberChange, now: Milliseconds) throws -> Result<LinkDraft, LinkObstacle>? {
        let author = repository.author
        var (kind, name): (MemberOperation.Kind, String?) = (.leave, nil)
        switch change {
        case .add(let head, let role, let called): (kind, name) = (.add(head, role), called)
        case .accept:
            let own = members.state.states[members.state.count - 1].members[author.accountID]
            guard let own, !own.hasAccepted else { return nil }
            kind = .accept(addingLink: members.state.links[own.addedAt].hash)
        case .leave: break
        case .changeRoles, .confirm, .renewKey: preconditionFailure("what has room for more does not stand alone")
        }
        return try draft(
            without: MemberOperation(kind, by: author.accountID, deviceHead: author.deviceHead.hash), name, now: now)
    }

    /// Roles that are raised, and what who may not write confirms.
    private func draft(
        bare change: MemberChange, _ confirms: [ChainID], now: Milliseconds
    ) throws -> Result<LinkDraft, LinkObstacle>? {
        try draft(without: operation(change, stating: [], confirms, made: nil, []), nil, now: now)
    }

    /// A link without a checkpoint. Who lacks the key of now says nothing besides.
    private func draft(
        without operation: MemberOperation, _ name: String?, now: Milliseconds
    ) throws -> Result<LinkDraft, LinkObstacle>? {
        let preview = try members.preview(
            operation, signedBy: repository.author.deviceID, accounts: accounts.mapValues(\.devices))
        let epoch = members.state.states[members.state.count - 1].epoch
        let sealed = keys.vaultKey(ofEpoch: epoch).map { key in
            MemberSealing.seal(
                MemberDetails(time: now, accountName: name), number: UInt64(members.state.count), in: members.vaultID,
                epoch: epoch, key: key, random: repository.sealingRandom)
        }
        guard let link = signed(operation, sealed ?? []) else { return nil }
        return .success(
            LinkDraft(
                link: link, root: nil, opens: nil, closes: false, bareForms: [], history: [], key: nil,
                effect: preview.effect, hasCheckpoint: false))
    }

    /// All older keys under a new one; empty in a vault of one account, whose devices get keys in boxes.
    private func history(under made: MadeKey) -> [UInt8] {
        guard members.state.states[members.state.count - 1].members.count > 1 || isShared else { return [] }
        var older: [UInt32: VaultKey] = [:]
        for epoch in 1..<made.epoch { older[epoch] = keys.vaultKey(ofEpoch: epoch) }
        return EpochHistory.seal(
            older, in: members.vaultID, epoch: made.epoch, key: made.key, random: repository.sealingRandom)
    }

    /// T6.
    private func writeMergedTexts(now: Milliseconds) throws(StorageError) {
        let changes = try repository.mergedTexts().compactMap { merged in
            merged.text.text.map { LogChange(key: merged.key, value: $0, replaces: merged.text.replaces) }
        }
        if !changes.isEmpty { try repository.commit(changes, time: now) }
    }

    private func operation(
        _ change: MemberChange?, stating due: [ChainID], _ confirms: [ChainID], made: MadeKey?, _ history: [UInt8]
    ) throws -> MemberOperation {
        let author = repository.author
        var roles: [MemberOperation.RoleChange] = []
        if case .changeRoles(let wanted, _)? = change { roles = wanted }
        let gone = Set(roles.filter { $0.role == nil }.map(\.accountID))
        let heads = due.filter { $0 != author.accountID && !gone.contains($0) }.compactMap { account in
            accounts[account].flatMap { Bytes32($0.chain.head.linkHash) }
                .map { StatedHead(accountID: account, device: $0) }
        }
        let newest = members.state.states[members.state.count - 1]
        guard let historyHash = Bytes32(BLAKE2b.hash(history)) else { preconditionFailure("a hash has 32 bytes") }
        let opening = made.flatMap { made in
            EpochOpening(
                epoch: made.epoch, keyCommitment: made.key.commitment(in: members.vaultID, epoch: made.epoch),
                splitKeyCommitment: newest.splitKeyCommitment ?? splitKeyCommitment, historyHash: historyHash,
                checkpointEpoch: checkpointEpoch)
        }
        let kind: MemberOperation.Kind = roles.isEmpty ? .state : .changeRoles(roles)
        return MemberOperation(
            kind, by: author.accountID,
            deviceHead: accounts[author.accountID].flatMap { Bytes32($0.chain.head.linkHash) }
                ?? author.deviceHead.hash,
            confirms: Set((change?.confirms ?? []) + confirms).sortedByBytes, heads: heads, opening: opening)
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
        return signed(operation, sealed)
    }

    private func signed(_ operation: MemberOperation, _ sealed: [UInt8]) -> UnverifiedLink? {
        guard sealed.count <= MemberSealing.byteCountMax, let key = repository.author.signingKey else { return nil }
        return UnverifiedLink.sign(
            kind: .member, chainID: ChainID(members.vaultID.bytes), sequenceNumber: UInt64(members.state.count),
            publicPart: operation.encoded, sealedPart: sealed,
            previousLinkHash: members.state.links[members.state.count - 1].hash.bytes, with: key)
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
