// Restoring a backup. Invariant: the place of the store stays empty until everything was authenticated, written,
// synced and opened once; then it appears with one rename.

package import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust

/// A backup whose header was opened.
package final class OpenBackup {
    private let folder: BackupFolder
    package let name: BackupName
    private let list: BackupList
    private let reader: VolumeReader
    private let keys: RestoredKeys
    private let environment: StoreEnvironment

    /// Opens a backup with a passphrase or a recovery key that was valid when it was made.
    ///
    /// - Throws: `CoreError` `.backupUnknownFormat`, `.backupDamaged`, `.inputOutput`; `.keys` with its cause for
    ///   a secret that opens nothing and for parameters out of bounds.
    package init(_ name: BackupName, in folder: BackupFolder, with secret: UnlockSecret) throws {
        environment = folder.environment
        let path = folder.backupPath(name)
        let file = try BackupFile(inFiles(environment.fileSystem.open(path, .read)))
        do throws(KeyError) {
            keys = try BackupHeader.open(file.header, with: secret, attempts: environment.attempts)
        } catch {
            switch error.code {
            case .backupMalformed, .backupAltered, .keyringInconsistent:
                throw CoreError(.backupDamaged, at: "header", cause: error)
            case .keyringUnsupported: throw CoreError(.backupUnknownFormat, at: path, cause: error)
            default: throw CoreError(.keys, at: error.code.rawValue, cause: error)
            }
        }
        let folderKey = try file.folderKey(keys.key)
        self.folder = folder
        self.name = name
        list = try file.list(folderKey)
        reader = VolumeReader(folder, PieceSealer(folderKey))
    }

    /// When it was made, by the clock of the device that made it.
    package var time: Milliseconds { list.time }

    /// The names of the vaults in it.
    package var vaultNames: [String] { keys.vaults.filter { !$0.isAccountVault }.map(\.name).sorted() }

    /// Reads and authenticates all that the backup needs; writes nothing.
    ///
    /// - Throws: `CoreError.backupDamaged` with the place.
    package func verify(progress: (_ doneByteCount: Int, _ byteCount: Int) -> Void = { _, _ in }) throws {
        let known = Set(keys.vaults.map { StoreLayout.directoryName(of: $0.vaultID) })
        let found = Set(list.entries.map { String($0.path.prefix(32)) })
        guard found.isSubset(of: known) else { throw CoreError(.backupDamaged, at: "a vault is unknown") }
        guard found == known else { throw CoreError(.backupDamaged, at: "a vault is missing") }
        try readAll(progress) { _, _, _ in }
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
        // The vaults as they were, until they are founded anew.
        let former = StoreLayout(path + ".restoring-from")
        do {
            try inFiles { () throws(FileSystemError) in
                for layout in [staging, former] {
                    try fileSystem.removeTree(layout.path)
                    try fileSystem.makeDirectories(layout.vaultsPath)
                }
            }
            try extract(to: former) { done, all in progress(all / 2 + done / 2, all) }
            let keyring = try inKeys(
                Keyring.create(
                    restoring: keys, passphrase: passphrase, parameters: parameters, deviceName: deviceName,
                    environment: environment.keyring(at: staging.keyringPath)))
            let store = Store(layout: staging, keyring: keyring, environment: environment)
            for record in keys.vaults { try found(record, in: store, from: former) }
            try inFiles(fileSystem.removeTree(former.path))
            try inFiles { () throws(FileSystemError) in
                try? fileSystem.remove(staging.keyringPath + ".lock")
                try fileSystem.synchronizeNames(below: staging.path)
                if try fileSystem.exists(path) { try fileSystem.removeDirectory(path) }
                try fileSystem.rename(staging.path, to: path)
                try fileSystem.synchronizeDirectory(PathText.parent(of: path))
            }
        } catch {
            for layout in [staging, former] { try? fileSystem.removeTree(layout.path) }
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

    /// Founds a vault anew, with the history of the one that was backed up: nobody has a key of that one's device any more.
    private func found(_ record: VaultRecord, in store: Store, from former: StoreLayout) throws {
        let source = try openFormer(record, former)
        defer { source.close() }
        let id =
            try record.isAccountVault ? store.addAccountVault().vaultID : store.addVault(named: record.name)
        let target = try store.open(inKeys(store.keyring.vault(id)), isWritable: true)
        defer { target.close() }
        var copy = try HistoryCopy(from: source, to: target)
        try copy.run()
    }

    /// A vault as it lies in the backup, to read.
    private func openFormer(_ record: VaultRecord, _ former: StoreLayout) throws -> Vault {
        let directory = former.vaultPath(record.vaultID)
        let vaultKeys = try inKeys(keys.vaultKeys(for: record.vaultID))
        let file = ChainsFile(
            path: PathText.join(directory, ChainsFile.name), key: try inKeys(keys.chainsKey(of: record.vaultID)),
            fileSystem: environment.fileSystem,
            random: environment.random)
        guard var chains = file.sealed.flatMap({ file.open($0, record.vaultID) }),
            let head = ChainPosition(keys.ownChain.head)
        else {
            throw CoreError(.backupDamaged, at: ChainsFile.name)
        }
        do throws(FollowFailure) {
            try chains.finish(keys: RestoredMemberKeys(keys: keys, vault: record.vaultID))
        } catch {
            throw CoreError(.backupDamaged, at: ChainsFile.name, cause: error)
        }
        let author = LogAuthor(
            accountID: keys.ownChain.accountID, deviceID: .generate(from: environment.random), deviceHead: head,
            signingKey: nil)
        let repository = try inStorage(
            LogRepository.open(
                directory: directory, keys: vaultKeys, author: author, chains: chains.vaultChains, mode: .readOnly,
                environment: environment.storage, isText: ItemTexts.isText))
        return Vault(
            name: record.name, repository: repository, clock: environment.clock, random: environment.random,
            attachments: AttachmentStore(directory: directory, keys: vaultKeys, environment: environment.storage))
    }

    private struct RestoredMemberKeys: MemberKeys {
        let keys: RestoredKeys
        let vault: VaultID

        func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { keys.vaultKey(of: vault, epoch: epoch) }
    }

    private func extract(to staging: StoreLayout, _ progress: (Int, Int) -> Void) throws {
        let fileSystem = environment.fileSystem
        for record in keys.vaults {
            for folder in ["journal", "blobs", "files"] {
                let path = PathText.join(staging.vaultPath(record.vaultID), folder)
                try inFiles(fileSystem.makeDirectories(path))
            }
        }
        var target: (index: Int, file: any OpenFile)?
        for (index, entry) in list.entries.enumerated() where entry.runs.isEmpty {
            let file = try makeFile(entry, staging, index).file
            try inFiles(file.synchronizeData())
        }
        try readAll(progress) { index, offset, bytes in
            if target?.index != index {
                try inFiles(target?.file.synchronizeData())
                target = try makeFile(list.entries[index], staging, index)
            }
            try inFiles(target?.file.write(bytes, at: Int(offset)))
        }
        try inFiles(target?.file.synchronizeData())
    }

    private func makeFile(
        _ entry: BackupEntry, _ staging: StoreLayout, _ index: Int
    ) throws -> (index: Int, file: any OpenFile) {
        let path = PathText.join(staging.vaultsPath, entry.path)
        return try inFiles { () throws(FileSystemError) in
            try environment.fileSystem.makeDirectories(PathText.parent(of: path))
            let file = try environment.fileSystem.open(path, .createNew)
            try file.truncate(to: Int(entry.byteCount))
            return (index, file)
        }
    }

    /// Reads each piece; `take` gets the number of the entry, the offset in its file, and the bytes.
    private func readAll(
        _ progress: (Int, Int) -> Void, _ take: (Int, UInt64, [UInt8]) throws -> Void
    ) throws {
        let byteCount = list.pieces.reduce(0) { $0 + $1.byteCount }
        var doneByteCount = 0
        for (index, entry) in list.entries.enumerated() {
            for run in entry.runs {
                try take(index, run.offset, try reader.read(run.piece))
                doneByteCount += run.piece.byteCount
            }
            progress(doneByteCount, byteCount)
        }
        progress(byteCount, byteCount)
    }
}
