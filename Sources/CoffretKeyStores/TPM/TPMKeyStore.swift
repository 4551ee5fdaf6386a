// Slots that a TPM opens together with a PIN. The one thing to keep true: the private key and the salt of the
// PIN are used inside the TPM only, and a wrong PIN counts towards the TPM's own lockout.

package import CoffretBase
package import CoffretCrypto
internal import CoffretInterop
package import CoffretKeys

/// A key store in a TPM 2.0.
///
/// Each slot has a P-256 key made inside the TPM, whose auth value is
/// KDF(salt, "pin", store id ‖ slot id ‖ lp(profile) ‖ Argon2id(PIN)); the salt, 32 random bytes, is sealed by
/// the same TPM. Neither opens in another TPM, or in this one after it was cleared.
///
/// Reference, deterministic CBOR: [1, key blob, salt blob, profile].
/// Spec: Spec/keystores.md. Source: SecureNotes (salt, user name and PIN), protocol decision 20.
package struct TPMKeyStore: KeyStore {
    private let transport: TPMTransport
    private let profile: String
    private let memoryKibibytes: UInt32
    private let limit: Duration
    private let random: any RandomSource
    private let queue: BlockingQueue

    package var kind: SlotKind { .tpm }

    /// - Parameter profile: the name that the PIN belongs to, chosen by the person.
    /// - Parameter limit: how long a call may take until the caller is let go.
    package init(
        transport: TPMTransport, profile: String, random: any RandomSource, memoryKibibytes: UInt32 = 65_536,
        limit: Duration = .seconds(30)
    ) {
        self.transport = transport
        self.profile = profile
        self.memoryKibibytes = memoryKibibytes
        self.limit = limit
        self.random = random
        queue = BlockingQueue(name: "coffret.tpm")
    }

    package func generateKey(
        storeID: UniqueID, slotID: UniqueID, secret: Passphrase
    ) async throws(KeyError) -> KeyStoreKey {
        let password = PasswordParameters.generate(
            from: random, memoryKibibytes: memoryKibibytes, passCount: PasswordParameters.passCountRange.lowerBound)
        return try await queue.run(limit: limit) { () -> Result<KeyStoreKey, KeyError> in
            Self.attempt { () throws(KeyStoreFailure) in
                let connection = try KeyStoreFailure.from { () throws(KeyStoreError) in
                    try TPMConnection(transport: transport)
                }
                let salt = random.secret(byteCount: 32)
                let nothing = Self.empty
                let sealedSalt = try KeyStoreFailure.from { () throws(KeyStoreError) in
                    try connection.seal(salt, authorization: nothing)
                }
                let authorization = try deriveAuthorization(
                    salt: salt, secret, password, profile: profile, storeID: storeID, slotID: slotID)
                let key = try KeyStoreFailure.from { () throws(KeyStoreError) in
                    try connection.createKey(.keyAgreement, authorization: authorization)
                }
                let point = try KeyStoreFailure.from { () throws(KeyStoreError) in try key.publicPoint() }
                return KeyStoreKey(
                    algorithm: .p256ECIES, publicKey: point, password: password,
                    reference: TPMReference(key: key, salt: sealedSalt, profile: profile).encoded())
            }
        }
    }

    package func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase
    ) async throws(KeyError) -> StorageKey {
        guard slot.algorithm == .p256ECIES, let password = slot.password else { throw KeyError(.unlockFailed) }
        let reference = try TPMReference(decoding: slot.reference)
        return try await queue.run(limit: limit) { () -> Result<StorageKey, KeyError> in
            Self.attempt { () throws(KeyStoreFailure) in
                let connection = try KeyStoreFailure.from { () throws(KeyStoreError) in
                    try TPMConnection(transport: transport)
                }
                let nothing = Self.empty
                let salt = try KeyStoreFailure.unsealing { () throws(KeyStoreError) in
                    try connection.unseal(reference.salt, authorization: nothing)
                }
                let authorization = try deriveAuthorization(
                    salt: salt, secret, password, profile: reference.profile, storeID: binding.storeID,
                    slotID: binding.slotID)
                let key = try TPMAgreementKey(
                    connection: connection, blob: reference.key, publicPoint: slot.publicKey,
                    authorization: authorization)
                var plaintext = try key.open(slot.sealedStorageKey)
                do throws(KeyError) {
                    return try HardwareSlot.storageKey(in: &plaintext, binding: binding)
                } catch {
                    throw KeyStoreFailure(error)
                }
            }
        }
    }

    /// Nothing to forget: the key lies in the keyring, wrapped for the TPM; the TPM itself keeps none.
    package func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {}

    /// How many attempts the TPM has left; shared by all of its keys.
    package func lockout() async throws(KeyError) -> TPMLockout {
        try await queue.run(limit: limit) { () -> Result<TPMLockout, KeyError> in
            Self.attempt { () throws(KeyStoreFailure) in
                try KeyStoreFailure.from { () throws(KeyStoreError) in
                    try TPMConnection(transport: transport).lockout()
                }
            }
        }
    }

    private static var empty: SecretBytes { unsafe SecretBytes(byteCount: 0) { _ in } }

    private static func attempt<Value>(
        _ body: () throws(KeyStoreFailure) -> Value
    ) -> Result<Value, KeyError> {
        do throws(KeyStoreFailure) {
            return .success(try body())
        } catch {
            return .failure(error.keyError)
        }
    }

    private func deriveAuthorization(
        salt: borrowing SecretBytes, _ pin: Passphrase, _ password: PasswordParameters, profile: String,
        storeID: UniqueID, slotID: UniqueID
    ) throws(KeyStoreFailure) -> SecretBytes {
        let stretched: SecretBytes
        do throws(CryptoError) {
            stretched = try password.deriveSecret(from: pin)
        } catch {
            throw KeyStoreFailure(KeyError(error.code == .passwordPolicy ? .passwordPolicy : .cryptoUnavailable))
        }
        // EXPOSE: the stretched PIN becomes part of a derivation's context; the copy is zeroed.
        var context = unsafe stretched.withUnsafeBytes { bytes in
            let name = Array(profile.utf8)
            return unsafe storeID.bytes + slotID.bytes + UInt32(name.count).bigEndianBytes + name + [UInt8](bytes)
        }
        defer { context.zero() }
        return KDF.derive(from: salt, .pin, context)
    }
}

/// What a slot's reference says about the TPM.
struct TPMReference: Equatable {
    let key: TPMKeyBlob
    let salt: TPMKeyBlob
    let profile: String

    private static let version: UInt64 = 1

    init(key: TPMKeyBlob, salt: TPMKeyBlob, profile: String) {
        self.key = key
        self.salt = salt
        self.profile = profile
    }

    func encoded() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.version)
            encoder.encode(bytes: key.bytes)
            encoder.encode(bytes: salt.bytes)
            encoder.encode(text: profile)
        }
    }

    init(decoding bytes: [UInt8]) throws(KeyError) {
        let malformed = KeyError(.keyStoreFailed, cause: KeyStoreError(.malformed, place: "tpm reference"))
        self = try withCBORDecoder(bytes, convert: { _ in malformed }) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 4)
            let start = decoder.byteOffset
            guard try decoder.readUnsigned() == Self.version else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return TPMReference(
                key: TPMKeyBlob(bytes: try decoder.readBytes(countMax: 4096)),
                salt: TPMKeyBlob(bytes: try decoder.readBytes(countMax: 4096)),
                profile: try decoder.readText(byteCountMax: 256))
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
