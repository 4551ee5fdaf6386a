// Attachment files as they lie on the disk, for those whose keys nobody has here: files of locked notes on their way
// through an export. The one thing to keep true: such a file gets its name when it is complete and durable.

package import CoffretBase

extension AttachmentStore {
    private static var pieceByteCount: Int { 1 << 20 }

    /// Hands out a file, ciphertext and all, in pieces.
    ///
    /// - Throws: `.attachmentMissing`; what `sink` throws.
    package func readSealed(
        _ fileID: UniqueID, into sink: ([UInt8]) throws(StorageError) -> Void
    ) throws(StorageError) {
        for address in addresses(of: fileID) {
            let path = path(of: address)
            let file: any OpenFile
            do throws(FileSystemError) {
                file = try environment.fileSystem.open(path, .read)
            } catch {
                guard error.code == .notFound else { throw StorageError(file: error) }
                continue
            }
            var offset = 0
            while true {
                let piece = try translatingFileErrors(file.readAvailable(byteCount: Self.pieceByteCount, at: offset))
                guard !piece.isEmpty else { return }
                try sink(piece)
                offset += piece.count
            }
        }
        throw StorageError(.attachmentMissing, place: "file \(addresses(of: fileID)[0])")
    }

    /// A writer for a file that is sealed already.
    ///
    /// - Throws: `.diskFull`, `.fileFailed`.
    package func makeSealedWriter(_ fileID: UniqueID) throws(StorageError) -> SealedAttachmentWriter {
        try SealedAttachmentWriter(fileID, store: self)
    }
}

/// Takes a sealed file piece by piece.
package final class SealedAttachmentWriter {
    private let fileID: UniqueID
    private let store: AttachmentStore
    private let partPath: String
    private let file: any OpenFile
    private var byteCount = 0

    init(_ fileID: UniqueID, store: AttachmentStore) throws(StorageError) {
        self.fileID = fileID
        self.store = store
        let partPath = store.makePartPath()
        self.partPath = partPath
        let (directory, fileSystem) = (store.directory, store.environment.fileSystem)
        file = try translatingFileErrors { () throws(FileSystemError) in
            try fileSystem.makeDirectories(directory)
            return try fileSystem.open(partPath, .createNew)
        }
    }

    package func write(_ bytes: [UInt8]) throws(StorageError) {
        try translatingFileErrors(file.write(bytes, at: byteCount))
        byteCount += bytes.count
    }

    /// Makes the file durable under its name.
    package func finish() throws(StorageError) {
        try translatingFileErrors(file.synchronizeData())
        try store.adopt(partPath: partPath, address: store.addresses(of: fileID)[0])
    }

    /// Removes what was written.
    package func cancel() {
        try? store.environment.fileSystem.remove(partPath)
    }
}
