// The seams between blobs and what is built from them. The one thing to keep true: content that
// reaches a caller has been checked against its name and the type its reference expects.

/// Reads blobs by name.
package protocol BlobReader: AnyObject {
    /// Lends a blob's content, verified: MAC, name, type, canonical padding.
    ///
    /// The bytes are valid during `body` only and are zeroed or overwritten later; nested reads are
    /// allowed.
    /// - Throws: `.blobMissing` if no file holds it, `.blobAuthenticationFailed` naming the blob if
    ///   anything about it does not verify, `.fileFailed` if it cannot be read.
    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result

    /// A copy of a blob's content, verified like `readBlob`.
    ///
    /// A requirement, so that a store need not run `readBlob` generically for it, which takes a tenth longer.
    func blobBytes(_ name: BlobName, type: BlobType) throws(StorageError) -> [UInt8]

    /// Whether a blob of this name is there. Says nothing about whether it verifies.
    func containsBlob(_ name: BlobName) throws(StorageError) -> Bool
}

extension BlobReader {
    package func blobBytes(_ name: BlobName, type: BlobType) throws(StorageError) -> [UInt8] {
        try readBlob(name, type: type) { content in
            unsafe content.withUnsafeBufferPointer { buffer in unsafe Array(buffer) }
        }
    }
}

/// Takes blobs; whoever holds the writer decides when they become durable.
package protocol BlobWriter: AnyObject {
    /// Seals `content` and remembers it for the commit of the transaction.
    ///
    /// A blob that is there already (under the current epoch) is not stored again.
    /// - Parameter content: at most `BlobFormat.contentByteCountMax` bytes.
    /// - Returns: the blob's name.
    /// - Throws: `.blobTooLarge`; `.diskFull` or `.fileFailed` if a large transaction had to write.
    @discardableResult
    func writeBlob(type: BlobType, content: Span<UInt8>) throws(StorageError) -> BlobName
}

extension BlobWriter {
    /// Seals the bytes of an array; see `writeBlob(type:content:)`.
    @discardableResult
    package func writeBlob(type: BlobType, bytes: [UInt8]) throws(StorageError) -> BlobName {
        try writeBlob(type: type, content: bytes.span)
    }
}
