// Sealed files written anew beside everything else. The one thing to keep true: nobody waits for it with the writer's
// lock, and what it made counts only if every file that it replaces still does.

internal import CoffretBase
internal import CoffretCrypto

/// Files that are written and not listed yet; those that they are to replace.
///
/// They lie under names of their own until they count, under a lock that spares them from being removed as leftovers.
final class SealedRewrite {
    static let suffix = ".new"

    let replaced: [Manifest.SealedEntry]
    private(set) var made: [Manifest.SealedEntry] = []
    private var begun: [StorageFileID] = []
    private(set) var readByteCount = 0
    private let context: StorageContext
    private let lock: any OpenFile
    private var isEnded = false

    private init(_ replaced: [Manifest.SealedEntry], _ context: StorageContext, lock: any OpenFile) {
        self.replaced = replaced
        self.context = context
        self.lock = lock
    }

    deinit { cancel() }

    /// - Returns: nil if another one is under way.
    static func begin(
        replacing entries: [Manifest.SealedEntry], context: StorageContext
    ) throws(StorageError) -> SealedRewrite? {
        guard let lock = try takeLock(context) else { return nil }
        return SealedRewrite(entries, context, lock: lock)
    }

    /// The lock that spares unlisted files; nil while somebody has it.
    static func takeLock(_ context: StorageContext) throws(StorageError) -> (any OpenFile)? {
        try translatingFileErrors { () throws(FileSystemError) in
            let file = try context.fileSystem.open(context.path("rewriting"), .createIfAbsent)
            do throws(FileSystemError) {
                try file.lock(.exclusive, waits: false)
                return file
            } catch {
                guard error.code == .wouldBlock else { throw error }
                return nil
            }
        }
    }

    /// A number for a file that is made without the writer's lock: the manifest never gives one out that is as large.
    func makeNumber() -> UInt64 { 1 << 46 | context.environment.random.uint64() >> 18 }

    /// Begins a file; `finish(_:)` ends it.
    func makeWriter(_ id: StorageFileID) throws(StorageError) -> SealedFileWriter {
        begun.append(id)
        return try SealedFileWriter(id, context: context, suffix: Self.suffix)
    }

    func finish(_ writer: SealedFileWriter) throws(StorageError) { made.append(try writer.finish()) }

    func noteRead(byteCount: Int) { readByteCount += byteCount }

    /// Lists the files in place of those that they replace.
    ///
    /// - Parameter store: open for writing.
    /// - Returns: false if one of those is gone meanwhile; then nothing has changed.
    func takeOver(_ store: BlobStore, adding extra: [Manifest.SealedEntry]) throws(StorageError) -> Bool {
        let (made, replaced) = (made, replaced)
        let gone = Set(replaced.map(\.id))
        guard gone.isSubset(of: store.manifest.sealed.map(\.id)) else { return false }
        try translatingFileErrors { () throws(FileSystemError) in
            for entry in made {
                let path = context.path(entry.id.relativePath)
                try context.fileSystem.rename(path + Self.suffix, to: path)
            }
            try context.fileSystem.synchronizeDirectory(context.path("blobs"))
            try context.fileSystem.synchronizeDirectory(context.path("journal"))
        }
        // From here on either list may be on the disk, whatever fails: nothing is removed that one of them names.
        isEnded = true
        defer { try? lock.unlock() }
        try store.replaceManifest { manifest in
            let place = manifest.sealed.firstIndex { gone.contains($0.id) } ?? 0
            manifest.sealed.removeAll { gone.contains($0.id) }
            manifest.sealed.insert(contentsOf: made, at: min(place, manifest.sealed.count))
            manifest.sealed += extra
        }
        // What cannot be removed now is an orphan that the next writer removes.
        for entry in replaced { try? context.fileSystem.remove(context.path(entry.id.relativePath)) }
        return true
    }

