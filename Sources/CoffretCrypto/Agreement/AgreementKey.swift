// X25519. Invariant: an all-zero result is refused, and what two keys agree on is never used before it is hashed
// together with both public keys.

internal import CSodium
package import CoffretBase

/// A private X25519 key.
///
/// Source: RFC 7748. Vectors: Wycheproof x25519.
package final class AgreementKey: Sendable, CustomStringConvertible, CustomReflectable {
    package static let byteCount = 32

    private let secret: SecretBytes
    package let publicKey: AgreementPublicKey

    /// - Parameter secret: 32 random bytes.
    package init(_ secret: consuming SecretBytes) {
        precondition(secret.byteCount == Self.byteCount, "an X25519 key has 32 bytes")
        var publicKey = [UInt8](repeating: 0, count: Self.byteCount)
        // EXPOSE: read by the curve arithmetic, which keeps no copy.
        let status = unsafe secret.withUnsafeBytes { key in
            unsafe crypto_scalarmult_base(&publicKey, key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        precondition(status == 0, "a public key from a private key cannot fail")
        self.publicKey = AgreementPublicKey(derived: publicKey)
        self.secret = secret
    }

    package static func generate(from random: any RandomSource) -> AgreementKey {
        AgreementKey(random.secret(byteCount: byteCount))
    }

    /// A copy of the private key, to be wrapped.
    package func duplicateSecret() -> SecretBytes { secret.duplicate() }

    /// The raw shared secret of 32 bytes.
    ///
    /// - Throws: `.invalidKey` if the result is all zeros, as for points of small order.
    package func sharedSecret(with other: AgreementPublicKey) throws(CryptoError) -> SecretBytes {
        try unsafe SecretBytes(byteCount: Self.byteCount) { (output) throws(CryptoError) in
            // EXPOSE: read by the curve arithmetic, which keeps no copy.
            let status = unsafe secret.withUnsafeBytes { key in
                unsafe crypto_scalarmult(
                    output.baseAddress!.assumingMemoryBound(to: UInt8.self),
                    key.baseAddress!.assumingMemoryBound(to: UInt8.self), other.bytes)
            }
            guard status == 0 else { throw CryptoError(.invalidKey, at: "x25519") }
        }
    }

    package var description: String { "agreement key (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A public X25519 key: any 32 bytes; bad points show when a secret is agreed on.
package struct AgreementPublicKey: Hashable, Sendable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// - Throws: `.invalidKey` for another size.
    package init(_ bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == Self.byteCount else { throw CryptoError(.invalidKey, at: "x25519 public key") }
        self.bytes = bytes
    }

    fileprivate init(derived bytes: [UInt8]) { self.bytes = bytes }
}
