// Making a backup. Invariants: what is copied of a vault is one complete state, since its writer's lock is held from before
// the first file to after the last; and a backup costs what changed since the one before it.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage

/// The contents of a backup.
package struct BackupReport: Equatable, Sendable {
    package let name: BackupName
    /// The vaults by name.
    package let vaultNames: [String]
    /// How many files of all vaults.
    package let fileCount: Int
    /// The content of the backup, in bytes.
    package let byteCount: Int
    /// The bytes that were written for it.
    package let writtenByteCount: Int
    /// Attachments whose files are not what they should be; the backup has them as they lie.
    package internal(set) var faulty: [FaultyAttachment] = []
    /// Whether a file that is missing may lie at a server.
    package internal(set) var isSynced = false
}

extension Store {
    /// Adds a backup of the whole store to a folder: the keys as a passphrase or a recovery key of this moment opens
    /// them, without any device's private key, and all vaults with history and attachments as they lie.
    ///
    /// Files that an earlier backup of the folder has under the same passphrases and recovery keys are not written again,
    /// and packs and attachments that did not change are not read. Other writers of the store wait meanwhile; readers do not
    /// notice. The backup appears whole or not at all.
    /// - Parameters:
    ///   - path: of the folder; made if nothing or an empty folder is there.
    ///   - progress: is told how many bytes of how many were looked at; what it throws ends the backup.
    /// - Throws: `CoreError` `.backupUnknownFormat` for a folder with other files; `.inputOutput`, `.storage`, `.keys` with
    ///   their causes.
    package func backup(
        to path: String, progress: (_ doneByteCount: Int, _ byteCount: Int) throws -> Void = { _, _ in }
    ) throws -> BackupReport {
        let records = try allVaults
        var locked: [Vault] = []
        defer { for vault in locked { vault.repository.close() } }
        for record in records {
            let vault = try open(record, isWritable: true)
            locked.append(vault)
            // It would be short of what leads to it, and not say so.
            guard try !vault.isHistoryPending else {
                throw CoreError(StorageError(.historyPending, place: record.name))
            }
            // Before its first entry, or a sync, the chains are in the keyring alone.
            try keep(followedChains(of: record.vaultID))
        }
        let folder = try BackupFolder.prepared(at: path, environment: environment)
        return try folder.exclusively {
            try folder.removeUnfinished()
            let run = try BackupWriting(store: self, folder: folder)
            let isFirst = run.isFirst
            var report = try run.write(records, progress)
            for (record, vault) in zip(records, locked) {
                // A synced vault may have files at the server alone; a local one has lost what is not here.
                let isSynced = record.kind == .synced
                report.isSynced = report.isSynced || isSynced
                report.faulty += try vault.faultyAttachments(reads: isFirst).filter {
                    !isSynced || $0.fault != .missing
                }
            }
            return report
        }
    }

    /// The files of all vaults with their sizes, but for locks, the search index and what is half written.
    fileprivate func vaultFiles(_ records: [VaultRecord]) throws -> [BackupEntry] {
        var files: [BackupEntry] = []
        for record in records {
            try collect(StoreLayout.directoryName(of: record.vaultID), into: &files)
        }
        return files
    }

    private func collect(_ path: String, into files: inout [BackupEntry]) throws {
        let fileSystem = environment.fileSystem
        let folder = PathText.join(layout.vaultsPath, path)
        let entries = try inFiles(fileSystem.list(folder))
        for entry in entries where entry.isNameValid {
            let inner = PathText.join(path, entry.name)
            if entry.kind == .directory {
                if entry.name != "search" { try collect(inner, into: &files) }
            } else if entry.kind == .file, BackupFormat.isAcceptable(inner) {
                let status = try inFiles(fileSystem.status(PathText.join(layout.vaultsPath, inner)))
                if let status {
                    files.append(
                        BackupEntry(path: inner, byteCount: UInt64(status.byteCount), modified: status.modified))
                }
            }
        }
    }
}

/// One backup on its way.
private final class BackupWriting {
    private let store: Store
    private let folder: BackupFolder
    private let keys: BackupKeys
    private let folderKey: BackupFolderKey
    private let sealer: PieceSealer
    private var writer: VolumeWriter
    /// By name, in the newest backup that this store can read and in what was written since.
    private var known: [[UInt8]: BackupPiece] = [:]
    /// By path, in that backup.
    private var former: [String: BackupEntry] = [:]

    var isFirst: Bool { former.isEmpty }

    init(store: Store, folder: BackupFolder) throws {
        self.store = store
        self.folder = folder
        keys = try inKeys(store.keyring.makeBackupKeys())
        folderKey = try inKeys(store.keyring.backupFolderKey())
        sealer = PieceSealer(folderKey)
        writer = VolumeWriter(folder, sealer)
        try recall()
    }

