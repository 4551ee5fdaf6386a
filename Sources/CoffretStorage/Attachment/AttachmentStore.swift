// The files of a vault's attachments. The one thing to keep true: a file gets its name when it is
// complete and durable, and its name tells nothing.

package import CoffretBase
package import CoffretCrypto

/// Finds, writes, reads, checks and lists attachments of one vault.
///
/// A file lies at `files/<first two digits>/<64 digits>`, named by the address of its file id. What is
/// being written lies at `files/<random>.part`.
package final class AttachmentStore {
    let directory: String
    let keys: VaultKeys
    let environment: StorageEnvironment
    /// Of all epochs, newest first.
    private(set) lazy var chunkCiphers = keys.epochs.compactMap { keys.keys(ofEpoch: $0) }
        .map { AddressCipher($0.chunkAddressKey) }

    private static let partSuffix = ".part"
    /// How long a file is spared that no fact names, while somebody writes files.
    private static let protectedMilliseconds: Milliseconds = 86_400_000

    package init(directory: String, keys: VaultKeys, environment: StorageEnvironment) {
        self.directory = PathText.join(directory, "files")
        self.keys = keys
        self.environment = environment
    }

    /// A writer for a new attachment.
    ///
    /// - Throws: `.diskFull`, `.fileFailed`.
    package func makeWriter() throws(StorageError) -> AttachmentWriter {
        try AttachmentWriter(store: self)
    }

    /// A reader of one attachment.
    ///
    /// - Parameter vaultID: the vault that its chunks are bound to; nil for this one.
    /// - Throws: `.attachmentMissing`, `.attachmentTruncated` if the file's size is not what the
    ///   reference says, `.attachmentAuthenticationFailed` if its header is not ours.
    package func makeReader(
        _ reference: AttachmentReference, sealedIn vaultID: VaultID? = nil
    ) throws(StorageError) -> AttachmentReader {
        try AttachmentReader(reference, store: self, sealedIn: vaultID ?? keys.vaultID)
    }

    /// The addresses that a file id has, newest epoch first.
    package func addresses(of fileID: UniqueID) -> [BlobAddress] {
        let name = BLAKE2b.hash(Array("coffret/file/1".utf8), keys.vaultID.bytes, fileID.bytes)
        return chunkCiphers.map { cipher in
            guard let value = Bytes32(cipher.address(ofName: name)) else { preconditionFailure("32 bytes") }
            return BlobAddress(value)
        }
    }

    /// Whether a complete file with this id lies here.
    package func containsFile(_ fileID: UniqueID) throws(StorageError) -> Bool {
        for address in addresses(of: fileID) {
            let path = path(of: address)
            if try translatingFileErrors(environment.fileSystem.exists(path)) {
                return true
            }
        }
        return false
    }

    func path(of address: BlobAddress) -> String {
        let digits = address.description
        return PathText.join(PathText.join(directory, String(digits.prefix(2))), digits)
    }

    /// Where a file is put together from chunks that come from elsewhere; found again after a restart.
    func receivedPath(of fileID: UniqueID) -> String {
        PathText.join(directory, addresses(of: fileID)[0].description + Self.partSuffix)
    }

    func makePartPath() -> String {
        PathText.join(directory, Hex.encode(environment.random.bytes(count: 16)) + Self.partSuffix)
    }

    /// Gives a complete, synced file its name, and makes the name durable.
    func adopt(partPath: String, address: BlobAddress) throws(StorageError) {
        let fileSystem = environment.fileSystem
        let target = path(of: address)
        let folder = PathText.parent(of: target)
        try translatingFileErrors { () throws(FileSystemError) in
            try fileSystem.makeDirectories(folder)
            try fileSystem.rename(partPath, to: target)
            do throws(FileSystemError) {
                try fileSystem.synchronizeDirectory(folder)
                try fileSystem.synchronizeDirectory(directory)
            } catch {
                // A name that may vanish again is not given out.
                try? fileSystem.remove(target)
                throw error
            }
        }
    }

    // MARK: Listing and clearing away

    /// A stored attachment file, as far as it can be told without a reference.
    package struct StoredFile: Hashable, Sendable {
        package let address: BlobAddress
        package let byteCount: Int
    }

    /// All complete attachment files.
    package func storedFiles() throws(StorageError) -> [StoredFile] {
        try translatingFileErrors(completeFiles())
    }

    private func completeFiles() throws(FileSystemError) -> [StoredFile] {
        let fileSystem = environment.fileSystem
        var files: [StoredFile] = []
        guard try fileSystem.exists(directory) else { return files }
        for folder in try fileSystem.list(directory) where folder.kind == .directory {
            for entry in try fileSystem.list(PathText.join(directory, folder.name)) where entry.kind == .file {
                guard let bytes = try? Hex.decode(entry.name), let value = Bytes32(bytes) else { continue }
                let address = BlobAddress(value)
                guard let status = try fileSystem.status(path(of: address)) else { continue }
                files.append(StoredFile(address: address, byteCount: status.byteCount))
            }
        }
        return files
    }

    /// Keeps files that no fact names yet from being removed, for as long as the answer lives.
    ///
    /// For those who write files without the vault's writer lock.
    /// - Throws: `.fileFailed`.
    package func protectUnnamed() throws(StorageError) -> AttachmentProtection {
        let file = try translatingFileErrors { () throws(FileSystemError) in
            try environment.fileSystem.makeDirectories(directory)
            let file = try environment.fileSystem.open(lockPath, .createIfAbsent)
            try file.lock(.shared, waits: true)
            return file
        }
        return AttachmentProtection(file)
    }

    private var lockPath: String { PathText.join(directory, "lock") }

    /// Removes every file that is none of `fileIDs`, and what was left half written.
    ///
    /// The caller holds the vault's writer lock and has no writer of his own under way: a file whose fact is not
    /// committed yet would go too. While others write files, only what has lain here for a day goes.
    /// - Returns: number of files and their bytes.
    @discardableResult
    package func removeAll(
        except fileIDs: some Sequence<UniqueID>
    ) throws(StorageError) -> (count: Int, byteCount: Int) {
        let kept = Set(fileIDs.flatMap { addresses(of: $0) })
        let fileSystem = environment.fileSystem
        var removed = (count: 0, byteCount: 0)
        try translatingFileErrors { () throws(FileSystemError) in
            guard try fileSystem.exists(directory) else { return }
            let lock = try fileSystem.open(lockPath, .createIfAbsent)
            let isBusy: Bool
            do throws(FileSystemError) {
                try lock.lock(.exclusive, waits: false)
                isBusy = false
            } catch {
                guard error.code == .wouldBlock else { throw error }
                isBusy = true
            }
            let limit = environment.clock.now - Self.protectedMilliseconds
            func remove(_ path: String) throws(FileSystemError) -> Int? {
                guard let status = try fileSystem.status(path), !isBusy || status.modified < limit else { return nil }
                try fileSystem.remove(path)
                return status.byteCount
            }
            for folder in try fileSystem.list(directory) {
                let path = PathText.join(directory, folder.name)
                if folder.kind == .file, folder.name.hasSuffix(Self.partSuffix) { _ = try remove(path) }
            }
            for file in try completeFiles() where !kept.contains(file.address) {
                guard let byteCount = try remove(path(of: file.address)) else { continue }
                removed = (removed.count + 1, removed.byteCount + byteCount)
            }
        }
        return removed
    }
}

/// Somebody writes attachment files, or is about to name them in a fact; the system ends it with the process.
package final class AttachmentProtection {
    private let file: any OpenFile

    fileprivate init(_ file: any OpenFile) { self.file = file }

    deinit { try? file.unlock() }
}

extension BlobStore {
    /// The attachments of this vault.
    package var attachments: AttachmentStore {
        AttachmentStore(directory: directory, keys: keys, environment: context.environment)
    }
}
