// Opening a keyring that is nobody's. Invariant: its keys are made up here and gone at the end.

package import CoffretBase
package import CoffretCrypto

extension Keyring {
    /// Makes up a keyring, opens it, and derives the keys of its vault: what the first opening in a process does once
    /// for all others (the runtime's tables of types, the libraries' own) is done then.
    ///
    /// - Returns: the keys of the vault that does not exist.
    package static func rehearse(random: any RandomSource) -> VaultKeys? {
        var body = KeyringBody.founded(deviceName: "", random: random, time: 0)
        guard (try? body.addVault(named: "rehearsal", kind: .local, random: random, time: 0)) != nil else { return nil }
        guard let device = body.device else { return nil }
        let key = StorageKey.generate(from: random)
        let file = unsafe body.withEncoded { keys in
            unsafe KeyringFile.seal(
                storeID: .generate(from: random), generation: 1, slots: [], keys: keys, storageKey: key,
                by: device.signing, .keyringSignature, random: random)
        }
        guard let vault = try? file.openDeviceBody(storageKey: key, anchor: device.anchor).vaults.first else {
            return nil
        }
        return VaultKeys(
            vaultID: vault.vaultID, vaultKeys: vault.vaultKeys, splitKey: vault.splitKey, localKey: vault.localKey)
    }
}
