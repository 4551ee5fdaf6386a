// Changes of a keyring. Invariant: every change makes a new storage key and a new generation, seals it to all slots,
// and lies on disk whole or not at all.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// Makes the files of vaults that the keyring has here already, and does not name on the disk before this returns.
///
/// So nothing that opens the keyring meets a vault without its files. Meanwhile no other process writes the keyring: files of these vaults
/// that are there are what a crash left.
package typealias PlaceMaking = ([VaultID]) throws(KeyError) -> Void

extension UnlockedKeyring {
    /// Replaces all passphrase slots by one. The old passphrase opens the new file no more; an old copy of
    /// the file, with the old passphrase, still opens what it held then.
    package func changePassphrase(_ passphrase: Passphrase, parameters: PasswordParameters) throws(KeyError) {
        let slot = try PassphraseSlot.make(
            passphrase, parameters: parameters, storeID: storeID, anchor: anchor(), random: environment.random)
        try change { (body, slots) throws(KeyError) in
            let replaced = slots.filter { $0.kind == .passphrase }.map(\.id)
            slots.removeAll { replaced.contains($0.id) }
            body.slotDetails.removeAll { replaced.contains($0.slotID) }
            slots.append(slot)
            body.slotDetails.append(Keyring.details(of: slot, name: "", environment))
        }
    }

    /// Adds a recovery key. Its text is printed once and kept nowhere.
    package func addRecoveryKey(named name: String) throws(KeyError) -> (key: RecoveryKey, slotID: UniqueID) {
        let key = RecoveryKey.generate(from: environment.random)
        return (key, try addRecoveryKey(key, named: name))
    }

    /// Adds a recovery key that somebody has shown to have.
    package func addRecoveryKey(_ key: borrowing RecoveryKey, named name: String) throws(KeyError) -> UniqueID {
        let slot = key.slot(id: .generate(from: environment.random), anchor: try anchor())
        try add(slot, named: name)
        return slot.id
    }

    /// Adds a slot of a key store.
    ///
    /// - Parameter secret: the PIN; nil for none.
    /// - Throws: `.slotExists` if the key store has such a slot of this profile already, as to the PIN; what the
    ///   key store throws. The keyring is then as before, and the key store has forgotten the key.
    package func addSlot(
        using keyStore: any KeyStore, terms: SlotTerms = SlotTerms(), secret: Passphrase?, named name: String
    ) async throws(KeyError) -> UniqueID {
        try checkIsFree(keyStore.kind, terms, hasPIN: secret != nil, except: [])
        let prepared = try await keyStore.prepareSlot(
            storeID: storeID, anchor: anchor(), terms: terms, secret: secret, random: environment.random)
        do throws(KeyError) {
            try add(prepared, named: name)
        } catch {
            try? await keyStore.removeKey(of: prepared.slot, storeID: storeID)
            throw error
        }
        return prepared.slot.id
    }

    /// Puts a slot in place whose key a key store has made, in the place of others if so wanted.
    ///
    /// - Returns: the slots that were replaced, for the key store to forget.
    @discardableResult
    package func add(
        _ prepared: PreparedSlot, replacing replaced: Set<UniqueID> = [], named name: String
    ) throws(KeyError) -> [KeySlot] {
        let slot = prepared.slot
        try KeyringName.check(name)
        try checkIsFree(slot.kind, prepared.terms, hasPIN: slot.password != nil, except: replaced)
        var gone: [KeySlot] = []
        try change { (body, slots) throws(KeyError) in
            gone = slots.filter { replaced.contains($0.id) }
            slots.removeAll { replaced.contains($0.id) }
            body.slotDetails.removeAll { replaced.contains($0.slotID) }
            slots.append(slot)
            body.slotDetails.append(Keyring.details(of: slot, name: name, environment))
        }
        return gone
    }

    private func checkIsFree(
        _ kind: SlotKind, _ terms: SlotTerms, hasPIN: Bool, except replaced: Set<UniqueID>
    ) throws(KeyError) {
        let taken = slots.map(SlotSummary.init).contains {
            $0.kind == kind && $0.hasPIN == hasPIN && $0.terms?.profile == terms.profile && !replaced.contains($0.id)
        }
        guard !taken else { throw KeyError(.slotExists, at: terms.profile) }
    }

    private func add(_ slot: KeySlot, named name: String) throws(KeyError) {
        try KeyringName.check(name)
        try change { (body, slots) throws(KeyError) in
            slots.append(slot)
            body.slotDetails.append(Keyring.details(of: slot, name: name, environment))
        }
    }

    /// Removes a slot; what it opened before stays opened in old copies.
    ///
    /// - Returns: the slot that is gone, for its key store to forget.
    /// - Throws: `.slotNotFound`; `.slotIsLast` if neither a passphrase nor a recovery key would be left.
    @discardableResult
    package func removeSlot(_ id: UniqueID) throws(KeyError) -> KeySlot {
        guard let removed = slots.first(where: { $0.id == id }) else { throw KeyError(.slotNotFound) }
        try change { (body, slots) throws(KeyError) in
            slots.removeAll { $0.id == id }
            body.slotDetails.removeAll { $0.slotID == id }
            guard slots.contains(where: { $0.kind == .passphrase || $0.kind == .recovery }) else {
                throw KeyError(.slotIsLast)
            }
        }
        return removed
    }

