// One of the ways into a store. Invariant: a slot seals the storage key to its public key, so that all slots can be
// renewed without any slot's secret; and nothing is sealed to a public key that no verified MAC covers.

package import CoffretBase
package import CoffretCrypto

/// The kind of secret that opens a slot.
package struct SlotKind: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let passphrase = SlotKind(rawValue: 1)
    /// A printed recovery key.
    package static let recovery = SlotKind(rawValue: 2)
    /// A PIN or passphrase together with a secret that this machine holds outside the store.
    package static let machine = SlotKind(rawValue: 3)
    package static let tpm = SlotKind(rawValue: 4)
    package static let secretService = SlotKind(rawValue: 5)
    /// The Secure Enclave of an Apple device.
    package static let secureEnclave = SlotKind(rawValue: 6)
    /// An entry of an Apple keychain.
    package static let keychain = SlotKind(rawValue: 7)

    /// Whether a key store opens slots of this kind, on this machine only.
    package var isKeyStore: Bool { (3...7).contains(rawValue) }
}

/// How the storage key is sealed to a slot.
package struct SlotAlgorithm: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `PublicKeyEnvelope`.
    package static let x25519 = SlotAlgorithm(rawValue: 1)
    /// Apple's ECIES over P-256, opened inside hardware.
    package static let p256ECIES = SlotAlgorithm(rawValue: 2)
}

/// A slot as it stands in the keyring.
///
/// Layout, deterministic CBOR: [id (16), kind, algorithm, public key, anchor, null or [KiB, passes, salt (16)],
/// reference, sealed storage key].
package struct KeySlot: Equatable, Sendable {
    package let id: UniqueID
    package let kind: SlotKind
    package let algorithm: SlotAlgorithm
    package let publicKey: [UInt8]
    /// The signing key of the device that made the slot; what opens the slot is derived from it, so that another one opens
    /// nothing. Empty for a paper device, whose sheet is in the account's chain.
    package let anchor: [UInt8]
    /// How the slot's passphrase or PIN is stretched; nil if it has none.
    package let password: PasswordParameters?
    /// The sealed private key, or whatever a key store needs to find or load it.
    package let reference: [UInt8]
    package let sealedStorageKey: [UInt8]

    package init(
        id: UniqueID, kind: SlotKind, algorithm: SlotAlgorithm, publicKey: [UInt8], anchor: [UInt8],
        password: PasswordParameters?, reference: [UInt8], sealedStorageKey: [UInt8]
    ) {
        self.id = id
        self.kind = kind
        self.algorithm = algorithm
        self.publicKey = publicKey
        self.anchor = anchor
        self.password = password
        self.reference = reference
        self.sealedStorageKey = sealedStorageKey
    }

    func replacing(sealedStorageKey: [UInt8]) -> KeySlot {
        KeySlot(
            id: id, kind: kind, algorithm: algorithm, publicKey: publicKey, anchor: anchor, password: password,
            reference: reference, sealedStorageKey: sealedStorageKey)
    }

    /// Where it stands in a store.
    package func place(inStore storeID: UniqueID) -> SlotPlace {
        SlotPlace(storeID: storeID, slotID: id, anchor: anchor)
    }

    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 8)
        encoder.encode(bytes: id.bytes)
        encoder.encode(unsigned: UInt64(kind.rawValue))
        encoder.encode(unsigned: UInt64(algorithm.rawValue))
        encoder.encode(bytes: publicKey)
        encoder.encode(bytes: anchor)
        if let password {
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: UInt64(password.memoryKibibytes))
            encoder.encode(unsigned: UInt64(password.passCount))
            encoder.encode(bytes: password.salt)
        } else {
            encoder.encodeNull()
        }
        encoder.encode(bytes: reference)
        encoder.encode(bytes: sealedStorageKey)
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 8)
        let start = decoder.byteOffset
        guard let id = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        self.id = id
        kind = SlotKind(rawValue: try decoder.readUnsigned(as: UInt8.self))
        algorithm = SlotAlgorithm(rawValue: try decoder.readUnsigned(as: UInt8.self))
        publicKey = try decoder.readBytes(countMax: 256)
        anchor = try decoder.readBytes(countMax: VerifyingKey.byteCount)
        if decoder.isNextNull {
            try decoder.readNull()
            password = nil
        } else {
            try decoder.readArrayHeader(count: 3)
            // Any numbers are read; `PasswordParameters.check` refuses what is out of bounds, by name.
            password = PasswordParameters(
                memoryKibibytes: try decoder.readUnsigned(as: UInt32.self),
                passCount: try decoder.readUnsigned(as: UInt32.self), salt: try decoder.readBytes(countMax: 64))
        }
        reference = try decoder.readBytes(countMax: 64 << 10)
        sealedStorageKey = try decoder.readBytes(countMax: 4 << 10)
    }
}

