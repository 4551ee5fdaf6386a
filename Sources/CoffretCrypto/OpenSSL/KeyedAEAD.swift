// An AEAD whose key is set up once, for many messages in one direction. The key schedule never
// leaves OpenSSL's context, which overwrites it when freed.

/// An AEAD with a 32-byte key, a 12-byte nonce and a 16-byte tag.
package enum AEADAlgorithm: Sendable, CaseIterable {
    case chaCha20Poly1305
    case aes256GCM

    var fetched: FetchedCipher {
        switch self {
        case .chaCha20Poly1305: .chaCha20Poly1305
        case .aes256GCM: .aes256GCM
        }
    }
}

/// An AEAD with its key in place: sealing or opening many messages pays for the key schedule once.
///
/// The caller answers for the nonces.
package struct KeyedAEAD: ~Copyable, Sendable {
    /// The size of a tag.
    package static let tagByteCount = 16
    private var context: CipherContext

    /// Sets up the key, for one direction.
    ///
    /// - Parameter key: 32 bytes.
    /// - Throws: `CryptoError` `.invalidKey` for another size.
    package init(_ algorithm: AEADAlgorithm, _ direction: CipherDirection, key: RawSpan) throws(CryptoError) {
        context = try CipherContext.make(algorithm.fetched, direction, key: key, nonceByteCount: 12)
    }

    /// Encrypts `plaintext` to `ciphertext`, of the same size or the same memory, and writes the tag.
    package mutating func seal(
        _ plaintext: UnsafeRawBufferPointer, nonce: RawSpan, additionalData: RawSpan,
        ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(nonce.byteCount == 12, "a nonce has 12 bytes")
        try context.start(nonce: nonce)
        try unsafe context.seal(plaintext, additionalData: additionalData, ciphertext: ciphertext, tag: tag)
    }

    /// Decrypts `ciphertext` to `plaintext` and checks the tag; when this throws, `plaintext` holds zeros.
    package mutating func open(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, nonce: RawSpan, additionalData: RawSpan,
        plaintext: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(nonce.byteCount == 12, "a nonce has 12 bytes")
        try context.start(nonce: nonce)
        try unsafe context.open(ciphertext, tag: tag, additionalData: additionalData, plaintext: plaintext)
    }
}
