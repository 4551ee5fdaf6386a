// Attachments on their way between devices: sealed chunks, as they lie. The one thing to keep true: a chunk that comes
// is opened before it is kept, and a file gets its name only when all of it was verified.

package import CoffretBase
package import CoffretCrypto

/// One sealed chunk of an attachment: where it lies in the file, and under which addresses on a server.
package struct AttachmentChunk: Equatable, Sendable {
    package let index: UInt64
    /// Under each epoch, newest first; one is sent under the first.
    package let addresses: [BlobAddress]
    /// Of ciphertext and tag.
    package let byteCount: Int
    let byteOffset: Int
    package let isLast: Bool
}

extension AttachmentStore {
    /// The chunks of an attachment in order, whether its file is here or not.
    package func chunks(of reference: AttachmentReference) -> [AttachmentChunk] {
        let last = AttachmentFormat.paddedLastChunkByteCount(
            AttachmentFormat.lastChunkByteCount(byteCount: reference.byteCount))
        return (0..<reference.chunkCount).map { index in
            let isLast = index + 1 == reference.chunkCount
            return AttachmentChunk(
                index: index, addresses: chunkAddresses(of: reference.fileID, index: index),
                byteCount: (isLast ? last : AttachmentFormat.chunkByteCount) + AttachmentFormat.tagByteCount,
                byteOffset: AttachmentFormat.offset(ofChunk: index), isLast: isLast)
        }
    }

    /// Whether the attachment's file is here.
    package func contains(_ reference: AttachmentReference) throws(StorageError) -> Bool {
        for address in addresses(of: reference.fileID) {
            let path = path(of: address)
            let exists = try translatingFileErrors(environment.fileSystem.exists(path))
            if exists { return true }
        }
        return false
    }

    /// What an attachment's file still takes of the disk, beyond what an earlier receiver kept of it.
    package func missingByteCount(of reference: AttachmentReference) throws(StorageError) -> Int {
        let kept = try translatingFileErrors(environment.fileSystem.status(receivedPath(of: reference.fileID)))
        return max(0, AttachmentFormat.fileByteCount(byteCount: reference.byteCount) - (kept?.byteCount ?? 0))
    }

    /// The bytes of a chunk as they lie.
    ///
    /// - Throws: `.attachmentMissing`, `.attachmentTruncated`.
    package func sealedChunk(
        _ chunk: AttachmentChunk, of reference: AttachmentReference
    ) throws(StorageError) -> [UInt8] {
        try sealedChunk(chunk, ofFile: reference.fileID)
    }

    /// The bytes of a chunk of a file, whose reference need not be known.
    ///
    /// - Throws: `.attachmentMissing`, `.attachmentTruncated`.
    package func sealedChunk(_ chunk: AttachmentChunk, ofFile fileID: UniqueID) throws(StorageError) -> [UInt8] {
        for address in addresses(of: fileID) {
            do throws(FileSystemError) {
                let file = try environment.fileSystem.open(path(of: address), .read)
                let bytes = try file.readAvailable(byteCount: chunk.byteCount, at: chunk.byteOffset)
                guard bytes.count == chunk.byteCount else {
                    throw FileSystemError(.endOfFile, place: path(of: address))
                }
                return bytes
            } catch {
                if error.code == .endOfFile { throw StorageError(.attachmentTruncated, place: "file \(address)") }
                guard error.code == .notFound else { throw StorageError(file: error) }
            }
        }
        throw StorageError(.attachmentMissing, place: "file \(addresses(of: fileID)[0])")
    }

    /// The chunks of a file that lies here, told from its length: to send them, nobody needs its key.
    ///
    /// - Returns: nil if there is no such file, or none that has the form of one.
    package func storedChunks(ofFile fileID: UniqueID) throws(StorageError) -> [AttachmentChunk]? {
        for address in addresses(of: fileID) {
            let path = path(of: address)
            let status = try translatingFileErrors(environment.fileSystem.status(path))
            guard let status else { continue }
            let content = status.byteCount - AttachmentFormat.header.count
            let sealed = AttachmentFormat.sealedChunkByteCount
            guard content >= AttachmentFormat.lastChunkByteCountMin + AttachmentFormat.tagByteCount else { return nil }
            let count = UInt64((content - 1) / sealed + 1)
            return (0..<count).map { index in
                let isLast = index + 1 == count
                return AttachmentChunk(
                    index: index, addresses: chunkAddresses(of: fileID, index: index),
                    byteCount: isLast ? content - Int(index) * sealed : sealed,
                    byteOffset: AttachmentFormat.offset(ofChunk: index), isLast: isLast)
            }
        }
        return nil
    }

