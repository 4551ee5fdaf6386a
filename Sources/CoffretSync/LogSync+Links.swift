// Links within a sync. The one thing to keep true: while reading ends for somebody nothing is pushed, and what a checkpoint
// names is at the server before its link.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

extension LogSync {
    /// Writes the link that is due, with what it needs.
    ///
    /// - Parameter closingOnly: before anything is pushed: closings and epochs; else the rest.
    func writeLink(closingOnly: Bool) throws -> LogRequest? {
        guard let signingKey = repository.author.signingKey, !isLinkOver, memory.copied.isEmpty else { return nil }
        if draft == nil {
            guard try makeDraft(closingOnly: closingOnly) else { return nil }
        }
        guard let draft, let zone else { return nil }
        var objects: [ZoneObject] = []
        var byteCount = 0
        while byteCount < options.partByteCountMax, objects.count < LogPusher.objectCountMax,
            let name = draftNeeds.popFirst()
        {
            let blob = try repository.exchange.sealedBlob(name)
            byteCount += blob.bytes.count
            objects.append(ZoneObject(blob))
        }
        if !objects.isEmpty {
            report.sentByteCount += byteCount
            let push = ZonePush(
                objects, from: zone.address, to: zone.address, epoch: repository.keys.currentEpoch,
                zone: repository.keys.vaultID.bytes, by: signingKey)
            return ask(.push(push), for: .tree)
        }
        // After two refusals a closing is posted on any head (K2).
        let head = draft.closes && headRefusals < 2 ? zone.address ?? [] : nil
        return ask(try request(for: draft, on: head), for: .link)
    }

    /// A link of an account that is alone goes as before; with somebody else it brings what they need.
    private func request(for draft: LinkDraft, on head: [UInt8]?) throws -> LogRequest {
        let vaultID = repository.keys.vaultID
        guard let chain = follower.members, people != nil, draft.isForPeople(behind: chain.rights.rights) else {
            return .links(LinkPost([draft.item(in: vaultID, on: head)]))
        }
        var after = chain.rights.rights
        after.fold(draft.effect)
        let own = repository.author.accountID
        // All others where an epoch opens; else who comes in anew.
        let recipients = after.members.keys.filter { account in
            account != own && (draft.opens != nil || chain.rights.rights.members[account] == nil)
        }
        var letters: [[UInt8]] = []
        let key = draft.key ?? keys.vaultKey(ofEpoch: after.epoch)
        if let key, let hash = Bytes32(draft.link.hash(inChain: ChainID(vaultID.bytes))) {
            let head = ChainPosition(number: draft.link.sequenceNumber, hash: hash)
            letters = try self.letters(to: recipients, in: after, key: key, memberHead: head)
        }
        draftLetterCount = letters.count
        return .members(
            MemberPost(link: draft.link.encoded, history: draft.history, letters: letters, expectedHead: head))
    }

    private func makeDraft(closingOnly: Bool) throws -> Bool {
        let (mayWrite, isTaken) = try repository.ask { (machine) in
            (machine.mayWrite, machine.members.takenCount == machine.members.chain.count)
        }
        if !closingOnly, case .add? = options.change, report.changeNumber == nil, let introduced = options.introduced {
            follower.introduce(introduced)
        }
        // A link behind one that this device cannot read would be refused.
        guard follower.waitingLinkCount == 0,
            var writer = LinkWriter(repository: repository, chains: follower.chains, keys: keys)
        else { return false }
        var change = try wantedChange(closingOnly: closingOnly)
        if change == .renewKey { writer.isShared = true }
        writer.bringsKeys = lackingEpoch != nil && lackingEpoch == follower.members?.rights.rights.epoch
        let isShown = change != nil && options.shown != nil
        guard isTaken || isShown, mayWrite || change?.needsNoWriter == true else { return false }
        let asked = change != nil || !closingOnly && (options.writesCheckpoint || !options.purges.isEmpty)
        guard let due = try writer.due(asked: asked, shown: isShown ? options.shown : nil, now: now) else {
            return false
        }
        let isLate = due.opensEpoch && change?.standsAlone == true && mayWrite
        // The epoch that is due goes first.
        if isLate { change = nil }
        guard change != nil || due.opensEpoch == closingOnly else { return false }
        let hurries = asked || options.hurries || options.change != nil
        if due.delay > 0, !hurries {
            // Others find it due, too; a clock that jumps makes nobody wait longer than that.
            let at = min(memory.linkAt ?? now + due.delay, now + LinkSchedule.rootDelayMax)
            guard at <= now else {
                memory.linkAt = at
                try repository.remember(memory.merged(in: repository))
                return false
            }
        }
        memory.linkAt = nil
        let before = try repository.ask { (machine) in machine.frontier }
        let made = try writer.draft(
            due, change: change, confirms: due.opensEpoch ? ownConfirmations() : [],
            shown: isShown ? options.shown : nil,
            purges: closingOnly ? [] : options.purges, hasUnreadable: memory.hasUnreadable, cursor: memory.cursor,
            now: now)
        switch made {
        case nil: return false
        case .failure(let obstacle)?:
            report.obstacle = obstacle
            return false
        case .success(let link)?:
            draft = link
            isChange = change != nil && change == options.change
            draftNeeds = try needs(of: link, behind: before)[...]
            return true
        }
    }

