// What comes from others. The one thing to keep true: an entry is kept together with all that it refers to and with the
// memory of the sync that brought it, in one transaction, and only after its signature was checked.

internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage

/// One batch of a sync in the making. End it with `finish` or `cancel`.
///
/// Order: what entries refer to (contexts, values, trees of changes), then the entries.
package final class LogReceiving {
    private let repository: LogRepository
    private let transaction: BlobTransaction
    private let tips: Set<BlobName>
    private var allowance: UnappliedAllowance
    private var entries: [(entry: VerifiedEntry, byteCount: Int)] = []
    private var taken: Set<BlobName> = []
    /// An entry was left for lack of room (section 16); it may be wanted later.
    package private(set) var leftSome = false

    init(repository: LogRepository, transaction: BlobTransaction) throws(StorageError) {
        self.repository = repository
        self.transaction = transaction
        (tips, allowance) = try repository.ask { (machine) throws(StorageError) in
            (machine.tips, try machine.unappliedAllowance())
        }
    }

    /// Stores a blob that `LogRepository.exchange` opened, as it lies; does nothing if it is here.
    package func write(_ blob: SealedBlob, name: BlobName) throws(StorageError) {
        try transaction.writeSealed(blob, name: name)
    }

    /// Whether an entry is to be kept: the base does not cover it, it was not deleted for good, and its device has room
    /// (section 16). One that is not stays at the server.
    ///
    /// - Parameter byteCount: of its content.
    package func takes(_ entry: SignedEntry, byteCount: Int) throws(StorageError) -> Bool {
        let entry = VerifiedEntry(entry)
        guard !taken.contains(entry.name) else { return false }
        if try repository.ask({ (machine) throws(StorageError) in try machine.store.entry(named: entry.name) }) != nil {
            return false
        }
        let isWanted = try repository.ask { (machine) throws(StorageError) in
            try machine.takes(entry, tips: tips)
        }
        guard isWanted else { return false }
        let hasRoom = allowance.admits(entry, byteCount: byteCount)
        leftSome = leftSome || !hasRoom
        return hasRoom
    }

    /// Reads an entry, over its context in this batch or here.
    ///
    /// - Throws: `HistoryError`; with the `StorageError` as cause for a context that did not come.
    package func read(_ content: [UInt8], name: BlobName) throws(HistoryError) -> UnverifiedEntry {
        try UnverifiedEntry.decode(content, name: name) { (name) throws(HistoryError) in try context(named: name) }
    }

    /// The context of that name.
    package func context(named name: BlobName) throws(HistoryError) -> EntryContext {
        let content: [UInt8]
        do throws(StorageError) { content = try transaction.blobBytes(name, type: .entryContext) } catch {
            throw HistoryError(.entryMalformed, place: name.description, cause: error)
        }
        return try EntryContext.decode(content, name: name)
    }

    /// What an entry leads to and is neither in this batch nor here; lists and trees that come tell more.
    ///
    /// - Throws: `.treeMalformedNode`, `.factMalformedValue`, `.blobAuthenticationFailed` for what is no entry's.
    package func missingNames(of entry: SignedEntry) throws(StorageError) -> [BlobName] {
        var missing = MissingNames(reader: transaction, repository: repository)
        return try missing.names(of: entry.body)
    }

    /// Keeps an entry, or a bare form (E10), whose blob and context were written to this batch or are here.
    ///
    /// - Throws: `.blobMissing` for an entry whose context or tree of changes did not come; `.treeMalformedNode` for a tree
    ///   that is not this entry's: the entry is as if it were not there.
    package func take(_ signed: SignedEntry, byteCount: Int) throws(StorageError) {
        let entry = VerifiedEntry(signed)
        for name in [entry.name, entry.body.context] where try !transaction.containsBlob(name) {
            throw StorageError(.blobMissing, place: name.description)
        }
        if case .tree(let root, _) = entry.body.changes {
            let trees = FactTrees(reader: transaction, keys: repository.keys, allowsRetractions: true)
            _ = try trees.changes(in: root) { _ in (entry.dot, entry.height) }
        }
        repository.files.remember(entry.context, name: entry.body.context)
        taken.insert(entry.name)
        entries.append((entry, byteCount))
    }

    /// Makes the batch durable, and applies what is ready. `LogRepository.settle` looks at checkpoints.
    ///
    /// - Parameter memory: bytes of the sync from now on; nil: as they are.
    /// - Throws: what transactions throw; then nothing of the batch is here, and `cancel` is due.
    package func finish(memory: [UInt8]? = nil) throws(StorageError) {
        var state = repository.blobs.state
        for (entry, _) in entries { state.entries.append(entry.name) }
        if let memory { state.memory = memory }
        try transaction.commit(state: state, isCheckpoint: false)
        repository.take(entries)
    }

    /// Gives the batch up.
    package func cancel() { transaction.cancel() }
}

