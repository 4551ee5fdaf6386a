// Keys from keys. Invariant: every derivation names a registered label, and its context is written so that no two
// contexts give the same bytes.

package import CoffretBase

/// Derivation of a key from a key.
///
/// KDF(K, label, ctx...) = BLAKE2b-256(key = K, "coffret/1/" ‖ label ‖ 00 ‖ lp(ctx)...), where
/// lp(x) = four-byte big-endian length of x ‖ x.
/// Spec: Spec/suite.md. Vectors: kdf/.
package enum KDF {
    /// Derives a key of the purpose that the caller's type asks for.
    package static func derive<Source, Target>(
        from key: SymmetricKey<Source>, _ label: Context, _ context: [UInt8]...
    ) -> SymmetricKey<Target> {
        // EXPOSE: into the hash state, which is zeroed.
        SymmetricKey(unsafe key.withUnsafeBytes { bytes in unsafe secret(from: bytes, label, context) })
    }

    /// Derives 32 secret bytes from 16 to 64.
    package static func derive(
        from key: borrowing SecretBytes, _ label: Context, _ context: [UInt8]...
    ) -> SecretBytes {
        // EXPOSE: into the hash state, which is zeroed.
        unsafe key.withUnsafeBytes { bytes in unsafe secret(from: bytes, label, context) }
    }

    private static func secret(
        from key: UnsafeRawBufferPointer, _ label: Context, _ context: [[UInt8]]
    ) -> SecretBytes {
        unsafe SecretBytes(byteCount: 32) { output in
            var hasher = unsafe BLAKE2bHasher(byteCount: 32, keyBytes: key)
            hasher.update(Array("coffret/1/".utf8))
            hasher.update(label.bytes)
            hasher.update([0])
            for part in context { hasher.updateLengthPrefixed(part) }
            unsafe hasher.finish(into: output)
        }
    }
}
