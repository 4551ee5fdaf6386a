// The keys that storage works with. Invariant: each is derived for one vault, one epoch and one use, and the keys they
// come from stay with the keyring.

package import CoffretBase
internal import Synchronization

/// The id of a vault: BLAKE2b-256 of the first link of its member chain.
package struct VaultID: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// Reads 32 bytes; nil for another number.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// 64 hexadecimal digits.
    package var hex: String { Hex.encode(bytes) }
    package var description: String { hex }
}

/// The keys of one epoch of a vault.
package final class EpochKeys: Sendable {
    package let epoch: UInt32
    package let blobKey: BlobKey
    package let nonceKey: NonceKey
    package let blobAddressKey: AddressKey
    package let chunkAddressKey: AddressKey
    package let acknowledgementKey: AuthenticationKey
    /// Seals the hints of note passphrases: who can open the vault can read them.
    package let hintKey: HintKey

    /// Derives KDF(vault key, label, vault id ‖ epoch) for each use.
    package init(epoch: UInt32, vaultKey: VaultKey, vaultID: VaultID) {
        let context = vaultID.bytes + epoch.bigEndianBytes
        self.epoch = epoch
        blobKey = KDF.derive(from: vaultKey, .blob, context)
        nonceKey = KDF.derive(from: vaultKey, .nonce, context)
        blobAddressKey = KDF.derive(from: vaultKey, .blobAddress, context)
        chunkAddressKey = KDF.derive(from: vaultKey, .chunkAddress, context)
        acknowledgementKey = KDF.derive(from: vaultKey, .acknowledgementKey, context)
        hintKey = KDF.derive(from: vaultKey, .noteHint, context)
    }

    /// KDF(vault key, "vault-key/commit", scope ‖ epoch), 32 bytes: shows which vault key is meant, and
    /// nothing else of it.
    ///
    /// - Parameter scope: the vault id; in the founding link, which makes the id, its random bytes.
    package static func deriveCommitment(to vaultKey: VaultKey, scope: [UInt8], epoch: UInt32) -> [UInt8] {
        let commitment: AuthenticationKey = KDF.derive(
            from: vaultKey, .vaultKeyCommitment, scope + epoch.bigEndianBytes)
        // EXPOSE: not a secret, in spite of its type: it is written into the epoch's link.
        return unsafe commitment.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
    }
}

/// All keys that the storage of one vault needs.
package final class VaultKeys: Sendable {
    package let vaultID: VaultID
    /// The numbers of all epochs, newest first; never empty.
    package let epochs: [UInt32]
    /// The keys of the newest epoch, under which everything new is sealed.
    package let current: EpochKeys
    private let vaultKeys: [UInt32: VaultKey]
    /// Keys of older epochs, each derived when it is first asked for.
    private let older = Mutex<[UInt32: EpochKeys]>([:])
    package let splitKey: SplitKey
    /// Authenticates what this device alone writes: journal records and manifests.
    package let journalKey: JournalKey
    /// Seals the search index of this device.
    package let searchKey: SearchKey

    package var currentEpoch: UInt32 { current.epoch }

    /// - Parameter vaultKeys: by epoch; at least one.
    /// - Parameter localKey: of this vault and this device; journal and search keys come from it.
    package init(vaultID: VaultID, vaultKeys: [UInt32: VaultKey], splitKey: SplitKey, localKey: LocalKey) {
        epochs = vaultKeys.keys.sorted(by: >)
        guard let newest = epochs.first, let key = vaultKeys[newest] else {
            preconditionFailure("a vault has at least one epoch")
        }
        self.vaultID = vaultID
        self.vaultKeys = vaultKeys
        current = EpochKeys(epoch: newest, vaultKey: key, vaultID: vaultID)
        self.splitKey = splitKey
        journalKey = KDF.derive(from: localKey, .journal, vaultID.bytes)
        searchKey = KDF.derive(from: localKey, .search, vaultID.bytes)
    }

    /// Fresh keys of one epoch, for tests and benchmarks of what lies above.
    package static func generate(vaultID: VaultID, epoch: UInt32 = 1, from random: any RandomSource) -> VaultKeys {
        VaultKeys(
            vaultID: vaultID, vaultKeys: [epoch: .generate(from: random)], splitKey: .generate(from: random),
            localKey: .generate(from: random))
    }

    /// 16 bytes for the blob of a value that a merge makes: the same on all devices that merge the same, and
    /// unknown to everybody without the keys.
    ///
    /// - Parameter subject: what is merged: a key and the dots under it.
    package func mergedValueSalt(_ subject: [UInt8]) -> [UInt8] {
        let salt: AuthenticationKey = KDF.derive(from: splitKey, .mergedValue, vaultID.bytes + subject)
        // EXPOSE: not a secret, in spite of its type: it lies in the value's blob, which is sealed.
        return unsafe salt.withUnsafeBytes { bytes in unsafe [UInt8](bytes.prefix(16)) }
    }

    package func keys(ofEpoch epoch: UInt32) -> EpochKeys? {
        if epoch == current.epoch { return current }
        guard let key = vaultKeys[epoch] else { return nil }
        return older.withLock { derived in
            if let keys = derived[epoch] { return keys }
            let keys = EpochKeys(epoch: epoch, vaultKey: key, vaultID: vaultID)
            derived[epoch] = keys
            return keys
        }
    }
}
