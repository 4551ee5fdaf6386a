// Ed25519 for protocols of others, which sign bytes as they are. Invariant: such a key is never one of Coffret's own,
// whose signatures always say what they are for.

internal import CSodium
package import CoffretBase

/// An Ed25519 key of another protocol, such as SSH.
///
/// Source: RFC 8032. Vectors: those of `SigningKey`, and OpenSSH's own programs.
package final class ForeignEd25519Key: Sendable {
    package static let seedByteCount = 32

    /// libsodium's form: seed ‖ public key.
    private let expanded: SecretBytes
    /// 32 bytes.
    package let publicKey: [UInt8]

    /// - Parameter seed: 32 bytes.
    package init(seed: borrowing SecretBytes) {
        precondition(seed.byteCount == Self.seedByteCount, "an Ed25519 seed has 32 bytes")
        var publicKey = [UInt8](repeating: 0, count: 32)
        expanded = unsafe SecretBytes(byteCount: 64) { output in
            // EXPOSE: into locked memory.
            let status = unsafe seed.withUnsafeBytes { seed in
                unsafe crypto_sign_seed_keypair(
                    &publicKey, output.baseAddress!.assumingMemoryBound(to: UInt8.self),
                    seed.baseAddress!.assumingMemoryBound(to: UInt8.self))
            }
            precondition(status == 0, "a key pair from a seed cannot fail")
        }
        self.publicKey = publicKey
    }

    package static func generate(from random: any RandomSource) -> ForeignEd25519Key {
        ForeignEd25519Key(seed: random.secret(byteCount: seedByteCount))
    }

    /// Signs bytes as they are: 64 bytes.
    package func signature(of message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        // EXPOSE: read by Ed25519, which keeps no copy.
        let status = unsafe expanded.withUnsafeBytes { key in
            unsafe crypto_sign_detached(
                &signature, nil, message, UInt64(message.count), key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        precondition(status == 0, "signing cannot fail")
        return signature
    }

    /// Seed ‖ public key, 64 bytes, for writing the key out.
    package func duplicateExpanded() -> SecretBytes { expanded.duplicate() }

    /// Whether `signature` is one of `message` by the key `publicKey`.
    package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 32 else { return false }
        return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}
