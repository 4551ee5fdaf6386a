// A store that was copied or put back, and purges that others asked for. The one thing to keep true: a log that two copies
// write is left before anything more is pushed, and what only this copy had is written again first (I2, I4).

internal import CoffretBase
internal import CoffretHistory
package import CoffretLogs
package import CoffretStorage
internal import CoffretTrust

/// A store that finds out that it is a copy.
package enum LogCopies {
    /// Notes, durably, that another copy of this store writes this log, too: by a marker that does not fit (I5), or by an
    /// acknowledgement that this copy does not remember. The log is left; the next sync writes again what only this copy has.
    package static func note(in repository: LogRepository) throws(StorageError) {
        var memory = LogMemory(of: repository)
        guard memory.copied == nil, let own = try repository.ownLog() else { return }
        memory.copied = LeftLog(instance: own.instance, tip: own.tip)
        try repository.remember(memory.merged(in: repository))
        try repository.leaveOwnLog()
    }
}

extension LogSync {
    /// Before a page is taken: the own log, and what of it is here.
    func lookAtOwnLog() throws {
        let own = try repository.ownLog().map { LeftLog(instance: $0.instance, tip: $0.tip) }
        receiver.watch(own, copied: memory.copied)
    }

    /// I2, I4: leaves a log that another copy writes, too, and writes again what would be lost with it.
    func mendCopies() throws {
        guard repository.isWritable else { return }
        if let copied = memory.copied { try leave(copied) }
        for left in memory.leftLogs {
            guard let tip = left.tip, try repository.isShut(left.instance) else { continue }
            let own = try repository.ask { (machine) in
                machine.owners[left.instance].flatMap { machine.members.closingLink(of: $0) } == nil
            }
            // Of a log that K1 closed a person decides.
            if own {
                let lost = try repository.lostEntries(of: left.instance, tip: tip)
                guard try writeAgain(lost, isWithdrawn: false) else { continue }
            }
            memory.leftLogs.removeAll { $0 == left }
            try repository.remember(memory.merged(in: repository))
        }
    }

    func leaveLog(_ copied: LeftLog) throws {
        if try repository.ownLog()?.instance == copied.instance { try repository.leaveOwnLog() }
    }

    private func leave(_ copied: LeftLog) throws {
        report.isCopy = true
        try leaveLog(copied)
        if let tip = copied.tip {
            let sent = memory.served[copied.instance] ?? 0
            let alone = try repository.branch(of: copied.instance, from: tip, above: sent)
            // Entries that were written meanwhile say that they have seen these.
            let own = alone.isEmpty ? nil : try repository.ownLog()
            var later: [VerifiedEntry] = []
            if let own, let newest = own.tip {
                later = try repository.branch(
                    of: own.instance, from: newest, above: memory.served[own.instance] ?? 0)
            }
            if !later.isEmpty { try repository.leaveOwnLog() }
            guard try writeAgain(alone, later, isWithdrawn: true) else { return }
            let kept = alone.first.map { $0.number - 1 } ?? tip.number
            let mark = alone.first?.body.before.map { EntryMark(number: kept, name: $0) } ?? (kept > 0 ? tip : nil)
            let isKept = kept > 0 ? mark : nil
            if memory.leftLogs.count < LogMemory.leftCountMax {
                memory.leftLogs.append(LeftLog(instance: copied.instance, tip: isKept))
            }
        }
        // All that is left of it came from the server, or went there.
        memory.served[copied.instance] = try repository.ask { (machine) throws(StorageError) in
            try machine.store.index.records(of: copied.instance).last?.dot.number ?? 0
        }
        memory.copied = nil
        if memory.acknowledged?.instance == copied.instance { memory.acknowledged = nil }
        try repository.remember(memory.merged(in: repository))
    }

    /// - Returns: false where this device can write no entry now; it is tried again.
    private func writeAgain(_ logs: [VerifiedEntry]..., isWithdrawn: Bool) throws -> Bool {
        let entries = logs.flatMap(\.self)
        guard !entries.isEmpty else { return true }
        guard try repository.ownContext() != nil else { return false }
        // Nothing that is written says that it has seen them. Their blobs lie here until the next compaction.
        for log in logs where isWithdrawn {
            if let first = log.first { try repository.withdraw(log, of: first.instance) }
        }
        try repository.writeAgain(entries)
        try repository.checkpoint()
        report.writtenAgainCount += entries.count
        return true
    }

    // MARK: Purges and told words

    /// P3: drops what links deleted for good, where nobody waits for an objection any more.
    func lookAtPurges() throws {
        let members = try members()
        let links = members.chain.links.indices.prefix(members.takenCount).filter {
            members.chain.links[$0].checkpoint?.purges.isEmpty == false
        }
        guard !links.isEmpty else { return }
        let unacknowledged = try ServedLogs(memory, in: repository).unacknowledged(in: repository)
        try repository.purge(unacknowledged: unacknowledged, now: now)
        let refused = try repository.refusedPurges()
        let (repository, now) = (repository, now)
        report.waitingPurges = try repository.step { (machine) in
            links.filter { link in
                if case .waiting = machine.purgeState(of: link, refused: refused, now: now) { true } else { false }
            }
        }
    }

    /// R7: the word that let this device in has to come true with the server's first answer.
    func checkTold() throws {
        guard let told = memory.told else { return }
        let isThere = try repository.ask { (machine) throws(StorageError) in
            try machine.standing(of: told, at: 0) != .ahead
        }
        guard isThere || options.acceptsRestoredServer else { throw SyncError(.headRolledBack, at: "told") }
        memory.told = nil
    }
}

/// The word of a device to one that it lets in (N2).
package enum PairingWord {
    /// Of what the server has; nil: entries are to be pushed first.
    package static func encoded(of repository: LogRepository) throws(StorageError) -> [UInt8]? {
        let memory = LogMemory(of: repository)
        guard try ServedLogs(memory, in: repository).unacknowledged(in: repository).isEmpty else { return nil }
        let word = try repository.ask { (machine) in machine.word }
        return CBOREncoder.encode { $0.encode(word: word) }
    }

    /// The new device keeps what it was told, durably, until a sync has it. Before its first sync.
    ///
    /// - Returns: false for bytes of another form.
    package static func keep(_ bytes: [UInt8], in repository: LogRepository) throws(StorageError) -> Bool {
        let word = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try decoder.readWord() }
        guard let word else { return false }
        var memory = LogMemory(of: repository)
        memory.told = word
        try repository.remember(memory.merged(in: repository))
        return true
    }
}
