// Stretching of passphrases. Invariant: parameters outside the bounds are refused before any memory is allocated and
// before anything is derived.

internal import CSodium
package import CoffretBase

/// How a passphrase becomes a key: Argon2id, version 0x13, one lane.
///
/// Bounds (protocol decision U12): memory 64 MiB to 1 GiB, 3 to 16 passes, salt exactly 16 bytes.
package struct PasswordParameters: Equatable, Sendable {
    package static let memoryKibibytesRange: ClosedRange<UInt32> = 65_536...1_048_576
    package static let passCountRange: ClosedRange<UInt32> = 3...16
    package static let saltByteCount = 16

    /// Memory in KiB.
    package let memoryKibibytes: UInt32
    /// Passes over the memory.
    package let passCount: UInt32
    package let salt: [UInt8]

    /// Accepts any numbers: `verify` and `deriveKey` refuse what is out of bounds.
    package init(memoryKibibytes: UInt32, passCount: UInt32, salt: [UInt8]) {
        self.memoryKibibytes = memoryKibibytes
        self.passCount = passCount
        self.salt = salt
    }

    /// 256 MiB and 3 passes, with a fresh salt.
    package static func generate(
        from random: any RandomSource, memoryKibibytes: UInt32 = 262_144, passCount: UInt32 = 3
    ) -> PasswordParameters {
        PasswordParameters(
            memoryKibibytes: memoryKibibytes, passCount: passCount, salt: random.bytes(count: saltByteCount))
    }

    /// Throws `.passwordPolicy` if a parameter is out of bounds (R13).
    package func check() throws(CryptoError) {
        guard Self.memoryKibibytesRange.contains(memoryKibibytes) else {
            throw CryptoError(.passwordPolicy, at: "memory")
        }
        guard Self.passCountRange.contains(passCount) else { throw CryptoError(.passwordPolicy, at: "passes") }
        guard salt.count == Self.saltByteCount else { throw CryptoError(.passwordPolicy, at: "salt") }
    }

    /// Derives 32 bytes from a passphrase.
    ///
    /// - Throws: `.passwordPolicy` before anything else happens; `.unavailable` if the memory cannot be had.
    /// - Complexity: `passCount` passes over `memoryKibibytes`; about half a second by default.
    package func deriveSecret(from passphrase: Passphrase) throws(CryptoError) -> SecretBytes {
        try check()
        return try unsafe SecretBytes(byteCount: 32) { (output) throws(CryptoError) in
            // EXPOSE: read by Argon2id, which keeps no copy.
            let status = unsafe passphrase.withUnsafeBytes { password in
                unsafe crypto_pwhash(
                    output.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(output.count),
                    // libsodium wants a valid pointer even for an empty passphrase, which callers refuse.
                    password.baseAddress!.assumingMemoryBound(to: CChar.self), UInt64(password.count), salt,
                    UInt64(passCount), Int(memoryKibibytes) << 10, Int32(crypto_pwhash_ALG_ARGON2ID13))
            }
            StretchingWindow.close()
            guard status == 0 else { throw CryptoError(.unavailable, at: "argon2id") }
        }
    }
}
