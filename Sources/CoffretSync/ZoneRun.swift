// One opening of a vault within a sync: the logs, the files that they name, the words of the devices, and what the server may
// forget. The one thing to keep true: each step reads the memory when it begins, so no two of them are under way at once.

package import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
package import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// A vault that is open for writing, and its zone.
final class ZoneRun {
    typealias Transport = LogTransport & FileTransport & ChunkListTransport

    /// Audits that failed in a row until that is an error of its own (R8).
    private static let failedAuditCountMax: UInt64 = 3

    let vault: Vault
    private let syncer: VaultSyncer
    private let transport: any Transport
    private let resting: RestingTransport
    private var options: SyncOptions
    private let progress: (SyncProgress) -> Void
    private let files: FileExchange
    private var waiting: [WaitingFile] = []
    private var repository: LogRepository { vault.repository }
    private var now: Milliseconds { syncer.clock.now }

    init(
        _ syncer: VaultSyncer, _ vault: Vault, _ transport: any Transport, _ options: SyncOptions,
        _ progress: @escaping (SyncProgress) -> Void, _ fileProgress: @escaping (FileProgress) -> Void
    ) throws {
        self.syncer = syncer
        self.vault = vault
        self.transport = transport
        self.options = options
        self.progress = progress
        resting = RestingTransport(transport, vault.repository)
        files = FileExchange(store: try vault.contents(), transport: transport, progress: fileProgress)
    }

    /// Another server begins anew.
    func begin() throws {
        var memory = LogMemory(of: repository)
        if memory.server != syncer.server { memory = try memory.begun(at: syncer.server, in: repository) }
        // Words that were put back with the server are no lies.
        if options.acceptsRestoredServer { (memory.others, memory.stated) = ([:], [:]) }
        try repository.remember(memory.encoded)
    }

    // MARK: Logs

    ///
    /// - Parameter looksForLetters: for members to whom nobody sealed the newest key.
    func sync(_ report: inout SyncReport, looksForLetters: Bool = false) throws -> LogReport {
        let (store, id) = (syncer.store, syncer.record.vaultID)
        var wanted = LogSync.Options()
        wanted.acceptsRestoredServer = options.acceptsRestoredServer
        wanted.writesCheckpoint = options.writesCheckpoint || options.acceptsRestoredServer
        if LogMemory(of: repository).lacksTree, try repository.ask({ (machine) in machine.base != nil }) {
            wanted.writesCheckpoint = true
        }
        wanted.purges = options.purges
        (wanted.change, wanted.introduced, wanted.shown) = (options.change, options.introduced, options.shown)
        (wanted.hurries, wanted.looksForLetters) = (options.hurries || options.change != nil, looksForLetters)
        wanted.headsKey = try store.keyring.headsKey()
        var current: LogSync?
        let account = try store.keyring.accountID()
        let keyring = try StoreLogKeyring(store.keyring, id) { [syncer] in
            guard let chain = current?.follower.accounts[account]?.chain else { throw SyncError(.chainsRefused) }
            try syncer.send(chain)
        }
        let sync = LogSync(
            repository: repository, follower: MemberFollower(try store.followedChains(of: id)), keys: keyring,
            options: wanted)
        sync.people = syncer.people
        current = sync
        defer { current = nil }
        sync.keepChains = { chains in try store.keep(chains) }
        var tally = FileTally()
        try sendWaitingFiles(sync, &tally)
        sync.willPush = { [self, unowned sync] entries in
            try send(filesOf: entries, &tally)
            // Known before a head names them.
            (sync.memory.waitingFiles, sync.memory.hasMoreWaitingFiles) = Self.remembered(tally)
            try repository.remember(sync.memory.merged(in: repository))
        }
        resting.hear = { [self] in tell(sync) }
        defer { resting.hear = {} }
        let logs = try sync.run(through: resting, now: { [syncer] in syncer.clock.now })
        report.take(logs)
        // An earlier sync that was refused may have found them. Without libzstd nobody can tell, and the sync goes on.
        let setAside = Set((try? repository.setAsideChanges())?.map(\.key.entity) ?? []).count
        var memory = LogMemory(of: repository)
        report.setAsideCount = setAside > memory.namedCount ? setAside : 0
        if memory.namedCount != setAside {
            memory.namedCount = setAside
            try repository.remember(memory.merged(in: repository))
        }
        try keep(tally, &report)
        return logs
    }

    private func tell(_ sync: LogSync) {
        var state = SyncProgress()
        (state.receivedCount, state.receivedByteCount) = (sync.report.receivedCount, sync.report.receivedByteCount)
        (state.sentCount, state.sentByteCount) = (sync.report.sentCount, sync.report.sentByteCount)
        if let pusher = sync.pusher { (state.sentCount, state.sendCount) = (pusher.entryCount, pusher.totalCount) }
        state.isPresentHere = sync.report.isPresentHere && sync.memory.past != nil
        progress(state)
    }

