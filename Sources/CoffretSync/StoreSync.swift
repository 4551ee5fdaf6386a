// What a store does with its zones beside syncing: files that are asked for, zones that are gone, what is not sent yet. The one
// thing to keep true: nothing here takes anything from a server.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
package import CoffretStorage
internal import CoffretTrust

extension Store {
    /// Forgets what a zone showed, since a person had it deleted: an empty one is no rollback then.
    package func forgetZone(of record: VaultRecord) throws {
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        let memory = LogMemory(of: vault.repository)
        try vault.repository.remember(memory.begun(at: memory.server, in: vault.repository).encoded)
        try forgetZoneHead(of: record.vaultID)
    }

    /// Fetches the files of attachments from a zone. The vault may be used, and written, meanwhile.
    ///
    /// - Parameters:
    ///   - attachments: those whose files are here already are left out.
    ///   - hasRoom: whether so many bytes more may lie on this disk.
    /// - Throws: a `SyncError`, a `CoreError`.
    package func fetchFiles(
        of attachments: [Attachment], in vault: Vault, through transport: any FileTransport,
        hasRoom: @escaping (_ byteCount: Int) -> Bool,
        progress: @escaping (FileProgress) -> Void = { _ in }
    ) throws -> FileTally {
        let files = FileExchange(
            store: try vault.contents(), transport: transport, hasRoom: hasRoom, progress: progress)
        return try files.fetch(
            attachments.compactMap { (attachment: Attachment) -> WantedFile? in
                guard try !vault.hasFile(of: attachment) else { return nil }
                return WantedFile(
                    reference: try AttachmentReference.parse(attachment.encodedReference), home: attachment.home,
                    place: attachment.id.uuid.hex)
            })
    }

    /// Leaves the log that this copy of the store wrote in a vault, after it went on as a copy of its own: the next sync writes
    /// again what only this copy has (I5).
    ///
    /// - Returns: how many entries that are.
    package func leaveLog(of record: VaultRecord) throws -> Int {
        let lock = try SyncLock.take(
            layout.vaultPath(record.vaultID), fileSystem, patienceMilliseconds: Self.lockTimeoutMilliseconds)
        defer { lock.giveBack() }
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        guard let count = try VaultSyncer.unsentEntryCount(of: vault) else {
            try vault.repository.leaveOwnLog()
            return 0
        }
        try LogCopies.note(in: vault.repository)
        return count
    }

    /// Two devices compare this by eye to know that they see the same: 16 characters in groups of four.
    ///
    /// - Returns: nil for a vault in which nothing was written yet.
    package func headCode(of vault: Vault) throws -> String? {
        guard let head = ChainPosition(try keyring.deviceChain().head) else { return nil }
        let id = vault.repository.keys.vaultID
        return try vault.repository.ask { (machine) -> HeadCode? in
            guard machine.base != nil || !machine.frontier.isEmpty else { return nil }
            let base = machine.base.flatMap { link in
                Bytes32(machine.members.chain.links[link].hash.bytes).map {
                    ChainPosition(number: UInt64(link), hash: $0)
                }
            }
            return HeadCode(
                vaultID: id, base: base, frontier: machine.frontier, digest: machine.word.digest, deviceHead: head)
        }?.description
    }
}

/// Changes that wait to be sent.
package struct UnsentChanges: Equatable, Sendable {
    static let blobCountMax = 2_000

    package let entryCount: Int
    /// As they go to the server, files not counted; nil for very many, of which it is not counted.
    package let byteCount: Int?
}

extension VaultSyncer {
    static func unsentEntries(of vault: Vault) throws -> Set<BlobName> {
        let repository = vault.repository
        return try ServedLogs(LogMemory(of: repository), in: repository).unacknowledged(in: repository)
    }

    private static func wasSynced(_ vault: Vault) -> Bool { !LogMemory(of: vault.repository).server.isEmpty }

    /// How many entries are here and not on the server, as far as the last sync has seen; nil before the first one.
    package static func unsentEntryCount(of vault: Vault) throws -> Int? {
        wasSynced(vault) ? try unsentEntries(of: vault).count : nil
    }

    /// The changes that are here and not on the server, as far as the last sync has seen; nil before the first one.
    ///
    /// - Complexity: reads the blobs, up to so many that their size is worth knowing.
    package static func unsent(of vault: Vault) throws -> UnsentChanges? {
        guard wasSynced(vault) else { return nil }
        let (repository, entries) = (vault.repository, try unsentEntries(of: vault))
        guard entries.count <= UnsentChanges.blobCountMax else {
            return UnsentChanges(entryCount: entries.count, byteCount: nil)
        }
        var names: Set<BlobName> = []
        for name in entries {
            let entry = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
            if let entry = entry?.entry { names.formUnion(try repository.blobNames(of: entry)) }
        }
        guard names.count <= UnsentChanges.blobCountMax else {
            return UnsentChanges(entryCount: entries.count, byteCount: nil)
        }
        let byteCount = try names.reduce(0) { try $0 + repository.exchange.sealedBlob($1).bytes.count }
        return UnsentChanges(entryCount: entries.count, byteCount: byteCount)
    }

    /// The items that the server was last seen not to have as they are; nil where nothing was synced.
    package static func unsentItems(of vault: Vault) throws -> Set<EntityID>? {
        guard wasSynced(vault) else { return nil }
        let repository = vault.repository
        var entities: Set<EntityID> = []
        for name in try unsentEntries(of: vault) {
            let entry = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
            guard let entry = entry?.entry else { continue }
            for change in try repository.changes(of: entry) { entities.insert(change.key.entity) }
        }
        return try vault.itemIDs(of: entities)
    }

    /// Files that the last sync could not send, since the server has no room for them.
    package static func waitingFiles(of vault: Vault) -> [WaitingFile] {
        LogMemory(of: vault.repository).waitingFiles
    }

    /// Whether what this device dropped lies at the server still, as far as is known.
    package static func isSweepDue(of vault: Vault) -> Bool { LogCollector.requested(in: vault.repository) != nil }

    /// Whether entries of before the checkpoint with which this device began are still to come.
    package static func isPastDue(of vault: Vault) -> Bool { LogMemory(of: vault.repository).past != nil }
}