    /// Takes the chunks of an attachment whose file is not here; goes on where an earlier receiver ended.
    ///
    /// - Parameter vaultID: the vault that its chunks are bound to; nil for this one.
    package func makeReceiver(
        _ reference: AttachmentReference, sealedIn vaultID: VaultID? = nil
    ) throws(StorageError) -> AttachmentReceiver {
        try AttachmentReceiver(reference, store: self, sealedIn: vaultID ?? keys.vaultID)
    }

    /// Where a chunk of a file may lie on a server, by each epoch.
    package func addresses(ofChunk index: UInt64, ofFile fileID: UniqueID) -> [BlobAddress] {
        chunkAddresses(of: fileID, index: index)
    }

    private func chunkAddresses(of fileID: UniqueID, index: UInt64) -> [BlobAddress] {
        let name = BLAKE2b.hash(
            Array("coffret/chunk-place/1".utf8), keys.vaultID.bytes, fileID.bytes + index.bigEndianBytes)
        return chunkCiphers.map { cipher in
            guard let value = Bytes32(cipher.address(ofName: name)) else { preconditionFailure("32 bytes") }
            return BlobAddress(value)
        }
    }
}

/// Puts an attachment's file together from sealed chunks, in their order.
package final class AttachmentReceiver {
    private let reference: AttachmentReference
    private let store: AttachmentStore
    private let vaultID: VaultID
    private let cipher: ChunkCipher
    private let chunks: [AttachmentChunk]
    private let file: any OpenFile
    private let partPath: String
    private let protection: AttachmentProtection
    /// How many chunks are kept already; the next to come is the one with this index.
    package private(set) var keptCount: Int

    init(_ reference: AttachmentReference, store: AttachmentStore, sealedIn vaultID: VaultID) throws(StorageError) {
        self.reference = reference
        self.store = store
        self.vaultID = vaultID
        cipher = ChunkCipher(key: reference.fileKey, fileID: reference.fileID, vaultID: vaultID)
        chunks = store.chunks(of: reference)
        let path = store.receivedPath(of: reference.fileID)
        partPath = path
        protection = try store.protectUnnamed()
        let fileSystem = store.environment.fileSystem
        let (opened, byteCount) = try translatingFileErrors {
            () throws(FileSystemError) -> (any OpenFile, Int) in
            try fileSystem.makeDirectories(PathText.parent(of: path))
            let file = try fileSystem.open(path, .createIfAbsent, mode: 0o600)
            return (file, try file.byteCount())
        }
        file = opened
        // Whole chunks stay, what was cut is written again; the whole is verified at the end in any case.
        var kept = 0
        while kept < chunks.count, chunks[kept].byteOffset + chunks[kept].byteCount <= byteCount { kept += 1 }
        keptCount = kept
        if byteCount < AttachmentFormat.header.count {
            try translatingFileErrors(opened.write(AttachmentFormat.header, at: 0))
        }
    }

    /// The chunk that is to come next; nil if all are here.
    package var next: AttachmentChunk? { keptCount < chunks.count ? chunks[keptCount] : nil }

    /// Takes the sealed bytes of the next chunk.
    ///
    /// - Returns: false if they do not verify; then nothing is kept, and another variant may.
    package func take(_ sealed: [UInt8]) throws(StorageError) -> Bool {
        guard let chunk = next else { return false }
        guard sealed.count == chunk.byteCount else { return false }
        var opened = Array(sealed.dropLast(AttachmentFormat.tagByteCount))
        let tag = Array(sealed.suffix(AttachmentFormat.tagByteCount))
        let isGood = unsafe opened.withUnsafeMutableBytes { body in
            unsafe tag.withUnsafeBytes { tag in
                unsafe cipher.open(body, index: chunk.index, isLast: chunk.isLast, tag: tag)
            }
        }
        opened.zero()
        guard isGood else { return false }
        try translatingFileErrors(file.write(sealed, at: chunk.byteOffset))
        keptCount += 1
        return true
    }

    /// Gives the file its name, when all chunks are here and the whole verifies.
    ///
    /// - Throws: `.attachmentTruncated` if chunks are missing; what reading throws: then what was kept is removed.
    package func finish() throws(StorageError) {
        guard next == nil else { throw StorageError(.attachmentTruncated, place: partPath) }
        let end = chunks.last.map { $0.byteOffset + $0.byteCount } ?? 0
        try translatingFileErrors { () throws(FileSystemError) in
            try file.truncate(to: end)
            try file.synchronizeData()
        }
        let address = store.addresses(of: reference.fileID)[0]
        do throws(StorageError) {
            try AttachmentReader(reference, file: file, place: "file \(address)", sealedIn: vaultID, store: store)
                .verify()
        } catch {
            try? store.environment.fileSystem.remove(partPath)
            throw error
        }
        try store.adopt(partPath: partPath, address: address)
    }
}