    // MARK: Files

    /// Tries again to send what found no room; and all files, where it is not known which the server has.
    private func sendWaitingFiles(_ sync: LogSync, _ tally: inout FileTally) throws {
        waiting = sync.memory.waitingFiles
        let looksAtAll = options.acceptsRestoredServer || options.triesWaitingFiles && sync.memory.hasMoreWaitingFiles
        var wanted = options.triesWaitingFiles ? waiting.map(\.fileID) : []
        if looksAtAll { wanted += try vault.namedFiles().subtracting(wanted).sorted() }
        if wanted.isEmpty {
            tally.waiting = waiting
        } else {
            try send(wanted, &tally)
            let tried = Set(wanted)
            tally.waiting += waiting.filter { !tried.contains($0.fileID) }
        }
    }

    private func send(filesOf entries: [VerifiedEntry], _ tally: inout FileTally) throws {
        var wanted: [UniqueID] = []
        for entry in entries {
            for change in try repository.changes(of: entry) where change.key.entity.kind == EntityKind.attachment {
                guard change.content != .retraction else { continue }
                let value = try repository.value(of: change.content, under: change.key)
                guard let file = try NamedFile(change.key, value), !wanted.contains(file.fileID) else {
                    continue
                }
                wanted.append(file.fileID)
            }
        }
        // Those that were tried a moment ago are not tried again.
        wanted.removeAll { file in tally.waiting.contains { $0.fileID == file } }
        if !wanted.isEmpty { try send(wanted, &tally) }
    }

    private func send(_ wanted: [UniqueID], _ tally: inout FileTally) throws {
        let sent = try resting.whileResting { () throws(SyncError) in try files.send(wanted, known: waiting) }
        tally.movedCount += sent.movedCount
        tally.movedByteCount += sent.movedByteCount
        tally.absentCount += sent.absentCount
        tally.waiting += sent.waiting
    }

    private func keep(_ tally: FileTally, _ report: inout SyncReport) throws {
        report.sentFileCount += tally.movedCount
        report.sentFileByteCount += tally.movedByteCount
        report.absentFileCount = max(report.absentFileCount, tally.absentCount)
        report.waitingFiles = tally.waiting
        var memory = LogMemory(of: repository)
        (memory.waitingFiles, memory.hasMoreWaitingFiles) = Self.remembered(tally)
        try repository.remember(memory.merged(in: repository))
    }

    private static func remembered(_ tally: FileTally) -> (files: [WaitingFile], hasMore: Bool) {
        let files = Array(tally.waiting.prefix(LogMemory.waitingFileCountMax))
        return (files, tally.waiting.count > files.count)
    }

    // MARK: Words

    /// - Throws: what the words say of the server: `.headForked`, `.entryWithheld`, `.auditFailed`.
    func audit(speaksAnew: Bool, _ report: inout SyncReport) throws -> LogAudit {
        let acknowledger = LogAcknowledger(repository: repository, speaksAnew: speaksAnew)
        let audit: LogAudit
        do {
            audit = try acknowledger.run(through: resting) { [syncer] in syncer.clock.now }
        } catch {
            guard error.code != .vaultFailed else { throw error }
            // Who hides the words of others may hide more.
            throw try noteAudit(hasFailed: true) ? SyncError(.auditFailed, cause: error) : error
        }
        let own = repository.author.accountID
        report.wordCount += audit.hasSpoken ? 1 : 0
        report.isStale = audit.isStale
        report.olderWords = audit.olderWords
        report.peers = audit.peers.map { peer in
            SyncPeer(
                account: peer.account, device: peer.device,
                standing: peer.isWithheld ? .withheld : SyncPeer.Standing(peer.standing))
        }
        for late in audit.stated where !report.peers.contains(where: { $0.device == late.device && $0.isAhead }) {
            report.peers.removeAll { $0.device == late.device }
            report.peers.append(
                SyncPeer(account: own, device: late.device, standing: late.isWithheld ? .withheld : .ahead))
        }
        report.findings += audit.findings(besides: own)
        let silent = audit.silentDevices.filter { $0.account == own }
        let isFailing = try noteAudit(hasFailed: !silent.isEmpty)
        if let late = audit.stated.first(where: \.isContradicted) {
            throw SyncError(.headForked, at: late.device.hex)
        }
        if let peer = report.peers.first(where: { $0.standing == .withheld && $0.account == own }) {
            throw SyncError(.entryWithheld, at: peer.device.hex)
        }
        if isFailing { throw SyncError(.auditFailed, at: silent.first?.device.hex) }
        return audit
    }

