// Streams an attachment out. The one thing to keep true: no byte goes out that was not authenticated,
// and a file appears under its name only after the whole was verified.

internal import CoffretBase
internal import CoffretCrypto

/// Reads one attachment, once; opens chunks on a second thread while the caller's one hashes and passes
/// them on.
package final class AttachmentReader {
    private let reference: AttachmentReference
    private let store: AttachmentStore
    private let vaultID: VaultID
    private let file: any OpenFile
    private let place: String

    convenience init(
        _ reference: AttachmentReference, store: AttachmentStore, sealedIn vaultID: VaultID
    ) throws(StorageError) {
        let (file, address) = try Self.find(reference.fileID, in: store)
        try self.init(reference, file: file, place: "file \(address)", sealedIn: vaultID, store: store)
    }

    /// A reader of a file that need not have its name yet.
    init(
        _ reference: AttachmentReference, file: any OpenFile, place: String, sealedIn vaultID: VaultID,
        store: AttachmentStore
    ) throws(StorageError) {
        self.reference = reference
        self.store = store
        self.vaultID = vaultID
        self.file = file
        self.place = place
        guard reference.byteCount <= AttachmentFormat.byteCountMax,
            reference.chunkCount == AttachmentFormat.chunkCount(byteCount: reference.byteCount)
        else { throw StorageError(.attachmentAuthenticationFailed, place: place) }
        let (byteCount, header) = try translatingFileErrors(
            (try file.byteCount(), try file.readAvailable(byteCount: AttachmentFormat.header.count, at: 0)))
        guard byteCount == AttachmentFormat.fileByteCount(byteCount: reference.byteCount) else {
            throw StorageError(.attachmentTruncated, place: place)
        }
        guard header == AttachmentFormat.header else {
            throw StorageError(.attachmentAuthenticationFailed, place: place)
        }
    }

    private static func find(
        _ fileID: UniqueID, in store: AttachmentStore
    ) throws(StorageError) -> (any OpenFile, BlobAddress) {
        let addresses = store.addresses(of: fileID)
        for address in addresses {
            do throws(FileSystemError) {
                return (try store.environment.fileSystem.open(store.path(of: address), .read), address)
            } catch {
                guard error.code == .notFound else { throw StorageError(file: error) }
            }
        }
        throw StorageError(.attachmentMissing, place: "file \(addresses[0])")
    }

    /// Passes the plaintext on, a chunk at a time, as it verifies.
    ///
    /// What was passed on is authentic; that it is all of it, in this order, and that the whole has the
    /// right hash, is known when this returns.
    /// - Throws: `.attachmentAuthenticationFailed`, `.attachmentTruncated`, `.fileFailed`; what `sink`
    ///   throws.
    package func read(into sink: (UnsafeRawBufferPointer) throws(StorageError) -> Void) throws(StorageError) {
        let ring = ChunkRing()
        try readChunks(through: ring) { (buffer) throws(StorageError) in
            try unsafe sink(UnsafeRawBufferPointer(buffer.bytes(buffer.byteCount)))
            ring.putFree(buffer)
        }
    }

    /// Passes on chunk after chunk; `take` sees to it that each goes back to the ring.
    private func readChunks(
        through ring: ChunkRing, _ take: (ChunkBuffer) throws(StorageError) -> Void
    ) throws(StorageError) {
        let opener = ChunkOpener(
            cipher: ChunkCipher(key: reference.fileKey, fileID: reference.fileID, vaultID: vaultID),
            file: file, chunkCount: reference.chunkCount,
            lastChunkByteCount: AttachmentFormat.lastChunkByteCount(byteCount: reference.byteCount), place: place)
        let worker = WorkerThread { opener.openAll(ring) }
        defer {
            ring.fail(StorageError(.attachmentTruncated, place: place))
            worker.join()
        }
        var hasher = BLAKE2bHasher(byteCount: 32)
        var byteCount: UInt64 = 0
        while let buffer = try ring.takeFilled() {
            unsafe hasher.update(UnsafeRawBufferPointer(buffer.bytes(buffer.byteCount)))
            byteCount += UInt64(buffer.byteCount)
            try take(buffer)
        }
        worker.join()
        guard byteCount == reference.byteCount else { throw StorageError(.attachmentTruncated, place: place) }
        guard opener.digest == reference.digest, hasher.finish() == reference.plaintextHash else {
            throw StorageError(.attachmentAuthenticationFailed, place: place)
        }
    }

    /// Reads everything and passes nothing on.
    package func verify() throws(StorageError) {
        try unsafe read { (_) throws(StorageError) in }
    }

    /// Writes the attachment to a file, which gets its name when the whole was verified and is durable.
    ///
    /// A file of that name is replaced then, and untouched if anything fails.
    /// - Parameter mode: permission bits of the file.
    package func extract(toFile path: String, mode: UInt32 = 0o600) throws(StorageError) {
        let fileSystem = store.environment.fileSystem
        let suffix = Hex.encode(store.environment.random.bytes(count: 8))
        let partPath = PathText.join(
            PathText.parent(of: path), ".\(PathText.name(of: path)).\(suffix).part")
        let output = try translatingFileErrors(fileSystem.open(partPath, .createNew, mode: mode))
        do throws(StorageError) {
            try write(to: output)
            try translatingFileErrors { () throws(FileSystemError) in
                try output.synchronizeData()
                try fileSystem.rename(partPath, to: path)
                try fileSystem.synchronizeDirectory(PathText.parent(of: path))
            }
        } catch {
            try? fileSystem.remove(partPath)
            throw error
        }
    }
}

