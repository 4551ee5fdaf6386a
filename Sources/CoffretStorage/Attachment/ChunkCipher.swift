// Seals and opens the chunks of one attachment (protocol 14). The one thing to keep true: a file key
// seals one pass over one source, so that index and last flag make every nonce new.

internal import CoffretBase
internal import CoffretCrypto

/// XChaCha20-Poly1305 over chunks.
///
/// Nonce: 15 zero bytes ‖ index (8) ‖ last (1). Associated data: "coffret/chunk/1" ‖ vault id (32) ‖
/// file id (16) ‖ index (8) ‖ last (1) ‖ commitment to the file key (32). The commitment is there
/// because the cipher alone does not commit to its key.
struct ChunkCipher: Sendable {
    static let label = Array("coffret/chunk/1".utf8)

    private let key: FileKey
    private let associatedDataStart: [UInt8]
    private let commitment: [UInt8]

    init(key: FileKey, fileID: UniqueID, vaultID: VaultID) {
        self.key = key
        associatedDataStart = Self.label + vaultID.bytes + fileID.bytes
        let commitment: AuthenticationKey = KDF.derive(from: key, .chunkKeyCommitment)
        // EXPOSE: not a secret, in spite of its type: it is authenticated, not stored.
        self.commitment = unsafe commitment.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
    }

    /// Seals a chunk in place; `tag` gets the 16 bytes behind it.
    func seal(
        _ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool, tag: UnsafeMutableRawBufferPointer
    ) {
        let (nonce, associatedData) = parameters(index: index, isLast: isLast)
        // EXPOSE: read by the cipher, which keeps no copy.
        unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe associatedData.withUnsafeBytes { associatedData in
                    unsafe XChaCha20Poly1305.seal(
                        UnsafeRawBufferPointer(chunk), key: key, nonce: nonce, associatedData: associatedData,
                        ciphertext: chunk, tag: tag)
                }
            }
        }
    }

    /// Opens a chunk in place.
    ///
    /// - Returns: false if it does not verify; then `chunk` holds zeros.
    func open(
        _ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool, tag: UnsafeRawBufferPointer
    ) -> Bool {
        let (nonce, associatedData) = parameters(index: index, isLast: isLast)
        // EXPOSE: read by the cipher, which keeps no copy.
        return unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe associatedData.withUnsafeBytes { associatedData in
                    do throws(CryptoError) {
                        try unsafe XChaCha20Poly1305.open(
                            UnsafeRawBufferPointer(chunk), tag: tag, key: key, nonce: nonce,
                            associatedData: associatedData, message: chunk)
                        return true
                    } catch {
                        return false
                    }
                }
            }
        }
    }

    private func parameters(index: UInt64, isLast: Bool) -> (nonce: [UInt8], associatedData: [UInt8]) {
        let position = index.bigEndianBytes + [isLast ? 1 : 0]
        return ([UInt8](repeating: 0, count: 15) + position, associatedDataStart + position + commitment)
    }
}
