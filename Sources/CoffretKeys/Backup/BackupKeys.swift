// Keys of backups. Invariant: a backup opens with what a person knows or holds on paper, and holds no device's private
// key and nothing of this machine.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

extension KeyPurposes {
    /// Seals one backup.
    package enum Backup: KeyPurpose { package static var name: String { "backup key" } }
}

package typealias BackupKey = SymmetricKey<KeyPurposes.Backup>

extension KeyPurposes {
    /// Seals what the backups of one folder share.
    package enum BackupFolder: KeyPurpose { package static var name: String { "backup folder key" } }
}

package typealias BackupFolderKey = SymmetricKey<KeyPurposes.BackupFolder>

/// The header of a backup and the key that seals the rest of it.
package struct BackupKeys: Sendable {
    /// Goes in front of the backup, in clear; small.
    package let header: [UInt8]
    /// Fresh for this backup.
    package let key: BackupKey
}

/// The keys that a backup's header gives back.
package struct RestoredKeys: Sendable {
    /// The store that was backed up. The restored one gets an id of its own.
    package let storeID: UniqueID
    /// Of that store at that moment.
    package let generation: UInt64
    package let key: BackupKey
    let body: KeyringBody
    /// Slots that stay valid in the restored store: the sheets.
    let recoverySlots: [KeySlot]
    /// The sheet that opened it, and its slot.
    let sheet: (key: RecoveryKey, slotID: UniqueID)?

    package var vaults: [VaultRecord] { body.vaults }
    /// The device chain of the account that was backed up.
    package var ownChain: VerifiedDeviceChain { body.deviceChain }
    package var formerChains: [VerifiedDeviceChain] { body.formerChains }

    /// Opens the chains that the store kept beside a vault.
    package func chainsKey(of id: VaultID) throws(KeyError) -> HeadsKey {
        guard let vault = body.vaults.first(where: { $0.vaultID == id }) else { throw KeyError(.vaultNotFound) }
        return vault.chainsKey
    }

    /// A vault's key; nil for an epoch that the backup has none of.
    package func vaultKey(of id: VaultID, epoch: UInt32) -> VaultKey? {
        body.vaults.first { $0.vaultID == id }?.vaultKeys[epoch]
    }

    /// The keys of a vault, to verify what the backup holds before anything is written.
    package func vaultKeys(for id: VaultID) throws(KeyError) -> VaultKeys {
        guard let vault = body.vaults.first(where: { $0.vaultID == id }) else { throw KeyError(.vaultNotFound) }
        return VaultKeys(
            vaultID: id, vaultKeys: vault.vaultKeys, splitKey: vault.splitKey, localKey: vault.localKey)
    }
}

extension UnlockedKeyring {
    /// Seals what this store's backups share: KDF(marker key, "backup/folder", store id ‖ hash of the slots).
    ///
    /// It is another one as soon as a passphrase or a recovery key came or went, so the secret of an old backup opens
    /// nothing of later ones. Spec: Spec/backup.md.
    package func backupFolderKey() throws(KeyError) -> BackupFolderKey {
        var hasher = BLAKE2bHasher()
        for slot in slots.sorted(by: { $0.id < $1.id }) where Self.backupSlotKinds.contains(slot.kind) {
            hasher.update(slot.id.bytes + slot.publicKey)
        }
        return KDF.derive(from: try body().markerKey, .backupFolder, storeID.bytes + hasher.finish())
    }

    /// The kinds that a person knows or holds on paper.
    private static var backupSlotKinds: [SlotKind] { [.passphrase, .recovery] }

    /// Makes the key of a backup and the header that gives it back.
    ///
    /// The header is a keyring file of its own: the backup key in the place of the storage key, sealed to
    /// the passphrase and recovery slots of this moment, and a body without private keys of the device,
    /// without instance and marker. Old slots open old backups for ever.
    /// Layout: Spec/keys.md §6.
    package func makeBackupKeys() throws(KeyError) -> BackupKeys {
        let author = try device().signing
        var body = try body()
        body.device = nil
        body.identity = nil
        body.instanceID = UniqueID(bytes: [UInt8](repeating: 0, count: UniqueID.byteCount))!
        body.markerKey = .generate(from: environment.random)
        let kept = Self.backupSlotKinds
        body.slotDetails.removeAll { !kept.contains($0.kind) }
        let key = BackupKey.generate(from: environment.random)
        let sealed = try slots.filter { kept.contains($0.kind) }.map { (slot) throws(KeyError) in
            slot.replacing(
                sealedStorageKey: try X25519Slot.seal(
                    key, toPublicKey: slot.publicKey, context: .backupSlot,
                    binding: SlotBinding(storeID: storeID, slotID: slot.id, generation: generation),
                    random: environment.random))
        }
        let file = unsafe body.withEncoded { keys in
            unsafe KeyringFile.seal(
                storeID: storeID, generation: generation, slots: sealed, keys: keys,
                storageKey: BackupHeader.headerKey(from: key), by: author, .backupSignature,
                random: environment.random)
        }
        return BackupKeys(header: file.encoded, key: key)
    }
}

