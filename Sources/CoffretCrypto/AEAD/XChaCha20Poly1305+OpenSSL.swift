// XChaCha20-Poly1305 by way of OpenSSL, whose ChaCha20 uses wider registers. Invariant: it gives libsodium's bytes,
// which a test checks over random inputs.

internal import CSodium
internal import CoffretBase

extension XChaCha20Poly1305 {
    /// XChaCha20 is ChaCha20 with the key HChaCha20(key, first 16 bytes of the nonce) and the nonce
    /// 0 (4 bytes) ‖ last 8 bytes of the nonce.
    private static func withInnerKey<Failure: Error>(
        key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        _ body: (_ key: UnsafeRawBufferPointer, _ nonce: UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var innerKey = [UInt8](repeating: 0, count: 32)
        defer { innerKey.zero() }
        let status = unsafe crypto_core_hchacha20(
            &innerKey, nonce.baseAddress!.assumingMemoryBound(to: UInt8.self),
            key.baseAddress!.assumingMemoryBound(to: UInt8.self), nil)
        precondition(status == 0, "HChaCha20 cannot fail")
        let innerNonce = unsafe [0, 0, 0, 0] + [UInt8](nonce[16...])
        try unsafe innerKey.span.withUnsafeBytes { (key) throws(Failure) in
            try unsafe innerNonce.span.withUnsafeBytes { (nonce) throws(Failure) in try unsafe body(key, nonce) }
        }
    }

    static func sealWithOpenSSL(
        _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
        associatedData: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
        tag: UnsafeMutableRawBufferPointer
    ) {
        unsafe withInnerKey(key: key, nonce: nonce) { (key, nonce) in
            do throws(CryptoError) {
                try unsafe ChaCha20Poly1305.seal(
                    message, key: key.bytes, nonce: nonce.bytes, additionalData: associatedData.bytes,
                    ciphertext: ciphertext, tag: tag)
            } catch {
                preconditionFailure("sealing cannot fail on valid sizes: \(error.code.rawValue)")
            }
        }
    }

    static func openWithOpenSSL(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer,
        message: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        try unsafe withInnerKey(key: key, nonce: nonce) { (key, nonce) throws(CryptoError) in
            try unsafe ChaCha20Poly1305.open(
                ciphertext, tag: tag, key: key.bytes, nonce: nonce.bytes, additionalData: associatedData.bytes,
                plaintext: message)
        }
    }
}
