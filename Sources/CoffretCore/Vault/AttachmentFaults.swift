// Faults of the files of attachments. Invariant: one bad file is reported by its name, and keeps nobody from all the
// others.

package import CoffretStorage

/// How the file of an attachment is not what the item says of it.
package enum AttachmentFault: String, Equatable, Sendable {
    case missing
    case cut
    case altered

    /// Nil for an error that says nothing of the file.
    package init?(_ error: any Error) {
        let cause = ((error as? CoreError)?.cause ?? error) as? StorageError
        switch cause?.code {
        case .attachmentMissing: self = .missing
        case .attachmentTruncated: self = .cut
        case .attachmentAuthenticationFailed: self = .altered
        default: return nil
        }
    }

    package var words: String {
        switch self {
        case .missing: "the file is missing"
        case .cut: "the file was cut short"
        case .altered: "the file was altered"
        }
    }
}

/// An attachment of the current state whose file is not what it should be.
package struct FaultyAttachment: Equatable, Sendable {
    package let attachment: Attachment
    package let itemTitle: String
    package let fault: AttachmentFault
}

extension Vault {
    /// The fault of an attachment's file, by its size and its head; by all of it if it is read.
    ///
    /// - Throws: what says nothing of the file, such as a disk that cannot be read.
    package func fault(of attachment: Attachment, reads: Bool) throws -> AttachmentFault? {
        do {
            let reader = try reader(of: attachment)
            if reads { try inStorage(reader.verify()) }
            return nil
        } catch {
            guard let fault = AttachmentFault(error) else { throw error }
            return fault
        }
    }

    /// The attachments of the current state with a fault. Those of locked notes are not among them: the references that
    /// verify their files are sealed with the note.
    ///
    /// - Parameter reads: whether each file is read to its end.
    package func faultyAttachments(reads: Bool) throws -> [FaultyAttachment] {
        try attachments { attachment in try fault(of: attachment, reads: reads) }
    }

    /// The attachments of the current state whose contents somebody found to have faults.
    ///
    /// - Parameter faults: faults by encoded references.
    package func attachments(with faults: [[UInt8]: AttachmentFault]) throws -> [FaultyAttachment] {
        guard !faults.isEmpty else { return [] }
        return try attachments { attachment in faults[attachment.encodedReference] }
    }

    private func attachments(
        _ faultOf: (Attachment) throws -> AttachmentFault?
    ) throws -> [FaultyAttachment] {
        var faulty: [FaultyAttachment] = []
        let view = try present
        try view.reader.forEachAttachment { attachment in
            guard let fault = try faultOf(attachment) else { return }
            let title = try view.item(attachment.item)?.title ?? ""
            faulty.append(FaultyAttachment(attachment: attachment, itemTitle: title, fault: fault))
        }
        return faulty
    }

    /// Values that could not be read since that was last forgotten, with the title of their item; ascending.
    package func unreadableValues() throws -> [(id: EntityID, title: String?, attributes: [String])] {
        let found = unreadable.found
        return try found.sorted { $0.key < $1.key }.map { id, attributes in
            (id, try present.item(id)?.visibleTitle, attributes.sorted())
        }
    }
}
