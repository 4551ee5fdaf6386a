// AES-GCM for formats that others fixed. The caller answers for the nonce: under one key it must
// never come twice. GCM does not commit to its key.

/// AES in Galois/Counter Mode with keys of 128, 192 or 256 bits and a 16-byte tag.
///
/// Source: NIST SP 800-38D. Vectors: Wycheproof aes_gcm_test.json.
package enum AESGCM {
    /// The size of a tag.
    package static let tagByteCount = 16

    /// The nonce sizes that OpenSSL takes: any from 1 to 128 bytes.
    package static let nonceByteCounts = 1...128

    /// The most plaintext that one nonce may carry: 2³⁶ - 32 bytes.
    package static let plaintextByteCountMax = (1 << 36) - 32

    static func context(
        _ direction: CipherDirection, key: RawSpan, nonce: RawSpan
    ) throws(CryptoError) -> CipherContext {
        guard nonceByteCounts.contains(nonce.byteCount) else { throw CryptoError(.invalidParameter, at: "nonce size") }
        let cipher: FetchedCipher
        switch key.byteCount {
        case 16: cipher = .aes128GCM
        case 24: cipher = .aes192GCM
        case 32: cipher = .aes256GCM
        default: throw CryptoError(.invalidKey, at: "aes key size")
        }
        return try CipherContext.make(cipher, direction, key: key, nonceByteCount: nonce.byteCount, nonce: nonce)
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
