// A vault of a store, synced with its zone, once or again and again. The one thing to keep true: one sync of a vault
// at a time, from the reading of its memory to the end; but nobody waits for the network with the writer's lock.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
package import CoffretStorage
internal import CoffretTrust
internal import Glibc

/// Keeps a vault open for reading, and syncs it. Not Sendable: one isolation domain at a time.
package final class VaultSyncer {
    package let record: VaultRecord
    let store: Store
    let server: String
    private let transport: any SyncTransport & FileTransport & SweepTransport
    private let random: any RandomSource
    let clock: any WallClock
    let vault: Vault
    /// The head that was noted for commits of the other vaults.
    var notedHead: BlobName?
    /// Other vaults of which commits here state something that is not there: a sync of them has more to say.
    var statedVaults: Set<VaultID> = []

    /// Opens the vault.
    ///
    /// - Parameter server: the address that the memory is kept under; another one begins anew.
    /// - Throws: a `CoreError` as opening it for writing does, for a store that this machine does not remember or remembers
    ///   as newer: what it would say to others is not for a copy to say.
    package init(
        _ store: Store, _ record: VaultRecord, server: String,
        transport: any SyncTransport & FileTransport & SweepTransport,
        random: any RandomSource, clock: any WallClock
    ) throws {
        self.store = store
        self.record = record
        self.server = server
        self.transport = transport
        self.random = random
        self.clock = clock
        vault = try store.openVault(record.vaultID.hex, isWritable: false)
        try store.checkIsPresent(vault)
    }

    /// What is here and not on the server yet, as far as the last sync has seen; picks up what others committed.
    package var hasUnsent: Bool {
        get throws {
            let repository = vault.repository
            try repository.refresh()
            return repository.headNames.first != (try VaultSync.memory(of: repository))?.head
        }
    }

    /// Makes the search index where that takes long; any other is made or brought up to date by who asks it.
    package func makeIndex() throws {
        if try vault.isIndexFarOff() { try vault.synchronizeIndex() }
    }

    /// How many commits are here and not on the server, as far as the last sync has seen; nil before the first one.
    package static func unsentCommitCount(of vault: Vault) throws -> Int? {
        let repository = vault.repository
        guard let known = try VaultSync.memory(of: repository)?.head else { return nil }
        if repository.headNames.first == known { return 0 }
        return try repository.contents(from: [known]).commitCount
    }

    /// Writes the commits that are here and not on the server again, after the store went on as a copy of its own: under
    /// their numbers the server may have others.
    ///
    /// - Parameter reference: a vault that was synced before.
    /// - Returns: how many were written; nil if they say what cannot be said twice (a revocation, a compaction), and stay.
    /// - Throws: a `SyncError`, `.busy` if another process syncs the vault; a `CoreError`; a `StorageError`.
    package static func writeUnsentAgain(_ reference: String, in store: Store) throws -> Int? {
        let path = store.layout.vaultPath(try store.vaultRecord(reference).vaultID)
        let lock = try SyncLock.take(path, store.fileSystem, patienceMilliseconds: 10_000)
        defer { lock.giveBack() }
        let vault = try store.openVault(reference, isWritable: true)
        defer { vault.close() }
        guard let known = try VaultSync.memory(of: vault.repository)?.head else { return 0 }
        let adoption = try vault.repository.beginAdoption(rule: TextMergeRule())
        do throws(StorageError) {
            return try adoption.writeAgain(after: known)
        } catch {
            guard error.code == .unusable else { throw error }
            return nil
        }
    }

    /// What is here and not on the server, as far as the last sync has seen; nil before the first one.
    ///
    /// - Complexity: reads the blobs, up to so many that their size is worth knowing.
    package static func unsent(of vault: Vault) throws -> UnsentChanges? {
        let repository = vault.repository
        guard let known = try VaultSync.memory(of: repository)?.head else { return nil }
        if repository.headNames.first == known { return UnsentChanges(commitCount: 0, byteCount: 0) }
        let contents = try repository.contents(from: [known])
        guard contents.names.count <= UnsentChanges.blobCountMax else {
            return UnsentChanges(commitCount: contents.commitCount, byteCount: nil)
        }
        var byteCount = 0
        for name in contents.names { byteCount += try repository.sealedBlob(name).bytes.count }
        return UnsentChanges(commitCount: contents.commitCount, byteCount: byteCount)
    }

    /// The items that differ from what the server was last seen to have; nil where that is not known, or not here any more.
    package static func unsentItems(of vault: Vault) throws -> Set<EntityID>? {
        try VaultSync.memory(of: vault.repository)?.head.flatMap { try vault.changedItems(since: $0) }
    }

    /// Files that the last sync could not send, since the server has no room for them.
    package static func waitingFiles(of vault: Vault) throws -> [WaitingFile] {
        try VaultSync.memory(of: vault.repository)?.waitingFiles ?? []
    }

    /// Whether what this device dropped lies at the server still, as far as is known.
    package static func isSweepDue(of vault: Vault) throws -> Bool {
        try VaultSync.memory(of: vault.repository)?.sweep != nil
    }

    /// Brings the vault and its zone together.
    ///
    /// - Parameters:
    ///   - patienceMilliseconds: how long another sync of the vault is waited for.
    ///   - progress: called again and again.
    ///   - fileProgress: called while files of attachments are sent.
    /// - Throws: a `SyncError`, `.busy` if another process syncs the vault; a `CoreError`.
    package func sync(
        _ options: SyncEngine.Options = SyncEngine.Options(), patienceMilliseconds: Int = 60_000,
        progress: @escaping (SyncProgress) -> Void = { _ in },
        fileProgress: @escaping (FileProgress) -> Void = { _ in }
    ) throws -> SyncReport {
        let lock = try SyncLock.take(
            store.layout.vaultPath(record.vaultID), store.fileSystem, patienceMilliseconds: patienceMilliseconds)
        defer { lock.giveBack() }
        let repository = vault.repository
        try repository.refresh()
        let before = repository.headNames.first
        let now: () -> Int64 = { [clock] in clock.now }
        let signers = try store.signers()
        let (chain, own) = (try store.keyring.deviceChain(), try store.keyring.deviceID())
        let others = chain.devices.filter { $0.isTrusted && $0.kind == .ordinary && $0.id != own }.map(\.id)
        let acknowledger = SyncAcknowledger(
            keys: try store.keyring.vaultKeys(for: record.vaultID), author: try store.author(for: record.vaultID),
            signers: signers, others: Set(others), newestRevocation: Self.newestRevocation(in: chain), random: random,
            now: now)
        defer { spreadHeads(chain, signers: signers, others: Set(others)) }
        let (store, id) = (store, record.vaultID.hex)
        let side = VaultSync(
            repository: repository, signers: signers, acknowledger: acknowledger,
            headsKey: try store.keyring.headsKey(), revocationSinceJoining: Self.revocation(after: own, in: chain),
            writing: { body in
                let vault = try store.openVault(id, isWritable: true)
                defer { vault.close() }
                return try body(vault.repository)
            }, now: now)
        defer { side.cancel() }
        let files = FileExchange(store: try vault.contents(), transport: transport, progress: fileProgress)
        var lastMemory: SyncMemory?
        let cuts = RevocationCuts(chain: chain, signers: signers)
        func run() throws -> SyncReport {
            var memory = try VaultSync.memory(of: repository) ?? SyncMemory(server: server)
            if memory.server != server { memory = SyncMemory(server: server) }
            memory.settleTimes(at: now())
            var options = options
            options.revokedDevices = try cuts.devicesWithCut(in: repository)
            let engine = SyncEngine(
                memory: memory, knownEpoch: repository.currentEpoch, present: try repository.presentStanding,
                options: options)
            let session = SyncSession(transport: transport, vault: side, files: files, progress: progress)
            let done = try session.run(engine)
            lastMemory = done.memory
            return done.report
        }
        // Who revoked says where it takes effect: what this device had by then. Others say it only where nobody else has.
        // Cuts lie in the history: before it has come, nobody can tell whether one lacks.
        if try repository.presentStanding == .whole, let own = try store.keyring.newestOwnRevocation() {
            try write(cuts, upTo: own)
        }
        // Left over from a sync that was ended: before anything that was written on top of it is pushed.
        if (try? areRemovalsDue) ?? false { _ = try? followRemovals() }
        var report: SyncReport
        do {
            report = try run()
        } catch {
            // What came before it broke off counts.
            if (try? areRemovalsDue) ?? false { _ = try? followRemovals() }
            throw error
        }
        if try write(cuts, upTo: .max) { report = try report.followed(by: run()) }
        if try areRemovalsDue {
            report.removedCommitCount = try followRemovals()
            // What this device wrote on top of what is gone has its own record now, without which nobody can take it: both
            // go in one push.
            report = try report.followed(by: run())
        } else if let before, report.receivedCommitCount > 0 {
            // A compaction may have taken the state before away; then the list tells when it is asked.
            try repository.refresh()
            report.conflictedItemCount = try vault.conflictedItems(since: before).count
        }
        if options.acknowledges, let lastMemory {
            report.sweep = sweep(lastMemory, at: report.serverHead, others: Set(others), side)
        }
        return report
    }

    /// Remembered until it is done: nobody says again what another device removed.
    private var areRemovalsDue: Bool {
        get throws { try VaultSync.memory(of: vault.repository)?.areRemovalsDue ?? false }
    }

    /// Fetches the files of the present that are not here, small ones first.
    ///
    /// - Parameters:
    ///   - transport: may be another one than changes go by.
    ///   - hasRoom: whether so many bytes more may lie on this disk.
    /// - Returns: what became of them, the wrong ones among them.
    /// - Throws: a `SyncError`: `.diskFull`, `.fileInterrupted` and failures that concern all; what came by then stays.
    package func fetchFiles(
        through transport: any FileTransport, hasRoom: @escaping (_ byteCount: Int) -> Bool,
        progress: @escaping (FileProgress) -> Void
    ) throws -> FileTally {
        try vault.repository.refresh()
        var tally = FileTally()
        let absent = try vault.absentAttachments().sorted { $0.byteCount < $1.byteCount }
        var state = FileProgress(direction: .fetching)
        state.totalCount = absent.count
        state.totalByteCount = absent.reduce(0) { $0 + $1.byteCount }
        for attachment in absent {
            let before = state
            let one = try store.fetchFiles(of: [attachment], in: vault, through: transport, hasRoom: hasRoom) { part in
                state.doneByteCount = before.doneByteCount + part.doneByteCount
                progress(state)
            }
            if let full = one.problems.first(where: { $0.code == .diskFull }) { throw full }
            state.doneCount = before.doneCount + 1
            state.doneByteCount = before.doneByteCount + attachment.byteCount
            tally.movedCount += one.movedCount
            tally.movedByteCount += one.movedByteCount
            tally.problems += one.problems
        }
        return tally
    }

    /// Lets the server forget what a compaction of this device removed. What goes wrong with that is no failure of the
    /// sync: it is tried again with a later one.
    private func sweep(
        _ memory: SyncMemory, at head: BlobAddress?, others: Set<UniqueID>, _ side: VaultSync
    ) -> SweepTally {
        guard memory.sweep != nil, let head else { return SweepTally() }
        do {
            try vault.repository.refresh()
            let sweeper = ZoneSweeper(
                repository: vault.repository, files: try vault.contents(),
                author: try store.author(for: record.vaultID), zoneID: record.vaultID.bytes, transport: transport)
            let (tally, next) = try sweeper.run(memory, at: head, others: others, now: clock.now)
            if next != memory { _ = side.perform(.remember(next)) }
            return tally
        } catch {
            // The vault itself could not be read: the next sync says so, or finds it well.
            return SweepTally()
        }
    }

    /// Removes here what another device's compaction removed.
    ///
    /// - Returns: how many commits.
    private func followRemovals() throws -> Int {
        let writer = try store.openVault(record.vaultID.hex, isWritable: true)
        defer { writer.close() }
        let followed = try writer.followRemovals()
        if var memory = try VaultSync.memory(of: writer.repository) {
            memory.areRemovalsDue = false
            try writer.repository.setSyncNote(memory.encode())
        }
        try vault.repository.refresh()
        return followed?.repository.removedCommitCount ?? 0
    }

    /// - Returns: whether a cut was written, because nobody had.
    @discardableResult
    private func write(_ cuts: RevocationCuts, upTo last: UInt64) throws -> Bool {
        guard try cuts.lacksCut(in: vault.repository, upTo: last) else { return false }
        let writer = try store.openVault(record.vaultID.hex, isWritable: true)
        defer { writer.close() }
        let isNew = try cuts.write(in: writer.repository, upTo: last, time: clock.now)
        try vault.repository.refresh()
        return isNew
    }
}

/// Changes that wait to be sent.
package struct UnsentChanges: Equatable, Sendable {
    static let blobCountMax = 2_000

    package let commitCount: Int
    /// As they go to the server, files not counted; nil for very many, of which it is not counted.
    package let byteCount: Int?
}

/// One sync of a vault at a time, among all processes; apart from the writer's lock, so that commands go on meanwhile.
struct SyncLock {
    private static let pauseMilliseconds = 10
    private let file: any OpenFile

    private init(file: any OpenFile) { self.file = file }

    static func take(
        _ vaultPath: String, _ fileSystem: any FileSystem, patienceMilliseconds: Int
    ) throws -> SyncLock {
        let file = try fileSystem.open(PathText.join(vaultPath, "sync.lock"), .createIfAbsent)
        var waited = 0
        while true {
            do throws(FileSystemError) {
                try file.lock(.exclusive, waits: false)
                return SyncLock(file: file)
            } catch {
                guard error.code == .wouldBlock else { throw error }
                guard waited < patienceMilliseconds else { throw SyncError(.busy, cause: error) }
                usleep(UInt32(pauseMilliseconds) * 1_000)
                waited += pauseMilliseconds
            }
        }
    }

    func giveBack() { try? file.unlock() }
}
