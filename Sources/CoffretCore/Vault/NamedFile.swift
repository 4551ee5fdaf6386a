// Which files the facts of a vault name. The one thing to keep true: every fact that keeps a file alive is known here,
// to who removes files as to who sends them.

package import CoffretBase
package import CoffretStorage

/// A file that a fact names.
package struct NamedFile: Equatable, Sendable {
    package let fileID: UniqueID

    /// - Returns: nil for a fact that names no file.
    /// - Throws: `.factMalformedValue` for one that should, and cannot be read.
    package init?(_ fact: Fact) throws(StorageError) {
        guard fact.key.entity.kind == EntityKind.attachment, !fact.isRetraction,
            [AttachmentAttribute.content, AttachmentAttribute.fileID].contains(fact.key.attribute)
        else { return nil }
        guard let value = fact.inlineValue, let bytes = try? FactValue.bytes(value) else {
            throw StorageError(.factMalformedValue, place: fact.key.entity.description)
        }
        if fact.key.attribute == AttachmentAttribute.content {
            fileID = try AttachmentReference.parse(bytes).fileID
        } else if let id = UniqueID(bytes: bytes) {
            fileID = id
        } else {
            throw StorageError(.factMalformedValue, place: fact.key.entity.description)
        }
    }
}

extension Vault {
    /// Whether an attachment's file lies here; it may be at the server only.
    package func hasFile(of attachment: Attachment) throws(CoreError) -> Bool {
        let store = try contents()
        return try inStorage { () throws(StorageError) in
            try store.containsFile(AttachmentReference.parse(attachment.encodedReference).fileID)
        }
    }

    /// The attachments of the present whose files are not here. Those of locked notes are not among them: what it takes
    /// to verify them is sealed with the note.
    ///
    /// - Complexity: reads the facts of all attachments.
    package func absentAttachments() throws(CoreError) -> [Attachment] {
        var absent: [Attachment] = []
        try present.reader.forEachAttachment { (attachment) throws(CoreError) in
            if try !hasFile(of: attachment) { absent.append(attachment) }
        }
        return absent
    }
}