extension AttachmentReader {
    /// Writes the plaintext on a third thread, while one opens chunks and the caller's hashes them.
    fileprivate func write(to output: any OpenFile) throws(StorageError) {
        let ring = ChunkRing()
        let writer = ChunkWriter(output: output, ring: ring)
        let thread = WorkerThread { writer.writeAll() }
        var failure: StorageError?
        do throws(StorageError) {
            try readChunks(through: ring) { (buffer) throws(StorageError) in writer.buffers.put(buffer, cost: 1) }
        } catch {
            failure = error
        }
        writer.buffers.end()
        thread.join()
        if let failure = writer.failure ?? failure { throw failure }
    }
}

/// The third thread of a reader that writes a file: writes chunks in order.
private final class ChunkWriter: @unchecked Sendable {
    // SAFETY: `failure` is written by the worker and read after it was joined; the rest is made for two threads.
    let buffers = Handoff<ChunkBuffer>(costMax: ChunkRing.capacity)
    private(set) var failure: StorageError?
    private let output: any OpenFile
    private let ring: ChunkRing

    init(output: any OpenFile, ring: ChunkRing) {
        self.output = output
        self.ring = ring
    }

    func writeAll() {
        var (byteOffset, begunOffset) = (0, 0)
        do throws(StorageError) {
            while let list = buffers.take() {
                for buffer in list {
                    try translatingFileErrors(
                        unsafe output.write(
                            UnsafeRawBufferPointer(buffer.bytes(buffer.byteCount)), at: byteOffset))
                    byteOffset += buffer.byteCount
                    ring.putFree(buffer)
                    guard byteOffset - begunOffset >= ChunkRing.writtenTogetherCount * AttachmentFormat.chunkByteCount
                    else { continue }
                    output.beginWriting(at: begunOffset, byteCount: byteOffset - begunOffset)
                    begunOffset = byteOffset
                }
            }
        } catch {
            failure = error
            buffers.stop()
            ring.fail(error)
        }
    }
}

/// The second thread of a reader: reads and opens chunks in order.
private final class ChunkOpener: @unchecked Sendable {
    // SAFETY: `digest` is written by the worker and read after it was joined; the rest does not change.
    private let cipher: ChunkCipher
    private let file: any OpenFile
    private let chunkCount: UInt64
    private let lastChunkByteCount: Int
    private let place: String
    private(set) var digest: [UInt8] = []

    init(
        cipher: ChunkCipher, file: any OpenFile, chunkCount: UInt64, lastChunkByteCount: Int, place: String
    ) {
        self.cipher = cipher
        self.file = file
        self.chunkCount = chunkCount
        self.lastChunkByteCount = lastChunkByteCount
        self.place = place
    }

    func openAll(_ ring: ChunkRing) {
        var hasher = BLAKE2bHasher(byteCount: 32)
        do throws(StorageError) {
            for index in 0..<chunkCount {
                guard let buffer = try ring.takeFree() else { return }
                try open(index, into: buffer, &hasher)
                ring.putFilled(buffer)
            }
        } catch {
            return ring.fail(error)
        }
        digest = hasher.finish()
        ring.close()
    }

    private func open(
        _ index: UInt64, into buffer: ChunkBuffer, _ hasher: inout BLAKE2bHasher
    ) throws(StorageError) {
        let isLast = index == chunkCount - 1
        let trueByteCount = isLast ? lastChunkByteCount : AttachmentFormat.chunkByteCount
        let byteCount =
            isLast ? AttachmentFormat.paddedLastChunkByteCount(trueByteCount) : AttachmentFormat.chunkByteCount
        let all = unsafe buffer.bytes(byteCount + AttachmentFormat.tagByteCount)
        let readCount = try translatingFileErrors(
            unsafe file.read(into: all, at: AttachmentFormat.offset(ofChunk: index)))
        guard readCount == all.count else { throw StorageError(.attachmentTruncated, place: "\(place) chunk \(index)") }
        let tag = unsafe UnsafeRawBufferPointer(rebasing: all[byteCount...])
        let chunk = unsafe UnsafeMutableRawBufferPointer(rebasing: all[..<byteCount])
        unsafe hasher.update(tag)
        guard unsafe cipher.open(chunk, index: index, isLast: isLast, tag: tag),
            unsafe chunk[trueByteCount...].allSatisfy({ $0 == 0 })
        else { throw StorageError(.attachmentAuthenticationFailed, place: "\(place) chunk \(index)") }
        buffer.byteCount = trueByteCount
    }
}
