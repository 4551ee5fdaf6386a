// A vault's blobs on disk. The one thing to keep true: whatever the process or the power does, opening
// finds the state of the last acknowledged transaction, and every read is verified.

internal import CoffretBase
package import CoffretCrypto

/// Blobs, one journal, one writer, any number of readers (`Spec/blob.md`, `Spec/journal.md`,
/// `Spec/pack.md`).
///
/// Not Sendable: one instance lives in one isolation domain. Several processes, or several instances,
/// may open the same directory: one of them for writing. A reader sees the transactions that were
/// complete when it opened or last called `refresh`.
package final class BlobStore: BlobRepositoryBackend {
    package enum Mode: Sendable {
        case readOnly
        /// Takes the writer's lock, waiting at most this long.
        case readWrite(lockTimeoutMilliseconds: Int)
    }

    let context: StorageContext
    let keys: VaultKeys
    let sealer: BlobSealer
    /// Nil for a reader, and for a writer that rests.
    private var lock: (any OpenFile)?
    private let damagedTail: DamagedTailPolicy
    let scratch = ScratchPool()

    var manifest: Manifest
    var active: ActiveSegment
    /// Journal and bulk segments in the order of lookup: newest first.
    private(set) var segmentEntries: [Manifest.SealedEntry] = []
    /// The pack that may hold an address, by the address's first byte.
    private(set) var packByFirstByte: [Manifest.SealedEntry?] = []
    private var openFiles: [StorageFileID: SealedFile] = [:]

    /// Whether a transaction is under way.
    var isInTransaction = false
    /// Set after a failure that leaves open what is on disk; the store must be opened anew.
    var isBroken = false

    package var state: RepositoryState { staging?.state ?? active.state }
    /// Transactions that become visible as one.
    var staging: Staging?
    package var isWritable: Bool { lock != nil && !isBroken }
    package var directory: String { context.directory }
    /// Where the journal segment in use ends; grows with each transaction, starts anew in each segment.
    package var journalEndOffset: Int { active.endOffset }
    /// The sequence of the last complete transaction.
    package var lastSequence: UInt64 { active.lastSequence }
    /// Hears of that after each transaction, once it is durable.
    package var onDurable: ((UInt64) -> Void)?

    private init(
        context: StorageContext, keys: VaultKeys, sealer: BlobSealer, lock: (any OpenFile)?,
        damagedTail: DamagedTailPolicy, manifest: Manifest, active: ActiveSegment
    ) {
        self.context = context
        self.keys = keys
        self.sealer = sealer
        self.lock = lock
        self.damagedTail = damagedTail
        self.manifest = manifest
        self.active = active
        adopt(manifest)
    }

    deinit { close() }

    /// Makes a store and opens it for writing.
    ///
    /// It is made under another name, `directory` with `.new` behind it, and gets its name when it is
    /// complete: a crash leaves a whole store or none. An empty directory may be there already.
    /// - Parameter state: what the first transaction says.
    /// - Throws: `.alreadyExists` if something is there, `.diskFull`, `.fileFailed`.
    package static func create(
        directory: String, keys: VaultKeys, environment: StorageEnvironment, state: RepositoryState = RepositoryState()
    ) throws(StorageError) -> BlobStore {
        let fileSystem = environment.fileSystem
        let building = StorageContext(
            directory: directory + ".new", environment: environment,
            authenticator: JournalAuthenticator(keys.journalKey))
        let parent = PathText.parent(of: directory)
        try translatingFileErrors { () throws(FileSystemError) in
            try fileSystem.makeDirectories(parent)
            try fileSystem.removeTree(building.directory)
            try fileSystem.makeDirectory(building.directory)
            for name in ["journal", "blobs", "files"] { try fileSystem.makeDirectory(building.path(name)) }
        }
        let active = try ActiveSegment.create(
            number: 1, firstSequence: 1, state: state, byteCount: environment.tuning.segmentByteCountMin,
            isClosed: true, context: building, sealer: BlobSealer(keys: keys))
        try translatingFileErrors(fileSystem.synchronizeDirectory(building.path("journal")))
        try Manifest(generation: 1, nextNumber: 2, activeSegment: active.number, sealed: []).write(building)
        do throws(FileSystemError) {
            if let status = try fileSystem.status(directory) {
                let isEmpty = status.kind == .directory ? try fileSystem.list(directory).isEmpty : false
                guard isEmpty else { throw FileSystemError(.notEmpty, place: directory) }
            }
            try fileSystem.rename(building.directory, to: directory)
        } catch {
            try? fileSystem.removeTree(building.directory)
            guard error.code == .notEmpty || error.code == .exists else { throw StorageError(file: error) }
            throw StorageError(.alreadyExists, place: directory, cause: error)
        }
        do throws(FileSystemError) {
            try fileSystem.synchronizeDirectory(parent)
        } catch {
            // The name may never become durable now; better no store than one that can vanish.
            try? fileSystem.rename(directory, to: building.directory)
            try? fileSystem.removeTree(building.directory)
            throw StorageError(file: error)
        }
        return try open(
            directory: directory, keys: keys, environment: environment, mode: .readWrite(lockTimeoutMilliseconds: 0))
    }

    /// Opens the store in `directory`. Reads the manifest, the active segment's first page and the
    /// transactions since the last checkpoint: nothing grows with the size of the store.
    ///
    /// - Throws: `.notFound`, `.lockBusy`, `.manifestDamaged`, `.journalDamagedSegment`,
    ///   `.journalDamagedTail`, `.formatUnsupported`, `.fileFailed`.
    package static func open(
        directory: String, keys: VaultKeys, environment: StorageEnvironment, mode: Mode,
        damagedTail: DamagedTailPolicy = .refuse
    ) throws(StorageError) -> BlobStore {
        let context = StorageContext(
            directory: directory, environment: environment, authenticator: JournalAuthenticator(keys.journalKey))
        let sealer = BlobSealer(keys: keys)
        var lock: (any OpenFile)?
        if case .readWrite(let timeoutMilliseconds) = mode {
            lock = try StoreLock.take(context, timeoutMilliseconds: timeoutMilliseconds)
        }
        let (manifest, active) = try load(
            context: context, sealer: sealer, isWriter: lock != nil, damagedTail: damagedTail)
        let store = BlobStore(
            context: context, keys: keys, sealer: sealer, lock: lock, damagedTail: damagedTail, manifest: manifest,
            active: active)
        if lock != nil { try store.makeFitForWriting() }
        return store
    }

    /// Manifest and active segment; once more if a writer replaced them between the two reads.
    private static func load(
        context: StorageContext, sealer: BlobSealer, isWriter: Bool, damagedTail: DamagedTailPolicy
    ) throws(StorageError) -> (Manifest, ActiveSegment) {
        var attempt = 0
        while true {
            let manifest = try Manifest.read(context)
            do throws(StorageError) {
                let active = try ActiveSegment.open(
                    number: manifest.activeSegment, isWriter: isWriter, damagedTail: damagedTail, context: context,
                    sealer: sealer)
                return (manifest, active)
            } catch {
                guard error.isFileGone else { throw error }
                attempt += 1
                guard attempt < 3 else {
                    throw StorageError(.journalDamagedSegment, place: error.place, cause: error.cause)
                }
            }
        }
    }

    /// Writes what makes the next opening quick, and gives the lock back. Nothing acknowledged waits
    /// for this: leaving it out costs time only.
    package func close() {
        context.pool.closeAll()
        guard isWritable else { return }
        active.writeHint(isClosed: true)
        isBroken = true
        try? lock?.unlock()
    }

    /// Gives the writer's lock back until `resume`. Meanwhile this is a reader.
    package func rest() {
        guard lock != nil, !isBroken else { return }
        precondition(!isInTransaction, "a transaction needs the lock")
        active.writeHint(isClosed: true)
        try? lock?.unlock()
        lock = nil
    }

    /// Takes the writer's lock again, and goes on from what others wrote meanwhile.
    ///
    /// - Returns: whether the state is another one.
    /// - Throws: as `open`; it rests then.
    package func resume(lockTimeoutMilliseconds: Int) throws(StorageError) -> Bool {
        guard lock == nil, !isBroken else { return false }
        let before = state
        let taken = try StoreLock.take(context, timeoutMilliseconds: lockTimeoutMilliseconds)
        do throws(StorageError) {
            let (manifest, active) = try Self.load(
                context: context, sealer: sealer, isWriter: true, damagedTail: damagedTail)
            lock = taken
            self.active = active
            adopt(manifest)
            try makeFitForWriting()
        } catch {
            lock = nil
            try? taken.unlock()
            throw error
        }
        return state != before
    }

    // MARK: Reading

    package func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        if let staging, let found = try staging.transaction.readOwn(name, type: type, body) { return found }
        var isDamaged = false
        for _ in 0..<2 {
            do throws(StorageError) {
                for epoch in sealer.epochsNewestFirst {
                    let address = sealer.address(of: name, epoch: epoch)
                    let found = try unsafe withSealedBlob(address, isDamaged: &isDamaged) {
                        (sealed) throws(StorageError) -> Result? in
                        try unsafe sealer.open(sealed, name: name, type: type) {
                            (_, content) throws(StorageError) -> Result in try body(content)
                        }
                    }
                    if let found { return found }
                }
                break
            } catch {
                // Compaction by another process took the file away: its manifest says where things are.
                guard error.isFileGone, try reloadAfterFileGone() else { throw error.asDamageIfGone }
            }
        }
        throw StorageError(isDamaged ? .blobAuthenticationFailed : .blobMissing, place: name.description)
    }

    package func blobBytes(_ name: BlobName, type: BlobType) throws(StorageError) -> [UInt8] {
        try readBlob(name, type: type) { (content) throws(StorageError) in content.copy(0..<content.count) }
    }

    package func containsBlob(_ name: BlobName) throws(StorageError) -> Bool {
        if let staging, try staging.transaction.holds(name) { return true }
        for epoch in sealer.epochsNewestFirst {
            if try contains(sealer.address(of: name, epoch: epoch)) { return true }
        }
        return false
    }

    /// Lends the stored blob at `address` from every place that has it, until `body` accepts one.
    func withSealedBlob<Result>(
        _ address: BlobAddress, isDamaged: inout Bool,
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        let buffer = scratch.take()
        defer { scratch.give(buffer) }
        var sawRejected = false
        func attempt(_ sealed: UnsafeRawBufferPointer) throws(StorageError) -> Result? {
            if let result = try unsafe body(sealed) { return result }
            sawRejected = true
            return nil
        }
        defer { if sawRejected { isDamaged = true } }
        if let result = try unsafe active.withSealedBlob(
            address, scratch: buffer, isDamaged: &isDamaged, attempt)
        {
            return result
        }
        for entry in segmentEntries {
            if let result = try unsafe openFile(entry).withSealedBlob(
                address, scratch: buffer, isDamaged: &isDamaged, attempt)
            {
                return result
            }
        }
        guard let pack = packByFirstByte[address.firstByte] else { return nil }
        return try unsafe openFile(pack).withSealedBlob(address, scratch: buffer, isDamaged: &isDamaged, attempt)
    }

    /// Whether a record with this address is there.
    func contains(_ address: BlobAddress) throws(StorageError) -> Bool { try location(of: address) != nil }

    /// Where the record with this address lies, in whatever file; nil if there is none.
    func location(of address: BlobAddress) throws(StorageError) -> RecordLocation? {
        try place(of: address)?.location
    }

    /// As above, with the file; no file means the segment that grows.
    func place(of address: BlobAddress) throws(StorageError) -> (file: SealedFile?, location: RecordLocation)? {
        for attempt in 0..<2 {
            do throws(StorageError) {
                if let location = try active.location(of: address) { return (file: nil, location: location) }
                for entry in segmentEntries {
                    let file = try openFile(entry)
                    if let location = try file.location(of: address) { return (file: file, location: location) }
                }
                guard let pack = packByFirstByte[address.firstByte] else { return nil }
                let file = try openFile(pack)
                guard let location = try file.location(of: address) else { return nil }
                return (file: file, location: location)
            } catch {
                guard attempt == 0, error.isFileGone, try reloadAfterFileGone() else { throw error.asDamageIfGone }
            }
        }
        return nil
    }

    func openFile(_ entry: Manifest.SealedEntry) throws(StorageError) -> SealedFile {
        if let file = openFiles[entry.id] { return file }
        let file = try SealedFile(entry, context: context)
        openFiles[entry.id] = file
        return file
    }

    // MARK: Files coming and going

    package func refresh() throws(StorageError) -> Bool {
        guard lock == nil else { return false }
        let before = state
        let newest = try Manifest.read(context)
        if newest.generation != manifest.generation {
            let (manifest, active) = try Self.load(
                context: context, sealer: sealer, isWriter: false, damagedTail: damagedTail)
            self.active = active
            adopt(manifest)
        } else {
            try active.readTail(hintedEndSequence: nil, damagedTail: damagedTail)
        }
        return state != before
    }

    /// A reader's second look after a file was gone; a writer's files cannot go.
    private func reloadAfterFileGone() throws(StorageError) -> Bool {
        guard lock == nil else { return false }
        let generation = manifest.generation
        _ = try refresh()
        return manifest.generation != generation
    }

    /// Takes a manifest over: what it lists is the store.
    func adopt(_ manifest: Manifest) {
        self.manifest = manifest
        segmentEntries = manifest.sealed.filter { $0.id.kind != .pack }.reversed()
        packByFirstByte = [Manifest.SealedEntry?](repeating: nil, count: 256)
        for entry in manifest.sealed where entry.id.kind == .pack {
            for byte in entry.id.firstBytes { packByFirstByte[byte] = entry }
        }
        let listed = Set(manifest.sealed.map(\.id))
        openFiles = openFiles.filter { listed.contains($0.key) }
    }

    /// Replaces the manifest on disk and takes it over. After a failure the store is broken, since
    /// either may be there.
    func replaceManifest(_ change: (inout Manifest) -> Void) throws(StorageError) {
        var next = manifest
        change(&next)
        next.generation = manifest.generation + 1
        active.noteChange()
        do throws(StorageError) {
            try next.write(context)
        } catch {
            isBroken = true
            throw error
        }
        adopt(next)
    }

    /// A number for a new file; on disk it counts with the manifest that lists the file.
    func takeNumber() -> UInt64 {
        defer { manifest.nextNumber += 1 }
        return manifest.nextNumber
    }

    /// Files that a crash left and no manifest lists, as paths from the vault's directory.
    func orphanPaths() throws(StorageError) -> [String] {
        var listed = Set(manifest.sealed.map(\.id.relativePath))
        listed.insert(active.place)
        return try translatingFileErrors { () throws(FileSystemError) in
            var paths: [String] = []
            for folder in ["journal", "blobs"] {
                for entry in try context.fileSystem.list(context.path(folder)) where entry.kind == .file {
                    let path = "\(folder)/\(entry.name)"
                    if !listed.contains(path) { paths.append(path) }
                }
            }
            return paths
        }
    }

    /// After a writer that did not end in good order: its last rename may never have become durable, so
    /// the manifest is written again; and what it left unlisted is removed.
    private func makeFitForWriting() throws(StorageError) {
        if active.wasLeftOpen { try replaceManifest { _ in } }
        try removeOrphans()
    }

    private func removeOrphans() throws(StorageError) {
        var paths = try orphanPaths()
        guard !paths.isEmpty else { return }
        // Whoever writes files anew has them unlisted until they count.
        let lock = try SealedRewrite.takeLock(context)
        defer { try? lock?.unlock() }
        if lock == nil { paths.removeAll { $0.hasSuffix(SealedRewrite.suffix) } }
        guard !paths.isEmpty else { return }
        try translatingFileErrors { () throws(FileSystemError) in
            for path in paths { try context.fileSystem.remove(context.path(path)) }
        }
        context.environment.notify(StorageNotice(.orphansRemoved, place: "\(paths.count) files"))
    }
}

extension StorageError {
    /// Whether a file that should be there is not.
    var isFileGone: Bool {
        code == .fileFailed && (cause as? FileSystemError)?.code == .notFound
    }

    /// A file that the newest manifest lists and that is not there is damage of the store.
    var asDamageIfGone: StorageError {
        isFileGone ? StorageError(.packDamaged, place: place.map { "\($0): the file is missing" }, cause: cause) : self
    }
}

extension Manifest {
    /// Reads the manifest of a store.
    ///
    /// - Throws: `.notFound` if there is none.
    static func read(_ context: StorageContext) throws(StorageError) -> Manifest {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try context.fileSystem.readFile(context.path("manifest"), byteCountMax: byteCountMax)
        } catch {
            throw error.code == .notFound
                ? StorageError(.notFound, place: context.directory, cause: error)
                : error.code == .noSpace || error.code == .endOfFile
                    ? StorageError(.manifestDamaged, place: context.directory, cause: error) : StorageError(file: error)
        }
        return try parse(bytes, authenticator: context.authenticator)
    }

    func write(_ context: StorageContext) throws(StorageError) {
        try translatingFileErrors(
            context.fileSystem.replaceFile(
                context.path("manifest"), with: encode(context.authenticator), isLocked: true))
    }
}
