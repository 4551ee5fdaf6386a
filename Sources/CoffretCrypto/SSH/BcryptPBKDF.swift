// bcrypt_pbkdf, by which OpenSSH protects private keys with a passphrase. Invariant: it comes from a library or not at
// all; libsodium and OpenSSL do not have it, and we write no primitives.

package import CoffretBase
internal import Glibc

/// Key derivation of OpenSSH's private key files, through Botan where that is installed.
package enum BcryptPBKDF {
    /// How many rounds are computed at most: some seconds.
    package static let roundCountMax: UInt32 = 1_024

    private typealias Derive =
        @convention(c) (
            UnsafePointer<CChar>?, Int, Int, Int, UnsafeMutablePointer<UInt8>?, Int, UnsafePointer<CChar>?, Int,
            UnsafePointer<UInt8>?, Int
        ) -> Int32

    /// Botan 2 and 3 have the function with the same signature.
    private static let libraries = ["libbotan-2.so.19", "libbotan-3.so.5", "libbotan-3.so.7", "libbotan-3.so.8"]

    private static func find() -> Derive? {
        for name in libraries {
            // SAFETY: the signature is that of botan/ffi.h: botan_pwdhash.
            guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL),
                let symbol = unsafe dlsym(library, "botan_pwdhash")
            else { continue }
            return unsafe unsafeBitCast(symbol, to: Derive.self)
        }
        return nil
    }

    /// Derives `byteCount` bytes.
    ///
    /// - Throws: `CryptoError` `.unavailable` without a library, `.invalidParameter` for counts out of bounds.
    package static func derive(
        passphrase: borrowing SecretBytes, salt: [UInt8], roundCount: UInt32, byteCount: Int
    ) throws(CryptoError) -> SecretBytes {
        guard (1...roundCountMax).contains(roundCount), (1...1_024).contains(salt.count),
            (1...1_024).contains(byteCount),
            passphrase.byteCount > 0
        else { throw CryptoError(.invalidParameter, at: "bcrypt_pbkdf") }
        guard let derive = unsafe find() else { throw CryptoError(.unavailable, at: "bcrypt_pbkdf") }
        return try unsafe SecretBytes(byteCount: byteCount) { (output) throws(CryptoError) in
            // EXPOSE: read by the library, which zeroes what it copies.
            let status = unsafe passphrase.withUnsafeBytes { bytes in
                unsafe derive(
                    "Bcrypt-PBKDF", Int(roundCount), 0, 0, output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    byteCount, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, salt, salt.count)
            }
            guard status == 0 else { throw CryptoError(.unavailable, at: "bcrypt_pbkdf") }
        }
    }
}
