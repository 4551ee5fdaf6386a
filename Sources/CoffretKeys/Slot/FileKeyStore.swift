// Slots that a PIN opens on this machine only, without hardware. Invariant: without the machine's secret the PIN is
// worth nothing, and the secret never lies in the store or in a backup.

package import CoffretBase
package import CoffretCrypto

/// A key store of files: the slot's private key is sealed in the keyring, under a key from the PIN and
/// from 32 random bytes that this machine keeps outside the store.
///
/// The machine secret is the salt of `SlotPIN`. Who has the store and the machine secret guesses a PIN at
/// Argon2id's speed; the attempt counter only slows honest people.
/// Spec: Spec/keys.md. Source: protocol decision 20.
package struct FileKeyStore: KeyStore {
    private let machineSecret: MachineSecretFile
    private let random: any RandomSource
    private let parameters: (memoryKibibytes: UInt32, passCount: UInt32)

    package var kind: SlotKind { .machine }

    /// - Parameter machineSecret: outside the store and outside backups; made if it is missing.
    /// - Parameter memoryKibibytes: for new slots.
    package init(
        machineSecret: MachineSecretFile, random: any RandomSource, memoryKibibytes: UInt32 = 262_144,
        passCount: UInt32 = 3
    ) {
        self.machineSecret = machineSecret
        self.random = random
        parameters = (memoryKibibytes, passCount)
    }

    package func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) throws(KeyError) -> KeyStoreKey {
        guard let secret else { throw KeyError(.pinRequired) }
        let machine = try machineSecret.loadOrMake()
        let password = PasswordParameters.generate(
            from: random, memoryKibibytes: parameters.memoryKibibytes, passCount: parameters.passCount)
        let wrapping = SlotSecretKey(
            try SlotPIN.derive(
                salt: machine.duplicateSecret(), machineSecret: machine, profile: terms.profile, place: place,
                pin: secret, password: password))
        let key = AgreementKey.generate(from: random)
        let sealed = X25519Slot.wrap(key, under: wrapping, storeID: place.storeID, slotID: place.slotID, random: random)
        return KeyStoreKey(
            algorithm: .x25519, publicKey: key.publicKey.bytes, password: password,
            reference: SlotReference(terms: terms, parts: [sealed]).encoded)
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) throws(KeyError) -> StorageKey {
        guard slot.algorithm == .x25519, let secret, let password = slot.password else { throw KeyError(.unlockFailed) }
        let reference = try SlotReference(decoding: slot.reference, partCount: 1)
        let machine = try machineSecret.load()
        let wrapping = SlotSecretKey(
            try SlotPIN.derive(
                salt: machine.duplicateSecret(), machineSecret: machine, profile: reference.terms.profile,
                place: slot.place(inStore: binding.storeID), pin: secret, password: password))
        return try X25519Slot.openStorageKey(of: slot, wrapped: reference.parts[0], under: wrapping, binding: binding)
    }

    /// Nothing to forget: the key lies in the keyring, and the machine secret serves other slots.
    package func removeKey(of slot: KeySlot, storeID: UniqueID) throws(KeyError) {}

    /// Files count nothing that could not be put back.
    package func attempts() throws(KeyError) -> KeyStoreAttempts? { nil }
}
