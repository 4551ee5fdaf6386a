// Files of items: in and out as streams. Invariant: an item names a file only when the file is durable, and what comes
// out was verified.

package import CoffretBase
package import CoffretStorage

extension Vault {
    /// Where the contents of files lie.
    ///
    /// - Throws: `CoreError.storage` for a vault that was opened without its files.
    package func contents() throws -> AttachmentStore {
        guard let attachmentStore else { throw CoreError(.storage, at: "files") }
        return attachmentStore
    }

    /// Attaches a file to an item: stores the content, then commits the fact.
    ///
    /// - Parameters:
    ///   - name: without a path.
    ///   - mediaType: nil to tell it from the name.
    ///   - fill: writes at the start of the buffer and returns how many bytes; 0 at the end.
    /// - Throws: `CoreError` `.itemNotFound`, `.fieldInvalid`, and `.noteLocked` with the record that is missing, before
    ///   anything is read.
    @discardableResult
    package func attach(
        to id: EntityID, name: String, mediaType: String? = nil,
        filling fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Int
    ) throws -> Attachment {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        return try attach(unsafe keepFile(for: id, name: name, mediaType: mediaType, filling: fill), to: id)
    }

    /// Stores the content of a file that an item is to name; needs no lock, however long the source takes.
    ///
    /// Until `attach(_:to:)` the file is in no item, and it goes with the answer and the next compaction.
    /// - Throws: as `attach`, before anything is read.
    package func keepFile(
        for id: EntityID, name: String, mediaType: String? = nil,
        filling fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Int
    ) throws -> KeptFile {
        // Before the content is stored: a locked note takes files only while it is open.
        _ = try opened(wholeItem(id))
        try VaultBatch.checkFileName(name)
        let store = try contents()
        return try inStorage { () throws(StorageError) in
            let protection = try store.protectUnnamed()
            let writer = try store.makeWriter()
            while try unsafe writer.append(filling: fill) > 0 {}
            return KeptFile(
                name: name, mediaType: mediaType ?? MediaType.guess(fileName: name), reference: try writer.finish(),
                protection: protection)
        }
    }

    /// Commits the fact that an item has a file.
    ///
    /// - Throws: `CoreError` `.itemNotFound` if the item has gone meanwhile, `.noteLocked`.
    @discardableResult
    package func attach(_ file: KeptFile, to id: EntityID) throws -> Attachment {
        _ = try opened(wholeItem(id))
        return try batch { batch in
            try batch.addAttachment(
                to: id, name: file.name, mediaType: file.mediaType,
                byteCount: Int(clamping: file.reference.byteCount), reference: file.reference.encode())
        }
    }

    /// Attaches a file of the disk.
    ///
    /// - Parameter name: nil for the name that the file has.
    @discardableResult
    package func attach(
        to id: EntityID, fileAt path: String, name: String? = nil, fileSystem: any FileSystem
    ) throws -> Attachment {
        let file = try inFiles(fileSystem.open(path, .read))
        var offset = 0
        return try unsafe attach(to: id, name: name ?? PathText.name(of: path)) { (buffer) throws(StorageError) in
            do throws(FileSystemError) {
                let count = try unsafe file.read(into: buffer, at: offset)
                offset += count
                return count
            } catch {
                throw StorageError(.fileFailed, place: error.place, cause: error)
            }
        }
    }

    /// Hands out a file's content in verified pieces; the whole is verified when this returns.
    package func read(
        _ attachment: Attachment, into sink: (UnsafeRawBufferPointer) throws(StorageError) -> Void
    ) throws {
        let reader = try reader(of: attachment)
        try inStorage(unsafe reader.read(into: sink))
    }

    /// Writes a file's content to the disk; the file gets its name when the whole was verified.
    package func extract(_ attachment: Attachment, toFile path: String) throws {
        let reader = try reader(of: attachment)
        try inStorage(reader.extract(toFile: path))
    }

    func reader(of attachment: Attachment) throws -> AttachmentReader {
        let store = try contents()
        return try inStorage(
            store.makeReader(AttachmentReference.parse(attachment.encodedReference), sealedIn: attachment.home))
    }

    /// Takes a file away from its item; the past still has it until history is compacted.
    package func removeAttachment(_ attachment: Attachment) throws {
        try batch { batch in try batch.removeAttachment(attachment) }
    }
}

/// A file whose content is stored and which no item names yet.
package struct KeptFile {
    package let name: String
    let mediaType: String
    let reference: AttachmentReference
    /// Keeps compactions of others from taking the file away.
    let protection: AttachmentProtection
}

extension Item {
    /// The file that a name, or the beginning of an id (at least four hex digits), means.
    ///
    /// - Throws: `CoreError` `.attachmentNotFound`, `.attachmentAmbiguous` with the candidates.
    package func attachment(named reference: String) throws -> Attachment {
        let sought = reference.lowercased()
        var found = attachments.filter { $0.name == reference }
        if found.isEmpty { found = attachments.filter { $0.name.lowercased() == sought } }
        if found.isEmpty && sought.utf8.count >= ReferenceResolver.digitCountMin {
            found = attachments.filter { $0.id.uuid.hex.hasPrefix(sought) }
        }
        guard let first = found.first else { throw CoreError(.attachmentNotFound, at: reference) }
        guard found.count == 1 else {
            throw CoreError(
                .attachmentAmbiguous, at: reference,
                candidates: found.prefix(ReferenceResolver.candidateCountMax).map {
                    CoreError.Candidate(id: $0.id.uuid.hex, title: $0.name)
                })
        }
        return first
    }
}
