// Which files the facts of a vault name. Invariant: every fact that keeps a file alive is known here, to who removes
// files as to who sends them.

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
        guard let value = fact.plainInlineValue, let bytes = try? FactValue.bytes(value) else {
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

/// How a person knows a file.
package struct FileLabel: Equatable, Sendable {
    /// Nil where the name is sealed, or out of sight.
    package let name: String?
    package let itemTitle: String
}

extension Vault {
    /// How people know some files: by the attachments of the current state that name them.
    ///
    /// - Returns: nothing for a file that only the past names.
    /// - Complexity: reads the facts of all attachments.
    package func labels(ofFiles files: Set<UniqueID>) throws -> [UniqueID: FileLabel] {
        var labels: [UniqueID: FileLabel] = [:]
        guard !files.isEmpty else { return labels }
        let view = try present
        try view.reader.forEachEntity(withPrefix: [EntityKind.attachment]) { id, facts in
            var named: UniqueID?
            for fact in facts {
                let file = try inStorage(NamedFile(fact)?.fileID)
                if let file, files.contains(file) { named = file }
            }
            guard let named,
                let itemBytes = facts.first(where: { $0.key.attribute == AttachmentAttribute.item })?.plainInlineValue,
                let itemID = EntityID(bytes: try FactValue.bytes(itemBytes)), let item = try view.item(itemID)
            else { return }
            labels[named] = FileLabel(
                name: item.attachments.first { $0.id == id }?.name, itemTitle: item.title)
        }
        return labels
    }

    /// Whether an attachment's file lies here; it may be at the server only.
    package func hasFile(of attachment: Attachment) throws -> Bool {
        let store = try contents()
        return try inStorage(store.containsFile(AttachmentReference.parse(attachment.encodedReference).fileID))
    }

    /// The attachments of the current state whose files are not here. Those of locked notes are not among them: what it takes
    /// to verify them is sealed with the note.
    ///
    /// - Complexity: reads the facts of all attachments.
    package func absentAttachments() throws -> [Attachment] {
        var absent: [Attachment] = []
        try present.reader.forEachAttachment { attachment in
            if try !hasFile(of: attachment) { absent.append(attachment) }
        }
        return absent
    }
}
