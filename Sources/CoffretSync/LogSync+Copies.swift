// A store that was copied or put back, and purges that others asked for. The one thing to keep true: a log that two copies
// write is left before anything more is pushed, and what only this copy had is written again first (I2, I4).

internal import CoffretBase
internal import CoffretCrypto
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
        guard let own = try repository.ownLog(), !memory.copied.contains(where: { $0.instance == own.instance })
        else { return }
        memory.copied.append(LeftLog(instance: own.instance, tip: own.tip))
        try repository.remember(memory.merged(in: repository))
        try repository.leaveOwnLog()
    }
}

extension LogSync {
    /// Before a page is taken: logs of this device, and what of them is here.
    func lookAtOwnLogs() throws {
        let own = try repository.ownLog()?.instance
        var watched: [InstanceID: WatchedLog] = [:]
        for (instance, log) in try repository.deviceLogs() {
            watched[instance] = WatchedLog(
                tip: log.tip,
                isUnshared: instance == own || !log.isShut && log.tip?.number ?? 0 > memory.served[instance] ?? 0,
                isLeft: log.isShut || memory.leftLogs.contains { $0.instance == instance })
        }
        receiver.watch(watched, copied: memory.copied)
    }

    /// I2, I4: leaves a log that another copy writes, too, and writes again what would be lost with it.
    func mendCopies() throws {
        guard repository.isWritable else { return }
        if !memory.copied.isEmpty { try leaveCopied() }
        for left in memory.leftLogs {
            guard let tip = left.tip, try repository.isShut(left.instance) else { continue }
            let own = try repository.ask { (machine) in
                machine.owners[left.instance].flatMap { machine.members.closingLink(of: $0) } == nil
            }
            // Of a log that K1 closed a person decides.
            if own {
                let lost = try repository.lostWork(of: left.instance, tip: tip)
                guard try writeAgain(lost) else { continue }
            }
            memory.leftLogs.removeAll { $0 == left }
            try repository.remember(memory.merged(in: repository))
        }
    }

    func leaveLog(_ copied: LeftLog) throws {
        if try repository.ownLog()?.instance == copied.instance { try repository.leaveOwnLog() }
    }

    private func leaveCopied() throws {
        report.isCopy = true
        var left: [LeftLog] = []
        var alone: [[VerifiedEntry]] = []
        for log in memory.copied {
            try leaveLog(log)
            guard let tip = log.tip else { continue }
            let entries = try unserved(of: log.instance, from: tip)
            alone.append(entries)
            // What stays of it went to the server.
            var kept: EntryMark? = tip
            if let first = entries.first {
                kept = first.body.before.map { EntryMark(number: first.number - 1, name: $0) }
            }
            left.append(LeftLog(instance: log.instance, tip: kept))
        }
        if alone.contains(where: { !$0.isEmpty }) {
            // Entries of other own logs may say that they have seen these.
            for (instance, log) in try repository.deviceLogs()
            where !log.isShut && !memory.copied.contains(where: { $0.instance == instance }) {
                guard let tip = log.tip else { continue }
                let later = try unserved(of: instance, from: tip)
                if !later.isEmpty, try repository.ownLog()?.instance == instance { try repository.leaveOwnLog() }
                alone.append(later)
            }
        }
        guard try writeAgain(alone.flatMap { $0.map { LostWork($0) } }, withdrawing: alone) else { return }
        for log in left where !memory.leftLogs.contains(where: { $0.instance == log.instance }) {
            if memory.leftLogs.count < LogMemory.leftCountMax { memory.leftLogs.append(log) }
        }
        for log in memory.copied {
            // All that is left of it came from the server, or went there.
            memory.served[log.instance] = try repository.ask { (machine) throws(StorageError) in
                try machine.store.index.records(of: log.instance).last?.dot.number ?? 0
            }
            if memory.acknowledged?.instance == log.instance { memory.acknowledged = nil }
        }
        memory.copied = []
        try repository.remember(memory.merged(in: repository))
    }

