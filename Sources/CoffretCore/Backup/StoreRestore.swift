// Restoring a backup. Invariant: the place of the store stays empty until everything was authenticated, written,
// synced and opened once; then it appears with one rename.

internal import CoffretBase
package import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage

/// A backup whose header was opened.
package final class OpenBackup {
    private let file: any OpenFile
    private let byteCount: Int
    private let contentOffset: Int
    private let header: [UInt8]
    private let keys: RestoredKeys
    private let environment: StoreEnvironment

    /// Opens a backup with a passphrase or a recovery key that was valid when it was made.
    ///
    /// - Throws: `CoreError` `.backupUnknownFormat`, `.backupDamaged`, `.inputOutput`; `.keys` with its cause for
    ///   a secret that opens nothing and for parameters out of bounds.
    package init(at path: String, with secret: UnlockSecret, environment: StoreEnvironment) throws {
        let file = try inFiles(environment.fileSystem.open(path, .read))
        let byteCount = try inFiles(file.byteCount())
        let magicByteCount = BackupFormat.magic.count
        let start = try inFiles(file.read(byteCount: min(byteCount, magicByteCount + 4), at: 0))
        guard start.starts(with: BackupFormat.family) else { throw CoreError(.backupUnknownFormat, at: path) }
        guard start.count == magicByteCount + 4 else { throw CoreError(.backupDamaged, at: "offset \(start.count)") }
        guard start.starts(with: BackupFormat.magic) else { throw CoreError(.backupUnknownFormat, at: path) }
        let headerByteCount = start[magicByteCount...].reduce(0) { $0 << 8 | Int($1) }
        guard headerByteCount <= Limits.keyringByteCountMax, headerByteCount <= byteCount - start.count else {
            throw CoreError(.backupDamaged, at: "header")
        }
        let header = try inFiles(file.read(byteCount: headerByteCount, at: start.count))
        do throws(KeyError) {
            keys = try BackupHeader.open(header, with: secret, attempts: environment.attempts)
        } catch {
            switch error.code {
            case .backupMalformed, .backupAltered, .keyringInconsistent:
                throw CoreError(.backupDamaged, at: "header", cause: error)
            case .keyringUnsupported: throw CoreError(.backupUnknownFormat, at: path, cause: error)
            default: throw CoreError(.keys, at: error.code.rawValue, cause: error)
            }
        }
        self.file = file
        self.byteCount = byteCount
        self.header = header
        self.environment = environment
        contentOffset = start.count + headerByteCount
    }

    /// The names of the vaults in it.
    package var vaultNames: [String] { keys.vaults.map(\.name).sorted() }

    /// Reads and authenticates the backup to its last byte; writes nothing.
    ///
    /// - Throws: `CoreError.backupDamaged` with the place.
    package func verify(progress: (_ doneByteCount: Int, _ byteCount: Int) -> Void = { _, _ in }) throws {
        let known = Set(keys.vaults.map { StoreLayout.directoryName(of: $0.vaultID) })
        var found: Set<String> = []
        try readAll(
            progress,
            begin: { entry in
                let vault = String(entry.path.prefix(32))
                guard known.contains(vault) else { throw CoreError(.backupDamaged, at: entry.path) }
                found.insert(vault)
            }, write: { _, _ in })
        guard found == known else { throw CoreError(.backupDamaged, at: "a vault is missing") }
    }

    /// Makes a store out of the backup: a new device with keys of its own, under a new passphrase; the recovery
    /// keys of the backup stay valid.
    ///
    /// Reads the backup twice: once to authenticate all of it, once to write.
    /// - Parameter path: where the store is to be; nothing may be there but an empty directory.
    /// - Throws: `CoreError` `.storeExists`, `.backupDamaged`, `.inputOutput`, `.storage`, `.keys`; then nothing is
    ///   at `path`.
    package func restore(
        to path: String, passphrase: Passphrase, parameters: PasswordParameters, deviceName: String,
        progress: (_ doneByteCount: Int, _ byteCount: Int) -> Void = { _, _ in }
    ) throws {
        let fileSystem = environment.fileSystem
        try checkIsEmpty(path)
        try verify { done, all in progress(done / 2, all) }
        let staging = StoreLayout(path + ".restoring")
        do {
            try inFiles { () throws(FileSystemError) in
                try fileSystem.removeTree(staging.path)
                try fileSystem.makeDirectories(staging.vaultsPath)
            }
            try extract(to: staging) { done, all in progress(all / 2 + done / 2, all) }
            let keyring = try inKeys(
                Keyring.create(
                    restoring: keys, passphrase: passphrase, parameters: parameters, deviceName: deviceName,
                    environment: environment.keyring(at: staging.keyringPath)))
            try adopt(Store(layout: staging, keyring: keyring, environment: environment))
            try inFiles { () throws(FileSystemError) in
                try? fileSystem.remove(staging.keyringPath + ".lock")
                try fileSystem.synchronizeNames(below: staging.path)
                if try fileSystem.exists(path) { try fileSystem.removeDirectory(path) }
                try fileSystem.rename(staging.path, to: path)
                try fileSystem.synchronizeDirectory(PathText.parent(of: path))
            }
        } catch {
            try? fileSystem.removeTree(staging.path)
            throw error
        }
    }

    private func checkIsEmpty(_ path: String) throws {
        let fileSystem = environment.fileSystem
        let isEmpty = try inFiles { () throws(FileSystemError) in
            guard let status = try fileSystem.status(path) else { return true }
            guard status.kind == .directory else { return false }
            return try fileSystem.list(path).isEmpty
        }
        guard isEmpty else { throw CoreError(.storeExists, at: path) }
    }

    /// Opens each vault once with the new keys, which shows that it opens, and lets it remember the generation
    /// of the new keyring, which counts from 1.
    private func adopt(_ store: Store) throws {
        for record in keys.vaults {
            let vaultKeys = try inKeys(store.keyring.vaultKeys(for: record.vaultID))
            let author = try store.author(for: record.vaultID)
            try inStorage { () throws(StorageError) in
                let repository = try VaultRepository.open(
                    directory: store.layout.vaultPath(record.vaultID), keys: vaultKeys, author: author,
                    mode: .readWrite(lockTimeoutMilliseconds: 0), environment: environment.storage)
                _ = try repository.present.rootName()
                try repository.recordKeyringGeneration(store.keyring.generation)
                repository.close()
            }
        }
    }

    private func extract(to staging: StoreLayout, _ progress: (Int, Int) -> Void) throws {
        let fileSystem = environment.fileSystem
        for record in keys.vaults {
            for folder in ["journal", "blobs", "files"] {
                let path = PathText.join(staging.vaultPath(record.vaultID), folder)
                try inFiles(fileSystem.makeDirectories(path))
            }
        }
        var target: (any OpenFile)?
        try readAll(
            progress,
            begin: { entry in
                let path = PathText.join(staging.vaultsPath, entry.path)
                target = try inFiles { () throws(FileSystemError) in
                    try target?.synchronizeData()
                    try fileSystem.makeDirectories(PathText.parent(of: path))
                    let file = try fileSystem.open(path, .createNew)
                    try file.truncate(to: Int(entry.byteCount))
                    return file
                }
            },
            write: { offset, bytes in
                try inFiles(target?.write(bytes, at: Int(offset)))
            })
        try inFiles(target?.synchronizeData())
    }

    private func readAll(
        _ progress: (Int, Int) -> Void, begin: (BackupEntry) throws -> Void,
        write: (UInt64, [UInt8]) throws -> Void
    ) throws {
        let frames = BackupFrameReader(
            from: file, at: contentOffset, end: byteCount, key: KDF.derive(from: keys.key, .backupContent),
            associatedData: BackupFormat.associatedData(header: header))
        guard byteCount > contentOffset else { throw CoreError(.backupDamaged, at: "offset \(contentOffset)") }
        try BackupEntryReader(frames).readAll(
            begin: { entry in
                progress(frames.position - contentOffset, byteCount - contentOffset)
                try begin(entry)
            }, write: write)
        progress(byteCount - contentOffset, byteCount - contentOffset)
    }
}