    /// - Returns: whether it failed too often.
    private func noteAudit(hasFailed: Bool) throws -> Bool {
        var memory = LogMemory(of: repository)
        memory.failedAuditCount = hasFailed ? memory.failedAuditCount + 1 : 0
        try repository.remember(memory.merged(in: repository))
        return memory.failedAuditCount >= Self.failedAuditCountMax
    }

    // MARK: Purges

    /// P4: frees the bytes of what was deleted for good here; the server is to forget what this device asked for.
    func settlePurges(_ logs: LogReport, _ report: inout SyncReport) throws {
        var isFree = LogCollector.requested(in: repository) == nil
        if let link = logs.purgeLink {
            report.purgeLink = repository.chains.members.links[link].hash.hex
            isFree = try LogCollector.request(purge: link, in: repository)
        }
        if isFree, logs.hasPurged { report.purgedFileCount = try vault.compact().removedFileCount }
    }

    // MARK: Collecting

    /// Lets the server forget what was dropped here. A failure of that is none of the sync: a later one tries again.
    func collect(_ audit: LogAudit) -> SweepTally {
        var tally = SweepTally()
        guard LogCollector.requested(in: repository) != nil else { return tally }
        tally.isDue = true
        do {
            let chunks = try unneededChunks()
            let collector = LogCollector(repository: repository, audit: audit, chunks: chunks)
            switch try collector.run(through: resting, now: { [syncer] in syncer.clock.now }) {
            case .none: tally.isDue = LogCollector.requested(in: repository) != nil
            case .waitsForOthers: tally.waitsForOthers = true
            case .refused(let code): tally.problem = SyncError(refusal: code)
            case .collected(let count, let byteCount):
                (tally.count, tally.byteCount) = (Int(clamping: count), Int(clamping: byteCount))
                tally.isDue = false
                _ = try vault.compact()
            }
        } catch {
            tally.problem = SyncError.translating(error)
        }
        return tally
    }

    /// Chunks at the server of files that nothing kept here names.
    private func unneededChunks() throws -> [[UInt8]] {
        let named = try vault.namedFiles(withPast: true)
        let contents = try vault.contents()
        let stored = try resting.whileResting { () throws(SyncError) in try transport.allChunks() }
        let kept = contents.addresses(ofChunksOf: named, among: Set(stored))
        return stored.filter { !kept.contains($0) }.map(\.bytes)
    }
}

extension SyncPeer.Standing {
    fileprivate init(_ verdict: WordVerdict) {
        self =
            switch verdict {
            case .upToDate: .upToDate
            case .behind: .behind
            case .ahead: .ahead
            case .differs: .differs
            }
    }
}

extension SyncPeer {
    var isAhead: Bool { standing == .ahead || standing == .withheld }
}

/// Gives the writer's lock back while an answer is waited for.
private final class RestingTransport: LogTransport {
    private static let lockTimeoutMilliseconds = 10_000

    private let transport: any LogTransport
    private let repository: LogRepository
    /// Called after each page and reply.
    var hear: () -> Void = {}

    init(_ transport: any LogTransport, _ repository: LogRepository) {
        self.transport = transport
        self.repository = repository
    }

    func send(
        _ request: LogRequest, page: (LogPage) throws(SyncError) -> Void
    ) throws(SyncError) -> LogReply {
        let reply = try whileResting { () throws(SyncError) in
            try transport.send(request) { (shown) throws(SyncError) in
                try resume()
                defer { repository.rest() }
                try page(shown)
                hear()
            }
        }
        hear()
        return reply
    }

    func whileResting<Result>(_ body: () throws(SyncError) -> Result) throws(SyncError) -> Result {
        repository.rest()
        let result: Result
        do throws(SyncError) { result = try body() } catch {
            try? resume()
            throw error
        }
        try resume()
        return result
    }

    private func resume() throws(SyncError) {
        do throws(StorageError) {
            try repository.resume(lockTimeoutMilliseconds: Self.lockTimeoutMilliseconds)
        } catch { throw SyncError.translating(error) }
    }
}

extension AttachmentStore {
    /// Chunks in a row that a file of unknown length may lack.
    private static let gapCountMax: UInt64 = 8

    /// The addresses that the chunks of some files may have, as far as the server has chunks under them.
    package func addresses(ofChunksOf files: Set<UniqueID>, among stored: Set<BlobAddress>) -> Set<BlobAddress> {
        var kept: Set<BlobAddress> = []
        for file in files {
            var index: UInt64 = 0
            var gap: UInt64 = 0
            // Of a locked note's file nobody knows the length.
            while gap < Self.gapCountMax {
                let addresses = addresses(ofChunk: index, ofFile: file)
                gap = addresses.contains(where: stored.contains) ? 0 : gap + 1
                kept.formUnion(addresses)
                index += 1
            }
        }
        return kept
    }
}
