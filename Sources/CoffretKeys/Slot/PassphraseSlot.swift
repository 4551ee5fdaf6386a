// Slots that a passphrase opens. Invariant: parameters are checked for all slots before a single one is derived.

internal import CoffretBase
internal import CoffretCrypto

/// Passphrase → Argon2id → KDF("slot/passphrase", store id ‖ slot id, anchor) → private key of the slot.
enum PassphraseSlot {
    static func make(
        _ passphrase: Passphrase, parameters: PasswordParameters, storeID: UniqueID, anchor: [UInt8],
        random: any RandomSource
    ) throws(KeyError) -> KeySlot {
        let id = UniqueID.generate(from: random)
        let place = SlotPlace(storeID: storeID, slotID: id, anchor: anchor)
        let secret = try deriveSecret(passphrase, parameters, place)
        let key = AgreementKey.generate(from: random)
        return KeySlot(
            id: id, kind: .passphrase, algorithm: .x25519, publicKey: key.publicKey.bytes, anchor: anchor,
            password: parameters,
            reference: X25519Slot.wrap(key, under: secret, storeID: storeID, slotID: id, random: random),
            sealedStorageKey: [])
    }

    /// The slot's private key; nil if the passphrase is another.
    static func open(_ slot: KeySlot, _ passphrase: Passphrase, storeID: UniqueID) throws(KeyError) -> AgreementKey? {
        guard slot.algorithm == .x25519, let parameters = slot.password else { return nil }
        let secret = try deriveSecret(passphrase, parameters, slot.place(inStore: storeID))
        return X25519Slot.unwrap(slot.reference, under: secret, storeID: storeID, slotID: slot.id)
    }

    private static func deriveSecret(
        _ passphrase: Passphrase, _ parameters: PasswordParameters, _ place: SlotPlace
    ) throws(KeyError) -> SlotSecretKey {
        let stretched = try stretch(passphrase, parameters)
        return SlotSecretKey(
            KDF.derive(
                from: stretched, .slotPassphrase, place.storeID.bytes + place.slotID.bytes, place.anchor))
    }

    /// Argon2id with the errors of this module.
    static func stretch(
        _ passphrase: Passphrase, _ parameters: PasswordParameters
    ) throws(KeyError) -> SecretBytes {
        do throws(CryptoError) {
            return try parameters.deriveSecret(from: passphrase)
        } catch {
            throw KeyError(
                error.code == .passwordPolicy ? .passwordPolicy : .cryptoUnavailable, at: error.place, cause: error)
        }
    }

    /// Slots with a passphrase or PIN in one keyring: opening may have to try each.
    static let countMax = 8

    /// Refuses a table in which any slot states parameters outside the bounds (R13), or with more slots to
    /// try than a person would wait for.
    static func checkPolicy(of slots: [KeySlot]) throws(KeyError) {
        guard slots.count(where: { $0.password != nil }) <= countMax else {
            throw KeyError(.passwordPolicy, at: "slots")
        }
        for slot in slots {
            guard let parameters = slot.password else { continue }
            do throws(CryptoError) {
                try parameters.check()
            } catch {
                throw KeyError(.passwordPolicy, at: error.place, cause: error)
            }
        }
    }
}
