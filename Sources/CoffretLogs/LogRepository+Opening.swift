// Opening. The one thing to keep true: it reads the last local checkpoint and what came behind it, and nothing that grows
// with the history; what does not fit is made anew from the entries.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
package import CoffretStorage

extension LogRepository {
    /// Makes an empty vault in `directory` and opens it for writing.
    ///
    /// - Parameter isText: whether a key's shape is text; the same for all programs that open the vault.
    /// - Throws: `.alreadyExists`, `.lockBusy`, `.diskFull`, `.fileFailed`.
    package static func create(
        directory: String, keys: VaultKeys, author: LogAuthor, chains: VaultChains, environment: StorageEnvironment,
        isText: @escaping (FactKey) -> Bool
    ) throws(StorageError) -> LogRepository {
        let blobs = try BlobStore.create(
            directory: directory, keys: keys, environment: environment, state: RepositoryState())
        return LogRepository(
            blobs: blobs, keys: keys, author: author, chains: chains, environment: environment, isText: isText)
    }

    /// Opens the vault in `directory`.
    ///
    /// - Throws: what `BlobStore.open` throws.
    package static func open(
        directory: String, keys: VaultKeys, author: LogAuthor, chains: VaultChains, mode: BlobStore.Mode,
        environment: StorageEnvironment, damagedTail: DamagedTailPolicy = .refuse,
        isText: @escaping (FactKey) -> Bool
    ) throws(StorageError) -> LogRepository {
        let blobs = try BlobStore.open(
            directory: directory, keys: keys, environment: environment, mode: mode, damagedTail: damagedTail)
        return LogRepository(
            blobs: blobs, keys: keys, author: author, chains: chains, environment: environment, isText: isText)
    }

    /// How many links of the member chain this copy had taken when it last stored its state. Whoever opens it with fewer has
    /// an old copy of the chains, and would forget what links closed.
    package var keptLinkCount: Int {
        guard let state = try? KeptState(decoding: blobs.state.kept) else { return 0 }
        return Int(state.machine.takenCount)
    }

    /// What follows from the journal: the kept state, and the entries behind it.
    ///
    /// - Parameter rebuildsIndex: the indexes are made anew from the blobs, which reads all of them.
    func load(rebuildsIndex: Bool) throws(StorageError) -> Loaded {
        let logs = blobs.state
        if !rebuildsIndex {
            do throws(StorageError) {
                if let fresh = try resume(logs, DiskHistoryStore(files: files)) { return fresh }
            } catch {
                guard error.isDamage else { throw error }
            }
        }
        notify(StorageNotice(.indexRebuilt, place: directory))
        return try rebuild(logs)
    }

    /// - Parameter empty: a store for a state that keeps nothing yet.
    /// - Returns: nil for a state that does not fit.
    private func resume(
        _ logs: RepositoryState, _ empty: DiskHistoryStore
    ) throws(StorageError) -> Loaded? {
        var fresh: Loaded
        if logs.kept.isEmpty {
            fresh = Loaded(machine: newMachine(empty))
        } else {
            guard let kept = try? KeptState(decoding: logs.kept) else { return nil }
            let store = DiskHistoryStore(
                files: files, index: LogIndex(trees: files.indexes, tree: files.indexes.stored(kept.index)),
                items: ItemIndex(trees: files.indexes, tree: files.indexes.stored(kept.items)),
                tree: files.facts.stored(kept.facts))
            guard var machine = try resumed(kept, over: store) else { return nil }
            machine.store.start = kept.start(in: machine)
            fresh = Loaded(machine: machine, own: kept.own, refusedPurges: kept.refusedPurges)
        }
        try takeTail(logs.entries, into: &fresh)
        return fresh
    }

    private func resumed(_ kept: KeptState, over store: DiskHistoryStore) throws(StorageError) -> Machine? {
        let result = try Machine.resumed(
            from: kept.machine, store: store, account: author.accountID, device: author.deviceID,
            accounts: chains.accounts, chain: chains.members)
        guard case .success(var machine) = result else { return nil }
        machine.follow(accounts: chains.accounts, chain: chains.members)
        return machine
    }

    private func newMachine(_ store: DiskHistoryStore) -> Machine {
        var machine = Machine(store: store, account: author.accountID, device: author.deviceID)
        machine.follow(accounts: chains.accounts, chain: chains.members)
        return machine
    }

    /// Takes entries that lie in the journal behind the kept state. One with the number of another that is here comes behind
    /// what was applied before it (K6).
    func takeTail(_ names: [BlobName], into loaded: inout Loaded) throws(StorageError) {
        var taken: [BlobName] = []
        for name in names {
            guard let entry = try files.entry(named: name) else {
                throw StorageError(.blobMissing, place: name.description)
            }
            let byteCount = try blobs.readBlob(name, type: .entry) { (content) throws(StorageError) in content.count }
            if try !loaded.machine.store.entries(at: entry.dot).isEmpty {
                try loaded.machine.receive(taken)
                try loaded.machine.update()
                taken = []
            }
            try loaded.machine.store.put(entry, byteCount: byteCount)
            loaded.changeCount += try files.changes(of: entry).count
            loaded.byteCount += byteCount
            taken.append(name)
            if loaded.own?.instance == entry.instance { loaded.own?.said.merge(entry.body.seen) }
        }
        try loaded.machine.receive(taken)
        try loaded.machine.update()
    }

    // MARK: Making anew

    /// Indexes from all entries that lie here, and the state from what is kept, or else from the entries.
    ///
    /// Which entries were applied follows from the kept frontier. What was dropped is known as far as the index of before can
    /// be read; where an entry comes again of which it is not, it is dropped again.
    private func rebuild(_ logs: RepositoryState) throws(StorageError) -> Loaded {
        var store = try DiskHistoryStore(files: files)
        var entries: [(entry: VerifiedEntry, byteCount: Int)] = []
        try blobs.forEachBlob(type: .entry) { (name, content) throws(StorageError) in
            // A blob that is damaged is for fsck.
            guard let entry = try files.readable(content, name: name) else { return }
            entries.append((entry, content.count))
        }
        for (entry, byteCount) in entries { try store.put(entry, byteCount: byteCount) }
        let tail = Set(logs.entries)
        let kept = try? KeptState(decoding: logs.kept)
        if let kept {
            let behind = entries.filter { !tail.contains($0.entry.name) }.map(\.entry)
            try store.noteApplied(behind, upTo: kept.machine.appliedMarks)
            try store.begin(atTree: kept.facts)
        }
        var fresh: Loaded
        if let kept, var machine = try stillResumed(kept, over: store) {
            machine.store.start = kept.start(in: machine)
            try machine.store.takeDropped(of: kept)
            fresh = Loaded(machine: machine, own: kept.own, refusedPurges: kept.refusedPurges)
            try takeTail(logs.entries, into: &fresh)
        } else {
            try store.begin(atTree: nil)
            fresh = Loaded(machine: newMachine(store), own: kept?.own, refusedPurges: kept?.refusedPurges ?? [])
            try fresh.machine.receive(entries.map(\.entry.name))
            try fresh.machine.settle(now: clock.now) { _ in false }
        }
        fresh.isAhead = true
        return fresh
    }

    /// As `resumed`; nil also where a tree is damaged.
    private func stillResumed(_ kept: KeptState, over store: DiskHistoryStore) throws(StorageError) -> Machine? {
        do throws(StorageError) {
            // The whole tree is read: damage that is met later would lead here again.
            guard try store.summary(ofTree: kept.facts) == kept.machine.summary else { return nil }
            return try resumed(kept, over: store)
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }
}
