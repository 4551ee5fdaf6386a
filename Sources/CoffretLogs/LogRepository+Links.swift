// Own links with checkpoints. The one thing to keep true: the tree of a root is stored before a link names it, so that what
// is pushed, and what the state is built on, is here.

package import CoffretBase
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

extension LogRepository {
    /// What the checkpoint of an own link says (C1). The tree of its root is stored when this returns.
    ///
    /// - Parameters:
    ///   - preview: the link as `VerifiedMembers.preview` gives it.
    ///   - purges: entities that the link deletes for good; what retracts them is written before.
    ///   - covers: it is for a better root (C9), and accepts what the one that it replaces accepts, too.
    ///   - frontier: closed under what its entries have seen, and not below the base; nil: all that is applied.
    ///   - writesRoot: whether it has a root, where the rules allow one.
    ///   - shown: the link takes all that are known, since its person was shown those that lack confirmation (K8); nil: it
    ///     does not.
    ///   - accounts: devices, where the link states heads that are not followed here; nil: those that are.
    /// - Complexity: the keys that changed since the base, and a sync where there is a root.
    package func plan(
        for preview: VerifiedMemberLink, purges: [EntityID] = [], covers: Bool = false, writesRoot: Bool = true,
        upTo frontier: Frontier? = nil, shown: ShownLinks? = nil, accounts: [ChainID: AccountDevices]? = nil
    ) throws(StorageError) -> CheckpointPlan {
        try requireWriter()
        let plan = try ask { (known) throws(StorageError) in
            var machine = known
            if let shown {
                machine.takeAll(heldFrom: shown.undoneFrom)
                try machine.update()
            }
            let mayWrite = try machine.mayWriteRoot()
            return try machine.plan(
                for: preview, purges: purges, writesRoot: writesRoot && mayWrite, covers: covers, upTo: frontier,
                accounts: accounts)
        }
        if let root = plan.root, let computed = files.computedTree(root) {
            let state = blobs.state
            var written = try transact { (transaction) throws(StorageError) in
                let written = try files.facts.write(computed.tree, values: computed.values, to: transaction)
                try transaction.commit(state: state, isCheckpoint: true)
                return written
            }
            written.markStored()
        }
        return plan
    }

    /// For what a link of this device seals.
    package var sealingRandom: any RandomSource { random }

    /// Takes an own link that the server took, durably.
    ///
    /// - Parameter isRoot: the link has the root that was planned; it becomes the base.
    package func takeOwn(_ newer: VaultChains, isRoot: Bool) throws(StorageError) {
        try learn(newer) { (machine) throws(StorageError) in
            try machine.takeOwn(accounts: newer.accounts, chain: newer.members, isRoot: isRoot)
        }
        try checkpoint()
    }

    /// K8a: takes links that nobody can confirm any more, as the person of this device wants, durably.
    ///
    /// - Parameter shown: what the person was shown.
    package func takeUnspoken(_ shown: Set<Int>) throws(StorageError) {
        try requireWriter()
        try step { (machine) throws(StorageError) in
            machine.takeUnspoken(shown)
            try machine.update()
        }
        try checkpoint()
    }

    /// The blobs of a stored tree and of its values, each before what refers to it: what a push sends before the link.
    package func blobNames(ofTree root: BlobName) throws(StorageError) -> [BlobName] {
        var names: [BlobName] = []
        var seen: Set<BlobName> = []
        func meet(_ name: BlobName) -> Bool {
            guard seen.insert(name).inserted else { return false }
            names.append(name)
            return true
        }
        try files.facts.walk(files.tree(root), visit: meet) { (fact) throws(StorageError) in
            try walk(fact.content.inEntry, under: fact.key, visit: meet)
        }
        return names.reversed()
    }

    /// All blobs that entries above the base lead to.
    ///
    /// - Complexity: reads these entries.
    package func blobNamesBehindBase() throws(StorageError) -> Set<BlobName> {
        let entries = try ask { (machine) throws(StorageError) -> [VerifiedEntry] in
            var entries: [VerifiedEntry] = []
            for (instance, mark) in machine.frontier.marks {
                let floor = machine.accepted.number(of: instance)
                for record in try machine.store.index.records(of: instance, from: floor + 1, to: mark.number)
                where !record.isBare { entries.append(try machine.store.read(record)) }
            }
            return entries
        }
        var names: Set<BlobName> = []
        for entry in entries { try walk(entry) { names.insert($0).inserted } }
        return names
    }
}

/// Links that a person was shown and decided about (K8).
package struct ShownLinks: Equatable, Sendable {
    /// The first link that is undone: no entry that states it, or a later one, counts in what the next link accepts.
    package let undoneFrom: Int?

    package init(undoneFrom: Int?) { self.undoneFrom = undoneFrom }
}

/// Bytes of the entries of some logs, above what a base accepts and up to a frontier.
struct CountedBytes {
    let base: Int?
    var frontier = Frontier()
    var byteCount = 0
}

extension LogRepository {
    /// Bytes of the entries that are applied and not in the base. Below 256 entries nobody has to know: they cannot make a
    /// root due, since none has more than 256 KiB.
    ///
    /// - Complexity: reads the index from where it was counted last on.
    func byteCountBehindBase(of machine: Machine) throws(StorageError) -> Int {
        guard machine.entryCountBehindBase >= LinkSchedule.entryCountMin else { return 0 }
        var counted = countedBehindBase ?? CountedBytes(base: machine.base)
        if counted.base != machine.base || !machine.frontier.covers(counted.frontier) {
            counted = CountedBytes(base: machine.base)
        }
        for (instance, mark) in machine.frontier.marks {
            let start = max(machine.accepted.number(of: instance), counted.frontier.number(of: instance))
            guard mark.number > start else { continue }
            let records = try machine.store.index.records(of: instance, from: start + 1, to: mark.number)
            counted.byteCount += records.reduce(0) { $0 + $1.byteCount }
        }
        counted.frontier = machine.frontier
        countedBehindBase = counted
        return counted.byteCount
    }
}
