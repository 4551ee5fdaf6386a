// Keys that know what they are for. Invariant: a key of one purpose cannot be handed to code that expects another; the
// compiler refuses it.

package import CoffretBase

/// The purpose of a key; only ever used as a type.
package protocol KeyPurpose: Sendable {
    /// The purpose in words, for descriptions.
    static var name: String { get }
}

/// A secret key of 32 bytes for one purpose, in locked memory, shared by reference.
///
/// Its description names the purpose and nothing else.
package final class SymmetricKey<Purpose: KeyPurpose>: Sendable, CustomStringConvertible, CustomReflectable {
    package static var byteCount: Int { 32 }

    private let secret: SecretBytes

    /// Takes over 32 bytes of key. Another size is our own bug.
    package init(_ secret: consuming SecretBytes) {
        precondition(secret.byteCount == Self.byteCount, "a key has 32 bytes")
        self.secret = secret
    }

    package static func generate(from random: any RandomSource) -> SymmetricKey {
        SymmetricKey(random.secret(byteCount: byteCount))
    }

    /// Lends the key's bytes. Each use stands under a comment `// EXPOSE:`.
    package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // EXPOSE: for the caller, who says why.
        try unsafe secret.withUnsafeBytes(body)
    }

    /// A copy of the key's bytes in locked memory of its own.
    package func duplicateSecret() -> SecretBytes { secret.duplicate() }

    /// Whether two keys are equal, in constant time.
    package func isEqual(to other: SymmetricKey) -> Bool { secret.isEqual(to: other.secret) }

    package var description: String { "\(Purpose.name) (redacted)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The purposes of Coffret's keys.
package enum KeyPurposes {
    /// Wraps the keys of a store; replaced on every change of a slot.
    package enum Storage: KeyPurpose { package static var name: String { "storage key" } }
    /// The root of one epoch of one vault.
    package enum Vault: KeyPurpose { package static var name: String { "vault key" } }
    /// The root of what a vault keeps on this device only.
    package enum Local: KeyPurpose { package static var name: String { "local key" } }
    /// Seals blobs and nothing else.
    package enum Blob: KeyPurpose { package static var name: String { "blob key" } }
    /// Turns the names of blobs into nonces.
    package enum Nonce: KeyPurpose { package static var name: String { "nonce key" } }
    /// Turns names into addresses: 16 bytes of IV, then 16 bytes of AES key.
    package enum Address: KeyPurpose { package static var name: String { "address key" } }
    /// Decides where tree nodes end; one per vault, never rotated.
    package enum Split: KeyPurpose { package static var name: String { "split key" } }
    /// Authenticates journal records and manifests on this device.
    package enum Journal: KeyPurpose { package static var name: String { "journal key" } }
    /// Seals the search index.
    package enum Search: KeyPurpose { package static var name: String { "search key" } }
    /// Seals the chunks of one attachment.
    package enum File: KeyPurpose { package static var name: String { "file key" } }
    /// Opens one key slot.
    package enum SlotSecret: KeyPurpose { package static var name: String { "slot secret" } }
    /// Authenticates a small table or file.
    package enum Authentication: KeyPurpose { package static var name: String { "authentication key" } }
    /// Seals one envelope between two key pairs, or one letter.
    package enum Agreement: KeyPurpose { package static var name: String { "agreed key" } }
    /// Seals the private part of trust-chain links.
    package enum LinkDetails: KeyPurpose { package static var name: String { "link details key" } }
    /// Seals the older keys of a vault under a newer one.
    package enum EpochHistory: KeyPurpose { package static var name: String { "epoch history key" } }
    /// Seals what a device says of the heads of its vaults, to the person's own devices or to itself.
    package enum Heads: KeyPurpose { package static var name: String { "heads key" } }
    /// Seals what this machine keeps of programs that ask the store: their tokens, and what they asked.
    package enum Access: KeyPurpose { package static var name: String { "access key" } }
    /// Seals what a person types until it is a change.
    package enum Draft: KeyPurpose { package static var name: String { "draft key" } }
    /// Derived from the passphrase of locked notes; the keys of notes come from it.
    package enum NoteApplication: KeyPurpose { package static var name: String { "key of a note passphrase" } }
    /// Seals one locked note.
    package enum Note: KeyPurpose { package static var name: String { "note key" } }
    /// Seals the hints of note passphrases.
    package enum Hint: KeyPurpose { package static var name: String { "hint key" } }
    /// Seals what the agent holds while nobody uses it.
    package enum Idle: KeyPurpose { package static var name: String { "idle key" } }
    /// Seals the storage key that follows another one, for the agent.
    package enum Renewal: KeyPurpose { package static var name: String { "renewal key" } }
    /// Held by this machine, outside the store.
    package enum Machine: KeyPurpose { package static var name: String { "machine secret" } }
}

package typealias StorageKey = SymmetricKey<KeyPurposes.Storage>
package typealias VaultKey = SymmetricKey<KeyPurposes.Vault>
package typealias LocalKey = SymmetricKey<KeyPurposes.Local>
package typealias BlobKey = SymmetricKey<KeyPurposes.Blob>
package typealias NonceKey = SymmetricKey<KeyPurposes.Nonce>
package typealias AddressKey = SymmetricKey<KeyPurposes.Address>
package typealias SplitKey = SymmetricKey<KeyPurposes.Split>
package typealias JournalKey = SymmetricKey<KeyPurposes.Journal>
package typealias SearchKey = SymmetricKey<KeyPurposes.Search>
package typealias FileKey = SymmetricKey<KeyPurposes.File>
package typealias SlotSecretKey = SymmetricKey<KeyPurposes.SlotSecret>
package typealias AuthenticationKey = SymmetricKey<KeyPurposes.Authentication>
package typealias LinkDetailsKey = SymmetricKey<KeyPurposes.LinkDetails>
package typealias EpochHistoryKey = SymmetricKey<KeyPurposes.EpochHistory>
package typealias HeadsKey = SymmetricKey<KeyPurposes.Heads>
package typealias AccessKey = SymmetricKey<KeyPurposes.Access>
package typealias DraftKey = SymmetricKey<KeyPurposes.Draft>
package typealias NoteApplicationKey = SymmetricKey<KeyPurposes.NoteApplication>
package typealias NoteKey = SymmetricKey<KeyPurposes.Note>
package typealias HintKey = SymmetricKey<KeyPurposes.Hint>
package typealias IdleKey = SymmetricKey<KeyPurposes.Idle>
package typealias RenewalKey = SymmetricKey<KeyPurposes.Renewal>
package typealias AgreedKey = SymmetricKey<KeyPurposes.Agreement>
package typealias MachineSecret = SymmetricKey<KeyPurposes.Machine>
