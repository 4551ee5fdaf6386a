// Storage keys on their way to the agent. Invariant: a key that follows another one is believed only where somebody
// who had the one before says so, and nothing of this ever lies on a disk.

package import CoffretBase
package import CoffretCrypto

/// The storage key of a keyring that was opened or changed.
package struct KeptStorageKey: Sendable {
    package let key: StorageKey
    /// Of the keyring that it opens.
    package let generation: UInt64
    /// Whether the change that made the key took a way in from somebody: another passphrase, a slot removed.
    package let excludesSlot: Bool
    /// Whether this very process changed the keyring; else it has found it so.
    package let isChange: Bool

    package init(_ key: StorageKey, generation: UInt64, excludesSlot: Bool, isChange: Bool = true) {
        self.key = key
        self.generation = generation
        self.excludesSlot = excludesSlot
        self.isChange = isChange
    }

    /// The key, for a holder of the one before: ENV under a key of that one, over CBOR [generation, storage key (32)].
    ///
    /// - Parameter path: of the store; what was sealed for one does not open as another's.
    package func sealed(under old: StorageKey, path: String, random: any RandomSource) -> [UInt8] {
        // Reserved, so that it does not move and leave copies behind.
        var encoder = CBOREncoder(reservingByteCount: 128)
        defer { encoder.zero() }
        encoder.encodeArrayHeader(count: 2)
        encoder.encode(unsigned: generation)
        // EXPOSE: into the encoder, which is zeroed.
        unsafe key.withUnsafeBytes { unsafe encoder.encode(bytes: $0) }
        return unsafe encoder.bytes.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: Self.renewalKey(old), context: .renewedKey, associatedData: Array(path.utf8),
                random: random)
        }
    }

    /// nil unless it was sealed under this very key, for this store.
    package init?(opening sealed: [UInt8], with old: StorageKey, path: String) {
        let opened = try? unsafe Envelope.open(
            sealed, key: Self.renewalKey(old), context: .renewedKey, associatedData: Array(path.utf8)
        ) { (bytes) throws(CryptoError) in
            do throws(CBORError) {
                return try unsafe Self.decode(bytes)
            } catch {
                throw CryptoError(.authenticationFailed)
            }
        }
        guard let opened else { return nil }
        self = opened
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) throws(CBORError) -> KeptStorageKey {
        try unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            let generation = try decoder.readUnsigned()
            let key = StorageKey(try decoder.readSecret(counts: StorageKey.byteCount...StorageKey.byteCount))
            return KeptStorageKey(key, generation: generation, excludesSlot: false)
        }
    }

    private static func renewalKey(_ key: StorageKey) -> RenewalKey { KDF.derive(from: key, .renewalKey) }
}