    /// Removes what was written.
    func cancel() {
        guard !isEnded else { return }
        isEnded = true
        for id in begun {
            let path = context.path(id.relativePath)
            try? context.fileSystem.remove(path + Self.suffix)
            try? context.fileSystem.remove(path)
        }
        try? lock.unlock()
    }
}

/// What one run of merging did.
package struct SegmentMerge: Equatable, Sendable {
    package let fileCount: Int
    package let readByteCount: Int
    package let writtenByteCount: Int
}

extension BlobStore {
    /// So many segments of about one size become one.
    static let mergedFileCount = 4

    /// Bytes of packs, and of everything sealed outside them.
    package var packByteCount: Int { manifest.sealed.reduce(0) { $0 + ($1.id.kind == .pack ? $1.byteCount : 0) } }
    package var segmentByteCount: Int { manifest.sealed.reduce(0) { $0 + ($1.id.kind == .pack ? 0 : $1.byteCount) } }
    package var sealedFileCount: Int { manifest.sealed.count }
    /// Sealed files that are open now.
    package var openFileCount: Int { context.pool.openCount }

    /// Whether so much lies outside packs that a compaction pays.
    package var isCompactionDue: Bool {
        segmentByteCount > max(context.environment.tuning.compactionByteCountMin, packByteCount / 10 * 3)
    }

    /// The oldest segments of the smallest size of which there are four, or that together are small enough; empty if there
    /// is nothing to merge.
    ///
    /// A size is a power of four: a byte is written again once for each power, and of each at most three segments stay.
    var dueSegments: [Manifest.SealedEntry] {
        let limit = context.environment.tuning.mergeByteCountMax
        var bySize: [Int: [Manifest.SealedEntry]] = [:]
        for entry in manifest.sealed where entry.id.kind != .pack {
            let size = Int.bitWidth - max(entry.byteCount, 1).leadingZeroBitCount
            bySize[size / 2, default: []].append(entry)
        }
        for (_, entries) in bySize.sorted(by: { $0.key < $1.key }) where entries.count >= Self.mergedFileCount {
            var chosen: [Manifest.SealedEntry] = []
            var byteCount = 0
            for entry in entries where byteCount + entry.byteCount <= limit {
                chosen.append(entry)
                byteCount += entry.byteCount
                if chosen.count == Self.mergedFileCount { break }
            }
            if chosen.count >= 2 { return chosen }
        }
        return []
    }

    package var isMergeDue: Bool { !dueSegments.isEmpty }

    /// Merges segments in one run; states of the past go, everything else stays, each blob verified.
    ///
    /// This store only looks: the writer's lock is taken at the end, for the moment of change.
    /// - Returns: nil if nothing is due, somebody else is at it, or the files have changed meanwhile.
    package func mergeDueSegments(lockTimeoutMilliseconds: Int) throws(StorageError) -> SegmentMerge? {
        do throws(StorageError) {
            return try mergeDue(lockTimeoutMilliseconds: lockTimeoutMilliseconds)
        } catch {
            if error.isFileGone { return nil }
            throw error
        }
    }

