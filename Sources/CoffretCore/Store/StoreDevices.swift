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
        let accepted = try addingVaults { (makePlaces) throws(KeyError) in
            try keyring.accept(box, makingPlaces: makePlaces)
        }
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
        try following {
            try addingVaults(chains) { (makePlaces) throws(KeyError) in
                try keyring.join(
                    id, founding: founding, named: name, keys: keys, splitKey: splitKey, makingPlaces: makePlaces)
            }
        }
        try recordGeneration()
        return try vaultRecord(id.hex)
    }

    /// Adds vaults to the keyring, and makes their places before it names them.
    ///
    /// - Parameter chains: of a vault that is joined, instead of the link that founds it.
    /// - Throws: as `change` and as `makePlace`; what was made is removed again unless the keyring may name it.
    func addingVaults<Result>(
        _ chains: FollowedChains? = nil, _ change: (PlaceMaking) throws(KeyError) -> Result
    ) throws -> Result {
        var failure: (any Error)?
        do {
            return try change { (ids) throws(KeyError) in
                do {
                    for id in ids {
                        try inFiles(environment.fileSystem.removeTree(layout.vaultPath(id)))
                        try makePlace(for: id, chains)
                    }
                } catch {
                    for id in ids { try? environment.fileSystem.removeTree(layout.vaultPath(id)) }
                    failure = error
                    throw KeyError(.fileFailed, at: "vaults", cause: error)
                }
            }
        } catch {
            if let failure { throw failure }
            return try inKeys { throw error }
        }
    }

    /// Makes the directory of a vault, with nothing in it but its chains.
    ///
    /// - Parameter joined: the chains of a vault that is joined; else those that found it.
    func makePlace(for id: VaultID, _ joined: FollowedChains? = nil) throws {
        let keys = try inKeys(keyring.vaultKeys(for: id))
        let author = try author(for: id)
        let chains = try followedChains(of: id)
        let repository = try inStorage(
            LogRepository.create(
                directory: layout.vaultPath(id), keys: keys, author: author, chains: chains.vaultChains,
                environment: environment.storage, isText: ItemTexts.isText))
        defer { repository.close() }
        try keep(joined ?? chains)
        try inStorage(repository.recordKeyringGeneration(keyring.generation))
    }
}
