// Slots that a keychain entry of an Apple device opens. Compiled on Apple platforms only; it has not been compiled or
// run on Linux, where this file is empty. Invariant: what the keychain holds says nothing of the store, and without
// this installation's own secret it opens nothing.

#if canImport(Security)
import LocalAuthentication

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys

/// A key store in the keychain: what `SecretServiceKeyStore` is on Linux, with the device's own check.
///
/// A slot that needs presence asks for a finger or a face, and is useless once one is added or removed
/// (`.biometryCurrentSet`). Parts of the reference: application tag (16), sealed private key.
/// Spec: Spec/keystores.md.
package struct KeychainKeyStore: KeyStore {
    private let machineSecret: MachineSecretFile
    private let random: any RandomSource
    private let memoryKibibytes: UInt32
    private let limit: Duration
    private let queue = BlockingQueue(name: "coffret.keychain", isConcurrent: true)

    package var kind: SlotKind { .keychain }

    private static let tagByteCount = 16

    package init(
        machineSecret: MachineSecretFile, random: any RandomSource, memoryKibibytes: UInt32 = 262_144,
        limit: Duration = .seconds(120)
    ) {
        self.machineSecret = machineSecret
        self.random = random
        self.memoryKibibytes = memoryKibibytes
        self.limit = limit
    }

    package func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) async throws(KeyError) -> KeyStoreKey {
        let tag = random.bytes(count: Self.tagByteCount)
        let machine = try machineSecret.loadOrMake()
        let password = secret.map { _ in
            PasswordParameters.generate(
                from: random, memoryKibibytes: memoryKibibytes, passCount: PasswordParameters.passCountRange.lowerBound)
        }
        return try await queue.askingPerson(limit: limit) { _ throws(KeyStoreFailure) in
            let salt = random.secret(byteCount: SlotPIN.saltByteCount)
            let wrapping = try KeyStoreFailure.fromKeys(
                SlotSecretKey(
                    try SlotPIN.derive(
                        salt: salt, machineSecret: machine, profile: terms.profile, place: place,
                        pin: secret, password: password)))
            let key = AgreementKey.generate(from: random)
            let sealed = X25519Slot.wrap(
                key, under: wrapping, storeID: place.storeID, slotID: place.slotID, random: random)
            try KeyStoreFailure.from(
                AppleKeychain.add(salt, tag: tag, flags: terms.needsPresence ? .biometryCurrentSet : []))
            return KeyStoreKey(
                algorithm: .x25519, publicKey: key.publicKey.bytes, password: password,
                reference: SlotReference(terms: terms, parts: [tag, sealed]).encoded)
        }
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) async throws(KeyError) -> StorageKey {
        guard slot.algorithm == .x25519 else { throw KeyError(.unlockFailed) }
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        let machine = try machineSecret.load()
        return try await queue.askingPerson(limit: limit) { context throws(KeyStoreFailure) in
            let found = try KeyStoreFailure.from(AppleKeychain.find(tag: reference.parts[0], context: context))
            guard let salt = consume found else {
                throw KeyStoreFailure(KeyStoreError(.keyUnusable, place: "keychain"))
            }
            return try KeyStoreFailure.fromKeys { () throws(KeyError) in
                let wrapping = SlotSecretKey(
                    try SlotPIN.derive(
                        salt: salt, machineSecret: machine, profile: reference.terms.profile,
                        place: slot.place(inStore: binding.storeID), pin: secret, password: slot.password))
                return try X25519Slot.openStorageKey(
                    of: slot, wrapped: reference.parts[1], under: wrapping, binding: binding)
            }
        }
    }

    package func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        try await queue.askingPerson(limit: limit) { _ throws(KeyStoreFailure) in
            try KeyStoreFailure.from(AppleKeychain.remove(tag: reference.parts[0]))
        }
    }

    /// The keychain knows nothing of PINs.
    package func attempts() async throws(KeyError) -> KeyStoreAttempts? { nil }
}
#endif
