// Streams a source into an attachment. The one thing to keep true: the reference is given out only
// after every byte it speaks of is durable under its final name.

internal import CoffretBase
internal import CoffretCrypto

/// Takes plaintext piece by piece; seals and writes on a second thread while the caller reads and
/// hashes on his own.
///
/// Memory: eight chunks. One writer seals one pass under one fresh key; it cannot be resumed, only
/// begun anew under another key.
package final class AttachmentWriter {
    private let store: AttachmentStore
    private let fileID: UniqueID
    private let fileKey: FileKey
    private let partPath: String
    private let file: any OpenFile
    private let ring = ChunkRing()
    private let result = SealingResult()
    private var worker: WorkerThread?

    private var hasher = BLAKE2bHasher(byteCount: 32)
    private var current: ChunkBuffer?
    private var nextIndex: UInt64 = 0
    private var isEnded = false
    /// How many bytes were taken so far.
    package private(set) var byteCount: UInt64 = 0

    init(store: AttachmentStore) throws(StorageError) {
        self.store = store
        let random = store.environment.random
        fileID = UniqueID.generate(from: random)
        fileKey = FileKey.generate(from: random)
        let partPath = store.makePartPath()
        self.partPath = partPath
        let fileSystem = store.environment.fileSystem
        let directory = store.directory
        file = try translatingFileErrors { () throws(FileSystemError) in
            try fileSystem.makeDirectories(directory)
            let file = try fileSystem.open(partPath, .createNew)
            do throws(FileSystemError) {
                try file.write(AttachmentFormat.header, at: 0)
            } catch {
                try? fileSystem.remove(partPath)
                throw error
            }
            return file
        }
        let cipher = ChunkCipher(key: fileKey, fileID: fileID, vaultID: store.keys.vaultID)
        worker = WorkerThread { [ring, result, file] in
            AttachmentWriter.sealAll(ring: ring, cipher: cipher, file: file, result: result)
        }
    }

    deinit { cancel() }

    /// Lends room to be filled, so that a source reads straight into a chunk.
    ///
    /// - Parameter fill: writes at the start of the buffer, which has room for at least one byte, and
    ///   returns how many bytes; 0 at the end of the source.
    /// - Returns: what `fill` returned.
    /// - Throws: what `fill` throws; what the second thread failed with.
    package func append(
        filling fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Int
    ) throws(StorageError) -> Int {
        precondition(!isEnded, "the attachment has ended")
        var buffer = try currentBuffer()
        // A full chunk waits until it is known not to be the last.
        var full: ChunkBuffer?
        if buffer.byteCount == AttachmentFormat.chunkByteCount {
            full = buffer
            buffer = try emptyBuffer()
        }
        let start = buffer.byteCount
        let count: Int
        do throws(StorageError) {
            count = try unsafe fill(
                UnsafeMutableRawBufferPointer(rebasing: buffer.bytes(AttachmentFormat.chunkByteCount)[start...]))
        } catch {
            if full != nil { ring.putFree(buffer) }
            throw error
        }
        precondition(count >= 0 && start + count <= AttachmentFormat.chunkByteCount, "the source overran its room")
        if let full {
            guard count > 0 else {
                ring.putFree(buffer)
                return 0
            }
            pass(full, isLast: false)
            current = buffer
        }
        buffer.byteCount += count
        byteCount += UInt64(count)
        unsafe hasher.update(UnsafeRawBufferPointer(rebasing: buffer.bytes(buffer.byteCount)[start...]))
        return count
    }

    /// Appends bytes of the caller's.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        var offset = 0
        while offset < bytes.count {
            offset += try unsafe append { (room) throws(StorageError) in
                let count = min(room.count, bytes.count - offset)
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                return count
            }
        }
    }

    package func write(_ bytes: [UInt8]) throws(StorageError) {
        try unsafe bytes.lending(0..<bytes.count) { (buffer) throws(StorageError) in try unsafe write(buffer) }
    }

    /// Pads and seals the last chunk, makes the file durable under its name, and tells what to remember.
    ///
    /// - Throws: `.diskFull`, `.fileFailed`; then nothing is left behind.
    package func finish() throws(StorageError) -> AttachmentReference {
        precondition(!isEnded, "the attachment has ended")
        do throws(StorageError) {
            let last = try currentBuffer()
            current = nil
            pad(last)
            pass(last, isLast: true)
            endWorker()
            if let failure = result.failure { throw failure }
            try translatingFileErrors(file.synchronizeData())
            try store.adopt(partPath: partPath, address: store.addresses(of: fileID)[0])
        } catch {
            cancel()
            throw error
        }
        isEnded = true
        return AttachmentReference(
            fileID: fileID, fileKey: fileKey, chunkCount: nextIndex, byteCount: byteCount,
            plaintextHash: takeHash(), digest: result.digest)
    }

    /// Gives up and removes what was written.
    package func cancel() {
        guard !isEnded else { return }
        isEnded = true
        endWorker()
        try? store.environment.fileSystem.remove(partPath)
    }

    private func currentBuffer() throws(StorageError) -> ChunkBuffer {
        if let current { return current }
        let buffer = try emptyBuffer()
        current = buffer
        return buffer
    }

    private func emptyBuffer() throws(StorageError) -> ChunkBuffer {
        guard let buffer = try ring.takeFree() else { preconditionFailure("the ring is closed at the end only") }
        buffer.byteCount = 0
        return buffer
    }

    private func endWorker() {
        ring.close()
        worker?.join()
        worker = nil
    }

    private func takeHash() -> [UInt8] {
        var finished = BLAKE2bHasher(byteCount: 32)
        swap(&finished, &hasher)
        return finished.finish()
    }

    private func pad(_ buffer: ChunkBuffer) {
        let padded = AttachmentFormat.paddedLastChunkByteCount(buffer.byteCount)
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes(padded)[buffer.byteCount...])
            .initializeMemory(as: UInt8.self, repeating: 0)
        buffer.byteCount = padded
    }

    private func pass(_ buffer: ChunkBuffer, isLast: Bool) {
        buffer.index = nextIndex
        buffer.isLast = isLast
        nextIndex += 1
        ring.putFilled(buffer)
    }

    /// The second thread: seals each chunk in place and writes it with its tag.
    private static func sealAll(ring: ChunkRing, cipher: ChunkCipher, file: any OpenFile, result: SealingResult) {
        var digest = BLAKE2bHasher(byteCount: 32)
        do throws(StorageError) {
            while let buffer = try ring.takeFilled() {
                let byteCount = buffer.byteCount
                let all = unsafe buffer.bytes(byteCount + AttachmentFormat.tagByteCount)
                let tag = unsafe UnsafeMutableRawBufferPointer(rebasing: all[byteCount...])
                unsafe cipher.seal(
                    UnsafeMutableRawBufferPointer(rebasing: all[..<byteCount]), index: buffer.index,
                    isLast: buffer.isLast, tag: tag)
                unsafe digest.update(UnsafeRawBufferPointer(tag))
                try translatingFileErrors(
                    unsafe file.write(
                        UnsafeRawBufferPointer(all), at: AttachmentFormat.offset(ofChunk: buffer.index)))
                if (buffer.index + 1) % UInt64(ChunkRing.writtenTogetherCount) == 0 {
                    let first = AttachmentFormat.offset(
                        ofChunk: buffer.index + 1 - UInt64(ChunkRing.writtenTogetherCount))
                    let end = AttachmentFormat.offset(ofChunk: buffer.index) + all.count
                    file.beginWriting(at: first, byteCount: end - first)
                }
                ring.putFree(buffer)
            }
        } catch {
            result.failure = error
            ring.fail(error)
        }
        result.digest = digest.finish()
    }
}

/// What the second thread leaves for the first.
private final class SealingResult: @unchecked Sendable {
    // SAFETY: written by the worker, read after it was joined.
    var failure: StorageError?
    var digest: [UInt8] = []
}
