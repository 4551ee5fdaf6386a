// The zone's head, as it is shown, judged and replaced. The one thing to keep true: a bad head hides nothing and stops
// nobody; only a server that does not give what it acknowledged ends a sync (F4 to F6).

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// One shown head. Order: `read`, `probe`, `judge`; then `replaces` and `missing` say how a push treats it.
struct HeadKeeper {
    enum Step {
        case here
        case ask([BlobAddress])
    }

    private enum Shown {
        case unread
        /// The zone has no head.
        case none
        /// The one that was seen last, which named nothing that did not come.
        case same
        case good(BlobName, Frontier)
        /// F6.
        case unreadable
    }

    /// F6: a writer puts his own over refused heads once a minute at most.
    private static let replacementInterval: Milliseconds = 60_000
    private static let probeCountMax = 256

    private let repository: LogRepository
    private var shown = Shown.unread
    private var asked: Set<BlobAddress> = []
    private var remembered = Frontier()
    private var lacking = Frontier()
    private var isProbed = false
    /// Names of those that the server gave, of entries that a head lacks.
    var given: Set<BlobName> = []
    /// Whether a push sets a new head; else entries are pushed and the head stays (F3).
    private(set) var replaces = true
    /// Whether a head is set also where nothing else is to be pushed.
    private(set) var isReplacementDue = false
    /// Key 6 of the new head.
    private(set) var missing: [InstanceID: EntryNumber] = [:]

    /// All that a head says was applied; nil: none is shown that says anything new.
    var frontier: Frontier? { if case .good(_, let frontier) = shown { frontier } else { nil } }

    /// Whether the head cannot be read, or lacks something, by the chains as they were followed.
    var isSuspect: Bool { if case .unreadable = shown { true } else { !lacking.isEmpty } }

    init(repository: LogRepository) { self.repository = repository }

    /// Reads the head, over the frontiers that came.
    mutating func read(_ zone: LogHead, memory: LogMemory, came: [BlobName: [UInt8]]) throws(StorageError) -> Step {
        guard case .unread = shown else { return .here }
        guard let bytes = zone.address else {
            shown = .none
            return .here
        }
        guard let address = BlobAddress(bytes: bytes) else {
            shown = .unreadable
            return .here
        }
        let names = repository.exchange.names(of: address)
        if let head = memory.head, names.contains(head), !memory.isUnjudged,
            try repository.ask({ (machine) in machine.waits.waits[.head] == nil })
        {
            shown = .same
            return .here
        }
        for name in names {
            guard let content = came[name] else { continue }
            switch try repository.readFrontier(content, name: name, other: { came[$0] }) {
            case .good(_, let frontier): shown = .good(name, frontier)
            case .lacks(let name): return ask(repository.exchange.addresses(of: name))
            case .refused: shown = .unreadable
            }
            return .here
        }
        return ask([address])
    }

    private mutating func ask(_ addresses: [BlobAddress]) -> Step {
        let new = addresses.filter { asked.insert($0).inserted }
        if new.isEmpty { shown = .unreadable }
        return new.isEmpty ? .here : .ask(new)
    }

    /// F5: what is asked for, by address, of what this server gave or took and the head lacks; nil: nothing.
    ///
    /// - Parameter remembered: what this server took from here or gave.
    mutating func probe(_ remembered: Frontier) throws(StorageError) -> LogRequest? {
        guard !isProbed else { return nil }
        isProbed = true
        let head: Frontier
        switch shown {
        case .unread, .same: return nil
        case .none, .unreadable: head = Frontier()
        case .good(_, let frontier): head = frontier
        }
        self.remembered = remembered
        lacking = try repository.ask { (machine) throws(StorageError) in
            try machine.notCovered(by: head, remembered: remembered)
        }
        guard !lacking.isEmpty else { return nil }
        let names = lacking.sorted.prefix(Self.probeCountMax).map(\.mark.name)
        return .fetch(names.flatMap { repository.exchange.addresses(of: $0) })
    }

    /// Decides about the head, once all that it names was asked for and what came is applied.
    ///
    /// - Throws: `SyncError` `.headRolledBack`, `.headForked`.
    mutating func judge(
        _ zone: LogHead, _ memory: inout LogMemory, before: Frontier, collected: CollectedLinks, acceptsRestored: Bool,
        now: Milliseconds,
        report: inout LogReport
    ) throws {
        let head = frontier ?? Frontier()
        let pusher = try pusher(of: zone)
        if !lacking.isEmpty {
            let (given, repository, lacking, remembered) = (given, repository, lacking, remembered)
            let last = memory.head
            let verdict = try repository.ask { (machine) in
                machine.judge(
                    head, lacking: lacking, remembered: before,
                    isGiven: { name in
                        given.contains(name) || collected.names(repository.exchange.addresses(of: name))
                    },
                    expected: pusher.flatMap { pusher in
                        pusher.expected.first { $0 == last } ?? pusher.expected.first
                    }, last: last)
            }
            switch verdict {
            case .refused: report.refusedHead = verdict
            case .rolledBack, .forked:
                guard acceptsRestored else {
                    // This ends the sync; what came with the head is not remembered before a head is judged good.
                    if repository.isWritable { try repository.remember(memory.merged(in: repository)) }
                    let heads = SyncError.Heads(seen: try newest(of: lacking), shown: try newest(of: head))
                    throw SyncError(
                        verdict == .forked ? .headForked : .headRolledBack, at: memory.head?.description, heads: heads)
                }
                // The next frontier is a full one: nothing that it would name is known to be there.
                memory.full = nil
                // Also of what the base covers: a new device begins with it.
                for (instance, mark) in remembered.marks where head.number(of: instance) < mark.number {
                    memory.served[instance] = head.number(of: instance)
                }
            }
        }
        switch shown {
        case .unread, .same: return
        case .none: memory.head = nil
        case .unreadable: report.refusedHead = .refused(isPusherAlone: false)
        case .good(let name, _):
            memory.head = name
            let step = try repository.step { (machine) throws(StorageError) in
                try machine.replacement(of: head, now: now)
            }
            switch step {
            // Entries of this device, or that it has of others, went without a head.
            case .replace:
                let unnamed = try repository.ask { (machine) throws(StorageError) in
                    try machine.notCovered(by: head, remembered: machine.frontier)
                }
                isReplacementDue = !unnamed.isEmpty
            case .leave: replaces = false
            case .replaceNaming(let numbers):
                (missing, report.missing) = (numbers, numbers)
                report.findings.append(SyncFinding(.entryMissing, by: pusher?.device, mayBeServer: true))
                isReplacementDue = true
            }
        }
        settle(&memory, pusher: pusher?.device, now: now, report: &report)
    }

