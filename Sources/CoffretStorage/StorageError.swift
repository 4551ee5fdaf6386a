// What can go wrong in storage. The one thing to keep true: a raw string, once released, keeps its
// meaning for good, since callers, vectors and documents name it.

/// A failure of the storage layer: what happened, where, and what caused it.
///
/// `code` is for branching, `place` for people who look at the files (a blob's name, a file and an
/// offset); neither carries a person's data. Two errors are equal if code and place are.
package struct StorageError: Error, Equatable, Sendable, CustomStringConvertible {
    package let code: Code
    /// A short technical place: an object's name, a file, an offset; never content.
    package let place: String?
    /// The failure underneath, if another layer reported one.
    package let cause: (any Error)?

    package init(_ code: Code, place: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.place = place
        self.cause = cause
    }

    package static func == (left: StorageError, right: StorageError) -> Bool {
        left.code == right.code && left.place == right.place
    }

    package var description: String {
        guard let place else { return code.rawValue }
        return "\(code.rawValue) at \(place)"
    }

    /// Every code of this layer; listed with causes and remedies in `Spec/errors.md`.
    package enum Code: String, Sendable, CaseIterable {
        // Blobs.
        case blobMissing = "storage.blob.missing"
        case blobAuthenticationFailed = "storage.blob.authentication-failed"
        case blobTooLarge = "storage.blob.too-large"
        // The journal and its segments.
        case journalDamagedTail = "storage.journal.damaged-tail"
        case journalTornTail = "storage.journal.torn-tail"
        case journalDamagedSegment = "storage.journal.damaged-segment"
        // The list of files, packs and their indexes.
        case manifestDamaged = "storage.manifest.damaged"
        case packDamaged = "storage.pack.damaged"
        case indexDamaged = "storage.index.damaged"
        // The store as a whole.
        case formatUnsupported = "storage.format.unsupported"
        case lockBusy = "storage.lock.busy"
        case readOnly = "storage.store.read-only"
        /// The account may read the vault, and not change it.
        case roleViewer = "sharing.role.viewer"
        case alreadyExists = "storage.store.already-exists"
        case notFound = "storage.store.not-found"
        case unusable = "storage.store.unusable-after-failure"
        case diskFull = "storage.file.disk-full"
        case fileFailed = "storage.file.failed"
        // The tree, its facts and values.
        case treeMalformedNode = "storage.tree.malformed-node"
        case treeRootMismatch = "storage.tree.root-mismatch"
        case factValueTooLarge = "storage.fact.value-too-large"
        case factMalformedValue = "storage.fact.malformed-value"
        // History.
        case historyCompacted = "storage.history.compacted"
        case historyPending = "storage.history.not-here-yet"
        // Attachments.
        case attachmentMissing = "storage.attachment.missing"
        case attachmentTruncated = "storage.attachment.truncated"
        case attachmentAuthenticationFailed = "storage.attachment.authentication-failed"
    }
}
