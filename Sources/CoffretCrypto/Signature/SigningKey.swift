// Signatures that say what they are for. Invariant: no call signs bytes that a peer chose; every signature covers a
// registered context and a scope.

internal import CSodium
package import CoffretBase
internal import Synchronization

/// The bytes that a signature covers: "coffret/sig/1" ‖ lp(context) ‖ lp(scope) ‖ lp(message).
private func signedBytes(_ context: Context, scope: [UInt8], message: [UInt8]) -> [UInt8] {
    var bytes = Array("coffret/sig/1".utf8)
    bytes.reserveCapacity(bytes.count + scope.count + message.count + 64)
    bytes.appendLengthPrefixed(context.bytes)
    bytes.appendLengthPrefixed(scope)
    bytes.appendLengthPrefixed(message)
    return bytes
}

/// The size of a signature, in bytes.
package let signatureByteCount = 64

/// An Ed25519 key that signs.
///
/// Spec: Spec/suite.md. Source: RFC 8032. Vectors: Wycheproof ed25519.
package final class SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    package static let seedByteCount = 32

    private let seed: SecretBytes
    /// libsodium's form: seed ‖ public key.
    private let expanded: SecretBytes
    package let verifyingKey: VerifyingKey

    /// - Parameter seed: 32 random bytes.
    package init(seed: consuming SecretBytes) {
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
        verifyingKey = VerifyingKey(derived: publicKey)
        self.seed = seed
    }

    package static func generate(from random: any RandomSource) -> SigningKey {
        SigningKey(seed: random.secret(byteCount: seedByteCount))
    }

    /// A copy of the seed, to be wrapped.
    package func duplicateSeed() -> SecretBytes { seed.duplicate() }

    /// Signs `message` in `context`, within `scope` (a chain id, a vault id or a server id).
    ///
    /// - Returns: 64 bytes, the same for the same input.
    package func sign(_ context: Context, scope: [UInt8], message: [UInt8]) -> [UInt8] {
        let bytes = signedBytes(context, scope: scope, message: message)
        var signature = [UInt8](repeating: 0, count: signatureByteCount)
        // EXPOSE: read by Ed25519, which keeps no copy.
        let status = unsafe expanded.withUnsafeBytes { key in
            unsafe crypto_sign_detached(
                &signature, nil, bytes, UInt64(bytes.count), key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        precondition(status == 0, "signing cannot fail")
        return signature
    }

    package var description: String { "signing key (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An Ed25519 key that verifies: a point of the prime-order subgroup in its canonical encoding.
package struct VerifyingKey: Hashable, Sendable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// - Throws: `.invalidKey` for another size, an encoding that is not canonical, a point off the
    ///   curve, of small order, or outside the prime-order subgroup.
    package init(_ bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == Self.byteCount, Self.isValid(bytes) else {
            throw CryptoError(.invalidKey, at: "ed25519 public key")
        }
        self.bytes = bytes
    }

    /// Points that were found valid. Looking at one costs more than a signature, and few keys sign all that a vault has.
    private static let known = Mutex<Set<[UInt8]>>([])
    private static let knownCountMax = 1_024

    private static func isValid(_ bytes: [UInt8]) -> Bool {
        if known.withLock({ $0.contains(bytes) }) { return true }
        guard unsafe crypto_core_ed25519_is_valid_point(bytes) == 1 else { return false }
        known.withLock { known in
            if known.count >= knownCountMax { known = [] }
            known.insert(bytes)
        }
        return true
    }

    fileprivate init(derived bytes: [UInt8]) { self.bytes = bytes }

    /// Throws `.authenticationFailed` unless `signature` was made by this key in `context` and `scope`.
    package func verify(
        _ signature: [UInt8], _ context: Context, scope: [UInt8], message: [UInt8]
    ) throws(CryptoError) {
        try verifyRaw(signature, over: signedBytes(context, scope: scope, message: message))
    }

    /// The bare check, for the vectors; nothing in Coffret signs bare bytes.
    func verifyRaw(_ signature: [UInt8], over bytes: [UInt8]) throws(CryptoError) {
        guard signature.count == signatureByteCount,
            unsafe crypto_sign_verify_detached(signature, bytes, UInt64(bytes.count), self.bytes) == 0
        else { throw CryptoError(.authenticationFailed) }
    }
}