    /// A head that was refused is replaced, once a minute at most.
    private mutating func settle(
        _ memory: inout LogMemory, pusher: MemberDevice?, now: Milliseconds, report: inout LogReport
    ) {
        if case .refused(let isPusherAlone)? = report.refusedHead {
            report.findings.append(
                SyncFinding(.headRefused, by: pusher, mayBeServer: !isPusherAlone || pusher == nil))
        }
        (memory.isUnjudged, memory.unjudged) = (false, [:])
        guard report.refusedHead != nil else { return }
        // A clock that was put back begins the wait anew.
        memory.replacedAt = memory.replacedAt.map { min($0, now) }
        if let before = memory.replacedAt, now - before < Self.replacementInterval {
            // The next sync looks at it again, also where the server shows nothing new.
            (replaces, memory.isUnjudged) = (false, true)
        } else {
            isReplacementDue = true
        }
    }

    /// The entry of the greatest rank among those that a frontier names and that are here; else any that it names.
    private func newest(of frontier: Frontier) throws(StorageError) -> BlobName? {
        let names = frontier.sorted.map(\.mark.name)
        let entries = try repository.ask { (machine) throws(StorageError) -> [VerifiedEntry] in
            var entries: [VerifiedEntry] = []
            for name in names { if let entry = try machine.store.entry(named: name)?.entry { entries.append(entry) } }
            return entries
        }
        return entries.count == names.count
            ? entries.max { $0.rank < $1.rank }?.name
            : names.first { name in
                !entries.contains { $0.name == name }
            }
    }

    /// Who set the head, by his signature, and the names that the head may have which he replaced; nil: the server shows no
    /// valid signature.
    private func pusher(of zone: LogHead) throws(StorageError) -> (device: MemberDevice, expected: [BlobName])? {
        guard let word = zone.word, let account = ChainID(word.accountID) else { return nil }
        let members = try repository.ask { (machine) in machine.members }
        guard let devices = members.accounts[account],
            let bytes = devices.signingKey(of: word.deviceID, at: devices.newest), let key = try? VerifyingKey(bytes)
        else { return nil }
        let proof = ZoneProof.push(
            expectedHead: word.expectedHead, newHead: zone.address, epoch: zone.epoch, hash: word.objectsHash)
        let zone = repository.keys.vaultID.bytes
        guard (try? proof.verify(word.signature, zone: zone, by: key)) != nil else { return nil }
        let expected = word.expectedHead.flatMap { BlobAddress(bytes: $0) }.map { repository.exchange.names(of: $0) }
        return (MemberDevice(account: account, device: word.deviceID), expected ?? [])
    }

    /// An own head is in its place.
    func wasReplaced(_ memory: inout LogMemory, now: Milliseconds) {
        if isReplacementDue { memory.replacedAt = now }
    }
}

/// Objects that owners collected at the server, by their signed requests (G5).
struct CollectedLinks {
    private var links: Set<Int> = []
    private var addresses: Set<BlobAddress> = []
    /// Where the list goes on; nil: all of it was read.
    private(set) var nextPage: [UInt8]? = []

    /// Takes a page; what no trusted device of an owner signed says nothing.
    mutating func take(_ records: CollectionRecords, in vaultID: VaultID, members: MemberView) {
        nextPage = records.next.isEmpty || records.next == nextPage ? nil : records.next
        for statement in records.statements {
            guard let account = ChainID(statement.accountID), let devices = members.accounts[account],
                members.newestState.members[account]?.owns == true, devices.isTrusted(statement.deviceID),
                let bytes = devices.signingKey(of: statement.deviceID, at: devices.newest),
                let key = try? VerifyingKey(bytes),
                let link = members.chain.links.firstIndex(where: { $0.hash.bytes == statement.linkHash }),
                (try? SweepProof(
                    zoneID: vaultID.bytes, linkHash: statement.linkHash, objects: statement.objects,
                    chunks: statement.chunks
                ).verify(statement.signature, by: key)) != nil
            else { continue }
            links.insert(link)
            addresses.formUnion(statement.objects.compactMap { BlobAddress(bytes: $0) })
        }
    }

    func names(_ addresses: [BlobAddress]) -> Bool { addresses.contains { self.addresses.contains($0) } }
    /// Whether entries above a base, up to some checkpoint, were collected.
    func covers(above base: Int) -> Bool { links.contains { $0 > base } }
}
