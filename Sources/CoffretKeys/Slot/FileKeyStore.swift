// Slots that a PIN or passphrase opens on this machine only. The one thing to keep true: without the
// machine's secret the PIN is worth nothing, and the secret never lies in the store or in a backup.

package import CoffretBase
package import CoffretCrypto

/// A key store of files: the slot's private key is sealed in the keyring, under a key from the PIN and
/// from 32 random bytes that this machine keeps outside the store.
///
/// KEK = KDF(machine secret, "pin", store id ‖ slot id ‖ Argon2id(PIN, salt)). Who has the store and the
/// machine secret guesses a PIN at Argon2id's speed; the attempt counter only slows honest people.
/// Spec: Spec/keys.md. Source: protocol decision 20.
package struct FileKeyStore: KeyStore {
    private let secretPath: String
    private let fileSystem: any FileSystem
    private let random: any RandomSource
    private let parameters: (memoryKibibytes: UInt32, passCount: UInt32)

    package var kind: SlotKind { .machine }

    /// - Parameter stateDirectory: outside the store and outside backups; made if it is missing.
    /// - Parameter memoryKibibytes: for new slots.
    package init(
        stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource,
        memoryKibibytes: UInt32 = 262_144, passCount: UInt32 = 3
    ) {
        secretPath = PathText.join(stateDirectory, "machine.secret")
        self.fileSystem = fileSystem
        self.random = random
        parameters = (memoryKibibytes, passCount)
    }

    package func generateKey(
        storeID: UniqueID, slotID: UniqueID, secret: Passphrase
    ) throws(KeyError) -> KeyStoreKey {
        let machineSecret: MachineSecret
        if let existing = try loadSecret() { machineSecret = existing } else { machineSecret = try makeSecret() }
        let password = PasswordParameters.generate(
            from: random, memoryKibibytes: parameters.memoryKibibytes, passCount: parameters.passCount)
        let wrapping = try deriveKey(machineSecret, secret, password, storeID: storeID, slotID: slotID)
        let key = AgreementKey.generate(from: random)
        return KeyStoreKey(
            algorithm: .x25519, publicKey: key.publicKey.bytes, password: password,
            reference: X25519Slot.wrap(key, under: wrapping, storeID: storeID, slotID: slotID, random: random))
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase
    ) throws(KeyError) -> StorageKey {
        guard slot.algorithm == .x25519, let password = slot.password else { throw KeyError(.unlockFailed) }
        guard let machineSecret = try loadSecret() else { throw KeyError(.machineSecretMissing) }
        let wrapping = try deriveKey(
            machineSecret, secret, password, storeID: binding.storeID, slotID: binding.slotID)
        guard
            let key = X25519Slot.unwrap(
                slot.reference, under: wrapping, storeID: binding.storeID, slotID: binding.slotID),
            let storageKey: StorageKey = X25519Slot.open(
                slot.sealedStorageKey, with: key, context: .slotStorageKey, binding: binding)
        else { throw KeyError(.unlockFailed) }
        return storageKey
    }

    /// Nothing to forget: the key lies in the keyring, and the machine secret serves other slots.
    package func removeKey(of slot: KeySlot, storeID: UniqueID) throws(KeyError) {}

    private func deriveKey(
        _ machineSecret: MachineSecret, _ pin: Passphrase, _ password: PasswordParameters, storeID: UniqueID,
        slotID: UniqueID
    ) throws(KeyError) -> SlotSecretKey {
        let stretched = try PassphraseSlot.stretch(pin, password)
        // EXPOSE: the stretched PIN becomes part of a derivation's context; the copy is zeroed.
        var context = unsafe stretched.withUnsafeBytes { bytes in unsafe storeID.bytes + slotID.bytes + [UInt8](bytes) }
        defer { context.zero() }
        return KDF.derive(from: machineSecret, .pin, context)
    }

    private func loadSecret() throws(KeyError) -> MachineSecret? {
        guard let status = try withFiles({ () throws(FileSystemError) in try fileSystem.status(secretPath) }) else {
            return nil
        }
        // Group or others could read it: then it is no secret of this person.
        guard status.kind == .file, status.byteCount == MachineSecret.byteCount, status.mode & 0o077 == 0 else {
            throw KeyError(.machineSecretInvalid)
        }
        var bytes = try withFiles { () throws(FileSystemError) in
            try fileSystem.readFile(secretPath, byteCountMax: MachineSecret.byteCount)
        }
        return MachineSecret(SecretBytes(consuming: &bytes))
    }

    private func makeSecret() throws(KeyError) -> MachineSecret {
        let secret = MachineSecret.generate(from: random)
        // EXPOSE: into the file that keeps it; the copy is zeroed.
        var bytes = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { bytes.zero() }
        try withFiles { () throws(FileSystemError) in
            try fileSystem.makeDirectories(PathText.parent(of: secretPath))
            try fileSystem.replaceFile(secretPath, with: bytes)
        }
        return secret
    }
}
