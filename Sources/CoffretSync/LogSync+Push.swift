// Pushes within a sync. The one thing to keep true: a head names what is at the server, and nothing is sealed under a key
// that somebody has who may read no more.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

extension LogSync {
    /// The frontier that this server took from here or gave (F4).
    func remembered() throws -> Frontier { try ServedLogs(memory, in: repository).remembered(in: repository) }

    func push() throws -> LogRequest? {
        // Of a log that another copy writes nothing more is pushed.
        guard let zone, memory.copied.isEmpty, let signingKey = repository.author.signingKey else { return nil }
        let (mayWrite, isStale) = try repository.step { (machine) throws(StorageError) in
            (machine.mayWrite, try !machine.due().closings.isEmpty)
        }
        let epoch = repository.keys.currentEpoch
        let state = try members().newestState
        // K3, and a key that the chain does not have yet.
        guard mayWrite else { return nil }
        report.isEpochStale = isStale || !(state.oldestEpoch...max(state.oldestEpoch, state.epoch)).contains(epoch)
        guard !report.isEpochStale else { return nil }
        if pusher == nil {
            pusher = try LogPusher(repository: repository, served: ServedLogs(memory, in: repository))
            if pusher?.isAtEnd == true, !keeper.isReplacementDue { return nil }
        }
        guard var pusher else { return nil }
        let parts = try pusher.nextPart(byteCountMax: options.partByteCountMax)
        self.pusher = pusher
        try willPush(pusher.partEntries)
        let isLast = pusher.isAtEnd
        var (objects, new) = (parts, zone.address)
        if isLast, keeper.replaces {
            let made = try repository.writeFrontier(over: memory.full, missing: keeper.missing, time: now)
            written = made
            objects += made.blobs.map { ZoneObject($0.sealed) }
            new = made.blobs.last?.sealed.address.bytes
        }
        if objects.isEmpty { return nil }
        report.sentByteCount += objects.reduce(0) { $0 + $1.ciphertext.count }
        let push = ZonePush(
            objects, from: zone.address, to: new, epoch: epoch, zone: repository.keys.vaultID.bytes, by: signingKey)
        return ask(.push(push), for: .push(isLast: isLast))
    }

    func pushed(_ receipt: PushReceipt, isLast: Bool) throws {
        guard let pusher else { throw SyncError(.answerMalformed) }
        for (instance, number) in pusher.reached { memory.served[instance] = number }
        memory.cursor = receipt.cursor
        guard isLast else { return try repository.remember(memory.merged(in: repository)) }
        report.sentCount += pusher.entryCount
        self.pusher = nil
        var kept: [WrittenBlob] = []
        if let written, let head = written.blobs.last {
            (memory.head, memory.full) = (head.name, written.full)
            if written.full == head.name { kept = written.blobs }
            keeper.wasReplaced(&memory, now: now)
            zone = LogHead(address: head.sealed.address.bytes, cursor: receipt.cursor, epoch: 0, word: nil)
        }
        // The head that stays does not name what was sent: it is judged again.
        if written == nil { memory.isUnjudged = true }
        written = nil
        // Logs of others that the server has again.
        let marks = try repository.ask { (machine) in machine.frontier.marks }
        let logs = try ServedLogs(memory, in: repository)
        memory.served = memory.served.filter { instance, number in
            logs.isOwn(instance) || marks[instance].map(\.number) != number
        }
        try repository.remember(memory.merged(in: repository), keeping: kept)
        stage = .linking
    }
}
