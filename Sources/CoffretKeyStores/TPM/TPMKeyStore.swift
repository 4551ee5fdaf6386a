// Slots that a TPM opens, together with a PIN or without. Invariant: the private key and the salt of the PIN are used
// inside the TPM only, and a wrong PIN counts towards the TPM's own lockout.

package import CoffretBase
package import CoffretCrypto
internal import CoffretInterop
package import CoffretKeys

/// A key store in a TPM 2.0.
///
/// Each slot has a P-256 key made inside the TPM, whose auth value is derived by `SlotPIN` from 32 random bytes
/// that the same TPM seals, this installation's secret and the PIN, if the slot has one. Neither opens in another
/// TPM, or in this one after it was cleared.
///
/// Parts of the reference: key blob, salt blob.
/// Spec: Spec/keystores.md. Source: SecureNotes (salt, user name and PIN), protocol decision 20.
package struct TPMKeyStore: KeyStore {
    private let transport: TPMTransport
    private let machineSecret: MachineSecretFile
    private let memoryKibibytes: UInt32
    private let limit: Duration
    private let random: any RandomSource
    private let queue: BlockingQueue

    package var kind: SlotKind { .tpm }

    /// - Parameter limit: how long a call may take until the caller is let go.
    package init(
        transport: TPMTransport, machineSecret: MachineSecretFile, random: any RandomSource,
        memoryKibibytes: UInt32 = 65_536, limit: Duration = .seconds(30)
    ) {
        self.transport = transport
        self.machineSecret = machineSecret
        self.memoryKibibytes = memoryKibibytes
        self.limit = limit
        self.random = random
        queue = BlockingQueue(name: "coffret.tpm")
    }

    package func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) async throws(KeyError) -> KeyStoreKey {
        let password = secret.map { _ in
            PasswordParameters.generate(
                from: random, memoryKibibytes: memoryKibibytes, passCount: PasswordParameters.passCountRange.lowerBound)
        }
        let machine = try machineSecret.loadOrMake()
        return try await perform { connection throws(KeyStoreFailure) in
            let salt = random.secret(byteCount: SlotPIN.saltByteCount)
            let authorization = try KeyStoreFailure.fromKeys(
                SlotPIN.derive(
                    salt: salt, machineSecret: machine, profile: terms.profile, place: place,
                    pin: secret, password: password))
            let nothing = Self.empty
            return try KeyStoreFailure.from { () throws(KeyStoreError) in
                let sealedSalt = try connection.seal(salt, authorization: nothing)
                let key = try connection.createKey(.keyAgreement, authorization: authorization)
                return KeyStoreKey(
                    algorithm: .p256ECIES, publicKey: try key.publicPoint(), password: password,
                    reference: SlotReference(terms: terms, parts: [key.bytes, sealedSalt.bytes]).encoded)
            }
        }
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) async throws(KeyError) -> StorageKey {
        guard slot.algorithm == .p256ECIES else { throw KeyError(.unlockFailed) }
        let reference = try SlotReference(decoding: slot.reference, partCount: 2)
        let machine = try machineSecret.load()
        return try await perform { connection throws(KeyStoreFailure) in
            let nothing = Self.empty
            let salt = try KeyStoreFailure.unsealing(
                connection.unseal(TPMKeyBlob(bytes: reference.parts[1]), authorization: nothing))
            let authorization = try KeyStoreFailure.fromKeys(
                SlotPIN.derive(
                    salt: salt, machineSecret: machine, profile: reference.terms.profile,
                    place: slot.place(inStore: binding.storeID), pin: secret, password: slot.password))
            let key = try TPMAgreementKey(
                connection: connection, blob: TPMKeyBlob(bytes: reference.parts[0]), publicPoint: slot.publicKey,
                authorization: authorization)
            var plaintext = try key.open(slot.sealedStorageKey)
            return try KeyStoreFailure.fromKeys(HardwareSlot.storageKey(in: &plaintext, binding: binding))
        }
    }

    /// Nothing to forget: the key lies in the keyring, wrapped for the TPM; the TPM itself keeps none.
    package func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {}

    /// How many wrong PINs the TPM still takes; shared by all of its keys, and not reset by a right PIN.
    package func lockout() async throws(KeyError) -> TPMLockout {
        try await perform { connection throws(KeyStoreFailure) in
            try KeyStoreFailure.from(connection.lockout())
        }
    }

    package func attempts() async throws(KeyError) -> KeyStoreAttempts? {
        let lockout = try await lockout()
        return KeyStoreAttempts(
            left: lockout.attemptsLeft, waitSeconds: lockout.waitSeconds, recoverySeconds: lockout.intervalSeconds)
    }

    private static var empty: SecretBytes { unsafe SecretBytes(byteCount: 0) { _ in } }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (TPMConnection) throws(KeyStoreFailure) -> Value
    ) async throws(KeyError) -> Value {
        let transport = transport
        return try await queue.run(limit: limit) { () -> Result<Value, KeyError> in
            do throws(KeyStoreFailure) {
                let connection = try KeyStoreFailure.from(TPMConnection(transport: transport))
                return .success(try body(connection))
            } catch {
                return .failure(error.keyError)
            }
        }
    }
}

/// A key in the TPM in the shape that CoffretInterop opens messages with.
///
/// It lives for one call, on the TPM's own thread.
final class TPMAgreementKey: CurvePrivateKey, @unchecked Sendable {
    // SAFETY: made, used and dropped within one call on the TPM's queue.
    private let connection: TPMConnection
    private let blob: TPMKeyBlob
    private let authorization: SecretBytes
    private var failure: KeyStoreError?

    let publicKey: CurvePublicKey

    init(
        connection: TPMConnection, blob: TPMKeyBlob, publicPoint: [UInt8], authorization: borrowing SecretBytes
    ) throws(KeyStoreFailure) {
        self.connection = connection
        self.blob = blob
        self.authorization = authorization.duplicate()
        do {
            publicKey = try CurvePublicKey(x963Representation: publicPoint)
        } catch {
            throw KeyStoreFailure(KeyStoreError(.malformed, place: "public key"))
        }
    }

    /// Opens a message, and says what the TPM said if it refused.
    func open(_ message: [UInt8]) throws(KeyStoreFailure) -> [UInt8] {
        do {
            return try decrypt(message)
        } catch {
            if let failure { throw KeyStoreFailure(failure) }
            throw KeyStoreFailure(KeyError(.unlockFailed))
        }
    }

    func withSharedSecret(
        with point: CurvePublicKey, _ body: (RawSpan) throws(InteropError) -> Void
    ) throws(InteropError) {
        let secret: SecretBytes
        do throws(KeyStoreError) {
            secret = try connection.sharedSecret(
                key: blob, peer: point.x963Representation, authorization: authorization)
        } catch {
            failure = error
            throw InteropError(.keyUnavailable, at: error.code.rawValue)
        }
        // EXPOSE: to the key derivation of the message format, which zeroes what it derives.
        try unsafe secret.withUnsafeBytes { (bytes) throws(InteropError) in
            try unsafe body(RawSpan(_unsafeBytes: bytes))
        }
    }

    func signature(ofDigest digest: [UInt8]) throws(InteropError) -> [UInt8] {
        throw InteropError(.unsupported, at: "this key agrees, and does not sign")
    }

    func supports(_ operation: CurveOperation, _ algorithm: CurveAlgorithm) -> Bool {
        if case (.decrypt, .ecies) = (operation, algorithm) { return true }
        return false
    }
}
