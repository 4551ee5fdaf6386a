// This copy's own log, as syncs and statements use it. The one thing to keep true: a log that another copy writes, too, is
// left, and no own word that nobody else has goes with it (I1 to I4).

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage

/// Own work that is written again as one entry (I4).
package struct LostWork: Sendable {
    /// The entry that is written again; nil: what it left in a tree is.
    package let entry: VerifiedEntry?
    /// nil: no entry had these changes.
    package let dot: Dot?
    package let height: Height
    /// Where there is no entry.
    let changes: [Change]

    package init(_ entry: VerifiedEntry) {
        (self.entry, dot, height, changes) = (entry, entry.dot, entry.height, [])
    }

    init(dot: Dot?, height: Height, changes: [Change]) {
        (entry, self.dot, self.height, self.changes) = (nil, dot, height, changes)
    }

    package static func < (left: LostWork, right: LostWork) -> Bool {
        if left.height != right.height { return left.height < right.height }
        guard let dot = left.dot, let other = right.dot else { return left.dot != nil && right.dot == nil }
        return dot < other
    }
}

extension LogRepository {
    /// The context that an own entry would have now; nil where this device may not write, or has no key for it. An own log
    /// begins if there is none.
    package func ownContext() throws(StorageError) -> EntryContext? {
        guard isWritable, try ask({ (machine) in machine.mayWrite }) else { return nil }
        try beginOwnLogIfNeeded()
        do throws(StorageError) { return try nextPlace().context } catch {
            guard error.code == .readOnly else { throw error }
            return nil
        }
    }

    /// The log that this copy writes, and its newest entry here.
    package func ownLog() throws(StorageError) -> (instance: InstanceID, tip: EntryMark?)? {
        try change { (loaded) throws(StorageError) in
            guard let instance = loaded.own?.instance else { return nil }
            return (instance, try tip(of: instance, loaded.machine))
        }
    }

    /// Logs of this device that are here, the one that this copy writes among them: the newest entry, and whether a link
    /// closed or ended it.
    package func deviceLogs() throws(StorageError) -> [InstanceID: (tip: EntryMark?, isShut: Bool)] {
        try change { (loaded) throws(StorageError) in
            var logs: [InstanceID: (tip: EntryMark?, isShut: Bool)] = [:]
            if let own = loaded.own?.instance { logs[own] = (nil, false) }
            for (instance, owner) in loaded.machine.owners where owner.author == author.device {
                logs[instance] = (try tip(of: instance, loaded.machine), try loaded.machine.isShut(instance))
            }
            return logs
        }
    }

    /// The newest entry of a log, also one that is not applied: it may have seen what was taken out.
    private func tip(of instance: InstanceID, _ machine: borrowing Machine) throws(StorageError) -> EntryMark? {
        let applied = machine.frontier[instance]
        let newest = try machine.store.index.records(of: instance, from: applied?.number ?? 1).last { !$0.isBare }
        return newest.map { EntryMark(number: $0.dot.number, name: $0.name) } ?? applied
    }

    /// Leaves the log that this copy wrote, durably: the next own entry begins another one.
    package func leaveOwnLog() throws(StorageError) {
        try change { (loaded) in
            loaded.own = nil
            loaded.isAhead = true
        }
        try checkpoint()
    }

    /// Entries of one log down its hash chain from one of them, as far as their blobs are here, also of entries that were
    /// withdrawn. Ascending.
    ///
    /// - Parameter number: the last that is not among them.
    package func branch(
        of instance: InstanceID, from tip: EntryMark, above number: EntryNumber
    ) throws(StorageError) -> [VerifiedEntry] {
        var found: [VerifiedEntry] = []
        var next: BlobName? = tip.name
        while let name = next {
            guard let entry = try files.entry(named: name), entry.instance == instance, entry.number > number else {
                break
            }
            found.append(entry)
            next = entry.body.before
        }
        return found.reversed()
    }

    /// I4: writes own work again, each part as one entry of this copy's own log. Changes, values and times stay.
    ///
    /// - Parameters:
    ///   - works: in their order.
    ///   - now: the time of what has none.
    /// - Throws: `.readOnly` where no own entry can be written now; those before it are written.
    package func writeAgain(_ works: [LostWork], now: Milliseconds) throws(StorageError) {
        var rewriting = Rewriting()
        for work in works {
            let batch = try beginBatch()
            do throws(StorageError) {
                var changes = work.changes
                if let entry = work.entry { changes = try files.changes(of: entry) }
                if let dot = work.dot {
                    let new = try nextPlace()
                    changes = rewriting.rewrite(
                        changes, of: dot, as: Dot(new.context.instance, new.place.number))
                }
                for change in changes { batch.add(change) }
                try batch.commit(time: work.entry?.body.time ?? now, rewrites: work.dot)
            } catch {
                batch.cancel()
                throw error
            }
        }
    }

    /// I2: takes own entries out that only this copy has, in memory: whoever does it writes them again, and stores both with
    /// `checkpoint`.
    package func withdraw(_ entries: [VerifiedEntry], of instance: InstanceID) throws(StorageError) {
        let names = Set(entries.map(\.name))
        try step { (machine) throws(StorageError) in
            var numbers: Set<EntryNumber> = []
            var isForked = false
            for record in try machine.store.index.records(of: instance)
            where !record.isBare && !names.contains(record.name) {
                if !numbers.insert(record.dot.number).inserted { isForked = true }
            }
            try machine.leave(names.sorted(), of: instance, isForked: isForked)
        }
    }