/// The place that the secret of a slot is derived for, the same for all kinds.
package struct SlotPlace: Equatable, Sendable {
    package let storeID: UniqueID
    package let slotID: UniqueID
    /// Of the store's device: `KeySlot.anchor`.
    package let anchor: [UInt8]

    package init(storeID: UniqueID, slotID: UniqueID, anchor: [UInt8]) {
        self.storeID = storeID
        self.slotID = slotID
        self.anchor = anchor
    }
}

/// The place that a sealed storage key is bound to: store id (16) ‖ slot id (16) ‖ generation (8).
package struct SlotBinding: Equatable, Sendable {
    package let storeID: UniqueID
    package let slotID: UniqueID
    package let generation: UInt64

    package init(storeID: UniqueID, slotID: UniqueID, generation: UInt64) {
        self.storeID = storeID
        self.slotID = slotID
        self.generation = generation
    }

    package var bytes: [UInt8] { storeID.bytes + slotID.bytes + generation.bigEndianBytes }
}

/// Slots with an X25519 key whose private half lies sealed in the keyring.
package enum X25519Slot {
    static func seal<Purpose>(
        _ key: SymmetricKey<Purpose>, toPublicKey publicKey: [UInt8], context: Context, binding: SlotBinding,
        random: any RandomSource
    ) throws(KeyError) -> [UInt8] {
        do throws(CryptoError) {
            let recipient = try AgreementPublicKey(publicKey)
            // EXPOSE: into the envelope, which seals it.
            return try unsafe key.withUnsafeBytes { (bytes) throws(CryptoError) in
                try unsafe PublicKeyEnvelope.seal(
                    bytes, to: recipient, context: context, associatedData: binding.bytes, fill: .none, random: random)
            }
        } catch {
            throw KeyError(.slotUnsupported, at: binding.slotID.hex, cause: error)
        }
    }

    /// nil if it does not open, for any reason.
    static func open<Purpose>(
        _ sealed: [UInt8], with key: AgreementKey, context: Context, binding: SlotBinding
    ) -> SymmetricKey<Purpose>? {
        let secret = try? unsafe PublicKeyEnvelope.open(
            sealed, with: key, context: context, associatedData: binding.bytes, fill: .none
        ) { (bytes) throws(CryptoError) -> SymmetricKey<Purpose> in
            guard bytes.count == SymmetricKey<Purpose>.byteCount else { throw CryptoError(.authenticationFailed) }
            // EXPOSE: copied into locked memory; the envelope zeroes its own.
            return SymmetricKey(unsafe SecretBytes(copying: bytes))
        }
        return secret
    }

    /// Seals a private key under a slot's secret: ENV(secret, "slot-seal/private-key", store id ‖ slot id, key).
    package static func wrap(
        _ key: AgreementKey, under secret: SlotSecretKey, storeID: UniqueID, slotID: UniqueID,
        random: any RandomSource
    ) -> [UInt8] {
        // EXPOSE: into the envelope, which seals it.
        unsafe key.duplicateSecret().withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: secret, context: .slotPrivateKey, associatedData: storeID.bytes + slotID.bytes,
                fill: .none, random: random)
        }
    }

    /// Opens a slot's private key, and with it the storage key.
    ///
    /// - Throws: `.unlockFailed`, for any fault.
    package static func openStorageKey(
        of slot: KeySlot, wrapped: [UInt8], under secret: SlotSecretKey, binding: SlotBinding
    ) throws(KeyError) -> StorageKey {
        guard let key = unwrap(wrapped, under: secret, storeID: binding.storeID, slotID: binding.slotID),
            let storageKey: StorageKey = open(
                slot.sealedStorageKey, with: key, context: .slotStorageKey, binding: binding)
        else { throw KeyError(.unlockFailed) }
        return storageKey
    }

    /// nil if it does not open, for any reason.
    static func unwrap(
        _ sealed: [UInt8], under secret: SlotSecretKey, storeID: UniqueID, slotID: UniqueID
    ) -> AgreementKey? {
        try? unsafe Envelope.open(
            sealed, key: secret, context: .slotPrivateKey, associatedData: storeID.bytes + slotID.bytes, fill: .none
        ) { (bytes) throws(CryptoError) -> AgreementKey in
            guard bytes.count == AgreementKey.byteCount else { throw CryptoError(.authenticationFailed) }
            // EXPOSE: copied into locked memory; the envelope zeroes its own.
            return AgreementKey(unsafe SecretBytes(copying: bytes))
        }
    }
}