package enum BackupHeader {
    /// Opens a header with a passphrase or a recovery key.
    ///
    /// A wrong secret counts like one for the store itself: it is the same one.
    ///
    /// - Parameter attempts: where it is counted; nil for nowhere.
    /// - Throws: `.backupMalformed`, `.passwordPolicy`, `.slotNotFound` before anything is derived;
    ///   `.attemptsPausing`, `.attemptsUncounted`; `.unlockFailed`; `.backupAltered`, `.backupForeign`, `.recoveryAccountDiffers`,
    ///   `.keyringInconsistent` afterwards.
    package static func open(
        _ header: [UInt8], with secret: UnlockSecret, attempts: AttemptCounting? = nil
    ) throws(KeyError) -> RestoredKeys {
        let file: KeyringFile
        do throws(KeyError) {
            guard header.count <= Limits.keyringByteCountMax else { throw KeyError(.backupMalformed) }
            file = try KeyringFile(decoding: header)
        } catch {
            throw error.code == .keyringMalformed ? KeyError(.backupMalformed) : error
        }
        try PassphraseSlot.checkPolicy(of: file.slots)
        let opened = try Keyring.counted(secret, of: file.storeID, attempts) { () throws(KeyError) in
            try openKey(of: file, with: secret)
        }
        let storageKey = headerKey(from: opened.key)
        do throws(KeyError) {
            try file.verify(storageKey: storageKey)
            try file.verifyAuthor(opened.origin.anchor, .backupSignature)
            let body = try file.openBody(storageKey: storageKey)
            guard body.deviceChain.devices.contains(where: { $0.keys.signing.bytes == file.author }) else {
                throw KeyError(.keyringForeign, at: "author")
            }
            try opened.origin.check(body, author: file.author)
            var sheet: (RecoveryKey, UniqueID)?
            if case .paper(let key, _, _) = opened.origin { sheet = (key, opened.slotID) }
            return RestoredKeys(
                storeID: file.storeID, generation: file.generation, key: opened.key, body: body,
                recoverySlots: file.slots.filter { $0.kind == .recovery }, sheet: sheet)
        } catch {
            switch error.code {
            case .keyringAltered: throw KeyError(.backupAltered)
            case .keyringForeign: throw KeyError(.backupForeign, at: error.place)
            default: throw error
            }
        }
    }

    /// The key that seals the header's body, apart from the one that seals the rest of the backup.
    static func headerKey(from key: BackupKey) -> StorageKey { KDF.derive(from: key, .backupHeader) }

    private static func openKey(
        of file: KeyringFile, with secret: UnlockSecret
    ) throws(KeyError) -> (key: BackupKey, origin: KeyOrigin, slotID: UniqueID) {
        var hasSlot = false
        for slot in file.slots {
            let key: AgreementKey?
            var origin = KeyOrigin.device(slot.anchor)
            switch (secret, slot.kind) {
            case (.passphrase(let passphrase), .passphrase):
                key = try PassphraseSlot.open(slot, passphrase, storeID: file.storeID)
            case (.recoveryKey(let recoveryKey, let acceptsFormer), .recovery):
                key = recoveryKey.deriveBoxKey(anchor: slot.anchor)
                origin = .paper(recoveryKey, anchor: slot.anchor, acceptsFormer: acceptsFormer)
            default:
                continue
            }
            hasSlot = true
            guard let key, key.publicKey.bytes == slot.publicKey else { continue }
            let opened: BackupKey? = X25519Slot.open(
                slot.sealedStorageKey, with: key, context: .backupSlot, binding: file.binding(of: slot))
            if let opened { return (opened, origin, slot.id) }
        }
        throw KeyError(hasSlot ? .unlockFailed : .slotNotFound)
    }
}

extension Keyring {
    /// Makes the keyring of a store that is restored from a backup: a new store id, a new account of one
    /// new device, a new instance, no vault; the sheets stay valid.
    ///
    /// The account that was backed up becomes a former one. The sheet that opened the backup is made one of the new account;
    /// others say that they are of the former one.
    package static func create(
        restoring restored: RestoredKeys, passphrase: Passphrase, parameters: PasswordParameters,
        deviceName: String, environment: KeyringEnvironment
    ) throws(KeyError) -> UnlockedKeyring {
        try create(
            passphrase: passphrase, parameters: parameters, deviceName: deviceName, environment: environment
        ) { (body, slots) throws(KeyError) in
            let anchor = body.device?.anchor ?? []
            slots += restored.recoverySlots.map { slot in
                guard let sheet = restored.sheet, sheet.slotID == slot.id else { return slot }
                return sheet.key.slot(id: slot.id, anchor: anchor)
            }
            body.formerChains = restored.body.formerChains + [restored.body.deviceChain]
            body.slotDetails += restored.body.slotDetails.filter { $0.kind == .recovery }
        }
    }
}