    /// Entries of a log, down from one of them, that the server does not have.
    private func unserved(of instance: InstanceID, from tip: EntryMark) throws -> [VerifiedEntry] {
        try repository.branch(of: instance, from: tip, above: memory.served[instance] ?? 0)
    }

    /// - Returns: false where this device can write no entry now; it is tried again.
    ///
    /// - Parameter logs: entries that only this copy has; they leave their logs first.
    private func writeAgain(_ works: [LostWork], withdrawing logs: [[VerifiedEntry]] = []) throws -> Bool {
        guard !works.isEmpty else { return true }
        guard try repository.ownContext() != nil else { return false }
        // Nothing that is written says that it has seen them. Their blobs lie here until the next compaction.
        for log in logs {
            if let first = log.first { try repository.withdraw(log, of: first.instance) }
        }
        // Each behind what it may have seen.
        try repository.writeAgain(works.sorted(by: <), now: now)
        try repository.checkpoint()
        report.writtenAgainCount += works.count
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
        report.hasPurged = try repository.purge(unacknowledged: unacknowledged, now: now)
        report.waitingPurges = try repository.waitingPurges(now: now).map(\.link.number)
    }

    /// Section 6: words that do not count go after 30 days.
    func dropSetAside() throws {
        let unacknowledged = try ServedLogs(memory, in: repository).unacknowledged(in: repository)
        try repository.dropSetAside(unacknowledged: unacknowledged, now: now)
    }

    /// R7: the word that let this device in has to come true with the server's first answer.
    func checkTold() throws {
        guard let told = memory.told else { return }
        // The entries may state links that await a confirmation, or be sealed with a key that is awaited. Both are told by the verified
        // chain alone: a server that could have a word wait by objects of its own could withhold what was told for ever.
        let members = try members()
        let epochs = follower.chains.rights?.keyCommitments.keys.map(\.self) ?? []
        guard members.takenCount == members.chain.count,
            epochs.allSatisfy({ repository.keys.keys(ofEpoch: $0) != nil })
        else { return }
        let isThere = try repository.ask { (machine) throws(StorageError) in
            try machine.standing(of: told, at: 0) != .ahead
        }
        guard isThere || options.acceptsRestoredServer else {
            // The word has numbers and no names: what it names can only be found in the list, from its beginning.
            memory.cursor = []
            try repository.remember(memory.merged(in: repository))
            throw SyncError(.headRolledBack, at: "told")
        }
        memory.told = nil
    }
}

/// The word of a device to one that it lets in (N2), and of a member to a newcomer.
package enum PairingWord {
    /// Of what the server has; nil: entries are to be pushed first.
    package static func encoded(of repository: LogRepository) throws(StorageError) -> [UInt8]? {
        try encoded(of: repository, LogMemory(of: repository))
    }

    static func encoded(of repository: LogRepository, _ memory: LogMemory) throws(StorageError) -> [UInt8]? {
        guard try ServedLogs(memory, in: repository).unacknowledged(in: repository).isEmpty else { return nil }
        let word = try repository.ask { (machine) in machine.word }
        return CBOREncoder.encode { $0.encode(word: word) }
    }

    /// nil for bytes of another form.
    static func decoded(_ bytes: [UInt8]) -> AppliedWord? {
        try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try decoder.readWord() }
    }

    /// The new device keeps what it was told, durably, until a sync has it. Before its first sync.
    ///
    /// - Returns: false for bytes of another form.
    package static func keep(_ bytes: [UInt8], in repository: LogRepository) throws(StorageError) -> Bool {
        guard let word = decoded(bytes) else { return false }
        var memory = LogMemory(of: repository)
        memory.told = word
        try repository.remember(memory.merged(in: repository))
        return true
    }
}

extension LogSync {
    /// Rule 13: lists from the beginning, page by page.
    func listPast() throws -> LogRequest? {
        guard options.readsPast, let past = memory.past else {
            report.hasPast = memory.past != nil
            return nil
        }
        return ask(.changes(since: past), for: .past)
    }
}
