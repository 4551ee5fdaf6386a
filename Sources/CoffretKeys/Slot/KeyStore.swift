// The seam to what keeps a slot's key: a file with a machine secret here, hardware and desktop services
// in a layer above. The one thing to keep true: no key store opens a slot alone, without a PIN, a
// passphrase or the hardware's own check.

package import CoffretBase
package import CoffretCrypto

/// The public side of a key that a key store has made for a slot.
package struct KeyStoreKey: Equatable, Sendable {
    package let algorithm: SlotAlgorithm
    package let publicKey: [UInt8]
    package let password: PasswordParameters?
    /// What the store needs to use the key again; lies in the keyring, in clear.
    package let reference: [UInt8]

    package init(
        algorithm: SlotAlgorithm, publicKey: [UInt8], password: PasswordParameters?, reference: [UInt8]
    ) {
        self.algorithm = algorithm
        self.publicKey = publicKey
        self.password = password
        self.reference = reference
    }
}

/// Keeps the private keys of slots of one kind.
package protocol KeyStore: Sendable {
    var kind: SlotKind { get }
    /// Makes a key for a new slot.
    func generateKey(
        storeID: UniqueID, slotID: UniqueID, secret: Passphrase
    ) async throws(KeyError) -> KeyStoreKey
    /// Opens the storage key that was sealed to a slot's key.
    ///
    /// - Throws: `.unlockFailed` for a wrong secret and for anything altered.
    func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase
    ) async throws(KeyError) -> StorageKey
    /// Forgets a slot's key. A key that is gone already is no error.
    func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError)
}
