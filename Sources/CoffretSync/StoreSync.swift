// What a store does with its zones beside syncing: files that are asked for, zones that are gone, codes to compare by
// eye. The one thing to keep true: nothing here takes a head from a server.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

extension Store {
    /// Forgets what a zone showed, since a person had it deleted: an empty one is no rollback then.
    package func forgetZone(of record: VaultRecord) throws {
        let vault = try openVault(record.vaultID.hex, isWritable: true)
        defer { vault.close() }
        guard let old = try VaultSync.memory(of: vault.repository) else { return }
        var memory = SyncMemory(server: old.server)
        // A counter that fell would look like a lie to devices that remember it.
        memory.counter = old.counter
        try vault.repository.setSyncNote(memory.encode())
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

    /// What two devices compare by eye to know that they see the same: 16 characters of Crockford's base32 in groups of four.
    ///
    /// - Returns: nil for a vault in which nothing was written yet.
    package func headCode(of vault: Vault, _ record: VaultRecord) throws -> String? {
        guard let head = vault.repository.headNames.first else { return nil }
        let hash = BLAKE2b.hash(
            Array("coffret/head-code/1".utf8), record.vaultID.bytes, head.bytes,
            try keyring.deviceChain().head.linkHash, record.memberChain.head.linkHash)
        let characters = Array(Base32.crockford.encode(hash.prefix(10)))
        return stride(from: 0, to: characters.count, by: 4)
            .map { String(characters[$0..<min($0 + 4, characters.count)]) }.joined(separator: "-")
    }
}
