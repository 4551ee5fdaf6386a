// Own entries. The one thing to keep true: nothing in memory changes before the entry is durable, so an entry that failed
// has not happened, and one that is durable is told as such whatever comes after.

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage
internal import CoffretTrust

extension LogRepository {
    /// Writes one entry: one transaction, one sync.
    ///
    /// - Parameter changes: in any order; a key that occurs twice takes the last.
    /// - Parameter time: for show.
    /// - Returns: the entry; nil: there was nothing to change.
    /// - Throws: as `LogBatch.add` and `LogBatch.commit`. Then nothing has changed.
    /// - Complexity: a signature and a sync. Trees are stored by `checkpoint`, which `policy` makes due.
    @discardableResult
    package func commit(
        _ changes: [LogChange], time: Milliseconds, statement: [UInt8]? = nil
    ) throws(StorageError) -> VerifiedEntry? {
        let batch = try beginBatch()
        do throws(StorageError) {
            for change in changes { try batch.add(change) }
            return try batch.commit(time: time, statement: statement)
        } catch {
            batch.cancel()
            throw error
        }
    }

    /// Begins an entry that is filled piece by piece; long values go to disk as they come.
    ///
    /// - Throws: `.readOnly` where this device may not write; `.roleViewer` where its account may not.
    package func beginBatch() throws(StorageError) -> LogBatch {
        try requireWriter()
        guard author.signingKey != nil else { throw StorageError(.readOnly, place: directory) }
        guard try mayAccountWrite else { throw StorageError(.roleViewer, place: directory) }
        try checkpointIfDue()
        try beginOwnLogIfNeeded()
        let logCount = try ask { (machine) in machine.frontier.count }
        while logCount > HistoryLimits.referenceCountMax, try !nextPlace().place.isSeenWhole { try sayWhatWasSeen() }
        return LogBatch(repository: self, transaction: try blobs.begin())
    }

    /// Before the chains are here nobody can tell, and nothing can be written either.
    package var mayAccountWrite: Bool {
        get throws(StorageError) {
            let account = author.accountID
            return try ask { (machine) in
                machine.members.takenCount == 0 || machine.members.newestState.members[account]?.writes == true
            }
        }
    }

    // MARK: The place of the next entry

    /// I1: an own log that may go on.
    func beginOwnLogIfNeeded() throws(StorageError) {
        let isNew = try change { (loaded) throws(StorageError) -> Bool in
            guard loaded.machine.mayWrite else { return false }
            if let own = loaded.own, try loaded.machine.mayGoOn(own.instance), !isShutUnused(own, loaded.machine) {
                return false
            }
            try beginOwnLog(&loaded)
            return true
        }
        guard isNew else { return }
        // Stored before its first entry, so that this copy knows which log is its own.
        do throws(StorageError) { try checkpoint() } catch {
            reload()
            throw error
        }
    }

    /// Whether the right ended for which a log was begun, before it had an entry: it may be here again, and that log counts for nobody.
    private func isShutUnused(_ own: OwnLog, _ machine: borrowing Machine) -> Bool {
        let (newest, epoch) = (machine.members.newest, machine.members.newestState.epoch)
        let first = context(
            nonce: own.nonce, firstLink: own.firstLink, link: newest, epoch: epoch, machine: machine)
        return machine.members.closingLink(of: InstanceOwner(first)) != nil
    }

    /// I1: a new log.
    private func beginOwnLog(_ loaded: inout Loaded) throws(StorageError) {
        guard let nonce = UniqueID(bytes: random.bytes(count: UniqueID.byteCount)) else {
            preconditionFailure("a nonce has 16 bytes")
        }
        let (newest, state) = (loaded.machine.members.newest, loaded.machine.members.newestState)
        loaded.own = OwnLog(
            context(
                nonce: nonce, firstLink: UInt32(newest), link: newest, epoch: state.epoch, machine: loaded.machine))
        loaded.isAhead = true
    }

    /// Where the next own entry stands (E1, E2, E5), and its context.
    ///
    /// - Throws: `.readOnly` where this device may not write, or has no key for an entry at a link that it took.
    func nextPlace() throws(StorageError) -> (place: EntryPlace, context: EntryContext) {
        let found = try change { (loaded) throws(StorageError) -> (place: EntryPlace, context: EntryContext)? in
            guard loaded.machine.mayWrite, let own = loaded.own,
                let place = try loaded.machine.nextPlace(
                    of: own.instance, firstLink: Int(own.firstLink), said: own.said,
                    hasKey: { keys.keys(ofEpoch: $0) != nil })
            else { return nil }
            let context = context(
                nonce: own.nonce, firstLink: own.firstLink, link: place.link, epoch: place.epoch,
                machine: loaded.machine)
            return (place, context)
        }
        guard let found else { throw StorageError(.readOnly, place: directory) }
        return found
    }

