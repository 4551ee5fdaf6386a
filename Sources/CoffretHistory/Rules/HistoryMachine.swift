// The state of one vault on one device. The one thing to keep true: it is a function of the entries that count and of the
// base; the order in which entries and links came makes no difference (S1).

package import CoffretBase
package import CoffretStorage
package import CoffretTrust

/// Whether a base's tree is believed (C6, C7).
package enum BaseTrust: UInt8, Sendable {
    case unverified = 0
    /// The root was computed here.
    case verified = 1
    /// It was taken, and in 30 days no newer proven root differed.
    case believed = 2
}

/// Takes entries and links of one vault, and keeps what follows from them.
///
/// A value: a copy is a plan that can be thrown away. It does no I/O and has no clock; reads go to its store. Order of one
/// sync: `follow`, `receive`, `settle`, and then what `due` names; own entries and links at any time.
package struct HistoryMachine<Store: HistoryStore> {
    package var store: Store
    /// The account and the device that apply the rules.
    package let account: ChainID
    package let device: UniqueID
    let times: HistoryTimes

    package internal(set) var members = MemberView()
    /// The link whose tree the state is built on; nil: none.
    package internal(set) var base: Int?
    package internal(set) var baseTrust = BaseTrust.verified
    /// Links whose root was found to be wrong here (C6).
    package internal(set) var refuted: Set<Int> = []
    /// Unverified roots that are believed.
    var believed: Set<Int> = []
    /// C9: the newest proven root that leaves out what the base has. A writer has to write one that covers both.
    package internal(set) var passedOver: Int?
    package internal(set) var waits = Waits()

    /// The newest applied entry of each instance.
    package internal(set) var frontier = Frontier()
    /// Facts under keys that changed since the newest tree was written.
    var overlay: [FactKey: CurrentFacts] = [:]
    /// Keys with several current facts, of those that an entry above the base touched.
    var contested: Set<FactKey> = []
    /// Digest and count of the current facts (S9).
    package internal(set) var summary = StateSummary()
    /// Links whose root was computed here, and whose digest or count says another state.
    package internal(set) var misstated: Set<Int> = []
    /// The newest checkpoint below which history was dropped here (G7).
    package internal(set) var droppedBelow: Int?
    /// Facts that were replaced before they came (S1).
    var replacedEarly: [FactKey: Set<Dot>] = [:]
    /// Instances of which two entries with one number are here (K6).
    package internal(set) var forked: Set<InstanceID> = []
    /// Ends of which an entry is not here (K6).
    package internal(set) var lackedEnds: Set<EndPlace> = []
    /// Entities that were deleted for good here, by link (P3).
    package internal(set) var purged: Set<Int> = []

    /// Whose log an instance is, of all that an entry came of.
    package internal(set) var owners: [InstanceID: InstanceOwner] = [:]
    /// Who waits for entries of an instance, and up to which number (S7).
    var waiting: [InstanceID: [(number: EntryNumber, instance: InstanceID)]] = [:]
    /// Instances whose next entry is here and not applied.
    package internal(set) var pending: Set<InstanceID> = []
    /// Instances of which something came since the last look.
    var arrived: Set<InstanceID> = []
    /// Limits by the links that were taken; nil for an open instance.
    var limits: [InstanceID: Limit?] = [:]
    var limitChains: [InstanceID: LogChain] = [:]
    /// Limits that the state was computed by.
    var settledLimits: [InstanceID: Limit] = [:]
    /// K8: no entry that states this link, or a later one, counts while a person's undoing is planned.
    var heldFrom: Int?
    /// Links or devices changed since the state was brought up to date.
    var isStale = false
    /// The state has to be computed anew from the base.
    var needsRebuilding = false
    /// The tree that `settle` would build on, and that is not whole here.
    package private(set) var wantedTree: BlobName?

    /// Who applies the rules.
    var own: MemberDevice { MemberDevice(account: account, device: device) }

    package init(store: Store, account: ChainID, device: UniqueID, times: HistoryTimes = HistoryTimes()) {
        self.store = store
        self.account = account
        self.device = device
        self.times = times
    }

    // MARK: What is shown

    /// The current facts under a key.
    package func facts(under key: FactKey) throws(Store.Failure) -> CurrentFacts {
        if let facts = overlay[key] { return facts }
        return try store.facts(under: key)
    }

    /// What the base accepts.
    package var accepted: Frontier { base.map { members.chain.states[$0].accepted } ?? Frontier() }

    /// Whether roots may be written and entries dropped here (C1, G1).
    package var isSure: Bool { baseTrust != .unverified }

    /// Whether the own account may write at the newest link, and this device has not lost its right.
    package var mayWrite: Bool {
        guard members.takenCount > 0, members.newestState.members[account]?.writes == true else { return false }
        return !members.isRevoked(device, of: account)
    }

    /// Puts what changed into a tree, so that the next tree is written from there; the state stays the same.
    package mutating func flush() throws(Store.Failure) {
        try store.write(overlay)
        overlay = [:]
    }

    /// How many keys changed since the last `flush`.
    package var changedKeyCount: Int { overlay.count }

    // MARK: What comes

    /// Learns of newer chains, and takes the links that may be taken (K7).
    package mutating func follow(accounts: [ChainID: AccountDevices], chain: MemberState) {
        let (count, known) = (members.takenCount, members.accounts)
        members.follow(accounts: accounts, chain: chain)
        if members.takenCount != count || members.accounts != known { forgetLimits() }
    }

    /// K8a: takes links that nobody can confirm any more, as the person of this device wants.
    package mutating func takeUnspoken(_ shown: Set<Int>) {
        members.takeUnspoken(shown)
        forgetLimits()
    }

    /// Learns of newer device chains and takes no link.
    package mutating func learn(accounts: [ChainID: AccountDevices]) {
        guard members.accounts != accounts else { return }
        members.learn(accounts: accounts, chain: members.chain)
        forgetLimits()
    }

    /// Links or devices changed: limits are asked anew.
    private mutating func forgetLimits() {
        limits = [:]
        limitChains = [:]
        isStale = true
    }

    /// Takes an own link, which may follow any that this device has taken.
    ///
    /// - Parameter isRoot: the link has a root that was computed here; it becomes the base.
    package mutating func takeOwn(accounts: [ChainID: AccountDevices], chain: MemberState, isRoot: Bool) throws(Store
        .Failure)
    {
        let wasBelieved = baseTrust == .believed
        members.learn(accounts: accounts, chain: chain)
        members.takeShown(count: chain.count)
        forgetLimits()
        if isRoot {
            base = chain.count - 1
            passedOver = nil
            if wasBelieved { believed.insert(chain.count - 1) }
            needsRebuilding = true
        }
        try update()
    }

    /// K8: takes all links that are known, as a plan: a person is shown those that lack confirmation and decides.
    ///
    /// - Parameter heldFrom: the first link that will be undone; no entry that states it or a later one counts in the plan.
    package mutating func takeAll(heldFrom: Int?) {
        members.takeShown(count: members.chain.count)
        self.heldFrom = heldFrom
        forgetLimits()
        needsRebuilding = true
    }

    /// Ends the plan, after its link was taken.
    package mutating func release() throws(Store.Failure) {
        guard heldFrom != nil else { return }
        heldFrom = nil
        needsRebuilding = true
        try update()
    }

    /// Takes note of entries that the store now keeps, and of forks that they show (K6).
    ///
    /// Whoever calls it asks `takes` before an entry is stored.
    package mutating func receive(_ names: [BlobName]) throws(Store.Failure) {
        for name in names {
            guard let entry = try store.entry(named: name)?.entry else { continue }
            owners[entry.instance] = InstanceOwner(entry.context)
            arrived.insert(entry.instance)
            limitChains[entry.instance] = nil
            limits[entry.instance] = nil
            if try store.entries(at: entry.dot).count > 1 { forked.insert(entry.instance) }
            // With the second entry an end that a link stated before begins to hold.
            if members.takenCount > 0, members.newestState.ended[entry.instance] != nil { isStale = true }
        }
    }

    /// Whether an entry is to be kept: it is above the base, or the tip of a checkpoint, or shows an end (K6), or verifies a
    /// base that was taken (C7), and was not deleted for good.
    package func takes(_ entry: VerifiedEntry, tips: Set<BlobName>) throws(Store.Failure) -> Bool {
        if try store.wasDroppedForGood(entry.name) { return false }
        if base != nil, !isSure { return true }
        return entry.number > accepted.number(of: entry.instance) || tips.contains(entry.name) || showsEnd(entry)
    }

    /// Brings base and state up to date with all that came (C4 to C9, S11). Once in a sync.
    ///
    /// - Parameters:
    ///   - isCollected: whether entries below a link's checkpoint were collected at the server.
    ///   - hasTree: whether all of a root's tree is here. One that is to be taken and is not whole becomes `wantedTree`.
    package mutating func settle(
        now: Milliseconds, isCollected: (Int) -> Bool, hasTree: (BlobName) -> Bool = { _ in true }
    ) throws(Store.Failure) {
        guard members.takenCount > 0 else { return }
        let before = (base, baseTrust)
        wantedTree = nil
        try lookForEnds(now: now)
        try chooseBase(now: now, isFresh: frontier.isEmpty && base == nil, isCollected: isCollected)
        if let base, base != before.0, baseTrust != .verified,
            let root = members.chain.links[base].checkpoint?.root, !hasTree(root)
        {
            // What was judged stays judged; the state waits for the tree.
            wantedTree = root
            (self.base, baseTrust) = before
        }
        if base != before.0 { needsRebuilding = true }
        try update()
        try lookForClosedLogs(now: now)
        try lookForProofs(now: now)
    }

    /// Brings the state up to date without a look at checkpoints.
    package mutating func update() throws(Store.Failure) {
        if needsRebuilding {
            try rebuild()
        } else if isStale {
            try reconcile()
        } else {
            try advance(arrived)
        }
        arrived = []
        isStale = false
        needsRebuilding = false
    }

    /// An own entry, which the store keeps already and which may be written as I1 says.
    package mutating func write(_ entry: VerifiedEntry) throws(Store.Failure) {
        precondition(frontier.number(of: entry.instance) == entry.number - 1, "an own entry comes next in its log")
        owners[entry.instance] = InstanceOwner(entry.context)
        try apply(entry)
        arrived.insert(entry.instance)
    }

    /// I2: this store is a copy. Own entries that another copy does not have leave the log, to be written again.
    ///
    /// - Parameter isForked: whether the log has two entries of one number without them.
    package mutating func leave(_ names: [BlobName], of instance: InstanceID?, isForked: Bool) throws(Store.Failure) {
        for name in names { try store.withdraw(name) }
        if let instance, !isForked { forked.remove(instance) }
        limitChains = [:]
        needsRebuilding = true
        try update()
    }

    /// What this program can read changed (E7).
    package mutating func programChanged() { arrived.formUnion(pending) }
}
