// A segment or pack that does not change any more. The one thing to keep true: whatever is wrong with
// its index, every record that is intact is found.

internal import CoffretBase
internal import CoffretCrypto

/// What files need to be opened and verified.
struct StorageContext {
    let directory: String
    let environment: StorageEnvironment
    let authenticator: JournalAuthenticator
    let pool: FilePool

    init(directory: String, environment: StorageEnvironment, authenticator: JournalAuthenticator) {
        self.directory = directory
        self.environment = environment
        self.authenticator = authenticator
        pool = FilePool(environment.fileSystem, capacity: environment.tuning.openFileCountMax)
    }

    var fileSystem: any FileSystem { environment.fileSystem }
    func path(_ relativePath: String) -> String { PathText.join(directory, relativePath) }
}

/// Looks blobs up in one sealed file.
final class SealedFile {
    private enum Index {
        case onDisk(SortedIndexReader)
        /// Made from the records, since the one on disk is damaged.
        case rebuilt([IndexEntry])
    }

    let id: StorageFileID
    let byteCount: Int
    let file: any OpenFile
    let header: SegmentHeader
    private let context: StorageContext
    private var index: Index

    var place: String { id.relativePath }

    /// Opens a file that the manifest lists.
    ///
    /// - Throws: `.fileFailed` (with `.notFound` as its cause if it is gone), `.packDamaged` if its size
    ///   or header is not what it should be.
    init(_ entry: Manifest.SealedEntry, context: StorageContext) throws(StorageError) {
        id = entry.id
        byteCount = entry.byteCount
        self.context = context
        let place = entry.id.relativePath
        let file = PooledFile(context.path(place), pool: context.pool)
        self.file = file
        let (found, head, tail) = try translatingFileErrors { () throws(FileSystemError) in
            let found = try file.byteCount()
            return (
                found, try file.readAvailable(byteCount: SegmentHeader.byteCount, at: 0),
                try file.readAvailable(
                    byteCount: SealedFileFooter.byteCount, at: max(0, entry.byteCount - SealedFileFooter.byteCount))
            )
        }
        guard found == entry.byteCount else {
            throw StorageError(.packDamaged, place: "\(place): \(found) bytes instead of \(entry.byteCount)")
        }
        header = try SegmentHeader.parse(head, place: place, authenticator: context.authenticator)
        guard header.kind == id.kind, header.number == id.headerNumber else {
            throw StorageError(.packDamaged, place: place)
        }
        if let footer = SealedFileFooter.parse(
            tail, fileByteCount: found, salt: header.salt, authenticator: context.authenticator)
        {
            index = .onDisk(
                SortedIndexReader(
                    file: file, byteOffset: footer.indexOffset, entryCount: footer.entryCount,
                    sharedPrefixBitCount: id.prefixBitCount, salt: header.salt,
                    authenticator: context.authenticator))
        } else {
            index = .rebuilt([])
            try rebuildIndex()
        }
    }

    /// Where the record of `address` lies; nil if this file does not hold it.
    func location(of address: BlobAddress) throws(StorageError) -> RecordLocation? {
        for location in try candidates(prefix: address.value.word0) {
            if try file.isBlobRecord(at: location, of: address) { return location }
        }
        return nil
    }

    /// Where the index says that the record of `address` lies; who reads it there finds out whether that is so.
    func indexedLocation(of address: BlobAddress) throws(StorageError) -> RecordLocation? {
        try candidates(prefix: address.value.word0).first
    }

    /// Lends the stored blob at `address`.
    ///
    /// - Parameter isDamaged: set if the index speaks of it but another record lies there.
    /// - Returns: nil if this file does not hold it.
    func withSealedBlob<Result>(
        _ address: BlobAddress, scratch: ScratchBuffer, isDamaged: inout Bool,
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        for location in try candidates(prefix: address.value.word0) {
            if let result = try unsafe file.withBlobRecord(at: location, of: address, scratch: scratch, body) {
                return result
            }
            isDamaged = true
        }
        return nil
    }

    private func candidates(prefix: UInt64) throws(StorageError) -> [RecordLocation] {
        if case .onDisk(let reader) = index {
            do throws(StorageError) {
                return try reader.locations(prefix: prefix)
            } catch {
                guard error.code == .indexDamaged else { throw error }
                try rebuildIndex()
            }
        }
        guard case .rebuilt(let entries) = index else { return [] }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].prefix < prefix { low = middle + 1 } else { high = middle }
        }
        return entries[low...].prefix { $0.prefix == prefix }.map(\.location)
    }

    /// Makes the index from the records, and says so.
    private func rebuildIndex() throws(StorageError) {
        index = .rebuilt(try recordEntries())
        context.environment.notify(StorageNotice(.indexRebuilt, place: place))
    }

    /// The entries that the index must hold, from the records, sorted.
    func recordEntries() throws(StorageError) -> [IndexEntry] {
        let walker = recordWalker()
        var entries: [IndexEntry] = []
        while let record = try walker.next() {
            guard record.kind == .blob else { continue }
            let prefix = try unsafe walker.withPayload(of: record) { (payload) throws(StorageError) in
                unsafe payload.loadBigEndian(UInt64.self, at: 0)
            }
            entries.append(
                IndexEntry(
                    prefix: prefix,
                    location: RecordLocation(
                        byteOffset: record.byteOffset, sealedByteCount: record.payloadByteCount - 32)))
        }
        return entries.sorted()
    }

    /// The entries of the index on disk; nil if it is damaged.
    func indexEntriesOnDisk() throws(StorageError) -> [IndexEntry]? {
        guard case .onDisk(let reader) = index else { return nil }
        do throws(StorageError) {
            return try reader.allEntries()
        } catch {
            if error.code == .indexDamaged { return nil }
            throw error
        }
    }

    /// Goes through the records from the first one to the index.
    func recordWalker() -> RecordWalker {
        RecordWalker(file: file, offset: id.kind.recordsOffset, endOffset: byteCount - SealedFileFooter.byteCount)
    }
}

extension OpenFile {
    /// Whether a blob's record with this address and size begins at the location.
    func isBlobRecord(at location: RecordLocation, of address: BlobAddress) throws(StorageError) -> Bool {
        let bytes = try translatingFileErrors(
            readAvailable(byteCount: RecordHeader.blobPrefixByteCount, at: location.byteOffset))
        return unsafe bytes.withUnsafeBytes { unsafe isBlobHeader($0, location, address) }
    }

    /// Reads a blob's record in one call and lends the stored blob; nil if another record lies there.
    func withBlobRecord<Result>(
        at location: RecordLocation, of address: BlobAddress, scratch: ScratchBuffer,
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        let target = unsafe scratch.bytes(count: location.recordByteCount)
        let byteCount = try translatingFileErrors(unsafe read(into: target, at: location.byteOffset))
        guard byteCount == location.recordByteCount,
            unsafe isBlobHeader(UnsafeRawBufferPointer(target), location, address)
        else { return nil }
        return try unsafe body(
            UnsafeRawBufferPointer(rebasing: target[RecordHeader.blobPrefixByteCount..<location.recordByteCount]))
    }
}

private func isBlobHeader(
    _ bytes: UnsafeRawBufferPointer, _ location: RecordLocation, _ address: BlobAddress
) -> Bool {
    guard bytes.count >= RecordHeader.blobPrefixByteCount else { return false }
    return unsafe Int(bytes.loadBigEndian(UInt32.self, at: 0)) == location.sealedByteCount + 32
        && bytes[4] == RecordKind.blob.rawValue
        && Bytes32(UnsafeRawBufferPointer(rebasing: bytes[5..<37])) == address.value
}
