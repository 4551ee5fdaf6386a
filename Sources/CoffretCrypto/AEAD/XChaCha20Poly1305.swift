// XChaCha20-Poly1305. Invariant: both ways of computing it give the same bytes, so that which one ran shows nowhere.

internal import CSodium
internal import CoffretBase

/// The AEAD with a 24-byte nonce: a random one may be used for any number of messages.
///
/// Layout: ciphertext (n) and tag (16) apart. It does not commit to the key; `Envelope` does.
/// Source: draft-irtf-cfrg-xchacha. Vectors: Wycheproof xchacha20_poly1305.
package enum XChaCha20Poly1305 {
    package static let keyByteCount = 32
    package static let nonceByteCount = 24
    package static let tagByteCount = 16

    /// From this size on OpenSSL's vector code outruns the cost of setting its context up.
    static let fastByteCountMin = 2048

    /// Seals `message` into `ciphertext`, of the same size or the same memory, and writes the tag.
    package static func seal(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        associatedData: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
        tag: UnsafeMutableRawBufferPointer
    ) {
        precondition(
            key.count == keyByteCount && nonce.count == nonceByteCount && tag.count == tagByteCount
                && ciphertext.count == message.count, "wrong sizes")
        if message.count < fastByteCountMin {
            unsafe sealWithSodium(
                message, key: key, nonce: nonce, associatedData: associatedData, ciphertext: ciphertext, tag: tag)
        } else {
            unsafe sealWithOpenSSL(
                message, key: key, nonce: nonce, associatedData: associatedData, ciphertext: ciphertext, tag: tag)
        }
    }

    /// Opens `ciphertext` into `message`, of the same size or the same memory.
    ///
    /// - Throws: `.authenticationFailed`; then `message` holds zeros.
    package static func open(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        message: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(
            key.count == keyByteCount && nonce.count == nonceByteCount && message.count == ciphertext.count,
            "wrong sizes")
        guard tag.count == tagByteCount else { throw CryptoError(.authenticationFailed) }
        if ciphertext.count < fastByteCountMin {
            try unsafe openWithSodium(
                ciphertext, tag: tag, key: key, nonce: nonce, associatedData: associatedData, message: message)
        } else {
            try unsafe openWithOpenSSL(
                ciphertext, tag: tag, key: key, nonce: nonce, associatedData: associatedData, message: message)
        }
    }

    static func sealWithSodium(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        associatedData: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
        tag: UnsafeMutableRawBufferPointer
    ) {
        // libsodium writes a ciphertext through a valid pointer even if it is empty.
        var nothing: UInt8 = 0
        let status = unsafe withUnsafeMutablePointer(to: &nothing) { nothing in
            unsafe crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
                ciphertext.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nothing,
                tag.baseAddress!.assumingMemoryBound(to: UInt8.self), nil,
                message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
                associatedData.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(associatedData.count), nil,
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self),
                key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        precondition(status == 0, "sealing cannot fail on valid sizes")
    }

    static func openWithSodium(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        message: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        var nothing: UInt8 = 0
        let status = unsafe withUnsafeMutablePointer(to: &nothing) { nothing in
            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
                message.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? nothing, nil,
                UnsafePointer(ciphertext.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(nothing)),
                UInt64(ciphertext.count), tag.baseAddress!.assumingMemoryBound(to: UInt8.self),
                associatedData.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(associatedData.count),
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self),
                key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        guard status == 0 else {
            unsafe zero(message)
            throw CryptoError(.authenticationFailed)
        }
    }
}