    /// The wanted change, where its place is here: what ends a right goes before anything is pushed, the rest behind it.
    private func wantedChange(closingOnly: Bool) throws -> MemberChange? {
        guard let change = options.change, report.changeNumber == nil else { return nil }
        if case .add = change, try lacksHistory() { return closingOnly ? .renewKey : nil }
        return change.isClosing == closingOnly ? change : nil
    }

    /// Whether an epoch has to come before somebody is added: while the account was alone, no link committed to the split key,
    /// or older keys lie nowhere for others.
    private func lacksHistory() throws -> Bool {
        guard let chain = follower.members else { return false }
        guard chain.rights.rights.splitKeyCommitment != nil else { return true }
        return newestHistoryHash == Bytes32(BLAKE2b.hash([]))
    }

    /// The hash of the newest epoch's history object, as its link says it.
    var newestHistoryHash: Bytes32? {
        follower.chains.links.dropFirst().compactMap { try? MemberOperation(decoding: $0).opening }.last?.historyHash
    }

    /// K8: the own account, if this device took the device out whose links lack its word, and knew all of them then.
    private func ownConfirmations() throws -> [ChainID] {
        let own = repository.author.accountID
        let isKnown = try repository.step { (machine) throws(StorageError) in
            let waiting = try machine.due().unconfirmed
            return !waiting.isEmpty && waiting.allSatisfy { $0 < machine.members.takenCount }
        }
        guard isKnown, let chain = follower.accounts[own]?.chain else { return [] }
        let last = chain.links.last { link in
            switch try? DeviceOperation(decoding: link.link) {
            case .revoke, .recover, .revokeAnnounced: true
            default: false
            }
        }
        return last?.link.signerKey == repository.author.signingKey?.verifyingKey.bytes ? [own] : []
    }

    /// Blobs that the server lacks of entries that the link accepts and of its tree, each before what refers to it.
    ///
    /// Under an epoch that ends, nothing is sent: the link has no root then, and what it accepts comes behind it.
    private func needs(of link: LinkDraft, behind before: Frontier) throws -> [BlobName] {
        guard link.opens == nil, link.hasCheckpoint else { return [] }
        var names: [BlobName] = []
        var pusher = try LogPusher(repository: repository, served: ServedLogs(memory, in: repository))
        while let name = pusher.nextName() {
            let entry = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
            if let entry = entry?.entry { names += try repository.blobNames(of: entry) }
        }
        names += link.bareForms
        guard let root = link.root else { return names }
        var known = Set(names)
        // A server that was put back may lack it.
        let base =
            options.acceptsRestoredServer || memory.lacksTree
            ? nil : try repository.ask { (machine) in machine.baseRoot }
        if let base { known.formUnion(try repository.blobNames(ofTree: base)) }
        // Blobs that came with entries are at the server.
        known.formUnion(try repository.blobNamesBehindBase())
        return names + (try repository.blobNames(ofTree: root).filter { known.insert($0).inserted })
    }

    /// The server took the link.
    func tookLink() throws {
        guard let link = draft else { throw SyncError(.answerMalformed) }
        draft = nil
        if link.root != nil { memory.lacksTree = false }
        report.linkCount += 1
        report.letterCount += draftLetterCount
        draftLetterCount = 0
        if isChange { report.changeNumber = link.effect.number }
        do throws(FollowFailure) { try follower.takeOwn(link: link.link, keys: keys) } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        guard let members = follower.members else { throw SyncError(.chainsRefused) }
        let chains = VaultChains(accounts: follower.devices, members: members.state)
        try keepChains(follower.chains)
        try repository.takeOwn(chains, isRoot: link.root != nil)
        if link.root != nil, !options.purges.isEmpty { report.purgeLink = members.state.links.count - 1 }
        endOfLinks()
        if link.opens != nil, try hasNewKeys() { endWithNewKeys() }
    }

    /// Goes on without a link, or behind it.
    ///
    /// - Parameter isOverLimit: the server takes no more of them today.
    func endOfLinks(isOverLimit: Bool = false) {
        report.isOverLimit = isOverLimit && isChange
        draft = nil
        isLinkOver = true
    }
}

extension MemberChange {
    /// Whether it goes before anything is pushed.
    fileprivate var isClosing: Bool {
        switch self {
        case .changeRoles, .confirm, .renewKey: true
        case .add, .accept, .leave: false
        }
    }

    /// Whether also who may not write may do it.
    fileprivate var needsNoWriter: Bool {
        switch self {
        case .accept, .leave, .confirm: true
        case .add, .changeRoles, .renewKey: false
        }
    }
}

extension LinkDraft {
    /// Whether somebody else has the vault, before or behind the link.
    fileprivate func isForPeople(behind rights: MemberRights) -> Bool {
        rights.members.count > 1 || !effect.roleChanges.isEmpty || !history.isEmpty
    }

    func item(in vaultID: VaultID, on head: [UInt8]?) -> LinkPost.Item {
        LinkPost.Item(
            kind: ChainKind.member.rawValue, chainID: vaultID.bytes, link: link.encoded, expectedHead: head)
    }
}
