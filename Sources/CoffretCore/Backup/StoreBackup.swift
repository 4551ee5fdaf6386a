// Making a backup. Invariant: what is copied of a vault is one complete state, since its writer's lock is held from
// before the first file to after the last.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage

/// The contents of a backup.
package struct BackupReport: Equatable, Sendable {
    /// The vaults by name.
    package let vaultNames: [String]
    /// How many files of all vaults.
    package let fileCount: Int
    /// The size of the backup.
    package let byteCount: Int
    /// Attachments whose files are not what they should be; the backup has them as they lie.
    package internal(set) var faulty: [FaultyAttachment] = []
    /// Whether a file that is missing may lie at a server.
    package internal(set) var isSynced = false
}

extension Store {
    /// Writes the whole store into one new file: the keys as a passphrase or a recovery key of this moment opens
    /// them, without any device's private key, and all vaults with history and attachments as they lie.
    ///
    /// Other writers wait meanwhile; readers do not notice. The file appears whole or not at all.
    /// - Parameter progress: is told how many bytes of how many were copied; what it throws ends the backup.
    /// - Throws: `CoreError` `.backupExists` if there is a file already; `.inputOutput`, `.storage`, `.keys` with
    ///   their causes.
    package func backup(
        to path: String, progress: (_ doneByteCount: Int, _ byteCount: Int) throws -> Void = { _, _ in }
    ) throws -> BackupReport {
        let fileSystem = environment.fileSystem
        let exists = try inFiles(fileSystem.exists(path))
        guard !exists else { throw CoreError(.backupExists, at: path) }
        let records = try vaults
        var locked: [Vault] = []
        defer { for vault in locked { vault.repository.close() } }
        for record in records {
            let vault = try open(record, isWritable: true)
            locked.append(vault)
            // It would be short of what leads to it, and not say so.
            try inStorage(vault.repository.requireHistory())
        }
        let keys = try inKeys(keyring.makeBackupKeys())
        let temporary = path + ".new"
        do {
            var report = try write(keys, records, to: temporary, progress)
            for (record, vault) in zip(records, locked) {
                // A synced vault may have files at the server alone; a local one has lost what is not here.
                let isSynced = record.kind == .synced
                report.isSynced = report.isSynced || isSynced
                report.faulty += try vault.faultyAttachments(reads: true).filter { !isSynced || $0.fault != .missing }
            }
            try inFiles { () throws(FileSystemError) in
                try fileSystem.rename(temporary, to: path)
                do throws(FileSystemError) {
                    try fileSystem.synchronizeDirectory(PathText.parent(of: path))
                } catch {
                    // A name that may vanish again is not given out.
                    try? fileSystem.remove(path)
                    throw error
                }
            }
            return report
        } catch {
            try? fileSystem.remove(temporary)
            throw error
        }
    }

    private func write(
        _ keys: BackupKeys, _ records: [VaultRecord], to path: String, _ progress: (Int, Int) throws -> Void
    ) throws -> BackupReport {
        let fileSystem = environment.fileSystem
        let start =
            BackupFormat.magic + UInt32(keys.header.count).bigEndianBytes + keys.header
        let file = try inFiles { () throws(FileSystemError) in
            let file = try fileSystem.open(path, .createNew)
            try file.write(start, at: 0)
            return file
        }
        let frames = BackupFrameWriter(
            to: file, at: start.count, key: KDF.derive(from: keys.key, .backupContent),
            associatedData: BackupFormat.associatedData(header: keys.header))
        var entries = BackupEntryWriter(frames)
        let files = try vaultFiles(records)
        let byteCount = files.reduce(0) { $0 + $1.byteCount }
        var doneByteCount = 0
        for entry in files {
            let source = try inFiles(fileSystem.open(PathText.join(layout.vaultsPath, entry.path), .read))
            try entries.add(entry.path, from: source)
            doneByteCount += entry.byteCount
            try progress(doneByteCount, byteCount)
        }
        try entries.finish()
        let size = try inFiles { () throws(FileSystemError) in
            try file.synchronizeData()
            return try file.byteCount()
        }
        return BackupReport(vaultNames: records.map(\.name), fileCount: files.count, byteCount: size)
    }

    /// The files of all vaults with their sizes, but for locks, the search index and what is half written.
    private func vaultFiles(_ records: [VaultRecord]) throws -> [(path: String, byteCount: Int)] {
        var files: [(path: String, byteCount: Int)] = []
        for record in records {
            try collect(StoreLayout.directoryName(of: record.vaultID), into: &files)
        }
        return files
    }

    private func collect(_ path: String, into files: inout [(path: String, byteCount: Int)]) throws {
        let fileSystem = environment.fileSystem
        let folder = PathText.join(layout.vaultsPath, path)
        let entries = try inFiles(fileSystem.list(folder))
        for entry in entries where entry.isNameValid {
            let inner = PathText.join(path, entry.name)
            if entry.kind == .directory {
                if entry.name != "search" { try collect(inner, into: &files) }
            } else if entry.kind == .file, BackupFormat.isAcceptable(inner) {
                let status = try inFiles(fileSystem.status(PathText.join(layout.vaultsPath, inner)))
                if let status { files.append((inner, status.byteCount)) }
            }
        }
    }
}
