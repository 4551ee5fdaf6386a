// The contents of attachments in the store itself. Invariant: what leaves was verified chunk by chunk, and a file that
// did not come in whole leaves nothing behind.

package import CoffretBase
internal import CoffretCore
package import CoffretStorage

extension Vault {
    /// The given contents, or those of the vault's own store.
    func fileContents(_ given: (any FileContentStore)?) throws(ImportExportError) -> any FileContentStore {
        if let given { return given }
        return SealedFileContentStore(try wrappingVaultErrors { try contents() })
    }
}

/// Attachments of one vault, as imports and exports see them.
package final class SealedFileContentStore: FileContentStore {
    private let attachments: AttachmentStore

    package init(_ attachments: AttachmentStore) {
        self.attachments = attachments
    }

    package func store(
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> StoredFile {
        let writer = try wrappingVaultErrors { try attachments.makeWriter() }
        do throws(ImportExportError) {
            try produce { (piece) throws(ImportExportError) in
                try wrappingVaultErrors { try unsafe piece.withUnsafeBytes { try unsafe writer.write($0) } }
            }
            let reference = try wrappingVaultErrors { try writer.finish() }
            return StoredFile(
                byteCount: Int(clamping: reference.byteCount), contentHash: reference.plaintextHash,
                encodedReference: reference.encode())
        } catch {
            writer.cancel()
            throw error
        }
    }

    package func load(
        _ encodedReference: [UInt8], _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        var failure: ImportExportError?
        do throws(StorageError) {
            let reader = try attachments.makeReader(AttachmentReference.parse(encodedReference))
            try unsafe reader.read { (chunk) throws(StorageError) in
                do throws(ImportExportError) {
                    try body(unsafe Array(chunk)[...])
                } catch {
                    failure = error
                    // Ends the reading; the caller gets `failure`.
                    throw StorageError(.fileFailed)
                }
            }
        } catch {
            throw failure ?? ImportExportError(.vaultFailed, cause: error)
        }
    }

    package func containsSealed(_ file: UniqueID) -> Bool {
        (try? attachments.containsFile(file)) ?? false
    }

    package func loadSealed(
        _ file: UniqueID, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        var failure: ImportExportError?
        do throws(StorageError) {
            try attachments.readSealed(file) { (piece) throws(StorageError) in
                do throws(ImportExportError) {
                    try body(piece[...])
                } catch {
                    failure = error
                    throw StorageError(.fileFailed)
                }
            }
        } catch {
            throw failure ?? ImportExportError(.vaultFailed, cause: error)
        }
    }

    package func storeSealed(
        _ file: UniqueID,
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        let writer = try wrappingVaultErrors { try attachments.makeSealedWriter(file) }
        do throws(ImportExportError) {
            try produce { (piece) throws(ImportExportError) in
                try wrappingVaultErrors { try writer.write(Array(piece)) }
            }
            try wrappingVaultErrors { try writer.finish() }
        } catch {
            writer.cancel()
            throw error
        }
    }

    package func contains(_ encodedReference: [UInt8]) -> Bool {
        guard let reference = try? AttachmentReference.parse(encodedReference) else { return false }
        return (try? attachments.makeReader(reference)) != nil
    }

    package func description(of encodedReference: [UInt8]) -> (byteCount: Int, contentHash: [UInt8])? {
        guard let reference = try? AttachmentReference.parse(encodedReference) else { return nil }
        return (Int(clamping: reference.byteCount), reference.plaintextHash)
    }
}