    /// Founds a vault: its member chain with this account as founder, its keys, its id.
    ///
    /// - Parameter makePlaces: as `PlaceMaking`.
    /// - Throws: `.vaultExists` if the name is taken.
    package func addVault(
        named name: String, kind: VaultKind = .local, purpose: VaultPurpose? = nil,
        makingPlaces makePlaces: PlaceMaking = { _ in }
    ) throws(KeyError) -> VaultID {
        try KeyringName.check(name)
        var founded: VaultID?
        try change(makingPlaces: makePlaces) { (body, _) throws(KeyError) in
            founded = try body.addVault(
                named: name, kind: kind, purpose: purpose, random: environment.random, time: environment.clock.now)
        }
        guard let founded else { throw KeyError(.vaultNotFound) }
        return founded
    }

    package func renameVault(_ id: VaultID, to name: String) throws(KeyError) {
        try KeyringName.check(name)
        try change { (body, _) throws(KeyError) in
            guard !body.vaults.contains(where: { $0.name == name && $0.vaultID != id }) else {
                throw KeyError(.vaultExists)
            }
            guard let index = body.vaults.firstIndex(where: { $0.vaultID == id }) else {
                throw KeyError(.vaultNotFound)
            }
            body.vaults[index] = body.vaults[index].renamed(name)
        }
    }

    /// Forgets a vault's keys: what lies on disk of it can never be read again.
    package func removeVault(_ id: VaultID) throws(KeyError) {
        try change { (body, _) throws(KeyError) in
            guard body.vaults.contains(where: { $0.vaultID == id }) else { throw KeyError(.vaultNotFound) }
            body.vaults.removeAll { $0.vaultID == id }
        }
    }

    /// More than a keyring is ever changed, and a small part of what the number can hold.
    private static var acceptedGenerationCount: UInt64 { 1 << 32 }

    /// Starts a new instance and its marker: after a copy, a restore or an accepted rollback.
    ///
    /// Commits of this device count from 1 again under the new instance id.
    ///
    /// - Parameter isAccepted: a person says that this old copy is to go on. Its generation then rises above all that
    ///   some other memory of this machine may have seen, which is not asked here.
    package func renewInstance(isAccepted: Bool = false) throws(KeyError) {
        let instanceID = UniqueID.generate(from: environment.random)
        let before = (instanceStatus, generation)
        if isAccepted { generation = try Self.raised(generation, by: Self.acceptedGenerationCount) }
        let raised = generation
        instanceStatus = .current
        do throws(KeyError) {
            try change { (body, _) throws(KeyError) in body.instanceID = instanceID }
        } catch {
            instanceStatus = before.0
            // Another number is one that may lie on the disk already.
            if generation == raised { generation = before.1 }
            throw error
        }
    }

    /// - Throws: `.keyringInconsistent` where no number is left: no honest keyring comes near.
    private static func raised(_ generation: UInt64, by count: UInt64) throws(KeyError) -> UInt64 {
        let (sum, overflow) = generation.addingReportingOverflow(count)
        guard !overflow else { throw KeyError(.keyringInconsistent, at: "generation") }
        return sum
    }

    /// Applies `edit` to copies, saves them, and only then keeps them.
    ///
    /// - Parameters:
    ///   - byteCountMax: how large the file may become by it.
    ///   - makePlaces: as `PlaceMaking`.
    /// - Throws: `.slotsTooMany`, `.passwordPolicy`, `.keyringTooLarge`, `.keyringUnwritable`, `.keyringChanged`; the keyring
    ///   is as before then, here and on the disk.
    func change(
        byteCountMax: Int = Limits.keyringByteCountMax, makingPlaces makePlaces: PlaceMaking = { _ in },
        _ edit: (inout KeyringBody, inout [KeySlot]) throws(KeyError) -> Void
    ) throws(KeyError) {
        try checkInstance()
        let (oldBody, oldSlots) = (try body(), slots)
        var (newBody, newSlots) = (oldBody, oldSlots)
        try edit(&newBody, &newSlots)
        guard newSlots.count <= max(KeyringFile.slotCountMax, oldSlots.count) else { throw KeyError(.slotsTooMany) }
        guard newBody.vaults.count <= Limits.vaultCountMax else { throw KeyError(.keyringTooLarge, at: "vaults") }
        try PassphraseSlot.checkPolicy(of: newSlots)
        replaceBody(newBody)
        slots = newSlots
        let excludesSlot = oldSlots.contains { old in
            !newSlots.contains { $0.id == old.id && $0.publicKey == old.publicKey }
        }
        let known = Set(oldBody.vaults.map(\.vaultID))
        let added = newBody.vaults.map(\.vaultID).filter { !known.contains($0) }
        do throws(KeyError) {
            try save(
                expectingGeneration: fileGeneration, excludesSlot: excludesSlot, byteCountMax: byteCountMax
            ) { () throws(KeyError) in
                if !added.isEmpty { try makePlaces(added) }
            }
        } catch {
            replaceBody(oldBody)
            slots = oldSlots
            throw error
        }
    }

