// A store: one person's vaults on one device, behind one keyring. Invariant: an older keyring than the vaults have
// seen is refused, and a copied store never goes on under the old instance.

package import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
internal import CoffretSearch
internal import CoffretStorage
internal import CoffretTrust

/// An open store. One isolation domain at a time.
package final class Store {
    /// How long a writer waits for another one.
    package static let lockTimeoutMilliseconds = 10_000
    /// The name of the first vault if the person gives none.
    package static let firstVaultName = "Personal"
    /// The longest name of a vault, in UTF-8 bytes.
    package static let vaultNameByteCountMax = 128

    /// Where the store lies.
    package let layout: StoreLayout
    /// Keys and slots. Who changes slots goes through `changeKeyring`, so that the vaults learn of it.
    package let keyring: UnlockedKeyring
    package let environment: StoreEnvironment
    package var fileSystem: any FileSystem { environment.fileSystem }
    /// The keys of note passphrases that were typed, for all vaults of the store. Locking the store, or the notes
    /// alone, calls `lock` on it.
    package let noteKeys = UnlockedNoteKeys()
    /// Whether somebody has shown to be there, for hidden items of all vaults.
    package let hiddenGate = HiddenGate(isOpen: false)
    /// Of one vault: they are read again and again while it is opened.
    var readChains: ReadChains?
    /// The own account as this keyring has it.
    var knownAccount: (generation: UInt64, account: FollowedAccount)?

    init(layout: StoreLayout, keyring: UnlockedKeyring, environment: StoreEnvironment) {
        self.layout = layout
        self.keyring = keyring
        self.environment = environment
    }

    /// Makes a store with one vault and opens it.
    ///
    /// - Parameters:
    ///   - path: a directory; made if it is missing, readable for its owner only.
    ///   - parameters: of Argon2id, within the bounds.
    ///   - deviceName: seen by the person's own devices only.
    /// - Throws: `CoreError` `.storeExists`; `.keys` and `.storage` with their causes. What was made is then
    ///   removed again.
    package static func create(
        at path: String, passphrase: Passphrase, parameters: PasswordParameters, deviceName: String,
        vaultName: String = firstVaultName, environment: StoreEnvironment
    ) throws -> Store {
        let layout = StoreLayout(path)
        try checkName(vaultName)
        try checkIsFree(layout, environment)
        try inFiles(environment.fileSystem.makeDirectories(path))
        do {
            let keyring = try inKeys(
                Keyring.create(
                    passphrase: passphrase, parameters: parameters, deviceName: deviceName,
                    environment: environment.keyring(at: layout.keyringPath)))
            let store = Store(layout: layout, keyring: keyring, environment: environment)
            try store.addVault(named: vaultName)
            return store
        } catch {
            if ((error as? CoreError)?.cause as? KeyError)?.code != .keyringExists {
                try? environment.fileSystem.removeTree(layout.vaultsPath)
                try? environment.fileSystem.remove(layout.keyringPath)
            }
            throw error
        }
    }

    /// Refuses a place where a store, or what is left of one, lies.
    static func checkIsFree(_ layout: StoreLayout, _ environment: StoreEnvironment) throws {
        for taken in [layout.keyringPath, layout.vaultsPath] {
            let exists = try inFiles(environment.fileSystem.exists(taken))
            guard !exists else { throw CoreError(.storeExists, at: taken) }
        }
    }

    /// Opens a store.
    ///
    /// - Parameter acceptsRollback: goes on with a store that is older than this machine remembers, or another one;
    ///   nothing is written before `renewInstance`.
    /// - Throws: `CoreError` `.storeNotFound`; `.storeRolledBack`; `.keys` with its cause for everything else.
    package static func open(
        at path: String, with secret: UnlockSecret, acceptsRollback: Bool = false, environment: StoreEnvironment
    ) throws -> Store {
        let layout = StoreLayout(path)
        let keyring = try inKeys(
            Keyring.open(
                with: secret, acceptsRollback: acceptsRollback, environment: environment.keyring(at: layout.keyringPath)
            ))
        return Store(layout: layout, keyring: keyring, environment: environment)
    }

    // MARK: Vaults

    /// The vaults that people see, by name.
    package var vaults: [VaultRecord] { get throws { try allVaults.filter { !$0.isAccountVault } } }

    /// These and the account's own, by name: what is synced and backed up.
    package var allVaults: [VaultRecord] { get throws { try inKeys(keyring.vaults()).sorted { $0.name < $1.name } } }

    /// The vault with a name, in any case, or with an id that begins with these hex digits; the only vault
    /// if `reference` is nil.
    ///
    /// - Parameter admits: others do not exist for the caller.
    /// - Throws: `CoreError` `.vaultNotFound`, `.vaultAmbiguous` with the candidates.
    package func vaultRecord(
        _ reference: String?, among admits: (VaultRecord) -> Bool = { _ in true }
    ) throws -> VaultRecord {
        // A whole id is no name that somebody types for one of his vaults.
        if let reference, let bytes = try? Hex.decode(reference), let id = VaultID(bytes),
            let whole = try? keyring.vault(id), admits(whole)
        {
            return whole
        }
        let vaults = try vaults.filter(admits)
        guard let reference else { return try only(vaults, reference: nil) }
        let sought = reference.lowercased()
        if let exact = vaults.first(where: { $0.name == reference }) { return exact }
        let named = vaults.filter { $0.name.lowercased() == sought }
        if !named.isEmpty { return try only(named, reference: reference) }
        guard sought.utf8.count >= ReferenceResolver.digitCountMin else {
            throw CoreError(.vaultNotFound, at: reference)
        }
        return try only(vaults.filter { $0.vaultID.hex.hasPrefix(sought) }, reference: reference)
    }

    private func only(_ vaults: [VaultRecord], reference: String?) throws -> VaultRecord {
        guard let first = vaults.first else { throw CoreError(.vaultNotFound, at: reference) }
        guard vaults.count == 1 else {
            throw CoreError(
                .vaultAmbiguous, at: reference,
                candidates: vaults.map { CoreError.Candidate(id: $0.vaultID.hex, title: $0.name) })
        }
        return first
    }

    /// Opens a vault.
    ///
    /// - Parameters:
    ///   - reference: see `vaultRecord`.
    ///   - isWritable: takes the writer's lock, waiting for another writer at most ten seconds.
    ///   - admitsOlderChains: for a sync, which fetches them again.
    /// - Throws: `CoreError` `.storeIncomplete` if the keyring names the vault and its files are not there,
    ///   `.storeRolledBack` if the vault has seen a newer keyring, `.vaultChainsBehind`, `.storage` with its cause. For writing also `.keys`
    ///   with `.markerMissing` if this machine does not remember the store, and `.vaultRolledBack` for an older copy.
    package func openVault(
        _ reference: String? = nil, isWritable: Bool, admitsOlderChains: Bool = false
    ) throws -> Vault {
        let record = try vaultRecord(reference)
        return try open(record, isWritable: isWritable, admitsOlderChains: admitsOlderChains)
    }

    func open(_ record: VaultRecord, isWritable: Bool, admitsOlderChains: Bool = false) throws -> Vault {
        let path = layout.vaultPath(record.vaultID)
        let keys = try inKeys(keyring.vaultKeys(for: record.vaultID))
        let author = try author(for: record.vaultID, isWritable: isWritable)
        // Read first: what is written meanwhile is newer than this, and never older.
        let positions = try inKeys(JournalPositions(keyring: keyring, environment: environment))
        let position = positions.position(of: record.vaultID) ?? 0
        let repository: LogRepository
        do throws(StorageError) {
            repository = try LogRepository.open(
                directory: path, keys: keys, author: author,
                chains: VaultChains(accounts: [:], members: MemberState()),
                mode: isWritable ? .readWrite(lockTimeoutMilliseconds: Self.lockTimeoutMilliseconds) : .readOnly,
                environment: environment.storage, isText: ItemTexts.isText)
        } catch {
            // What another process sealed under keys that this one has not read yet looks damaged.
            if error.code == .journalDamagedSegment {
                let isChanged = try readKeyringAgain()
                guard try isChanged || inKeys(keyring.vaultKeys(for: record.vaultID)) !== keys else {
                    throw CoreError(error)
                }
                let vault = try inKeys(keyring.vault(record.vaultID))
                return try open(vault, isWritable: isWritable, admitsOlderChains: admitsOlderChains)
            }
            guard error.code == .notFound else { throw CoreError(error) }
            throw CoreError(.storeIncomplete, at: path, cause: error)
        }
        repository.readChains = chainsReader(of: record.vaultID)
        repository.readKeptAccounts = { [self] in keptAccounts(of: record.vaultID) }
        let isOlder = repository.journalPosition < position
        guard !isWritable || !isOlder else {
            repository.close()
            throw CoreError(.vaultRolledBack, at: record.name)
        }
        if !admitsOlderChains {
            let linkCount = try followedChains(of: record.vaultID).members?.state.count ?? 0
            guard linkCount >= repository.keptLinkCount else {
                repository.close()
                throw CoreError(.vaultChainsBehind, at: record.name)
            }
        }
        if isWritable { repository.onDurable { positions.note(position: $0, of: record.vaultID) } }
        let recorded = repository.recordedKeyringGeneration
        guard recorded <= keyring.generation else {
            repository.close()
            // Another process may have changed the keyring since this one read it.
            guard try readKeyringAgain(), recorded <= keyring.generation else {
                throw CoreError(.storeRolledBack, at: record.name)
            }
            let vault = try inKeys(keyring.vault(record.vaultID))
            return try open(vault, isWritable: isWritable, admitsOlderChains: admitsOlderChains)
        }
        if isWritable { try inKeys(keyring.checkInstance()) }
        if isWritable && recorded < keyring.generation {
            try inStorage(repository.recordKeyringGeneration(keyring.generation))
        }
        if isWritable {
            repository.statements = try statements(for: record)
            repository.keyLogNotes = try logNotes(for: record)
        }
        let vault = makeVault(record, repository: repository, keys: keys)
        vault.isOlderCopy = isOlder
        return vault
    }

    /// Gives the newest chains that are kept of a vault, whenever its state is read.
    private func chainsReader(of vault: VaultID) -> () throws(StorageError) -> VaultChains {
        { [self] () throws(StorageError) in
            do { return try followedChains(of: vault).vaultChains } catch {
                throw StorageError(.fileFailed, place: layout.vaultPath(vault), cause: error)
            }
        }
    }

    private func makeVault(_ record: VaultRecord, repository: LogRepository, keys: VaultKeys) -> Vault {
        let directory = PathText.join(layout.vaultPath(record.vaultID), "search")
        let (fileSystem, random) = (environment.fileSystem, environment.random)
        let attachments = AttachmentStore(
            directory: layout.vaultPath(record.vaultID), keys: keys, environment: environment.storage)
        let vault = Vault(
            name: record.name, repository: repository, clock: environment.clock, random: random,
            attachments: attachments, noteKeys: noteKeys
        ) { () throws(SearchError) in
            try SearchIndex(
                directory: directory, key: keys.searchKey, vaultID: record.vaultID, fileSystem: fileSystem,
                random: random)
        }
        vault.hiddenGate = hiddenGate
        if record.kind == .local {
            vault.writeCheckpoint = { [self] purges, frontier in
                try writeCheckpoint(in: record.vaultID, repository, purges: purges, upTo: frontier)
            }
        }
        if let attempts = environment.attempts {
            let storeID = keyring.storeID
            vault.noteAttempts = { attempts.ledger(ofStore: storeID, noteRecord: $0) }
        }
        return vault
    }

    /// Adds an empty vault.
    ///
    /// - Throws: `CoreError` `.vaultNameInvalid` if the name is taken, in any case, or not acceptable.
    @discardableResult
    package func addVault(named name: String, kind: VaultKind = .local) throws -> VaultID {
        try Self.checkName(name)
        try checkIsFree(name, except: nil)
        return try addVault(named: name, kind: kind, purpose: nil)
    }

    func addVault(named name: String, kind: VaultKind = .local, purpose: VaultPurpose?) throws -> VaultID {
        let id = try following {
            try addingVaults { (makePlaces) throws(KeyError) in
                try keyring.addVault(named: name, kind: kind, purpose: purpose, makingPlaces: makePlaces)
            }
        }
        try recordGeneration()
        return id
    }

    /// Removes a vault from this store: its keys first, so that a crash in between leaves files that nobody can read.
    ///
    /// - Throws: `CoreError.vaultIsLast` for the only one; `.storage` if somebody is writing in it.
    package func removeVault(_ reference: String) throws {
        let record = try vaultRecord(reference)
        guard try vaults.count > 1 else { throw CoreError(.vaultIsLast, at: record.name) }
        let writer = try open(record, isWritable: true)
        try withExtendedLifetime(writer) {
            try following { try changeKeyring { keyring in try keyring.removeVault(record.vaultID) } }
        }
        try inFiles(environment.fileSystem.removeTree(layout.vaultPath(record.vaultID)))
    }

    /// The vault that was made first, or came first.
    package var firstVault: VaultRecord? {
        get throws { try inKeys(keyring.vaults()).first { !$0.isAccountVault } }
    }

    /// Gives a vault another name.
    package func renameVault(_ reference: String, to name: String) throws {
        let record = try vaultRecord(reference)
        try Self.checkName(name)
        try checkIsFree(name, except: record.vaultID)
        try following { try changeKeyring { keyring in try keyring.renameVault(record.vaultID, to: name) } }
    }

    private func checkIsFree(_ name: String, except vault: VaultID?) throws {
        let taken = try vaults.contains { $0.name.lowercased() == name.lowercased() && $0.vaultID != vault }
        guard !taken else { throw CoreError(.vaultNameInvalid, at: name) }
    }

    /// Whether a vault can be called so.
    ///
    /// - Throws: `CoreError.vaultNameInvalid`.
    package static func checkName(_ name: String) throws {
        let isPlain = !name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }
        guard isPlain, (1...vaultNameByteCountMax).contains(name.utf8.count), name.first != " ", name.last != " " else {
            throw CoreError(.vaultNameInvalid, at: name)
        }
    }
}
