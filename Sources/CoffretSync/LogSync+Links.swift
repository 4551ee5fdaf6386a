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
        return ask(.links(LinkPost([draft.item(in: repository.keys.vaultID, on: head)])), for: .link)
    }

    private func makeDraft(closingOnly: Bool) throws -> Bool {
        let mayWrite = try repository.ask { (machine) in
            machine.mayWrite && machine.members.takenCount == machine.members.chain.count
        }
        // A link behind one that this device cannot read would be refused.
        guard mayWrite, follower.waitingLinkCount == 0 else { return false }
        guard let writer = LinkWriter(repository: repository, chains: follower.chains, keys: keys) else {
            throw SyncError(.chainsRefused)
        }
        let asked = !closingOnly && (options.writesCheckpoint || !options.purges.isEmpty)
        guard let due = try writer.due(asked: asked, now: now), due.opensEpoch == closingOnly else { return false }
        if due.delay > 0 {
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
            due, purges: closingOnly ? [] : options.purges, hasUnreadable: memory.hasUnreadable, cursor: memory.cursor,
            now: now)
        switch made {
        case nil: return false
        case .failure(let obstacle)?:
            report.obstacle = obstacle
            return false
        case .success(let link)?:
            draft = link
            draftNeeds = try needs(of: link, behind: before)[...]
            return true
        }
    }

    /// Blobs that the server lacks of entries that the link accepts and of its tree, each before what refers to it.
    ///
    /// Under an epoch that ends, nothing is sent: the link has no root then, and what it accepts comes behind it.
    private func needs(of link: LinkDraft, behind before: Frontier) throws -> [BlobName] {
        guard link.opens == nil else { return [] }
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
        do throws(FollowFailure) { try follower.takeOwn(link: link.link, keys: keys) } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        guard let members = follower.members else { throw SyncError(.chainsRefused) }
        let chains = VaultChains(accounts: follower.devices, members: members.state)
        try keepChains(follower.chains)
        try repository.takeOwn(chains, isRoot: link.root != nil)
        if link.root != nil, !options.purges.isEmpty { report.purgeLink = members.state.links.count - 1 }
        endOfLinks()
        if link.opens != nil, try hasNewKeys(members) { endWithNewKeys() }
    }

    /// Goes on without a link, or behind it.
    func endOfLinks() {
        draft = nil
        isLinkOver = true
    }
}

extension LinkDraft {
    func item(in vaultID: VaultID, on head: [UInt8]?) -> LinkPost.Item {
        LinkPost.Item(
            kind: ChainKind.member.rawValue, chainID: vaultID.bytes, link: link.encoded, expectedHead: head)
    }
}
