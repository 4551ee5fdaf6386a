// ChaCha20-Poly1305 with the 12-byte nonce. The caller answers for the nonce: under one key it must
// never come twice. OpenSSL's is two and a half times as fast as libsodium's.

/// The AEAD of RFC 8439: a 32-byte key, a 12-byte nonce, a 16-byte tag.
///
/// Vectors: Wycheproof chacha20_poly1305_test.json.
package enum ChaCha20Poly1305 {
    /// The size of a key.
    package static let keyByteCount = 32
    /// The size of a nonce.
    package static let nonceByteCount = 12
    /// The size of a tag.
    package static let tagByteCount = 16
    /// The most plaintext that one nonce may carry: 2³⁸ - 64 bytes.
    package static let plaintextByteCountMax = (1 << 38) - 64

    private static func context(
        _ direction: CipherDirection, key: RawSpan, nonce: RawSpan
    ) throws(CryptoError) -> CipherContext {
        guard nonce.byteCount == nonceByteCount else { throw CryptoError(.invalidParameter, at: "nonce size") }
        return try CipherContext.make(
            .chaCha20Poly1305, direction, key: key, nonceByteCount: nonceByteCount, nonce: nonce)
    }

    /// Encrypts `plaintext` to `ciphertext`, of the same size, and writes the 16-byte tag.
    ///
    /// Plaintext and ciphertext may be the same memory.
    /// - Throws: `CryptoError`: `.invalidKey`, `.invalidParameter` for a nonce size, `.tooLarge`.
    package static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: RawSpan, nonce: RawSpan, additionalData: RawSpan,
        ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard plaintext.count <= plaintextByteCountMax else { throw CryptoError(.tooLarge, at: "plaintext") }
        var context = try context(.seal, key: key, nonce: nonce)
        try unsafe context.seal(plaintext, additionalData: additionalData, ciphertext: ciphertext, tag: tag)
    }

    /// Decrypts `ciphertext` to `plaintext`, of the same size, and checks the tag.
    ///
    /// When this throws, `plaintext` holds zeros.
    /// - Throws: `CryptoError`: `.authenticationFailed` when anything was altered; `.invalidKey`,
    ///   `.invalidParameter`, `.tooLarge` as in `seal`.
    package static func open(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: RawSpan, nonce: RawSpan,
        additionalData: RawSpan, plaintext: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard ciphertext.count <= plaintextByteCountMax else { throw CryptoError(.tooLarge, at: "ciphertext") }
        var context = try context(.open, key: key, nonce: nonce)
        try unsafe context.open(ciphertext, tag: tag, additionalData: additionalData, plaintext: plaintext)
    }
}
