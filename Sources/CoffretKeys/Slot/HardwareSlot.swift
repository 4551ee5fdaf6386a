// The storage key as a message for hardware. Invariant: Apple's ECIES does not commit to its key, so what is inside
// says for which store, slot and generation it was made, and proves the key.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretInterop

/// Storage keys sealed to P-256 keys of a TPM or a Secure Enclave; sealing needs the public key alone.
///
/// Message: Apple's ECIES, `eciesEncryptionCofactorVariableIVX963SHA256AESGCM`, 65 + 144 + 16 bytes around
/// lp("slot-seal/storage-key") ‖ store id (16) ‖ slot id (16) ‖ generation (8) ‖ storage key (32) ‖
/// KDF(storage key, "slot/commit", store id ‖ slot id ‖ generation) (32).
/// Spec: Spec/keystores.md. Source: protocol decision 15.
package enum HardwareSlot {
    package static func seal(
        _ storageKey: StorageKey, toPublicKey publicKey: [UInt8], binding: SlotBinding
    ) throws(KeyError) -> [UInt8] {
        var plaintext = prefix(binding)
        defer { plaintext.zero() }
        // EXPOSE: into the message's plaintext, which is zeroed.
        unsafe storageKey.withUnsafeBytes { bytes in unsafe plaintext.append(contentsOf: bytes) }
        plaintext += commitment(to: storageKey, binding)
        do {
            return try CurvePublicKey(x963Representation: publicKey).encrypt(plaintext)
        } catch {
            throw KeyError(.slotUnsupported, at: binding.slotID.hex, cause: error)
        }
    }

    static func prefix(_ binding: SlotBinding) -> [UInt8] {
        let context = Context.slotStorageKey.bytes
        return UInt32(context.count).bigEndianBytes + context + binding.bytes
    }

    /// Identifies the storage key to its holder.
    static func commitment(to storageKey: StorageKey, _ binding: SlotBinding) -> [UInt8] {
        let key: AuthenticationKey = KDF.derive(from: storageKey, .slotCommitment, binding.bytes)
        // EXPOSE: a commitment, in spite of its type; it stands inside the sealed message only.
        return unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// Takes the storage key out of an opened message; zeroes the message.
    ///
    /// - Throws: `.unlockFailed` unless it was made for exactly this store, slot and generation.
    package static func storageKey(in plaintext: inout [UInt8], binding: SlotBinding) throws(KeyError) -> StorageKey {
        defer { plaintext.zero() }
        let prefix = prefix(binding)
        guard plaintext.count == prefix.count + 64, plaintext.starts(with: prefix) else {
            throw KeyError(.unlockFailed)
        }
        var bytes = Array(plaintext[prefix.count..<prefix.count + 32])
        let key = StorageKey(SecretBytes(consuming: &bytes))
        let stated = Array(plaintext[(prefix.count + 32)...])
        guard ConstantTime.isEqual(stated, commitment(to: key, binding)) else { throw KeyError(.unlockFailed) }
        return key
    }
}
