// A vault of a store, synced with its zone, once or again and again. The one thing to keep true: one sync of a vault
// at a time, from the reading of its memory to the end; but nobody waits for the network with the writer's lock.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage
package import CoffretTrust
internal import CoffretWire
internal import Glibc

/// Syncs a vault, and keeps it open for reading. Not Sendable: one isolation domain at a time.
package final class VaultSyncer {
    /// A vault is opened anew so often in one sync, with keys that came.
    private static let openingCountMax = 8

    package let record: VaultRecord
    let store: Store
    let server: String
    private let transport: any LogTransport & FileTransport & ChunkListTransport
    let clock: any WallClock
    /// Open for reading, with the keys that were here when it was opened last.
    private(set) var vault: Vault
    /// Seals and opens letters of vaults that several people have; nil: the account has none.
    let people: (any VaultPeople)?
    /// When this process looked last for members without a key.
    private var lookedForLetters: Milliseconds?
    private static let letterInterval: Milliseconds = 600_000
    /// Sends keys that were made for an epoch to the account's other devices.
    private let sendKeys: (VerifiedDeviceChain) throws -> Void
    /// Other vaults of which entries here state something that is not there: a sync of them has more to say.
    private var statedVaults: Set<VaultID> = []

    /// Opens the vault.
    ///
    /// - Parameters:
    ///   - server: the address that the memory is kept under; another one begins anew.
    ///   - sendKeys: called with the account's chain as the sync has followed it, before a link goes that commits to a key.
    /// - Throws: a `CoreError` as opening it for writing does, for a store that this machine does not remember or remembers
    ///   as newer: what it would say to others is not for a copy to say.
    package init(
        _ store: Store, _ record: VaultRecord, server: String,
        transport: any LogTransport & FileTransport & ChunkListTransport, clock: any WallClock,
        people: (any VaultPeople)? = nil, sendKeys: @escaping (VerifiedDeviceChain) throws -> Void
    ) throws {
        self.store = store
        self.record = record
        self.server = server
        self.transport = transport
        self.clock = clock
        self.people = people
        self.sendKeys = sendKeys
        vault = try store.openVault(record.vaultID.hex, isWritable: false, admitsOlderChains: true)
        try store.checkIsPresent(vault)
    }

    /// Whether something is here and not on the server, as far as the last sync has seen; picks up what others wrote.
    package var hasUnsent: Bool {
        get throws {
            try refresh()
            return try !Self.unsentEntries(of: vault).isEmpty
        }
    }

    /// Makes the search index where that takes long; any other is made or brought up to date by who asks it.
    package func makeIndex() throws {
        if try vault.isIndexFarOff() { try vault.synchronizeIndex() }
    }

    /// Picks up what others wrote. Under a key that came since, that is read by who is opened anew.
    private func refresh() throws {
        if try store.keyring.vaultKeys(for: record.vaultID).epochs == vault.repository.keys.epochs {
            do throws(StorageError) {
                try vault.repository.refresh()
                return
            } catch {
                // Entries look damaged that another process sealed under a key which this one has not read yet.
                guard error.code == .journalDamagedSegment else { throw error }
            }
        }
        vault.close()
        vault = try store.openVault(record.vaultID.hex, isWritable: false)
    }

    package func takeStatedVaults() -> Set<VaultID> {
        defer { statedVaults = [] }
        return statedVaults
    }

    // MARK: Syncing

    /// Brings the vault and its zone together.
    ///
    /// - Parameters:
    ///   - patienceMilliseconds: how long another sync of the vault is waited for.
    ///   - progress: called again and again.
    ///   - fileProgress: called while files of attachments are sent.
    /// - Throws: a `SyncError`, `.busy` if another process syncs the vault; a `CoreError`.
    package func sync(
        _ options: SyncOptions = SyncOptions(), patienceMilliseconds: Int = 60_000,
        progress: @escaping (SyncProgress) -> Void = { _ in },
        fileProgress: @escaping (FileProgress) -> Void = { _ in }
    ) throws -> SyncReport {
        let lock = try SyncLock.take(
            store.layout.vaultPath(record.vaultID), store.fileSystem, patienceMilliseconds: patienceMilliseconds)
        defer { lock.giveBack() }
        try refresh()
        let before = try ConflictCount(vault)
        var report = SyncReport()
        var (options, isDone) = (options, false)
        let looksForLetters = options.hurries || options.change != nil || isLetterLookDue
        for attempt in 1...Self.openingCountMax {
            let writer = try store.openVault(record.vaultID.hex, isWritable: true, admitsOlderChains: true)
            defer { writer.close() }
            let run = try ZoneRun(self, writer, transport, options, progress, fileProgress)
            if attempt == 1 { try run.begin() }
            let logs = try run.sync(&report, looksForLetters: looksForLetters)
            if logs.changeNumber != nil { (options.change, options.shown, isDone) = (nil, nil, true) }
            guard !logs.changedKeys else { continue }
            // Another link was due first.
            if options.change != nil, logs.linkCount > 0 { continue }
            if let change = options.change { throw Self.obstacle(to: change, logs) }
            let missing = Self.missingKey(logs)
            if missing == nil { try run.settlePurges(logs, &report) }
            if let waiting = missing ?? Self.dueKey(logs) {
                // A wish that was done is no failure; the next sync says what waits.
                guard isDone else { throw waiting }
                break
            }
            if options.acknowledges { try audit(run, options, &report) }
            if looksForLetters { lookedForLetters = clock.now }
            try spreadHeads(of: writer)
            report.version = try writer.stateVersion
            break
        }
        if options.change != nil { throw SyncError(.contended) }
        if report.receivedEntryCount > 0 {
            try refresh()
            report.conflictedItemCount = try before.added(in: vault)
        }
        return report
    }

    private var isLetterLookDue: Bool {
        guard let lookedForLetters else { return true }
        return !(0..<Self.letterInterval ~= clock.now &- lookedForLetters)
    }

    /// Which key is not here that others have.
    private static func missingKey(_ logs: LogReport) -> SyncError? {
        if logs.awaitsKey { return SyncError(.keyAwaited) }
        // The newest key is here, and an older one is not: the next epoch brings it.
        return logs.waitingLinks?.code == .keyMissing ? SyncError(.historyDiffers) : nil
    }

    /// Why the key that is due was not made.
    private static func dueKey(_ logs: LogReport) -> SyncError? {
        guard logs.isEpochStale else { return nil }
        // The new key cannot be written before a word is said, and the error names the one who has to say it.
        return logs.waitsForWord.map { SyncError(.memberUnconfirmed, at: $0.account.hex) } ?? SyncError(.epochStale)
    }

    /// Why what a person wanted of the members was not done.
    private static func obstacle(to change: MemberChange, _ logs: LogReport) -> SyncError {
        if let waiting = logs.waitsForWord { return SyncError(.memberUnconfirmed, at: waiting.account.hex) }
        if logs.awaitsKey { return SyncError(.keyAwaited) }
        if logs.isOverLimit {
            return SyncError(.changeWaits, at: "the server takes 60 new people and 20 new keys of one account in a day")
        }
        guard let role = logs.role else { return SyncError(.memberUnknown) }
        if role == .viewer, !change.standsAlone { return SyncError(.roleViewer) }
        return SyncError(.changeWaits, at: logs.obstacle.map { "\($0)" } ?? logs.waitingLinks.map { "\($0)" })
    }

    /// Looks at the words of the other devices and says the own one; then what was dropped may be collected.
    private func audit(_ run: ZoneRun, _ options: SyncOptions, _ report: inout SyncReport) throws {
        let audit = try run.audit(speaksAnew: options.acknowledgesAnew, &report)
        if audit.isCopy {
            // The log is left, and written again what only this copy has.
            try LogCopies.note(in: run.vault.repository)
            report.isCopy = true
            _ = try run.sync(&report)
            return
        }
        report.sweep = run.collect(audit)
    }

    func send(_ chain: VerifiedDeviceChain) throws { try sendKeys(chain) }

    // MARK: Other vaults

    /// Notes the head for entries of the other vaults, and hands on what entries here state of them.
    private func spreadHeads(of writer: Vault) throws {
        let repository = writer.repository
        guard case let synced = try store.allVaults.filter({ $0.kind == .synced }), synced.count > 1 else { return }
        if let seen = try LogStatements.witnessed(in: repository) { try store.noteZoneHead(seen, time: clock.now) }
        var handed: [WitnessReport] = []
        for (vaultID, reports) in Dictionary(grouping: LogStatements.unchecked(in: repository), by: \.head.vaultID) {
            guard let other = synced.first(where: { $0.vaultID == vaultID }) else {
                handed += reports
                continue
            }
            // Somebody syncs it just now, or it does not open: with the next sync of this one.
            guard let isNews = try? hand(reports, to: other) else { continue }
            if isNews { statedVaults.insert(vaultID) }
            handed += reports
        }
        if !handed.isEmpty { try LogStatements.forget(handed, in: repository) }
    }

    /// - Returns: whether that vault remembers something of it, so that a sync of it has more to say.
    private func hand(_ reports: [WitnessReport], to other: VaultRecord) throws -> Bool {
        // A sync under way writes the memory that it began with.
        let lock = try SyncLock.take(store.layout.vaultPath(other.vaultID), store.fileSystem, patienceMilliseconds: 0)
        defer { lock.giveBack() }
        let writer = try store.openVault(other.vaultID.hex, isWritable: true)
        defer { writer.close() }
        guard LogMemory(of: writer.repository).server == server else { return false }
        var isNews = false
        for report in reports where try LogStatements.hand(report, to: writer.repository, now: clock.now) {
            isNews = true
        }
        return isNews
    }

    // MARK: Files

    /// Fetches the files of the present that are not here, small ones first.
    ///
    /// - Parameters:
    ///   - transport: may be another one than changes go by.
    ///   - hasRoom: whether so many bytes more may lie on this disk.
    /// - Returns: the outcome, with the wrong ones among them.
    /// - Throws: a `SyncError`: `.diskFull`, `.fileInterrupted` and failures that concern all; what came by then stays.
    package func fetchFiles(
        through transport: any FileTransport, hasRoom: @escaping (_ byteCount: Int) -> Bool,
        progress: @escaping (FileProgress) -> Void
    ) throws -> FileTally {
        try refresh()
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
}

/// Items in conflict before a sync.
private struct ConflictCount {
    private let mark: StateMark
    /// Nil where no index tells, as before a first sync: no sync waits for all items to be read.
    private let known: Set<EntityID>?

    init(_ vault: Vault) throws {
        mark = try vault.presentMark()
        known = try vault.isIndexUnmade() ? nil : Set(vault.conflictedItems().map(\.id))
    }

    /// Items that are in conflict since; where no index told before, those in conflict that changed.
    func added(in vault: Vault) throws -> Int {
        guard let known else { return try vault.conflictedItems(since: mark).count }
        return try vault.conflictedItems().count { !known.contains($0.id) }
    }
}

/// One sync of a vault at a time, among all processes; apart from the writer's lock, so that commands go on meanwhile.
package struct SyncLock {
    private static let pauseMilliseconds = 10
    private let file: any OpenFile

    private init(file: any OpenFile) { self.file = file }

    /// - Throws: a `SyncError` `.busy` after the patience.
    package static func take(
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

    package func giveBack() { try? file.unlock() }
}
