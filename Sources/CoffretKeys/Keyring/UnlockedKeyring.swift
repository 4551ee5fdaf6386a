// An open keyring. Invariant: it gives out keys for one use each, and after `lock` nothing at all.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// Whether the store is the one that this machine remembers.
package enum InstanceStatus: Sendable, Equatable {
    case current
    /// There is no marker: the state directory is new, or the store was copied from another machine.
    case markerMissing
    /// The marker names another instance, or was altered, and the caller accepted that.
    case markerDiffers
    /// The keyring is older than the marker, and the caller accepted that.
    case rolledBack

    /// Why nothing is written before a person has said that the store is to go on; nil where it is.
    var refusal: KeyError? {
        switch self {
        case .current: nil
        case .markerMissing: KeyError(.markerMissing)
        case .markerDiffers: KeyError(.markerDiffers)
        case .rolledBack: KeyError(.keyringRolledBack)
        }
    }
}

/// The identity of this device as the author of commits in one vault.
package struct AuthorIdentity: Sendable {
    package let signingKey: SigningKey
    package let deviceID: UniqueID
    package let instanceID: UniqueID
    package let accountID: ChainID
    package let deviceChainHead: [UInt8]
    package let memberChainHead: [UInt8]
}

/// A device whose signatures this store accepts in its vaults.
package struct KnownSigner: Sendable, Equatable {
    package let deviceID: UniqueID
    package let accountID: ChainID
    package let verifyingKey: VerifyingKey
    package let isRevoked: Bool
}