extension LogRepository {
    /// Blobs as they lie, for exchange with a server.
    package var exchange: any SealedBlobExchange { blobs }

    /// Begins a batch of a sync.
    package func beginReceiving() throws(StorageError) -> LogReceiving {
        try requireWriter()
        if blobs.state.entries.count >= policy.receivedCountMax { try checkpoint() }
        return try LogReceiving(repository: self, transaction: try blobs.begin())
    }

    /// Entries of others are durable. What cannot be followed in memory now is read by who asks next.
    func take(_ entries: [(entry: VerifiedEntry, byteCount: Int)]) {
        do throws(StorageError) {
            try change { (loaded) throws(StorageError) in
                for (entry, byteCount) in entries {
                    try loaded.machine.store.put(entry, byteCount: byteCount)
                    loaded.changeCount += try max(files.changes(of: entry).count, 1)
                    loaded.byteCount += byteCount
                }
                try loaded.machine.receive(entries.map(\.entry.name))
                try loaded.machine.update()
            }
        } catch {
            reload()
        }
    }

    /// The blobs that an entry leads to and its own, each before what refers to it: what a push sends, and what
    /// `LogReceiving` wants.
    ///
    /// - Parameter withBase: whether the base of a change's delta is named, too.
    /// - Throws: what reading blobs throws; `.blobMissing` for one that is not here.
    package func blobNames(
        of entry: VerifiedEntry, withBase: (Change) throws(StorageError) -> Bool = { _ in true }
    ) throws(StorageError) -> [BlobName] {
        var names: [BlobName] = []
        var seen: Set<BlobName> = []
        func meet(_ name: BlobName) -> Bool {
            guard seen.insert(name).inserted else { return false }
            names.append(name)
            return true
        }
        try walk(entry, withBase: withBase, visit: meet)
        return names.reversed()
    }

    /// Names an entry, and then all that it leads to. `visit` says whether a name was new.
    func walk(
        _ entry: VerifiedEntry, withBase: (Change) throws(StorageError) -> Bool = { _ in true },
        visit: (BlobName) -> Bool
    ) throws(StorageError) {
        guard visit(entry.name) else { return }
        _ = visit(entry.body.context)
        if case .tree(let root, _) = entry.body.changes {
            try files.changes.walk(files.changes.stored(root), visit: visit) { (_) throws(StorageError) in }
        }
        for change in try files.changes(of: entry) {
            try walk(change.content, under: change.key, withBase: withBase(change), visit: visit)
        }
    }

    /// Names the blobs of a value, and of the base that a delta has. A base that is not here makes the value malformed, for
    /// everybody (Z5), and leads nowhere.
    func walk(
        _ content: ChangeContent, under key: FactKey, withBase: Bool = true, visit: (BlobName) -> Bool
    ) throws(StorageError) {
        if case .inBlobs(let value) = content {
            guard visit(value.name) else { return }
            try walkPieces(of: value, visit: visit)
        }
        guard withBase, isText(key), let stored = try files.storedValue(of: content, unstored: [:]),
            let base = ValueBase.name(behind: stored, name: nil),
            let whole = try ValueReader(reader: blobs, unstored: [:]).value(named: base), visit(base)
        else { return }
        try walkPieces(of: StoredValue(name: base, byteCount: whole.count), visit: visit)
    }

    /// The base of a change's delta (Z3), in a key of texts; nil: the value is no delta.
    package func baseName(of content: ChangeContent, under key: FactKey) throws(StorageError) -> BlobName? {
        guard isText(key), let stored = try storedValue(of: content) else { return nil }
        return ValueBase.name(behind: stored, name: nil)
    }

    private func walkPieces(of value: StoredValue, visit: (BlobName) -> Bool) throws(StorageError) {
        for blob in try ValueReader(reader: blobs, unstored: [:]).blobNames(of: value) { _ = visit(blob.name) }
    }
}
