// A vault's facts with their history, on disk. The one thing to keep true: what a call returned for is in the journal; what
// is in memory follows from the journal, the chains and nothing else, and is thrown away when a step of it fails.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

/// The histories of one vault on one device (Spec/history.md): read, written in entries, received from others.
///
/// Not Sendable: one isolation domain owns it. One process writes at a time; readers in other processes see complete
/// entries, and newer ones after `refresh()`.
package final class LogRepository {
    package typealias Machine = HistoryMachine<DiskHistoryStore>

    /// The vault whose histories these are, and its keys.
    package let keys: VaultKeys
    package private(set) var author: LogAuthor
    /// When trees are stored; may be changed at any time.
    package var policy = LocalCheckpointPolicy.shortLived
    package private(set) var chains: VaultChains

    /// Gives the newest chains that are kept; asked whenever the state is read from the journal, which may be of another
    /// process that had followed more. Nil: those that the repository was opened with.
    package var readChains: (() throws(StorageError) -> VaultChains)?
    /// Gives the accounts as the chains beside the vault have them, which `readChains` may be ahead of; nil, or without an
    /// answer: they are the same.
    package var readKeptAccounts: (() -> [ChainID: AccountDevices]?)?
    /// The accounts by which the entries behind the kept state were judged. Before others are kept beside the vault the
    /// state is stored, so that what was applied stays so (K4).
    package private(set) var keptAccounts: [ChainID: AccountDevices]

    /// Words about other vaults for own entries (E9); nil: none.
    package var statements: (any LogStatementSource)?
    /// Checkpoints of the server's log for own entries; nil: none.
    package var keyLogNotes: (any KeyLogNoteSource)?

    let blobs: BlobStore
    let files: LogFiles
    private let environment: StorageEnvironment
    var random: any RandomSource { environment.random }
    var clock: any WallClock { environment.clock }
    var notify: (StorageNotice) -> Void { environment.notify }
    /// Whether a key's shape is text: such values are compressed (Z1) and merged.
    let isText: (FactKey) -> Bool
    private(set) lazy var cutter = ValueCutter(keys: keys)
    /// Nil before the first question, and after a step that failed.
    private var loaded: Loaded?
    /// Damage was met: what is derived is made anew by who loads next. Once; what is damaged then is for `fsck`.
    private var isIndexInDoubt = false
    private var wasRebuilt = false
    /// Counted for the last sync; the next one goes on from there.
    var countedBehindBase: CountedBytes?

    /// What follows from the journal and the chains.
    struct Loaded {
        var machine: Machine
        var own: OwnLog?
        /// Links whose purge a person at this device refused.
        var refusedPurges: Set<Int> = []
        /// Changes and bytes of the entries behind the local checkpoint.
        var changeCount = 0
        var byteCount = 0
        /// Whether something is to be stored that no entry says.
        var isAhead = false
        /// Fewer links are here than the stored state had taken: it is made for who follows them, and never stored.
        var isBehind = false
    }

    init(
        blobs: BlobStore, keys: VaultKeys, author: LogAuthor, chains: VaultChains, environment: StorageEnvironment,
        isText: @escaping (FactKey) -> Bool
    ) {
        self.blobs = blobs
        self.keys = keys
        self.author = author
        self.chains = chains
        keptAccounts = chains.accounts
        self.isText = isText
        self.environment = environment
        files = LogFiles(blobs: blobs, keys: keys)
    }

    // MARK: Steps of the rules

    /// Runs steps of the rules. A failure of the store throws all of memory away; the next step goes on from the journal.
    ///
    /// What a step changes is in memory until `checkpoint`. Entries are put in by `commit` and `receive` alone.
    package func step<Result>(_ body: (inout Machine) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try change { (loaded) throws(StorageError) in
            loaded.isAhead = true
            return try body(&loaded.machine)
        }
    }

    /// Asks the rules.
    package func ask<Result>(_ body: (inout Machine) throws(StorageError) -> Result) throws(StorageError) -> Result {
        try change { (loaded) throws(StorageError) in try body(&loaded.machine) }
    }

    func change<Result>(_ body: (inout Loaded) throws(StorageError) -> Result) throws(StorageError) -> Result {
        if loaded == nil { loaded = try load() }
        do throws(StorageError) {
            guard loaded != nil else { throw StorageError(.unusable, place: blobs.directory) }
            return try body(&loaded!)
        } catch {
            isIndexInDoubt = isIndexInDoubt || error.isDamage
            loaded = nil
            throw error
        }
    }

    /// The same vault over other open files, to read.
    func over(_ blobs: BlobStore) throws(StorageError) -> LogRepository {
        let other = LogRepository(
            blobs: blobs, keys: keys, author: author, chains: chains, environment: environment, isText: isText)
        (other.readChains, other.readKeptAccounts) = (readChains, readKeptAccounts)
        return other
    }

    /// Forgets what is in memory; the next step reads it from the journal.
    func reload() { loaded = nil }

    func adopt(_ fresh: Loaded) { loaded = fresh }

    private func load() throws(StorageError) -> Loaded {
        let newest = try readChains?() ?? chains
        let kept = newest.accounts.merging(readKeptAccounts?() ?? [:]) { $1 }
        chains = VaultChains(accounts: kept, members: newest.members)
        keptAccounts = chains.accounts
        let rebuilds = isIndexInDoubt && !wasRebuilt
        isIndexInDoubt = false
        wasRebuilt = wasRebuilt || rebuilds
        var fresh = try load(rebuildsIndex: rebuilds)
        if newest.accounts != chains.accounts {
            chains = newest
            fresh.machine.follow(accounts: newest.accounts, chain: newest.members)
            try fresh.machine.update()
            fresh.isAhead = true
        }
        fresh.isBehind = chains.members.count < keptLinkCount
        return fresh
    }

    // MARK: Chains and syncs

    /// Learns of newer chains, and takes the links that may be taken (K7). The state is brought up to date.
    ///
    /// - Parameter deviceHead: the newest link of the own device chain, which own entries state from now on; nil: as before.
    package func follow(_ newer: VaultChains, deviceHead: ChainPosition? = nil) throws(StorageError) {
        if let deviceHead { author = author.with(deviceHead) }
        try learn(newer) { (machine) throws(StorageError) in
            machine.follow(accounts: newer.accounts, chain: newer.members)
            try machine.update()
        }
    }

    func learn(
        _ newer: VaultChains, _ body: (inout Machine) throws(StorageError) -> Void
    ) throws(StorageError) {
        (chains, keptAccounts) = (newer, newer.accounts)
        if loaded?.isBehind == true, newer.members.count >= keptLinkCount { reload() }
        try step(body)
    }

    /// Brings base and state up to date with all that came (C4 to C9). Once in a sync, before `checkpoint`.
    ///
    /// - Returns: the root of a tree that is to be taken and is not whole here: once it is, settle again.
    @discardableResult
    package func settle(
        now: Milliseconds, isCollected: (Int) -> Bool = { _ in false }
    ) throws(StorageError) -> BlobName? {
        try step { (machine) throws(StorageError) in
            var failure: StorageError?
            try machine.settle(now: now, isCollected: isCollected) { root in
                do throws(StorageError) { return try missingNames(ofTree: root).isEmpty } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
            return machine.wantedTree
        }
    }

    /// Bytes of the sync, as they were remembered last.
    package var syncMemory: [UInt8] { blobs.state.memory }

    /// Remembers bytes of the sync; costs less than 300 bytes more than they have.
    ///
    /// - Parameters:
    ///   - memory: at most 64 KiB.
    ///   - kept: blobs that the sync reads again, until the next compaction.
    package func remember(_ memory: [UInt8], keeping kept: [WrittenBlob] = []) throws(StorageError) {
        guard memory != syncMemory || !kept.isEmpty else { return }
        var state = blobs.state
        state.memory = memory
        try transact { (transaction) throws(StorageError) in
            for blob in kept { try transaction.writeSealed(blob.sealed, name: blob.name) }
            try transaction.commit(state: state, isCheckpoint: false)
        }
    }

    /// The newest keyring generation recorded in this vault, 0 if none was.
    package var recordedKeyringGeneration: UInt64 { blobs.state.keyringGeneration }

    /// Records a keyring generation, so that an older keyring put back is noticed.
    package func recordKeyringGeneration(_ generation: UInt64) throws(StorageError) {
        var state = blobs.state
        state.keyringGeneration = generation
        try transact { (transaction) throws(StorageError) in
            try transaction.commit(state: state, isCheckpoint: false)
        }
    }

    /// Picks up what other processes wrote.
    ///
    /// - Returns: whether anything is new.
    @discardableResult
    package func refresh() throws(StorageError) -> Bool {
        let before = blobs.state
        guard try blobs.refresh() else { return false }
        try goOn(from: before)
        return true
    }

    /// Gives the writer's lock back for as long as something else is waited for, such as an answer; `resume` takes it again.
    /// Meanwhile it may be read.
    package func rest() { blobs.rest() }

    /// Takes the writer's lock again, and picks up what other processes wrote.
    ///
    /// - Throws: as `open`; it rests then.
    package func resume(lockTimeoutMilliseconds: Int) throws(StorageError) {
        let before = blobs.state
        if try blobs.resume(lockTimeoutMilliseconds: lockTimeoutMilliseconds) { try goOn(from: before) }
    }

    private func goOn(from before: RepositoryState) throws(StorageError) {
        let now = blobs.state
        guard now.kept == before.kept, now.entries.starts(with: before.entries) else { return reload() }
        guard loaded != nil else { return }
        try change { (loaded) throws(StorageError) in
            try takeTail(Array(now.entries.dropFirst(before.entries.count)), into: &loaded)
        }
    }

    // MARK: Files

    /// Nodes of trees of facts that were read as blobs, for tests of costs.
    package var nodeReadCount: Int { files.facts.nodeReadCount }
    /// Entries and nodes of trees that were read as blobs, for tests of costs.
    package var readCount: Int { files.entryReadCount + files.indexes.nodeReadCount + files.facts.nodeReadCount }

    package var isWritable: Bool { blobs.isWritable && author.signingKey != nil }
    package var directory: String { blobs.directory }
    /// Bytes of all transactions since the last compaction.
    package var journalByteCount: Int { blobs.journalByteCount }
    /// The number of the last complete transaction, which only grows.
    package var journalPosition: UInt64 { blobs.lastSequence }

    /// Calls `body` with that number after each transaction of this repository, once it is durable.
    package func onDurable(_ body: @escaping (UInt64) -> Void) { blobs.onDurable = body }

    /// Gives the writer's lock back; nothing acknowledged waits for this.
    package func close() { blobs.close() }

    /// - Throws: `.readOnly`; `.unusable` after a failed write, until the vault is opened anew.
    func requireWriter() throws(StorageError) {
        if !blobs.isWritable { try blobs.begin().cancel() }
    }

    /// Runs `body` in a transaction, which it commits; cancels it if `body` throws.
    func transact<Result>(_ body: (BlobTransaction) throws(StorageError) -> Result) throws(StorageError) -> Result {
        let transaction = try blobs.begin()
        do throws(StorageError) {
            return try body(transaction)
        } catch {
            transaction.cancel()
            throw error
        }
    }
}

extension StorageError {
    /// Whether blobs that should be here are not, or are none.
    var isDamage: Bool {
        switch code {
        case .blobMissing, .blobAuthenticationFailed, .treeMalformedNode: true
        default: false
        }
    }
}
