// PBKDF2, for formats that others fixed. The caller sets the ceiling on iterations before calling.

internal import COpenSSL

/// The password-based key derivation of RFC 8018, section 5.2, with HMAC.
package enum PBKDF2 {
    /// Derives key material from a password. Takes time in proportion to `iterationCount`.
    ///
    /// - Parameter password: any bytes; a NUL byte counts like any other.
    /// - Parameter iterationCount: 1 to 2³¹ - 1.
    /// - Throws: `CryptoError` `.invalidParameter` for a count or size out of range.
    package static func derive(
        _ algorithm: HashAlgorithm, password: RawSpan, salt: RawSpan, iterationCount: Int,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard iterationCount >= 1, let iterations = Int32(exactly: iterationCount),
            let outputByteCount = Int32(exactly: output.count), outputByteCount > 0,
            let passwordByteCount = Int32(exactly: password.byteCount),
            let saltByteCount = Int32(exactly: salt.byteCount)
        else { throw CryptoError(.invalidParameter, at: "pbkdf2") }
        let status = unsafe password.withUnsafeBytes { passwordBytes in
            unsafe salt.withUnsafeBytes { saltBytes in
                // An empty password arrives as a null pointer, for which OpenSSL takes the empty string.
                unsafe PKCS5_PBKDF2_HMAC(
                    passwordBytes.baseAddress?.assumingMemoryBound(to: CChar.self), passwordByteCount,
                    saltBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), saltByteCount, iterations,
                    algorithm.fetched.pointer, outputByteCount,
                    output.baseAddress?.assumingMemoryBound(to: UInt8.self))
            }
        }
        guard status == 1 else { throw CryptoError(.unavailable, at: "pbkdf2") }
    }
}
