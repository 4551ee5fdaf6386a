// How imports and exports reach the contents of attachments: whole files go in and come out in pieces, so that memory
// stays constant. Invariant: what is handed out was verified.

package import CoffretBase
internal import CoffretCore

/// A file whose content lies in the store, sealed, but which no fact names yet.
package struct StoredFile: Equatable, Sendable {
    /// Bytes of the content.
    package let byteCount: Int
    /// BLAKE2b-256 of the content.
    package let contentHash: [UInt8]
    /// Key and place, as storage encodes them: the value of the attachment's fact.
    package let encodedReference: [UInt8]

    package init(byteCount: Int, contentHash: [UInt8], encodedReference: [UInt8]) {
        self.byteCount = byteCount
        self.contentHash = contentHash
        self.encodedReference = encodedReference
    }
}

/// Where the contents of attachments lie.
package protocol FileContentStore: AnyObject {
    /// Seals what `produce` hands to its argument, piece by piece.
    func store(
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> StoredFile

    /// Hands out a content in verified pieces; throws before the first unverified byte.
    func load(
        _ encodedReference: [UInt8], _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError)

    /// Whether the content is there. Compaction removes those that only the past named.
    func contains(_ encodedReference: [UInt8]) -> Bool

    /// Size and hash of a content, from its reference alone; nil if the reference cannot be read.
    func description(of encodedReference: [UInt8]) -> (byteCount: Int, contentHash: [UInt8])?

    /// Whether the file of a locked note is there.
    func containsSealed(_ file: UniqueID) -> Bool

    /// Hands out the file of a locked note as it lies on the disk. Nobody can verify it without the passphrase.
    func loadSealed(
        _ file: UniqueID, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError)

    /// Puts the file of a locked note where it is looked for.
    func storeSealed(
        _ file: UniqueID,
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError)
}

extension FileContentStore {
    /// The fault of a content; nil if it is there to its last byte, and is what it was. Reads all of it.
    ///
    /// - Throws: errors that say nothing of the content, such as a disk that cannot be read.
    func fault(of encodedReference: [UInt8]) throws(ImportExportError) -> AttachmentFault? {
        do throws(ImportExportError) {
            try load(encodedReference) { _ in }
            return nil
        } catch {
            guard let fault = error.cause.flatMap(AttachmentFault.init) else { throw error }
            return fault
        }
    }

    package func containsSealed(_ file: UniqueID) -> Bool { false }

    package func loadSealed(
        _ file: UniqueID, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        throw ImportExportError(.vaultFailed, at: "sealed files")
    }

    package func storeSealed(
        _ file: UniqueID,
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        throw ImportExportError(.vaultFailed, at: "sealed files")
    }
}
