// Writes a bulk segment or a pack from its first byte to its footer. The one thing to keep true: the
// file is complete and on the disk before anything refers to it.

internal import CoffretBase
internal import CoffretCrypto

/// Appends records to a new file and seals it.
///
/// Memory: one write buffer and 16 bytes per record.
final class SealedFileWriter {
    let id: StorageFileID
    private let file: any OpenFile
    private let context: StorageContext
    private let salt: [UInt8]
    private var buffer: [UInt8]
    private var bufferOffset = 0
    private var entries: [IndexEntry] = []

    private static let bufferByteCount = 1 << 20

    /// How long the file's records are so far.
    var recordsEndOffset: Int { bufferOffset + buffer.count }

    /// Makes the file; an older one of this name, left by a crash, is replaced.
    ///
    /// - Parameter suffix: of its name, until it counts.
    init(_ id: StorageFileID, context: StorageContext, suffix: String = "") throws(StorageError) {
        self.id = id
        self.context = context
        let salt = context.environment.random.bytes(count: JournalAuthenticator.saltByteCount)
        self.salt = salt
        let path = context.path(id.relativePath) + suffix
        file = try translatingFileErrors { () throws(FileSystemError) in
            try context.fileSystem.removeIfPresent(path)
            return try context.fileSystem.open(path, .createNew)
        }
        let header = SegmentHeader(kind: id.kind, number: id.headerNumber, firstSequence: 0, salt: salt)
        buffer = header.encode(context.authenticator)
        buffer.reserveCapacity(Self.bufferByteCount + 64 << 10)
    }

    /// Appends a whole record of a blob: header, address, stored blob.
    ///
    /// - Returns: where it lies.
    @discardableResult
    func append(
        record: UnsafeRawBufferPointer, address: BlobAddress
    ) throws(StorageError) -> RecordLocation {
        let location = RecordLocation(
            byteOffset: recordsEndOffset, sealedByteCount: record.count - RecordHeader.blobPrefixByteCount)
        unsafe buffer.append(contentsOf: record)
        entries.append(IndexEntry(prefix: address.value.word0, location: location))
        if buffer.count >= Self.bufferByteCount { try flush() }
        return location
    }

    /// Appends the record of a stored blob.
    func append(sealed: UnsafeRawBufferPointer, address: BlobAddress) throws(StorageError) {
        entries.append(
            IndexEntry(
                prefix: address.value.word0,
                location: RecordLocation(byteOffset: recordsEndOffset, sealedByteCount: sealed.count)))
        RecordHeader.append(.blob, payloadByteCount: 32 + sealed.count, to: &buffer)
        unsafe withBytes(of: address.value) { unsafe buffer.append(contentsOf: $0) }
        unsafe buffer.append(contentsOf: sealed)
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Where a record was put that is still in this file.
    func withSealedBlob<Result>(
        _ address: BlobAddress, at location: RecordLocation, scratch: ScratchBuffer,
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        try flush()
        return try unsafe file.withBlobRecord(at: location, of: address, scratch: scratch, body)
    }

    /// Writes the index and the footer and makes the file's bytes durable; its name becomes durable
    /// with its directory.
    func finish() throws(StorageError) -> Manifest.SealedEntry {
        let recordsEnd = recordsEndOffset
        buffer += SealedFileFooter.encodeSeal(
            recordsEndOffset: recordsEnd, sorted: entries.sorted(), lastSequence: 0, salt: salt,
            authenticator: context.authenticator)
        try flush()
        try translatingFileErrors(file.synchronizeData())
        return Manifest.SealedEntry(id: id, byteCount: bufferOffset)
    }

    private func flush() throws(StorageError) {
        guard !buffer.isEmpty else { return }
        try translatingFileErrors(file.write(buffer, at: bufferOffset))
        bufferOffset += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }
}

extension FileSystem {
    /// Removes a file's name; that it was not there is no error.
    func removeIfPresent(_ path: String) throws(FileSystemError) {
        do throws(FileSystemError) {
            try remove(path)
        } catch {
            if error.code != .notFound { throw error }
        }
    }
}
