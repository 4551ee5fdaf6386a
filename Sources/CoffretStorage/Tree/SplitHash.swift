// The keyed hash that proposes boundaries. The one thing to keep true: the key is the vault's split key
// of this tree generation, which never rotates with epochs, and only keys of facts are hashed.

internal import CoffretBase
package import CoffretCrypto

/// SipHash-2-4 of level ‖ encoded key, under a key derived from the vault's split key.
///
/// Why not BLAKE2b: Docs/decisions/0007-boundary-hash.md.
///
/// The key is derived when it is first needed: locked memory takes the system calls of half an opening, and who
/// only reads needs none.
package final class SplitHash {
    private let derive: () -> ShortHashKey
    /// The key, for who hashes many keys of facts.
    private(set) lazy var key: ShortHashKey = derive()

    package init(key: ShortHashKey) { derive = { key } }

    package init(keys: VaultKeys, treeGeneration: UInt32) {
        derive = { keys.shortHashKey(.nodeBoundary, treeGeneration: treeGeneration) }
    }

    func hash(level: UInt8, key factKey: FactKey) -> UInt64 {
        key.hash(prefix: level, bytes: factKey.bytes)
    }
}

extension VaultKeys {
    /// The first half of KDF(split key, label, vault id ‖ tree generation).
    func shortHashKey(_ label: Context, treeGeneration: UInt32) -> ShortHashKey {
        let derived: AuthenticationKey = KDF.derive(
            from: splitKey, label, vaultID.bytes + treeGeneration.bigEndianBytes)
        // EXPOSE: copied from locked memory to locked memory.
        return unsafe derived.withUnsafeBytes { bytes in
            unsafe ShortHashKey(
                SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<ShortHashKey.byteCount])))
        }
    }
}
