// Stores of several devices. Invariant: a vault whose keys have come has a place on the disk before anybody looks for
// it.

internal import CoffretBase
package import CoffretCrypto
package import CoffretKeys
package import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust

extension Store {
    /// Makes the store of a device that joined an account: its keyring, and a place for each synced vault, empty until
    /// the first sync.
    ///
    /// - Throws: as `create`; what was made is then removed again.
    package static func join(
        _ account: JoinedAccount, server: ServerRecord, at path: String, passphrase: Passphrase,
        parameters: PasswordParameters, environment: StoreEnvironment
    ) throws -> Store {
        let layout = StoreLayout(path)
        try checkIsFree(layout, environment)
        try inFiles(environment.fileSystem.makeDirectories(path))
        do {
            let keyring = try inKeys(
                Keyring.create(
                    joining: account, server: server, passphrase: passphrase, parameters: parameters,
                    environment: environment.keyring(at: layout.keyringPath)))
            let store = Store(layout: layout, keyring: keyring, environment: environment)
            for record in try store.allVaults { try store.makePlace(for: record.vaultID) }
            return store
        } catch {
            if ((error as? CoreError)?.cause as? KeyError)?.code != .keyringExists {
                try? environment.fileSystem.removeTree(layout.vaultsPath)
                try? environment.fileSystem.remove(layout.keyringPath)
            }
            throw error
        }
    }

    /// Takes keys that another device sent.
    ///
    /// - Returns: vaults that are new here, empty until the first sync, and vaults with new keys.
    package func acceptKeys(_ box: DeviceBox) throws -> (added: [VaultID], renewed: [VaultID]) {
        let accepted = try inKeys(keyring.accept(box))
        for id in accepted.added { try makePlace(for: id) }
        try recordGeneration()
        return accepted
    }

    /// Whether this account, or one of before, founded a vault.
    package func isFoundedHere(_ record: VaultRecord) throws -> Bool {
        let founder = record.memberChain.foundation.accountID
        return try inKeys {
            if try keyring.accountID() == founder { return true }
            return try keyring.formerChains().contains { $0.accountID == founder }
        }
    }

    /// Takes a vault that somebody else founded into the store, empty until its first sync.
    ///
    /// - Parameters:
    ///   - chains: as they were followed, from link 0 on.
    ///   - keys: that of epoch 1 is held against link 0; later ones wait until the chain commits to them.
    /// - Throws: `CoreError` `.vaultNameInvalid` if the name is taken, in any case, or not acceptable; `.keys`.
    package func joinVault(
        _ chains: FollowedChains, named name: String, keys: [UInt32: VaultKey], splitKey: SplitKey
    ) throws -> VaultRecord {
        try Self.checkName(name)
        let id = chains.vaultID
        guard let founding = chains.links.first else { throw CoreError(.keys, at: "chains") }
        try inKeys(keyring.join(id, founding: founding, named: name, keys: keys, splitKey: splitKey))
        do {
            try makePlace(for: id)
            try keep(chains)
        } catch {
            try? keyring.removeVault(id)
            try? environment.fileSystem.removeTree(layout.vaultPath(id))
            throw error
        }
        try recordGeneration()
        return try vaultRecord(id.hex)
    }

    /// Makes the directory of a vault, with nothing in it but the chains that found it.
    func makePlace(for id: VaultID) throws {
        let keys = try inKeys(keyring.vaultKeys(for: id))
        let author = try author(for: id)
        let chains = try followedChains(of: id)
        let repository = try inStorage(
            LogRepository.create(
                directory: layout.vaultPath(id), keys: keys, author: author, chains: chains.vaultChains,
                environment: environment.storage, isText: ItemTexts.isText))
        defer { repository.close() }
        try keep(chains)
        try inStorage(repository.recordKeyringGeneration(keyring.generation))
    }
}