    /// I4: own work in a log that was left, where it does not count any more: entries that are kept, and of others what
    /// stands in a tree.
    ///
    /// - Parameter tip: the newest entry there that this copy wrote and does not write again otherwise.
    package func lostWork(of instance: InstanceID, tip: EntryMark) throws(StorageError) -> [LostWork] {
        let branch = try branch(of: instance, from: tip, above: 0)
        let (own, lowest) = (Set(branch.map(\.name)), branch.first?.number ?? tip.number + 1)
        let (entries, tree) = try step { (machine) throws(StorageError) -> ([VerifiedEntry], LostTree?) in
            let last = try machine.lastCommonNumber(of: instance) ?? .max
            // Entries below a gap are none of the branch that won.
            let entries = try machine.entriesToWriteAgain(of: instance, remembered: Frontier([instance: tip])) {
                entry in
                own.contains(entry.name) || last < entry.number && entry.number < lowest
            }
            return (entries, try machine.lostTree(of: instance))
        }
        let works = entries.map { LostWork($0) }
        guard let tree else { return works }
        return try lostWork(in: tree, without: Set(entries.map(\.dot))) + works
    }

    /// The facts of entries that are kept no more, and retractions of what was deleted for good.
    private func lostWork(in tree: LostTree, without kept: Set<Dot>) throws(StorageError) -> [LostWork] {
        var facts: [Dot: [Fact]] = [:]
        var standing: Set<EntityID> = []
        // What was deleted for good is not written again.
        let root = try ask { (machine) in
            let isStart = tree.link == machine.droppedBelow
            return isStart ? machine.startRoot ?? tree.root : tree.root
        }
        guard try missingNames(ofTree: root).isEmpty else { return [] }
        try files.facts.walk(files.facts.stored(root), visit: { _ in true }) { (fact) throws(StorageError) in
            if tree.purges[fact.key.entity] != nil { standing.insert(fact.key.entity) }
            guard tree.dots.contains(fact.dot), !kept.contains(fact.dot) else { return }
            facts[fact.dot, default: []].append(fact)
        }
        let present = try present()
        var works: [LostWork] = []
        for (dot, facts) in facts.sorted(by: { $0.key < $1.key }) {
            var changes: [Change] = []
            for fact in facts where try !present.facts(under: fact.key).contains(fact) {
                changes.append(Change(key: fact.key, content: fact.content.inEntry, replaces: []))
            }
            if let height = facts.first?.height, !changes.isEmpty {
                works.append(LostWork(dot: dot, height: height, changes: changes))
            }
        }
        var retractions: [Change] = []
        for (entity, accepted) in tree.purges where !standing.contains(entity) {
            let facts = try present.facts(of: entity).filter { accepted.covers($0.dot) && !tree.dots.contains($0.dot) }
            for (key, facts) in Dictionary(grouping: facts, by: \.key) {
                retractions.append(Change(key: key, content: .retraction, replaces: facts.map(\.dot).sorted()))
            }
        }
        if !retractions.isEmpty { works.append(LostWork(dot: nil, height: .max, changes: retractions)) }
        return works
    }

    /// Whether a link that was taken closed or ended a log.
    package func isShut(_ instance: InstanceID) throws(StorageError) -> Bool {
        try ask { (machine) throws(StorageError) in try machine.isShut(instance) }
    }

    /// Stores the bare forms (E10) of entries: what a purge leaves of tips.
    ///
    /// - Returns: their names, by instance.
    package func keepBareForms(of tips: [InstanceID: BlobName]) throws(StorageError) -> [InstanceID: BlobName] {
        guard !tips.isEmpty else { return [:] }
        let members = try ask { (machine) in machine.members }
        let verifier = EntryVerifier(vaultID: keys.vaultID, authority: members)
        let batch = try beginReceiving()
        do throws(StorageError) {
            var names: [InstanceID: BlobName] = [:]
            for (instance, tip) in tips {
                let content = try blobs.blobBytes(tip, type: .entry)
                do throws(HistoryError) {
                    let bare = try UnverifiedEntry.bareForm(of: content, name: tip, own: instance)
                    let written: WrittenBlob
                    do throws(StorageError) { written = try blobs.seal(bare, type: .entry) } catch {
                        throw HistoryError(.entryMalformed, place: tip.description, cause: error)
                    }
                    let signed = try verifier.verifySignature(of: batch.read(bare, name: written.name))
                    names[instance] = written.name
                    do throws(StorageError) {
                        try batch.write(written.sealed, name: written.name)
                        try batch.take(signed, byteCount: bare.count)
                    } catch {
                        throw HistoryError(.entryMalformed, place: tip.description, cause: error)
                    }
                } catch {
                    throw (error.cause as? StorageError)
                        ?? StorageError(.blobAuthenticationFailed, place: tip.description, cause: error)
                }
            }
            try batch.finish()
            return names
        } catch {
            batch.cancel()
            throw error
        }
    }
}
