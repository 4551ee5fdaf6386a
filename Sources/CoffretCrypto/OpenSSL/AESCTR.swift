// AES-256 in counter mode, for Themis's Context Imprint alone: it authenticates nothing.

/// AES-256 in counter mode, the whole 16-byte block counted as one big-endian number.
///
/// Unauthenticated: a changed ciphertext changes the plaintext.
package enum AESCTR {
    /// Encrypts or decrypts, which is the same, `input` to `output`, of the same size.
    ///
    /// - Parameter key: 32 bytes.
    /// - Parameter counterBlock: 16 bytes, the first counter.
    /// - Throws: `CryptoError`: `.invalidKey`, `.invalidParameter` for other sizes.
    package static func apply(
        to input: UnsafeRawBufferPointer, key: RawSpan, counterBlock: RawSpan,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard counterBlock.byteCount == 16 else { throw CryptoError(.invalidParameter, at: "counter block size") }
        var context = try CipherContext.make(.aes256CTR, .seal, key: key, nonceByteCount: nil)
        try context.start(nonce: counterBlock)
        try unsafe context.transform(input, into: output)
    }
}
