// XSalsa20-Poly1305, the box that blobs lie in. Invariant: one nonce under one key seals one message; blobs derive
// theirs from the hash of the message.

internal import CSodium
internal import CoffretBase

/// NaCl's secretbox.
///
/// Layout: tag (16 bytes) ‖ ciphertext (n) = n + 16 bytes.
/// Source: Bernstein, Cryptography in NaCl. It does not commit to the key: what is opened is checked
/// against its name.
package enum SecretBox {
    package static let keyByteCount = 32
    package static let nonceByteCount = 24
    package static let tagByteCount = 16

    /// Seals `message` into `output`, which has 16 bytes more.
    ///
    /// The message may lie inside `output`, at any offset.
    package static func seal(
        _ message: UnsafeRawBufferPointer, key: BlobKey, nonce: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(nonce.count == nonceByteCount && output.count == message.count + tagByteCount, "wrong sizes")
        // EXPOSE: read by the cipher, which keeps no copy.
        let status = unsafe key.withUnsafeBytes { key in
            unsafe crypto_secretbox_easy(
                output.baseAddress!.assumingMemoryBound(to: UInt8.self),
                message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self),
                key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        precondition(status == 0, "sealing cannot fail on valid sizes")
    }

    /// Opens `sealed` into `output`, which has 16 bytes less and may be the same memory.
    ///
    /// - Throws: `.authenticationFailed`; then `output` holds nothing of the message.
    package static func open(
        _ sealed: UnsafeRawBufferPointer, key: BlobKey, nonce: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(nonce.count == nonceByteCount, "wrong nonce size")
        guard sealed.count >= tagByteCount else { throw CryptoError(.authenticationFailed) }
        precondition(output.count == sealed.count - tagByteCount, "wrong sizes")
        // EXPOSE: read by the cipher, which keeps no copy.
        let status = unsafe key.withUnsafeBytes { key in
            unsafe crypto_secretbox_open_easy(
                output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                sealed.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(sealed.count),
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self),
                key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        guard status == 0 else { throw CryptoError(.authenticationFailed) }
    }

    /// The nonce of a blob: BLAKE2b-192(key = nonce key, name), 24 bytes into `output`.
    package static func deriveNonce(
        ofName name: UnsafeRawBufferPointer, key: NonceKey, into output: UnsafeMutableRawBufferPointer
    ) {
        precondition(output.count == nonceByteCount, "wrong nonce size")
        // EXPOSE: into the hash state, which libsodium zeroes.
        unsafe key.withUnsafeBytes { key in unsafe BLAKE2b.hash(name, key: key, into: output) }
    }
}
