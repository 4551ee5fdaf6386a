// Slots that the desktop's keyring opens, together with a PIN or without. Invariant: what the keyring holds says
// nothing of the store, and without this installation's own secret it opens nothing.

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys

/// A key store in the keyring of the desktop session, through the Secret Service.
///
/// For each slot the keyring holds 32 random bytes under a random tag and a random label. They are the salt of
/// `SlotPIN`, under which the slot's private key lies sealed in the store's own keyring. The desktop's keyring is
/// unlocked at login and lets every program of the person read: a slot without a PIN is worth as much as that.
///
/// Parts of the reference: tag (16 bytes), sealed private key.
/// Spec: Spec/keystores.md §5.
package struct SecretServiceKeyStore: KeyStore {
    private let machineSecret: MachineSecretFile
    private let random: any RandomSource
    private let parameters: (memoryKibibytes: UInt32, passCount: UInt32)
    private let limit: Duration
    private let queue: BlockingQueue

    package var kind: SlotKind { .secretService }

    private static let tagByteCount = 16
    private static let labelByteCount = 8

    /// - Parameter memoryKibibytes: for new slots.
    /// - Parameter limit: how long a call may take, with a person to unlock the keyring, until it is cancelled.
    package init(
        machineSecret: MachineSecretFile, random: any RandomSource, memoryKibibytes: UInt32 = 262_144,
        passCount: UInt32 = 3, limit: Duration = .seconds(120)
    ) {
        self.machineSecret = machineSecret
        self.random = random
        parameters = (memoryKibibytes, passCount)
        self.limit = limit
        queue = BlockingQueue(name: "coffret.secret-service", isConcurrent: true)
    }

    package func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) async throws(KeyError) -> KeyStoreKey {
        let tag = random.bytes(count: Self.tagByteCount)
        let machine = try machineSecret.loadOrMake()
        let password = secret.map { _ in
            PasswordParameters.generate(
                from: random, memoryKibibytes: parameters.memoryKibibytes, passCount: parameters.passCount)
        }
        return try await perform { cancellation throws(KeyStoreFailure) in
            let salt = random.secret(byteCount: SlotPIN.saltByteCount)
            let wrapping = try deriveKey(salt, machine, terms, place, secret, password)
            let key = AgreementKey.generate(from: random)
            let sealed = X25519Slot.wrap(
                key, under: wrapping, storeID: place.storeID, slotID: place.slotID, random: random)
            try KeyStoreFailure.from(
                SecretServiceConnection.add(
                    salt, tag: Hex.encode(tag), label: Hex.encode(random.bytes(count: Self.labelByteCount)),
                    cancellation: cancellation))
            return KeyStoreKey(
                algorithm: .x25519, publicKey: key.publicKey.bytes, password: password,
                reference: SlotReference(terms: terms, parts: [tag, sealed]).encoded)
        }
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) async throws(KeyError) -> StorageKey {
        guard slot.algorithm == .x25519 else { throw KeyError(.unlockFailed) }
        let (reference, tag) = try Self.reference(of: slot)
        let machine = try machineSecret.load()
        return try await perform { cancellation throws(KeyStoreFailure) in
            let found = try KeyStoreFailure.from(SecretServiceConnection.find(tag: tag, cancellation: cancellation))
            // Another person's keyring, or one that was made anew.
            guard let salt = consume found else {
                throw KeyStoreFailure(KeyStoreError(.keyUnusable, place: "keyring"))
            }
            guard salt.byteCount == SlotPIN.saltByteCount else {
                throw KeyStoreFailure(KeyStoreError(.malformed, place: "keyring"))
            }
            let wrapping = try deriveKey(
                salt, machine, reference.terms, slot.place(inStore: binding.storeID), secret, slot.password)
            return try KeyStoreFailure.fromKeys(
                X25519Slot.openStorageKey(
                    of: slot, wrapped: reference.parts[1], under: wrapping, binding: binding))
        }
    }

    package func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {
        let (_, tag) = try Self.reference(of: slot)
        try await perform { cancellation throws(KeyStoreFailure) in
            try KeyStoreFailure.from { () throws(KeyStoreError) in
                _ = try SecretServiceConnection.remove(tag: tag, cancellation: cancellation)
            }
        }
    }

    /// The desktop's keyring knows nothing of PINs.
    package func attempts() async throws(KeyError) -> KeyStoreAttempts? { nil }

    private static func reference(of slot: KeySlot) throws(KeyError) -> (SlotReference, tag: String) {
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        guard reference.parts[0].count == tagByteCount else { throw KeyError(.slotMalformed, at: "tag") }
        return (reference, Hex.encode(reference.parts[0]))
    }

    private func deriveKey(
        _ salt: borrowing SecretBytes, _ machine: MachineSecret, _ terms: SlotTerms, _ place: SlotPlace,
        _ pin: Passphrase?, _ password: PasswordParameters?
    ) throws(KeyStoreFailure) -> SlotSecretKey {
        do throws(KeyError) {
            return SlotSecretKey(
                try SlotPIN.derive(
                    salt: salt, machineSecret: machine, profile: terms.profile, place: place,
                    pin: pin, password: password))
        } catch {
            throw KeyStoreFailure(error)
        }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceCancellation) throws(KeyStoreFailure) -> Value
    ) async throws(KeyError) -> Value {
        let cancellation = SecretServiceCancellation()
        return try await queue.run(limit: limit, cancel: { cancellation.cancel() }) { () -> Result<Value, KeyError> in
            do throws(KeyStoreFailure) {
                return .success(try body(cancellation))
            } catch {
                return .failure(error.keyError)
            }
        }
    }
}
