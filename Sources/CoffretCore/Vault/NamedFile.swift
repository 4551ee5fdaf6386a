// Which files the facts of a vault name. Invariant: every fact that keeps a file alive is known here, to who removes
// files as to who sends them.

package import CoffretBase
internal import CoffretLogs
package import CoffretStorage

/// A file that a fact names.
package struct NamedFile: Equatable, Sendable {
    package let fileID: UniqueID

    /// Whether facts under a key name files.
    package static func isNamed(by key: FactKey) -> Bool {
        key.entity.kind == EntityKind.attachment
            && [AttachmentAttribute.content, AttachmentAttribute.fileID].contains(key.attribute)
    }

    /// - Returns: nil for a key whose facts name no file.
    /// - Throws: `.factMalformedValue` for one that should, and cannot be read.
    package init?(_ key: FactKey, _ value: [UInt8]) throws(StorageError) {
        guard Self.isNamed(by: key) else { return nil }
        guard let bytes = try? FactValue.bytes(value) else {
            throw StorageError(.factMalformedValue, place: key.entity.description)
        }
        if key.attribute == AttachmentAttribute.content {
            fileID = try AttachmentReference.parse(bytes).fileID
        } else if let id = UniqueID(bytes: bytes) {
            fileID = id
        } else {
            throw StorageError(.factMalformedValue, place: key.entity.description)
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
                guard NamedFile.isNamed(by: fact.key) else { continue }
                let value = try view.reader.value(of: fact)
                let file = try inStorage(NamedFile(fact.key, value)?.fileID)
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
