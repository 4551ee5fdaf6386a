// This copy's own log, as syncs and statements use it. The one thing to keep true: a log that another copy writes, too, is
// left, and no own word that nobody else has goes with it (I1 to I4).

internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage

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

    /// I4: writes own entries again, each as one of this copy's own log. Changes, values and times stay.
    ///
    /// - Parameter entries: in their order.
    /// - Throws: `.readOnly` where no own entry can be written now; those before it are written.
    package func writeAgain(_ entries: [VerifiedEntry]) throws(StorageError) {
        var rewriting = Rewriting()
        for entry in entries {
            let batch = try beginBatch()
            do throws(StorageError) {
                let new = try nextPlace()
                let changes = rewriting.rewrite(
                    try files.changes(of: entry), of: entry.dot, as: Dot(new.context.instance, new.place.number))
                for change in changes { batch.add(change) }
                try batch.commit(time: entry.body.time, rewrites: entry.dot)
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

    /// I4: own entries of a log that was left that do not count any more.
    package func lostEntries(of instance: InstanceID, tip: EntryMark) throws(StorageError) -> [VerifiedEntry] {
        let own = Set(try branch(of: instance, from: tip, above: 0).map(\.name))
        return try ask { (machine) throws(StorageError) in
            try machine.entriesToWriteAgain(
                of: instance, remembered: Frontier([instance: tip]), isOwn: { own.contains($0) })
        }
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
