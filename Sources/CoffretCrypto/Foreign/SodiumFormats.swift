// Stretching and sealing as programs do that are built on libsodium. The caller sets the ceilings before calling: a file
// names its own costs.

internal import CSodium
internal import CoffretBase

package enum SodiumFormats {
    /// Argon2 of libsodium's `crypto_pwhash`: version 0x13, one lane, a salt of 16 bytes.
    package enum Argon2: Sendable {
        case i, id
    }

    /// - Parameter byteCount: of the key; at least 16.
    /// - Throws: `CryptoError`: `.invalidParameter` for a salt of another size, or costs that libsodium does not take;
    ///   `.unavailable` if the memory cannot be had.
    /// - Complexity: `passCount` passes over `memoryByteCount`.
    package static func stretch(
        _ variant: Argon2, password: [UInt8], salt: [UInt8], memoryByteCount: Int, passCount: UInt64, byteCount: Int
    ) throws(CryptoError) -> [UInt8] {
        guard salt.count == Int(crypto_pwhash_SALTBYTES), byteCount >= 16 else {
            throw CryptoError(.invalidParameter, at: "argon2 salt")
        }
        let algorithm = variant == .id ? crypto_pwhash_ALG_ARGON2ID13 : crypto_pwhash_ALG_ARGON2I13
        var key = [UInt8](repeating: 0, count: byteCount)
        // libsodium wants a valid pointer even for an empty password.
        var text = password.map { CChar(bitPattern: $0) } + [0]
        let status = unsafe crypto_pwhash(
            &key, UInt64(byteCount), &text, UInt64(password.count), salt, passCount, memoryByteCount, Int32(algorithm))
        for index in text.indices { text[index] = 0 }
        guard status == 0 else { throw CryptoError(.unavailable, at: "argon2") }
        return key
    }

    /// Opens XChaCha20-Poly1305 (IETF), whose tag stands behind the ciphertext.
    ///
    /// - Throws: `CryptoError`: `.invalidKey`, `.invalidParameter` for sizes; `.authenticationFailed`.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], associatedData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let tagByteCount = XChaCha20Poly1305.tagByteCount
        guard key.count == XChaCha20Poly1305.keyByteCount else { throw CryptoError(.invalidKey, at: "key size") }
        guard nonce.count == XChaCha20Poly1305.nonceByteCount, sealed.count >= tagByteCount else {
            throw CryptoError(.invalidParameter, at: "sealed size")
        }
        let count = sealed.count - tagByteCount
        return try unsafe makeBytes(byteCount: count) { (message) throws(CryptoError) in
            try unsafe sealed.span.bytes.withUnsafeBytes { (sealed) throws(CryptoError) in
                try unsafe key.span.bytes.withUnsafeBytes { (key) throws(CryptoError) in
                    try unsafe nonce.span.bytes.withUnsafeBytes { (nonce) throws(CryptoError) in
                        try unsafe associatedData.span.bytes.withUnsafeBytes { (data) throws(CryptoError) in
                            try unsafe XChaCha20Poly1305.open(
                                UnsafeRawBufferPointer(rebasing: sealed[..<count]),
                                tag: UnsafeRawBufferPointer(rebasing: sealed[count...]), key: key, nonce: nonce,
                                associatedData: data, message: message)
                        }
                    }
                }
            }
        }
    }
}
