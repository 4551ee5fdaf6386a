// Slots that the Secure Enclave of an Apple device opens. Compiled on Apple platforms only; it has not been compiled
// or run on Linux, where this file is empty. Invariant: the private key never leaves the enclave, and it is found by
// its application tag alone.

#if canImport(Security)
import Foundation
import LocalAuthentication
import Security

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys

/// A key store in the Secure Enclave: the same messages as a TPM's, opened with the same ECIES.
///
/// The key asks for a finger or a face (`.biometryCurrentSet`) if the slot needs presence; the slot's secret (`SlotPIN`,
/// with a salt in the keychain) is the key's application password, so a PIN and this installation's secret are
/// needed as with a TPM. Wrong application passwords are counted by the enclave.
///
/// Parts of the reference: application tag (16), tag of the salt (16).
/// Spec: Spec/keystores.md. Source: "Encryption with keys in the Secure Enclave" (application tags, biometry).
package struct SecureEnclaveKeyStore: KeyStore {
    private let machineSecret: MachineSecretFile
    private let random: any RandomSource
    private let memoryKibibytes: UInt32
    private let limit: Duration
    private let queue = BlockingQueue(name: "coffret.secure-enclave", isConcurrent: true)

    package var kind: SlotKind { .secureEnclave }

    private static let tagByteCount = 16
    private static let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

    package init(
        machineSecret: MachineSecretFile, random: any RandomSource, memoryKibibytes: UInt32 = 65_536,
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
        let password = secret.map { _ in
            PasswordParameters.generate(
                from: random, memoryKibibytes: memoryKibibytes, passCount: PasswordParameters.passCountRange.lowerBound)
        }
        let machine = try machineSecret.loadOrMake()
        let tags = [random.bytes(count: Self.tagByteCount), random.bytes(count: Self.tagByteCount)]
        return try await queue.askingPerson(limit: limit) { context throws(KeyStoreFailure) in
            let salt = random.secret(byteCount: SlotPIN.saltByteCount)
            let credential = try KeyStoreFailure.fromKeys(
                SlotPIN.derive(
                    salt: salt, machineSecret: machine, profile: terms.profile, place: place,
                    pin: secret, password: password))
            return try KeyStoreFailure.from { () throws(KeyStoreError) in
                try Self.set(credential, on: context)
                try AppleKeychain.add(salt, tag: tags[1], flags: [])
                let key = try Self.makeKey(tag: tags[0], needsBiometry: terms.needsPresence, context)
                guard let publicKey = SecKeyCopyPublicKey(key),
                    let point = SecKeyCopyExternalRepresentation(publicKey, nil) as Data?
                else { throw KeyStoreError(.failed, place: "public key") }
                return KeyStoreKey(
                    algorithm: .p256ECIES, publicKey: [UInt8](point), password: password,
                    reference: SlotReference(terms: terms, parts: tags).encoded)
            }
        }
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) async throws(KeyError) -> StorageKey {
        guard slot.algorithm == .p256ECIES else { throw KeyError(.unlockFailed) }
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        let machine = try machineSecret.load()
        return try await queue.askingPerson(limit: limit) { context throws(KeyStoreFailure) in
            let found = try KeyStoreFailure.from(AppleKeychain.find(tag: reference.parts[1], context: context))
            guard let salt = consume found else {
                throw KeyStoreFailure(KeyStoreError(.keyUnusable, place: "keychain"))
            }
            let credential = try KeyStoreFailure.fromKeys(
                SlotPIN.derive(
                    salt: salt, machineSecret: machine, profile: reference.terms.profile,
                    place: slot.place(inStore: binding.storeID), pin: secret, password: slot.password))
            var plaintext = try KeyStoreFailure.from { () throws(KeyStoreError) in
                try Self.set(credential, on: context)
                let key = try Self.findKey(tag: reference.parts[0], context)
                guard SecKeyIsAlgorithmSupported(key, .decrypt, Self.algorithm) else {
                    throw KeyStoreError(.keyUnusable, place: "algorithm")
                }
                var error: Unmanaged<CFError>?
                guard
                    let data = SecKeyCreateDecryptedData(
                        key, Self.algorithm, Data(slot.sealedStorageKey) as CFData, &error) as Data?
                else { throw Self.refusal(error?.takeRetainedValue()) }
                return [UInt8](data)
            }
            return try KeyStoreFailure.fromKeys(HardwareSlot.storageKey(in: &plaintext, binding: binding))
        }
    }

    package func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        try await queue.askingPerson(limit: limit) { _ throws(KeyStoreFailure) in
            try KeyStoreFailure.from { () throws(KeyStoreError) in
                let status = SecItemDelete(Self.query(tag: reference.parts[0]) as CFDictionary)
                if status != errSecItemNotFound { try AppleKeychain.check(status) }
                try AppleKeychain.remove(tag: reference.parts[1])
            }
        }
    }

    /// The enclave counts, and tells nobody.
    package func attempts() async throws(KeyError) -> KeyStoreAttempts? { nil }

    // MARK: Keys of the enclave

    private static func query(tag: [UInt8]) -> [CFString: Any] {
        [
            kSecClass: kSecClassKey, kSecAttrApplicationTag: Data(tag), kSecUseDataProtectionKeychain: true,
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
        ]
    }

    private static func makeKey(
        tag: [UInt8], needsBiometry: Bool, _ context: LAContext
    ) throws(KeyStoreError) -> SecKey {
        if try hasKey(tag: tag) { throw KeyStoreError(.duplicate, place: "secure enclave") }
        var flags: SecAccessControlCreateFlags = [.privateKeyUsage, .applicationPassword]
        if needsBiometry { flags.formUnion([.biometryCurrentSet, .and]) }
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecUseAuthenticationContext: context,
            kSecPrivateKeyAttrs: [
                kSecAttrIsPermanent: true, kSecAttrApplicationTag: Data(tag),
                kSecAttrAccessControl: try AppleKeychain.accessControl(flags),
            ] as [CFString: Any],
        ]
        var error: Unmanaged<CFError>?
        guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
            throw refusal(error?.takeRetainedValue())
        }
        return key
    }

    private static func hasKey(tag: [UInt8]) throws(KeyStoreError) -> Bool {
        let status = SecItemCopyMatching(query(tag: tag) as CFDictionary, nil)
        if status == errSecItemNotFound { return false }
        try AppleKeychain.check(status)
        return true
    }

    private static func findKey(tag: [UInt8], _ context: LAContext) throws(KeyStoreError) -> SecKey {
        var query = query(tag: tag)
        query[kSecReturnRef] = true
        query[kSecMatchLimit] = kSecMatchLimitAll
        query[kSecUseAuthenticationContext] = context
        var found: CFTypeRef?
        try AppleKeychain.check(SecItemCopyMatching(query as CFDictionary, &found))
        guard let keys = found as? [SecKey], let key = keys.first else { throw KeyStoreError(.keyUnusable) }
        guard keys.count == 1 else { throw KeyStoreError(.duplicate, place: "secure enclave") }
        return key
    }

    private static func set(_ credential: borrowing SecretBytes, on context: LAContext) throws(KeyStoreError) {
        // EXPOSE: into the context, which hands it to the enclave.
        let data = unsafe credential.withUnsafeBytes { bytes in unsafe Data(bytes) }
        guard context.setCredential(data, type: .applicationPassword) else {
            throw KeyStoreError(.failed, place: "application password")
        }
    }

    private static func refusal(_ error: CFError?) -> KeyStoreError {
        guard let error = error as (any Error)? as NSError? else {
            return KeyStoreError(.failed, place: "secure enclave")
        }
        switch error.code {
        case LAError.userCancel.rawValue, LAError.systemCancel.rawValue, LAError.appCancel.rawValue:
            return KeyStoreError(.cancelled)
        case LAError.authenticationFailed.rawValue, Int(errSecAuthFailed): return KeyStoreError(.wrongPIN)
        case LAError.biometryLockout.rawValue: return KeyStoreError(.lockedOut)
        default: return KeyStoreError(.failed, place: "secure enclave \(error.code)")
        }
    }
}
#endif