    /// Writes the next generation under a new storage key, then the marker.
    ///
    /// - Parameters:
    ///   - expected: the generation that must lie on disk; nil if there must be no file.
    ///   - excludesSlot: whether a slot that opened the keyring so far opens it no more.
    ///   - byteCountMax: how large the file may be.
    ///   - prepare: what has to be there before the file is; no other process writes the keyring meanwhile.
    /// - Complexity: one X25519 agreement per slot; what opening costs behind the storage key; a sync for the keyring before,
    ///   where it is kept, and three for the file, its lock and the marker.
    func save(
        expectingGeneration expected: UInt64?, excludesSlot: Bool = false,
        byteCountMax: Int = Limits.keyringByteCountMax, preparing prepare: () throws(KeyError) -> Void = {}
    ) throws(KeyError) {
        let fileSystem = environment.fileSystem
        let lock = try withFiles { () throws(FileSystemError) in
            try fileSystem.makeDirectories(PathText.parent(of: environment.keyringPath))
            let lock = try fileSystem.open(environment.keyringPath + ".lock", .createIfAbsent)
            try lock.lock(.exclusive, waits: true)
            return lock
        }
        defer { withExtendedLifetime(lock) {} }
        let before = try checkFile(expecting: expected)
        let next = try Self.raised(generation, by: 1)
        let storageKey = StorageKey.generate(from: environment.random)
        let sealed = try slots.map { (slot) throws(KeyError) in
            try seal(storageKey, to: slot, generation: next)
        }
        let (body, author) = (try body(), try device().signing)
        let file = unsafe body.withEncoded { keys in
            unsafe KeyringFile.seal(
                storeID: storeID, generation: next, slots: sealed, keys: keys, storageKey: storageKey,
                by: author, .keyringSignature, random: environment.random)
        }
        let encoded = file.encoded
        try KeyringFile.checkReadable(encoded, storageKey: storageKey, byteCountMax: byteCountMax)
        try prepare()
        let previous = PreviousKeyring(environment)
        if let before { try previous.keep(before) }
        do throws(KeyError) {
            try withFiles(fileSystem.replaceFile(environment.keyringPath, with: encoded, isLocked: true))
        } catch {
            // The rename may have happened and only the sync behind it failed: then the next attempt has
            // to go above this generation. Whether it lasts is unknown, so it stays an error.
            if let found = try? Keyring.readFile(at: environment.keyringPath, fileSystem: fileSystem), found == file {
                generation = next
                fileGeneration = next
            }
            throw error
        }
        generation = next
        fileGeneration = next
        slots = sealed
        // A secret that opens the keyring no more finds the earlier one only for as long as reading this one takes.
        if excludesSlot, let written = try? Keyring.readFile(at: environment.keyringPath, fileSystem: fileSystem),
            (try? written.openDeviceBody(storageKey: storageKey, anchor: file.author)) != nil
        {
            previous.forget()
        }
        environment.keepStorageKey?(
            KeptStorageKey(storageKey, generation: next, excludesSlot: excludesSlot))
        // From here on the change is made; a marker that stays behind catches up at the next opening. For
        // a store that is not the one this machine remembers no marker is written until it is renewed.
        guard instanceStatus == .current else { return }
        try Marker(storeID: storeID, generation: next, instanceID: body.instanceID).write(
            key: body.markerKey, stateDirectory: environment.stateDirectory, fileSystem: fileSystem)
        environment.memory?.remember(next, of: storeID)
        if body.server == nil {
            ServerNote.writeNone(
                storeID: storeID, generation: next, stateDirectory: environment.stateDirectory, fileSystem: fileSystem)
        }
    }

    /// - Returns: what lies on the disk.
    private func checkFile(expecting expected: UInt64?) throws(KeyError) -> KeyringFile? {
        guard let expected else {
            let exists = try withFiles(environment.fileSystem.exists(environment.keyringPath))
            guard !exists else { throw KeyError(.keyringExists) }
            return nil
        }
        let file = try Keyring.readFile(at: environment.keyringPath, fileSystem: environment.fileSystem)
        guard file.storeID == storeID, file.generation == expected else { throw KeyError(.keyringChanged) }
        return file
    }

    private func seal(
        _ storageKey: StorageKey, to slot: KeySlot, generation: UInt64
    ) throws(KeyError) -> KeySlot {
        let binding = SlotBinding(storeID: storeID, slotID: slot.id, generation: generation)
        let sealed: [UInt8]
        switch slot.algorithm {
        case .x25519:
            sealed = try X25519Slot.seal(
                storageKey, toPublicKey: slot.publicKey, context: .slotStorageKey, binding: binding,
                random: environment.random)
        case .p256ECIES:
            sealed = try HardwareSlot.seal(storageKey, toPublicKey: slot.publicKey, binding: binding)
        default: throw KeyError(.slotUnsupported, at: slot.id.hex)
        }
        return slot.replacing(sealedStorageKey: sealed)
    }
}