    /// Takes over what the newest readable backup has, where its volumes are there, whole, and mostly still needed.
    ///
    /// A volume of which less than half is needed is not needed by new backups: it goes when the old ones are pruned.
    private func recall() throws {
        for name in try folder.names().reversed() {
            guard let file = try? BackupFile(folder.environment.fileSystem.open(folder.backupPath(name), .read)),
                file.keyMark == sealer.mark, let list = try? file.list(folderKey)
            else { continue }
            let sizes = try folder.volumeSizes()
            let damaged = CheckedVolumes.read(folder, store.keyring.storeID, folderKey).damaged
            var needed: [UniqueID: UInt64] = [:]
            var ends: [UniqueID: UInt64] = [:]
            for piece in Set(list.pieces) {
                needed[piece.volume, default: 0] += UInt64(piece.byteCount)
                ends[piece.volume] = max(ends[piece.volume] ?? 0, piece.end)
            }
            let usable = Set(
                needed.keys.filter { id in
                    guard let size = sizes[id].map({ UInt64($0.byteCount) }), !damaged.contains(id) else {
                        return false
                    }
                    let isWorthIt = (needed[id] ?? 0) * 2 >= size || size <= BackupFormat.smallVolumeByteCount
                    return isWorthIt && (ends[id] ?? 0) <= size
                })
            for entry in list.entries {
                let isWhole = entry.runs.allSatisfy { usable.contains($0.piece.volume) }
                if isWhole { former[entry.path] = entry }
                for run in entry.runs where usable.contains(run.piece.volume) { known[run.piece.name] = run.piece }
            }
            return
        }
    }

    func write(_ records: [VaultRecord], _ progress: (Int, Int) throws -> Void) throws -> BackupReport {
        var list = BackupList(time: store.environment.clock.now)
        let files = try store.vaultFiles(records)
        let byteCount = files.reduce(0) { $0 + Int($1.byteCount) }
        var doneByteCount = 0
        do {
            for file in files {
                list.entries.append(try entry(file))
                doneByteCount += Int(file.byteCount)
                try progress(doneByteCount, byteCount)
            }
            try writer.finish()
            let name = try freeName(list.time)
            let size = try write(list, named: name)
            return BackupReport(
                name: name, vaultNames: records.filter { !$0.isAccountVault }.map(\.name), fileCount: files.count,
                byteCount: byteCount,
                writtenByteCount: writer.byteCount + size)
        } catch {
            try? folder.removeUnfinished()
            throw error
        }
    }

    private func freeName(_ time: Milliseconds) throws -> BackupName {
        // A clock that was put back does not make the newest backup an old one.
        let newest = try folder.names().last?.time ?? .min
        return BackupName(max(time, newest == .min ? time : newest + 1_000), random: store.environment.random)
    }

    private func entry(_ file: BackupEntry) throws -> BackupEntry {
        if BackupFormat.isFixed(file.path), let former = former[file.path], former.byteCount == file.byteCount,
            former.modified == file.modified
        {
            return former
        }
        var entry = file
        let step = BackupFormat.isFixed(file.path) ? BackupFormat.pieceByteCount : BackupFormat.journalPieceByteCount
        let source = try inFiles(
            store.environment.fileSystem.open(PathText.join(store.layout.vaultsPath, file.path), .read))
        let byteCount = Int(file.byteCount)
        for offset in stride(from: 0, to: byteCount, by: step) {
            var bytes = try inFiles(source.read(byteCount: min(step, byteCount - offset), at: offset))
            // Preallocated room.
            bytes.removeLast(bytes.count - (bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0))
            guard !bytes.isEmpty else { continue }
            entry.runs.append(BackupRun(offset: UInt64(offset), piece: try piece(bytes)))
        }
        return entry
    }

    private func piece(_ bytes: [UInt8]) throws -> BackupPiece {
        let name = sealer.name(bytes)
        if let piece = known[name] { return piece }
        let piece = try writer.add(bytes, named: name)
        known[name] = piece
        return piece
    }

    /// - Returns: the size of the backup's own file.
    private func write(_ list: BackupList, named name: BackupName) throws -> Int {
        let fileSystem = folder.environment.fileSystem
        let volumes = Set(list.pieces.map(\.volume)).sorted()
        let clear = BackupFile.clear(keys, folderKey, volumes, random: folder.environment.random)
        let numbers = Dictionary(uniqueKeysWithValues: volumes.enumerated().map { ($1, UInt32($0)) })
        let path = folder.backupPath(name)
        try inFiles(fileSystem.synchronizeDirectory(folder.volumesPath))
        let file = try inFiles(fileSystem.open(path + ".new", .createNew))
        try inFiles(file.write(clear.bytes, at: 0))
        try BackupFile.frames(folderKey, clearHash: clear.hash)
            .write(list.stream(numbers), to: file, at: clear.bytes.count)
        try inFiles(file.synchronizeData())
        // Read back before it has its name.
        let written = try BackupFile(file)
        guard try written.list(folderKey).entries.count == list.entries.count else {
            throw CoreError(.backupDamaged, at: name.text)
        }
        try inFiles { () throws(FileSystemError) in
            try fileSystem.rename(path + ".new", to: path)
            do throws(FileSystemError) {
                try fileSystem.synchronizeDirectory(folder.backupsPath)
            } catch {
                // A name that may vanish again is not given out.
                try? fileSystem.remove(path)
                throw error
            }
        }
        return written.byteCount
    }
}
