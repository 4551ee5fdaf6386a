// From a PIN to what a key store asks for. Invariant: key store, installation, store, slot, profile, PIN and the
// device's own key all go in, so that none of them can be left out or exchanged.

package import CoffretBase
package import CoffretCrypto

/// The derivation that all key stores share.
///
/// KDF(salt, "pin", store id ‖ slot id, profile, KDF(machine secret, "slot/installation", store id ‖ slot id),
/// Argon2id(PIN) or nothing, anchor), where salt is 32 random bytes that the key store holds.
/// Spec: Spec/keystores.md §3. Source: SecureNotes (salt, user name, PIN); protocol decision 20.
package enum SlotPIN {
    package static let saltByteCount = 32

    /// - Parameter pin: nil for a slot without one.
    /// - Parameter password: how the PIN is stretched; nil for a slot without one.
    /// - Throws: `.unlockFailed` if one of the two is missing; `.passwordPolicy`, `.cryptoUnavailable`.
    package static func derive(
        salt: borrowing SecretBytes, machineSecret: MachineSecret, profile: String, place: SlotPlace,
        pin: Passphrase?, password: PasswordParameters?
    ) throws(KeyError) -> SecretBytes {
        var stretched: [UInt8] = []
        defer { stretched.zero() }
        switch (pin, password) {
        case (let pin?, let password?):
            let secret = try PassphraseSlot.stretch(pin, password)
            // EXPOSE: becomes part of a derivation's context; the copy is zeroed.
            stretched = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        case (nil, nil): break
        default: throw KeyError(.unlockFailed)
        }
        let binding = place.storeID.bytes + place.slotID.bytes
        let installation: AuthenticationKey = KDF.derive(from: machineSecret, .slotInstallation, binding)
        // EXPOSE: becomes part of a derivation's context; the copy is zeroed.
        var installed = unsafe installation.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { installed.zero() }
        return KDF.derive(from: salt, .pin, binding, Array(profile.utf8), installed, stretched, place.anchor)
    }
}
