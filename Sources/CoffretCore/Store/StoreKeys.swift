// Changes of slots and instances. Invariant: after a change every vault that can be reached remembers the new
// generation, so that the old keyring, put back, is refused even where the machine's own memory of it is gone.

internal import CoffretBase
package import CoffretCrypto
package import CoffretKeys
internal import CoffretStorage
internal import CoffretTrust

/// Evaluates `value`, turning errors of the keyring into this module's.
func inKeys<Result>(_ value: @autoclosure () throws -> Result) throws -> Result {
    do {
        return try value()
    } catch let error as KeyError {
        switch error.code {
        case .keyringNotFound: throw CoreError(.storeNotFound, at: error.place, cause: error)
        case .keyringExists: throw CoreError(.storeExists, at: error.place, cause: error)
        case .keyringRolledBack: throw CoreError(.storeRolledBack, at: error.place, cause: error)
        case .vaultNotFound: throw CoreError(.vaultNotFound, at: error.place, cause: error)
        case .vaultExists: throw CoreError(.vaultNameInvalid, at: error.place, cause: error)
        default: throw CoreError(.keys, at: error.code.rawValue, cause: error)
        }
    }
}

/// The same for several statements.
func inKeys<Result>(_ body: () throws -> Result) throws -> Result {
    try inKeys(body())
}

extension Store {
    /// Changes the keyring (a passphrase, a recovery key, a slot) and lets vaults remember that it changed.
    ///
    /// - Parameter change: does one thing; each call of the keyring makes a generation.
    package func changeKeyring<Result>(
        _ change: (UnlockedKeyring) throws -> Result
    ) throws -> Result {
        let result = try inKeys(change(keyring))
        try recordGeneration()
        return result
    }

    /// Goes on with what another process has made of the keyring.
    ///
    /// - Returns: whether it is another one.
    /// - Throws: `.keys` with `.keyringChanged` if that cannot be opened as it was opened first.
    @discardableResult
    package func readKeyringAgain() throws -> Bool {
        try inKeys(keyring.readAgain())
    }

    /// Does what depends on nothing that was read of the keyring before, again where another process has changed that meanwhile.
    func following<Result>(_ change: () throws -> Result) throws -> Result {
        do {
            return try change()
        } catch let error as CoreError where (error.cause as? KeyError)?.code == .keyringChanged {
            guard try readKeyringAgain() else { throw error }
            return try change()
        }
    }

    /// Says whether a vault is synced, and whether what it needs was sent.
    package func setKind(of id: VaultID, _ kind: VaultKind) throws {
        try following { try changeKeyring { keyring in try keyring.setVaultKind(id, kind) } }
    }

    /// In so many vaults a change of the keyring is recorded at once, in the others by their next writer: each is opened for it,
    /// and a change would take seconds in a store of hundreds.
    private static let recordedVaultCountMax = 8

    /// Records the keyring's generation in the first vaults. One that another process is writing to is passed over: its next
    /// writer records it.
    func recordGeneration() throws {
        for record in try allVaults.prefix(Self.recordedVaultCountMax) {
            do {
                try open(record, isWritable: true).close()
            } catch let error as CoreError
                where (error.cause as? StorageError)?.code == .lockBusy
                || [.storeIncomplete, .vaultRolledBack, .vaultChainsBehind].contains(error.code)
            {}
        }
    }

    /// Starts a new instance: after a copy, a restore or an accepted rollback (protocol 10). Commits count from 1
    /// again under a new instance, so that nobody mistakes this copy's commits for the original's.
    ///
    /// - Throws: `CoreError.storeRolledBack` if a vault has seen a newer keyring: a renewal makes a new generation, and
    ///   must not lift an old keyring over what the vaults remember.
    ///
    /// - Parameter isAccepted: as `UnlockedKeyring.renewInstance`.
    package func renewInstance(isAccepted: Bool = false) throws {
        for record in try allVaults {
            do {
                try open(record, isWritable: false).close()
            } catch let error as CoreError where error.code == .storeIncomplete {}
        }
        try changeKeyring { keyring in try keyring.renewInstance(isAccepted: isAccepted) }
    }

    /// Throws unless a vault may be written to: the store is the one that this machine remembers, and no older.
    package func checkIsPresent(_ vault: Vault) throws {
        try inKeys(keyring.checkInstance())
        guard !vault.isOlderCopy else { throw CoreError(.vaultRolledBack, at: vault.name) }
    }

    /// Whether this machine remembers a store, without opening it.
    package static func isRemembered(at path: String, environment: StoreEnvironment) throws -> Bool {
        try inKeys(
            KeyringSummary.isRemembered(
                at: StoreLayout(path).keyringPath, stateDirectory: environment.stateDirectory,
                fileSystem: environment.fileSystem))
    }

    /// Properties of a store that need no opening.
    package static func exists(at path: String, environment: StoreEnvironment) throws -> Bool {
        try inFiles(environment.fileSystem.exists(StoreLayout(path).keyringPath))
    }

    /// The name of the device behind an instance's commits, as this store knows it; nil for one it does not know.
    package func deviceName(_ deviceID: [UInt8]) throws -> String? {
        guard let id = UniqueID(bytes: deviceID) else { return nil }
        return try inKeys {
            let chain = try keyring.deviceChain()
            guard let device = chain.devices.first(where: { $0.id == id }) else { return nil }
            return try keyring.details(of: device)?.name
        }
    }

    /// The same for people: with the beginning of the id where another device that is trusted is called so too.
    package func deviceLabel(_ deviceID: [UInt8]) throws -> String? {
        guard let name = try deviceName(deviceID) else { return nil }
        let isShared = try inKeys {
            for other in try keyring.deviceChain().devices where other.isTrusted && other.id.bytes != deviceID {
                if try keyring.details(of: other)?.name == name { return true }
            }
            return false
        }
        return isShared ? "\(name) (\(Hex.encode(deviceID.prefix(4))))" : name
    }
}
