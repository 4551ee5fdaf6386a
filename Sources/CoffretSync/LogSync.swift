// One sync of one vault of logs. The one thing to keep true: nothing of the server is believed before it verifies, what
// came is durable with the place up to which it came, and only a server that takes back what it gave ends a sync.

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// Brings a vault and its zone together: gives requests and takes replies, and does no I/O but on the vault.
///
/// While there is a `next` request, `take` its replies. A sync that ended, also with an error, is spent; the next one goes
/// on from what was durable. Spec: Spec/sync.md.
package final class LogSync {
    enum Stage {
        case following, asking, beginning, listing, looking, mending, closing, pushing, linking, lettering, past, done
    }

    /// The purpose of the last request.
    enum Asked: Equatable {
        case chains, head, changes, past, collections, push(isLast: Bool)
        case blobs(Set<BlobName>)
        case headBlob, probe, tree, link, keys, letters, letterEnd
    }

    static let attemptCountMax = 24
    static let fetchNameCountMax = 2_048

    let repository: LogRepository
    let options: Options
    /// Keeps chains durably, before the repository follows them.
    package var keepChains: (FollowedChains) throws -> Void = { _ in }
    /// Sends the files that entries name, before these are pushed.
    package var willPush: ([VerifiedEntry]) throws -> Void = { _ in }
    let keys: any LogKeyring
    package internal(set) var follower: MemberFollower
    package internal(set) var report = LogReport()
    var memory: LogMemory
    var now: Milliseconds = 0
    let receiver: LogReceiver
    var keeper: HeadKeeper

    var stage = Stage.following
    var asked: Asked?
    private var isFollowing = false
    var zone: LogHead?
    private var pageHasMore = false
    private var hasPage = false
    /// Names that were asked for; each once in a sync, but nodes of trees.
    private var requested: Set<BlobName> = []
    private var arrived: [BlobName] = []
    private var collected = CollectedLinks()
    private var hasAskedInVain = false
    var pusher: LogPusher?
    var written: (blobs: [WrittenBlob], full: BlobName)?
    var attempts = 0
    private var came = false
    /// Entries that lay here unapplied were looked at.
    private var isLooking = false
    /// A link of this device that is on its way, and what it needs at the server before it.
    var draft: LinkDraft?
    var draftNeeds: ArraySlice<BlobName> = []
    var headRefusals = 0
    /// A sync writes one link.
    var isLinkOver = false
    /// Seals and opens letters; nil: the account is alone with its vaults.
    package var people: (any VaultPeople)?
    /// What the server keeps of the vault's newest key.
    var zoneKeys: ZoneKeys?
    var draftLetterCount = 0
    /// The draft makes the wanted change.
    var isChange = false
    /// Looked for a key, or for members without one, in this sync.
    var hasAskedForKeys = false
    /// The epoch whose history object lacks keys that are here.
    var lackingEpoch: UInt32?
    /// What the server took from here or gave before this sync (F5).
    private var before = Frontier()
    /// A head that was about to be refused was asked for again, after the chains.
    private var hasFollowedAgain = false
    /// This device has no state yet (N2).
    private var isFresh: Bool?

    /// - Parameters:
    ///   - follower: as the last sync left it, or new.
    ///   - keys: open sealed parts of links; those that the chain commits to.
    package init(
        repository: LogRepository, follower: MemberFollower, keys: any LogKeyring, options: Options = Options()
    ) {
        self.repository = repository
        self.follower = follower
        self.keys = keys
        self.options = options
        memory = LogMemory(of: repository)
        receiver = LogReceiver(repository: repository)
        keeper = HeadKeeper(repository: repository)
    }

    // MARK: Driving

    /// The next request; nil: the sync is done.
    ///
    /// - Parameter now: by this device's clock.
    package func next(now: Milliseconds) throws(SyncError) -> LogRequest? {
        self.now = now
        do {
            let request = try decide()
            if request != nil { report.requestCount += 1 }
            return request
        } catch {
            throw SyncError.translating(error)
        }
    }

    /// Takes a reply to the last request.
    package func take(_ reply: LogReply, now: Milliseconds) throws(SyncError) {
        self.now = now
        do { try handle(reply) } catch { throw SyncError.translating(error) }
    }

    func ask(_ request: LogRequest, for asked: Asked) -> LogRequest {
        self.asked = asked
        return request
    }

    private func decide() throws -> LogRequest? {
        while true {
            let current = stage
            let request: LogRequest? =
                switch current {
                case .following: try follow()
                case .asking: zone == nil ? ask(.head, for: .head) : nil
                case .beginning: try begin()
                case .listing: try list()
                case .looking: try look()
                case .mending: try mend()
                case .closing: try writeLink(closingOnly: true)
                case .pushing: try push()
                case .linking: try writeLink(closingOnly: false)
                case .lettering: try writeLetters()
                case .past: try listPast()
                case .done: nil
                }
            if let request { return request }
            if stage == .done {
                try finish()
                return nil
            }
            // Unless it begins anew.
            if stage == current { advance() }
        }
    }

    private func advance() {
        switch stage {
        case .following: stage = .asking
        case .asking: stage = .beginning
        case .beginning: stage = .listing
        case .listing: stage = .looking
        case .looking: stage = .mending
        case .mending: stage = .closing
        case .closing: stage = .pushing
        case .pushing: stage = .linking
        case .linking: stage = .lettering
        case .lettering: stage = .past
        case .past, .done: stage = .done
        }
    }

    private func handle(_ reply: LogReply) throws {
        switch (asked, reply) {
        case (_, .unreachable): throw SyncError(.unreachable)
        case (.link, .refused(code: SyncError.rateCode)): endOfLinks(isOverLimit: true)
        // Without a letter a vault waits, and nothing else of a sync does.
        case (.keys, .refused), (.letters, .refused), (.letterEnd, .refused): break
        case (_, .refused(let code)): throw SyncError(refusal: code)
        case (.chains, .chains(let updates)):
            do throws(FollowFailure) { try follower.take(updates, now: now) } catch {
                throw SyncError(.chainsRefused, at: "\(error)", cause: error)
            }
        case (.head, .head(let head)): zone = head
        case (.changes, .page(let page)): try takeChanges(page)
        case (.past, .page(let page)): try takePast(page)
        case (.changes, .end), (.past, .end):
            guard hasPage else { throw SyncError(.unreachable) }
            hasPage = false
        case (.blobs, .page(let page)), (.headBlob, .page(let page)), (.probe, .page(let page)):
            try take(page) { [self] _ in memory.merged(in: repository) }
        case (.blobs(let names), .end):
            if !names.isSubset(of: receiver.takeShown()) { hasAskedInVain = true }
        case (.headBlob, .end): break
        case (.probe, .end): keeper.given = receiver.takeShown()
        case (.collections, .collections(let records)):
            collected.take(records, in: repository.keys.vaultID, members: try members())
        case (.push(let isLast), .pushed(let receipt)): try pushed(receipt, isLast: isLast)
        case (.push, .moved(let head)), (.tree, .moved(let head)): try begin(anew: head)
        case (.tree, .pushed(let receipt)): memory.cursor = receipt.cursor
        case (.link, .links): try tookLink()
        case (.keys, .keys(let keys)): zoneKeys = keys
        case (.letters, .acknowledged), (.letterEnd, .acknowledged): break
        case (.link, .conflict): try begin(anew: zone)
        case (.link, .moved(let head)):
            headRefusals += 1
            try begin(anew: head)
        default: throw SyncError(.answerMalformed)
        }
    }

    func members() throws -> MemberView { try repository.ask { (machine) in machine.members } }

    // MARK: Following

    private func follow() throws -> LogRequest? {
        if !isFollowing {
            isFollowing = true
            follower.begin()
        }
        if let request = follower.request { return ask(.chains(request), for: .chains) }
        let failure: MemberError?
        do throws(FollowFailure) { failure = try follower.finish(keys: keys) } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        report.waitingLinks = failure
        if let request = try askForKey() { return request }
        if try hasNewKeys() {
            endWithNewKeys()
            return nil
        }
        guard let chain = follower.members else {
            throw SyncError(.chainsRefused, at: failure.map { "\($0)" }, cause: failure)
        }
        let before = repository.chains
        let chains = VaultChains(accounts: follower.devices, members: chain.state)
        let isNew = before.accounts != chains.accounts || before.members.count != chains.members.count
        let own = follower.accounts[repository.author.accountID]
        if isNew || attempts == 0 {
            // What was applied stays so whatever the chains say from now on (K4): it is durable first.
            if repository.keptAccounts != chains.accounts, repository.isWritable { try repository.checkpoint() }
            try keepChains(follower.chains)
            try repository.follow(chains, deviceHead: own.flatMap { ChainPosition($0.chain.head) })
        }
        try noteFollowed()
        if isNew { listAgain() }
        report.hasNewChains = report.hasNewChains || isNew
        return nil
    }

    /// Lists again from where something waits for a link or a key.
    private func listAgain() {
        (memory.cursor, memory.left) = (memory.left ?? memory.cursor, nil)
    }

    /// Whether this device has the key of an epoch that its vault is not open with.
    func hasNewKeys() throws -> Bool {
        guard let chain = follower.chains.rights else { return false }
        try keys.settle(chain)
        return chain.keyCommitments.keys.contains { epoch in
            keys.vaultKey(ofEpoch: epoch) != nil && repository.keys.keys(ofEpoch: epoch) == nil
        }
    }

    /// The vault is opened anew with the keys of now, and synced again.
    func endWithNewKeys() {
        listAgain()
        report.changedKeys = true
        stage = .done
    }

    // MARK: Beginning

    /// N2: a device without a state takes the newest checkpoint's tree.
    private func begin() throws -> LogRequest? {
        if isFresh == nil {
            isFresh = try repository.ask { (machine) in machine.base == nil && machine.frontier.isEmpty }
            before = try ServedLogs(memory, in: repository).remembered(in: repository, below: memory.unjudged)
        }
        guard isFresh == true, attempts == 0 else { return nil }
        let tips = try repository.ask { (machine) throws(StorageError) in
            try machine.missingNames(head: nil, behind: [])
        }
        if let request = askFor(tips.union(receiver.wanted)) { return request }
        if let request = try settle(isCollected: { _ in true }) { return request }
        let members = try members()
        guard let base = try repository.ask({ (machine) in machine.base }) else { return nil }
        memory.cursor = members.chain.links[base].details?.cursor ?? []
        memory.past = memory.cursor.isEmpty ? nil : []
        try repository.remember(memory.merged(in: repository))
        try repository.checkpoint()
        report.isPresentHere = true
        return nil
    }

    /// Asks for blobs that were not asked for in this sync.
    private func askFor(_ names: Set<BlobName>) -> LogRequest? {
        let new = names.subtracting(requested).sorted().prefix(Self.fetchNameCountMax)
        guard !new.isEmpty else { return nil }
        requested.formUnion(new)
        return ask(.fetch(new.flatMap { repository.exchange.addresses(of: $0) }), for: .blobs(Set(new)))
    }

    /// Settles, and asks for the tree that is wanted for it, level by level.
    private func settle(isCollected: (Int) -> Bool) throws -> LogRequest? {
        guard let root = try repository.settle(now: now, isCollected: isCollected) else { return nil }
        if let request = askFor(Set(try repository.missingNames(ofTree: root))) { return request }
        report.lacksTree = true
        return nil
    }

    // MARK: Receiving

    private func list() throws -> LogRequest? {
        guard let zone else { return nil }
        // Nothing new: the newest cursor is the one up to which all came.
        if zone.cursor == memory.cursor, !pageHasMore { return nil }
        return ask(.changes(since: memory.cursor), for: .changes)
    }

    private func takeChanges(_ page: LogPage) throws {
        hasPage = true
        pageHasMore = page.hasMore
        let start = memory.cursor
        guard !page.hasMore || page.cursor != start else { throw SyncError(.answerMalformed) }
        memory.cursor = page.cursor
        receiver.forgetLeft()
        try take(page) { [self] hasLeft in
            if hasLeft, memory.left == nil { memory.left = start }
            return memory.merged(in: repository)
        }
        if !page.hasMore, let zone {
            self.zone = LogHead(
                address: zone.address, cursor: page.cursor, epoch: zone.epoch, people: zone.people, word: zone.word)
        }
    }

    private func takePast(_ page: LogPage) throws {
        hasPage = true
        guard !page.hasMore || page.cursor != memory.past else { throw SyncError(.answerMalformed) }
        try take(page) { [self] _ in
            memory.past = page.hasMore ? page.cursor : nil
            return memory.merged(in: repository)
        }
        memory.past = page.hasMore ? page.cursor : nil
    }

    private func take(_ page: LogPage, memory bytes: @escaping (Bool) -> [UInt8]) throws {
        let before = receiver.takenCount
        try lookAtOwnLogs()
        // Durable with what came: a head of before is judged again, also after a crash, and by what was remembered before.
        let (frontier, pending) = try repository.ask { (machine) in (machine.frontier, machine.pending) }
        try receiver.take(page.objects) { [self] hasLeft in
            noteWords()
            memory.noteUnjudged(pending.union(receiver.touched), before: frontier)
            return bytes(hasLeft)
        }
        // Own entries go into another log from now on.
        for copied in memory.copied { try leaveLog(copied) }
        came = came || receiver.takenCount > before
        arrived += receiver.takeArrived()
        if receiver.hasUnreadable { memory.hasUnreadable = true }
        report.receivedByteCount += page.objects.reduce(0) { $0 + $1.ciphertext.count }
        (report.receivedCount, report.refusedCount) = (receiver.takenCount, receiver.refusedCount)
        report.keyLogNotes = receiver.keyLogNotes
    }

    // MARK: Looking at what came

    private func look() throws -> LogRequest? {
        guard let zone else { return nil }
        switch try keeper.read(zone, memory: memory, came: receiver.heads) {
        case .here: break
        case .ask(let addresses): return ask(.fetch(addresses), for: .headBlob)
        }
        let new = arrived
        arrived = []
        let (isFirst, head) = (!isLooking, keeper.frontier)
        isLooking = true
        let names = try repository.ask { (machine) throws(StorageError) in
            try machine.missingNames(head: head, behind: isFirst ? machine.unappliedNames() : new)
        }
        if let request = askFor(names.union(receiver.wanted)) { return request }
        if let request = try keeper.probe(remembered()) {
            return ask(request, for: .probe)
        }
        if hasAskedInVain, let after = collected.nextPage { return ask(.collections(after: after), for: .collections) }
        receiver.giveUp()
        let base = try repository.ask { (machine) in machine.base } ?? -1
        if let request = try settle(isCollected: { [collected] _ in collected.covers(above: base) }) { return request }
        // The head may rest on links that came after the chains were read.
        if keeper.isSuspect, !hasFollowedAgain {
            hasFollowedAgain = true
            try begin(anew: nil)
            return nil
        }
        try keeper.judge(
            zone, &memory, before: before, collected: collected, acceptsRestored: options.acceptsRestoredServer,
            now: now, report: &report)
        try checkTold()
        report.isPresentHere = true
        return nil
    }

    private func mend() throws -> LogRequest? {
        try mendCopies()
        return nil
    }

    /// Somebody else was quicker: what came is received first. Links come before pushes: another epoch may hold now.
    func begin(anew head: LogHead?) throws {
        attempts += 1
        guard attempts < Self.attemptCountMax else { throw SyncError(.contended) }
        zone = head
        (pusher, written) = (nil, nil)
        draft = nil
        keeper = HeadKeeper(repository: repository)
        isFollowing = false
        stage = .following
    }

    // MARK: The end

    private func finish() throws {
        report.serverHead = zone?.address
        if came { try repository.settle(now: now) }
        try lookForFindings()
        guard repository.isWritable else { return }
        try lookAtPurges()
        try lookAtMembers()
        try dropSetAside()
        report.unconfirmed = try repository.step { (machine) throws(StorageError) in try machine.due().unconfirmed }
        try repository.remember(memory.merged(in: repository))
        try repository.checkpoint()
    }
}