    private func mergeDue(lockTimeoutMilliseconds: Int) throws(StorageError) -> SegmentMerge? {
        let entries = dueSegments
        guard !entries.isEmpty, let rewrite = try SealedRewrite.begin(replacing: entries, context: context) else {
            return nil
        }
        defer { rewrite.cancel() }
        let writer = try rewrite.makeWriter(.segment(.bulk, rewrite.makeNumber()))
        var seen: Set<BlobAddress> = []
        for entry in entries {
            let walker = try openFile(entry).recordWalker()
            while let record = try walker.next() {
                guard record.kind == .blob else { continue }
                try unsafe walker.withPayload(of: record) { (payload) throws(StorageError) in
                    let address = unsafe BlobAddress(Bytes32(UnsafeRawBufferPointer(rebasing: payload[..<32])))
                    let sealed = unsafe UnsafeRawBufferPointer(rebasing: payload[32...])
                    let place = "\(entry.id.relativePath) offset \(record.byteOffset)"
                    guard let type = try unsafe verifiedType(of: sealed, at: address) else {
                        throw StorageError(.blobAuthenticationFailed, place: place)
                    }
                    if type != .repositoryState, seen.insert(address).inserted {
                        try unsafe writer.append(sealed: sealed, address: address)
                    }
                }
            }
            rewrite.noteRead(byteCount: entry.byteCount)
        }
        try rewrite.finish(writer)
        context.pool.closeAll()
        let store = try BlobStore.open(
            directory: directory, keys: keys, environment: context.environment,
            mode: .readWrite(lockTimeoutMilliseconds: lockTimeoutMilliseconds))
        defer { store.close() }
        guard try rewrite.takeOver(store, adding: []) else { return nil }
        return SegmentMerge(
            fileCount: entries.count, readByteCount: rewrite.readByteCount,
            writtenByteCount: rewrite.made.reduce(0) { $0 + $1.byteCount })
    }

    private func verifiedType(
        of sealed: UnsafeRawBufferPointer, at address: BlobAddress
    ) throws(StorageError) -> BlobType? {
        guard let name = unsafe sealer.name(ofAddress: address, sealed: sealed) else { return nil }
        return try unsafe sealer.open(sealed, name: name, type: nil) { (type, _) in type }
    }

    /// A store of the same files that only looks.
    package func reopened(_ mode: Mode = .readOnly) throws(StorageError) -> BlobStore {
        try BlobStore.open(directory: directory, keys: keys, environment: context.environment, mode: mode)
    }

    // MARK: Compaction beside everything else

    /// Copies those of `names` that lie in sealed files into packs; what lies in the segment that grows stays there.
    ///
    /// - Returns: nil if somebody else writes files anew.
    func beginCompaction(of names: some Sequence<BlobName>) throws(StorageError) -> SealedRewrite? {
        let replaced = manifest.sealed
        guard !replaced.isEmpty, let rewrite = try SealedRewrite.begin(replacing: replaced, context: context) else {
            return nil
        }
        var live: [LiveBlob] = []
        for name in names {
            let blob = try locate(name)
            if blob.file != nil { live.append(blob) }
        }
        live.sort { $0.address < $1.address }
        rewrite.noteRead(byteCount: live.reduce(0) { $0 + $1.location.recordByteCount })
        try forEachPack(live, generation: rewrite.makeNumber()) { (id, blobs) throws(StorageError) in
            let writer = try rewrite.makeWriter(id)
            for blob in blobs { try copy(blob, to: writer) }
            try rewrite.finish(writer)
        }
        return rewrite
    }

    /// Lists the packs in place of the files that they were made from, in a store that is open for writing.
    ///
    /// - Parameter names: what has come to be referred to since; what of it lies in those files alone is copied.
    func finishCompaction(
        _ rewrite: SealedRewrite, keeping names: some Sequence<BlobName>
    ) throws(StorageError) -> Bool {
        let replaced = Set(rewrite.replaced.map(\.id))
        var extra: [Manifest.SealedEntry] = []
        var lost: [LiveBlob] = []
        for name in names where try isReplaced(name, by: replaced) { lost.append(try locate(name)) }
        if !lost.isEmpty {
            let writer = try SealedFileWriter(.segment(.bulk, takeNumber()), context: context)
            for blob in lost { try copy(blob, to: writer) }
            extra.append(try writer.finish())
        }
        return try rewrite.takeOver(self, adding: extra)
    }

    /// Whether a blob lies in one of these files alone.
    private func isReplaced(_ name: BlobName, by files: Set<StorageFileID>) throws(StorageError) -> Bool {
        for epoch in sealer.epochsNewestFirst {
            guard let place = try place(of: sealer.address(of: name, epoch: epoch)) else { continue }
            return place.file.map { files.contains($0.id) } ?? false
        }
        throw StorageError(.blobMissing, place: name.description)
    }
}
