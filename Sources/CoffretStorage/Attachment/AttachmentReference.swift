// What a fact says about an attachment. The one thing to keep true: with the reference, and only with
// it, the attachment's file can be found, opened and known to be whole.

package import CoffretBase
package import CoffretCrypto

/// Names one attachment and holds its key. Stored as the value of a fact, inside the seal.
///
/// Encoding: the CBOR array [version 1, file id (16), file key (32), chunk count, byte count,
/// BLAKE2b-256 of the plaintext (32), digest over the chunks (32)] (`Spec/attachment.md`).
package struct AttachmentReference: Sendable {
    package static let formatVersion: UInt64 = 1

    /// Random; names the file, enciphered.
    package let fileID: UniqueID
    /// Random; seals one pass over one source and is never used again.
    package let fileKey: FileKey
    package let chunkCount: UInt64
    /// Of the plaintext, without padding.
    package let byteCount: UInt64
    /// BLAKE2b-256 of the plaintext.
    package let plaintextHash: [UInt8]
    /// BLAKE2b-256 over the tags of all chunks, in order.
    package let digest: [UInt8]

    package init(
        fileID: UniqueID, fileKey: FileKey, chunkCount: UInt64, byteCount: UInt64, plaintextHash: [UInt8],
        digest: [UInt8]
    ) {
        self.fileID = fileID
        self.fileKey = fileKey
        self.chunkCount = chunkCount
        self.byteCount = byteCount
        self.plaintextHash = plaintextHash
        self.digest = digest
    }

    /// The bytes of the fact's value. They hold the file key: the caller zeroes them after use.
    package func encode() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: 160) { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: Self.formatVersion)
            encoder.encode(bytes: fileID.bytes)
            // EXPOSE: into the value of a fact, which is sealed before it is stored.
            unsafe fileKey.withUnsafeBytes { bytes in unsafe encoder.encode(bytes: bytes) }
            encoder.encode(unsigned: chunkCount)
            encoder.encode(unsigned: byteCount)
            encoder.encode(bytes: plaintextHash)
            encoder.encode(bytes: digest)
        }
    }

    /// Reads a fact's value.
    ///
    /// - Throws: `.formatUnsupported` for another version; `.attachmentAuthenticationFailed` if the
    ///   bytes are no reference, or one that contradicts itself.
    package static func parse(_ bytes: [UInt8]) throws(StorageError) -> AttachmentReference {
        let parsed = try withCBORDecoder(
            bytes, convert: { StorageError(.attachmentAuthenticationFailed, place: "reference", cause: $0) }
        ) { (decoder) throws(CBORError) -> AttachmentReference? in
            try decoder.readArrayHeader(count: 7)
            let version = try decoder.readUnsigned()
            let fileID = try decoder.readBytes(count: UniqueID.byteCount)
            var key = try decoder.readBytes(count: FileKey.byteCount)
            let chunkCount = try decoder.readUnsigned()
            let byteCount = try decoder.readUnsigned()
            let plaintextHash = try decoder.readBytes(count: 32)
            let digest = try decoder.readBytes(count: 32)
            let fileKey = FileKey(SecretBytes(consuming: &key))
            guard version == formatVersion, let fileID = UniqueID(bytes: fileID) else { return nil }
            return AttachmentReference(
                fileID: fileID, fileKey: fileKey, chunkCount: chunkCount, byteCount: byteCount,
                plaintextHash: plaintextHash, digest: digest)
        }
        guard let parsed else { throw StorageError(.formatUnsupported, place: "attachment reference") }
        guard parsed.byteCount <= AttachmentFormat.byteCountMax,
            parsed.chunkCount == AttachmentFormat.chunkCount(byteCount: parsed.byteCount)
        else { throw StorageError(.attachmentAuthenticationFailed, place: "reference") }
        return parsed
    }
}

/// The layout of an attachment's file.
///
/// Header (16) ‖ per chunk ciphertext ‖ tag (16). All chunks but the last hold 1 MiB.
package enum AttachmentFormat {
    package static let chunkByteCount = Limits.attachmentChunkByteCount
    /// Magic (8) ‖ version (4) ‖ zeros (4).
    static let header: [UInt8] = Array("CofFile\u{1}".utf8) + [0, 0, 0, 1, 0, 0, 0, 0]
    static let tagByteCount = XChaCha20Poly1305.tagByteCount
    static let sealedChunkByteCount = chunkByteCount + tagByteCount
    /// The smallest plaintext of a last chunk, padding included.
    static let lastChunkByteCountMin = 256
    /// 1 PiB: more than any disk here, and far below where offsets overflow.
    package static let byteCountMax: UInt64 = 1 << 50

    /// An empty attachment has one chunk, which holds padding alone.
    static func chunkCount(byteCount: UInt64) -> UInt64 {
        byteCount == 0 ? 1 : (byteCount - 1) / UInt64(chunkByteCount) + 1
    }

    /// The true length of the last chunk.
    static func lastChunkByteCount(byteCount: UInt64) -> Int {
        byteCount == 0 ? 0 : Int((byteCount - 1) % UInt64(chunkByteCount)) + 1
    }

    /// The padded length of a last chunk of this true length.
    static func paddedLastChunkByteCount(_ byteCount: Int) -> Int {
        max(lastChunkByteCountMin, Padding.padme(byteCount))
    }

    /// Where a chunk begins in the file.
    static func offset(ofChunk index: UInt64) -> Int { header.count + Int(index) * sealedChunkByteCount }

    /// How long the file of an attachment of this size must be.
    static func fileByteCount(byteCount: UInt64) -> Int {
        offset(ofChunk: chunkCount(byteCount: byteCount) - 1)
            + paddedLastChunkByteCount(lastChunkByteCount(byteCount: byteCount)) + tagByteCount
    }
}