/// An open keyring. One owner at a time.
package final class UnlockedKeyring {
    package let storeID: UniqueID
    /// Counts up with every change, and with it the storage key is renewed.
    package internal(set) var generation: UInt64
    package internal(set) var instanceStatus: InstanceStatus
    /// The generation on disk, for noticing another process's changes; nil before the first save.
    var fileGeneration: UInt64?
    var slots: [KeySlot]
    /// nil once locked.
    private var openBody: KeyringBody?
    /// The key that opened it, by which it follows changes of other processes; nil where it was opened by a PIN, or by a
    /// held key, whose holder asks the agent for the next one.
    var opener: SlotOpener?
    let environment: KeyringEnvironment
    private var derived: [VaultID: VaultKeys] = [:]

    init(
        storeID: UniqueID, generation: UInt64, fileGeneration: UInt64? = nil, slots: [KeySlot], body: KeyringBody,
        instanceStatus: InstanceStatus, environment: KeyringEnvironment
    ) {
        self.storeID = storeID
        self.generation = generation
        self.fileGeneration = fileGeneration
        self.slots = slots
        openBody = body
        self.instanceStatus = instanceStatus
        self.environment = environment
    }

    /// Forgets all keys; each is zeroed as soon as nobody else holds it.
    package func lock() {
        openBody = nil
        opener = nil
        derived = [:]
    }

    package var isLocked: Bool { openBody == nil }

    func body() throws(KeyError) -> KeyringBody {
        guard let openBody else { throw KeyError(.locked) }
        return openBody
    }

    func replaceBody(_ body: KeyringBody) {
        openBody = body
        derived = [:]
    }

    /// Goes on with what another process has made of the keyring on disk.
    ///
    /// - Returns: whether it is another one.
    /// - Throws: `.keyringChanged` if it cannot be opened as it was opened first: by a key of another kind, or that slot is gone;
    ///   or if another process started a new instance, as which this one has not begun. Else as `Keyring.open`. It is as
    ///   before then.
    @discardableResult
    package func readAgain() throws(KeyError) -> Bool {
        _ = try body()
        var file = try Keyring.readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
        guard file.generation != fileGeneration else { return false }
        if opener == nil, environment.newestStorageKey != nil {
            // Its maker tells the agent of the key first.
            Keyring.awaitChange(of: environment.keyringPath, fileSystem: environment.fileSystem)
            file = try Keyring.readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
        }
        try PassphraseSlot.checkPolicy(of: file.slots)
        let newer = try Keyring.settled(file, acceptsRollback: false, environment) { (file, _) throws(KeyError) in
            guard file.storeID == storeID else { throw KeyError(.keyringChanged) }
            return try openAgain(file)
        }
        guard try newer.deviceID() == deviceID(), try newer.anchor() == anchor(),
            try newer.instanceID() == instanceID()
        else { throw KeyError(.keyringChanged) }
        replaceBody(try newer.body())
        slots = newer.slots
        (generation, fileGeneration, instanceStatus) = (newer.generation, newer.fileGeneration, newer.instanceStatus)
        return true
    }

    /// Opens a later generation by the slot that opened this one, or by what the agent has come to know since.
    private func openAgain(_ file: KeyringFile) throws(KeyError) -> UnlockedKeyring {
        if let storageKey = opener?.storageKey(of: file) {
            return try Keyring.finish(file, storageKey, .device(anchor()), acceptsRollback: false, environment)
        }
        guard opener == nil, let storageKey = environment.newestStorageKey?() else { throw KeyError(.keyringChanged) }
        do throws(KeyError) {
            return try Keyring.finish(file, storageKey, .held, acceptsRollback: false, environment)
        } catch {
            throw error.code == .keyringAltered ? KeyError(.keyringChanged) : error
        }
    }

    // MARK: Identity

    package func deviceID() throws(KeyError) -> UniqueID { try device().deviceID }
    package func instanceID() throws(KeyError) -> UniqueID { try body().instanceID }
    package func deviceChain() throws(KeyError) -> VerifiedDeviceChain { try body().deviceChain }
    package func accountID() throws(KeyError) -> ChainID { try body().deviceChain.accountID }

    /// Receives boxes from the person's other devices.
    package func boxKey() throws(KeyError) -> AgreementKey { try device().box }
    /// Authenticates Noise handshakes.
    package func noiseKey() throws(KeyError) -> AgreementKey { try device().noise }

    /// The key that slots of this store are made for, and that signs its keyring: this device's signing key.
    package func anchor() throws(KeyError) -> [UInt8] { try device().anchor }

    func device() throws(KeyError) -> DevicePrivateKeys {
        guard let device = try body().device else { throw KeyError(.keyringInconsistent, at: "device") }
        return device
    }

    /// The name and the time that a device's link tells; nil if it was made by another account's key.
    package func details(of device: VerifiedDevice) throws(KeyError) -> LinkDetails? {
        let body = try body()
        return LinkDetails.newest(of: device, in: body.deviceChain, key: body.detailsKey)
    }

    /// Throws unless the store is the one that this machine remembers: two copies never write as one instance.
    package func checkInstance() throws(KeyError) {
        if let refusal = instanceStatus.refusal { throw refusal }
    }

    /// Throws `.keyringRolledBack` if the store has seen a newer keyring than this one.
    ///
    /// - Parameter recorded: the highest generation that the vault's storage remembers.
    package func checkGeneration(recorded: UInt64) throws(KeyError) {
        guard recorded <= generation else { throw KeyError(.keyringRolledBack) }
    }

    // MARK: Sheets

    /// The fingerprints that the recovery sheet shows beside the key.
    package func fingerprints() throws(KeyError) -> (account: Fingerprint, store: Fingerprint) {
        (Fingerprint(of: try accountID().bytes), Fingerprint(of: storeID.bytes))
    }

    // MARK: Slots and vaults

    /// The slots with their names, oldest first.
    package func slotDetails() throws(KeyError) -> [SlotDetails] { try body().slotDetails }

    /// Descriptions of the slots, in the order of the file.
    package func slotSummaries() throws(KeyError) -> [SlotSummary] {
        _ = try body()
        return slots.map(SlotSummary.init)
    }

    package func vaults() throws(KeyError) -> [VaultRecord] { try body().vaults }

    package func vault(_ id: VaultID) throws(KeyError) -> VaultRecord {
        let vaults = try body().vaults
        // By place: each record that is looked at would be copied, with all of its keys.
        guard let place = vaults.indices.first(where: { vaults[$0].vaultID == id }) else {
            throw KeyError(.vaultNotFound)
        }
        return vaults[place]
    }

    /// The vault of this name, compared exactly.
    package func vault(named name: String) throws(KeyError) -> VaultRecord {
        guard let vault = try body().vaults.first(where: { $0.name == name }) else { throw KeyError(.vaultNotFound) }
        return vault
    }

    /// The keys that storage and search need; derived once per vault.
    package func vaultKeys(for id: VaultID) throws(KeyError) -> VaultKeys {
        if let keys = derived[id], !isLocked { return keys }
        let vault = try vault(id)
        let keys = VaultKeys(
            vaultID: id, vaultKeys: vault.vaultKeys, splitKey: vault.splitKey, localKey: vault.localKey)
        derived[id] = keys
        return keys
    }

    package func authorIdentity(for id: VaultID) throws(KeyError) -> AuthorIdentity {
        let (body, device, vault) = (try body(), try device(), try vault(id))
        return AuthorIdentity(
            signingKey: device.signing, deviceID: device.deviceID, instanceID: body.instanceID,
            accountID: body.deviceChain.accountID, deviceChainHead: body.deviceChain.head.linkHash,
            memberChainHead: vault.memberChain.head.linkHash)
    }

    /// All devices, present and former, whose commits are accepted in this store's vaults.
    package func knownSigners() throws(KeyError) -> [KnownSigner] {
        let body = try body()
        // Chains that a recovery replaced are evidence; they speak for nobody.
        let former = body.formerChains.filter { $0.accountID != body.deviceChain.accountID }
        return ([body.deviceChain] + former).flatMap { chain in
            chain.devices.map { device in
                KnownSigner(
                    deviceID: device.id, accountID: chain.accountID, verifyingKey: device.keys.signing,
                    isRevoked: !device.isTrusted)
            }
        }
    }
}

extension UnlockedKeyring {
    /// Seals what a device states in commits of the heads of its vaults, to the person's own devices.
    ///
    /// KDF(details key, "heads/key", account id).
    package func headsKey() throws(KeyError) -> HeadsKey {
        let body = try body()
        return KDF.derive(from: body.detailsKey, .headsKey, body.deviceChain.accountID.bytes)
    }

    /// Seals what this device keeps for that, for itself alone: KDF(marker key, "heads/local", store id).
    package func headRecordKey() throws(KeyError) -> HeadsKey {
        KDF.derive(from: try body().markerKey, .headsLocalKey, storeID.bytes)
    }

    /// Seals what this machine keeps of programs that ask the store: KDF(marker key, "access/local", store id). It stays the same
    /// when the keyring changes.
    package func accessKey() throws(KeyError) -> AccessKey {
        KDF.derive(from: try body().markerKey, .accessKey, storeID.bytes)
    }

    /// Seals the drafts on this machine: KDF(marker key, "draft/local", store id). It stays the same when the keyring changes.
    package func draftKey() throws(KeyError) -> DraftKey {
        KDF.derive(from: try body().markerKey, .draftKey, storeID.bytes)
    }
}
