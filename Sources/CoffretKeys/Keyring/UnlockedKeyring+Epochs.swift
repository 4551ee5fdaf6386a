// Keys of epochs that a vault's chain may come to have. Invariant: a key is durable before anybody hears of it, and it is a
// vault's key only when the verified chain commits to it.

internal import CoffretBase
package import CoffretCrypto
package import CoffretTrust

extension UnlockedKeyring {
    /// Keys of epochs that a chain does not have yet, which are kept aside for each vault.
    private static var asideCountMax: Int { 4 }
    private static var asideTime: Milliseconds { 30 * 24 * 3_600_000 }

    /// Makes a key for an epoch that this device is about to open, and keeps it aside.
    package func makeKey(ofEpoch epoch: UInt32, in id: VaultID) throws(KeyError) -> VaultKey {
        let key = VaultKey.generate(from: environment.random)
        let made = OfferedKey(epoch: epoch, key: key, since: environment.clock.now)
        try changeVault(id) { vault in vault.replacing(offered: vault.offered + [made]) }
        return key
    }

    /// Keeps keys that somebody sent aside.
    package func offer(_ keys: [UInt32: VaultKey], in id: VaultID) throws(KeyError) {
        let now = environment.clock.now
        let offered = keys.sorted { $0.key < $1.key }.map { OfferedKey(epoch: $0.key, key: $0.value, since: now) }
        try changeVault(id) { $0.offering(offered, at: now) }
    }

    /// Takes a vault that somebody else founded.
    ///
    /// - Parameters:
    ///   - link: number 0; its hash is the vault's id.
    ///   - keys: that of epoch 1 is held against the link; later ones are kept aside until the chain commits to them.
    ///   - makePlaces: as `PlaceMaking`.
    /// - Throws: `.vaultExists` if the name is taken or the vault is here; `.keyringInconsistent` if the link or the key of
    ///   epoch 1 is not this vault's.
    package func join(
        _ id: VaultID, founding link: UnverifiedLink, named name: String, keys: [UInt32: VaultKey], splitKey: SplitKey,
        makingPlaces makePlaces: PlaceMaking = { _ in }
    ) throws(KeyError) {
        try KeyringName.check(name)
        let (random, now) = (environment.random, environment.clock.now)
        let account = try accountID()
        let chain: VerifiedMemberChain
        do throws(TrustError) {
            chain = try .identify([link], vaultID: id, notBy: account)
        } catch {
            throw KeyError(.keyringInconsistent, at: "chain", cause: error)
        }
        let offered = keys.filter { $0.key != 1 }.sorted { $0.key < $1.key }
            .map { OfferedKey(epoch: $0.key, key: $0.value, since: now) }
        let record = VaultRecord(
            vaultID: id, name: name, kind: .synced, memberChain: chain, vaultKeys: keys.filter { $0.key == 1 },
            offered: offered, splitKey: splitKey, localKey: .generate(from: random))
        guard record.keysFitFoundation else { throw KeyError(.keyringInconsistent, at: "vault key") }
        try change(makingPlaces: makePlaces) { (body, _) throws(KeyError) in
            guard !body.vaults.contains(where: { $0.vaultID == id || $0.name.lowercased() == name.lowercased() }) else {
                throw KeyError(.vaultExists)
            }
            body.vaults.append(record)
        }
    }

    /// Takes those of the keys aside that the chain commits to, and lets go of others of the epochs that it has.
    ///
    /// - Parameters:
    ///   - newest: the newest epoch of the verified chain.
    ///   - commits: whether the chain commits to a key for an epoch.
    /// - Returns: whether a key was taken.
    @discardableResult
    package func settleKeys(
        of id: VaultID, newest: UInt32, commits: (VaultKey, UInt32) -> Bool
    ) throws(KeyError) -> Bool {
        let vault = try vault(id)
        guard !vault.offered.isEmpty else { return false }
        var keys = vault.vaultKeys
        for offered in vault.offered
        where offered.epoch <= newest && keys[offered.epoch] == nil && commits(offered.key, offered.epoch) {
            keys[offered.epoch] = offered.key
        }
        let now = environment.clock.now
        let left = vault.offered.filter { $0.epoch > newest && now &- $0.since < Self.asideTime }
            .suffix(Self.asideCountMax)
        guard left.count != vault.offered.count || keys.count != vault.vaultKeys.count else { return false }
        try changeVault(id) { $0.replacing(vaultKeys: keys, offered: Array(left)) }
        return keys.count != vault.vaultKeys.count
    }

    private func changeVault(_ id: VaultID, _ edit: (VaultRecord) -> VaultRecord) throws(KeyError) {
        try change { (body, _) throws(KeyError) in
            guard let index = body.vaults.firstIndex(where: { $0.vaultID == id }) else {
                throw KeyError(.vaultNotFound)
            }
            body.vaults[index] = edit(body.vaults[index])
        }
    }
}