    /// E2: an entry without changes, since more was seen than one entry says.
    private func sayWhatWasSeen() throws(StorageError) {
        let batch = LogBatch(repository: self, transaction: try blobs.begin())
        do throws(StorageError) { try batch.commitSeen(time: clock.now) } catch {
            batch.cancel()
            throw error
        }
    }

    private func context(
        nonce: UniqueID, firstLink: UInt32, link: Int, epoch: UInt32, machine: borrowing Machine
    ) -> EntryContext {
        EntryContext(
            vaultID: keys.vaultID, accountID: author.accountID, deviceID: author.deviceID, nonce: nonce,
            firstLink: firstLink, deviceHead: author.deviceHead,
            memberHead: ChainPosition(number: UInt64(link), hash: machine.members.chain.links[link].hash),
            epoch: epoch, identityHead: author.identityHead)
    }

    /// An own entry is durable. What cannot be followed in memory now is read by who asks next.
    func take(_ entry: VerifiedEntry, byteCount: Int, changeCount: Int) {
        do throws(StorageError) {
            try change { (loaded) throws(StorageError) in
                try loaded.machine.store.put(entry, byteCount: byteCount)
                try loaded.machine.write(entry)
                loaded.own?.said.merge(entry.body.seen)
                loaded.changeCount += max(changeCount, 1)
                loaded.byteCount += byteCount
            }
        } catch {
            reload()
        }
    }

    // MARK: Local checkpoints

    private func checkpointIfDue() throws(StorageError) {
        let isDue = try change { (loaded) in
            loaded.changeCount >= policy.changeCountMax || loaded.byteCount >= policy.byteCountMax
        }
        if isDue { try checkpoint() }
    }

    /// After a large entry, which is durable: without its tree each opening would apply it again.
    func checkpointIfPossible() { _ = try? checkpoint() }

    /// Stores the state with its trees, so that the next opening goes on from here. Due by `policy` before an entry, and at
    /// the end of each sync that changed anything.
    ///
    /// - Returns: whether there was anything to store.
    /// - Complexity: about one node of each tree for each level and changed key.
    @discardableResult
    package func checkpoint() throws(StorageError) -> Bool {
        let isNeeded = try change { (loaded) in
            !loaded.isBehind && (loaded.isAhead || !blobs.state.entries.isEmpty)
        }
        guard isNeeded else { return false }
        return try transact { (transaction) throws(StorageError) in
            try change { (loaded) throws(StorageError) -> Bool in
                let machine = try loaded.machine.suspend()
                try loaded.machine.store.flushIndexes()
                let store = loaded.machine.store
                let kept = KeptState(
                    machine: machine, facts: store.tree.name, index: store.index.tree.name,
                    items: store.items.tree.name, own: loaded.own, refusedPurges: loaded.refusedPurges,
                    start: store.start.flatMap { $0.link == loaded.machine.droppedBelow ? $0.root : nil })
                guard kept.encoded != blobs.state.kept || !blobs.state.entries.isEmpty else {
                    loaded.isAhead = false
                    transaction.cancel()
                    return false
                }
                var written = [
                    try files.facts.write(store.tree, values: store.unstored, to: transaction),
                    try files.indexes.write(store.index.tree, to: transaction),
                    try files.indexes.write(store.items.tree, to: transaction),
                ]
                for root in [loaded.machine.baseRoot, kept.start].compactMap(\.self) {
                    guard let computed = files.computedTree(root) else { continue }
                    written.append(try files.facts.write(computed.tree, values: computed.values, to: transaction))
                }
                var state = blobs.state
                state.kept = kept.encoded
                state.entries = []
                try transaction.commit(state: state, isCheckpoint: true)
                for place in written.indices { written[place].markStored() }
                files.forgetComputedTrees()
                loaded.machine.store.treeWasStored()
                (loaded.changeCount, loaded.byteCount, loaded.isAhead) = (0, 0, false)
                return true
            }
        }
    }
}
