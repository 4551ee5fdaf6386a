// An open store, as operations use it. Invariant: the writer's lock is held during one change and no longer, so that a desk
// that stays open for hours keeps nobody waiting.

package import CoffretBase
package import CoffretCore
package import CoffretCrypto
package import CoffretKeys
package import CoffretSearch
package import CoffretStorage
package import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

/// The outside of a desk: time, chance, and the person.
package struct DeskSurroundings {
    package var clock: any WallClock = SystemWallClock()
    package var random: any RandomSource = SystemRandomSource()
    /// Where this device remembers which vault is meant where none is named.
    package var stateDirectory: String
    /// Opens a vault, and prepares it.
    package var openVault: (Store, VaultRecord, _ isWritable: Bool) throws -> Vault = { store, record, isWritable in
        try store.openVault(record.vaultID.hex, isWritable: isWritable)
    }
    /// Makes sure that a person is there, who may see a hidden item; opens the store's gate.
    package var requirePresence: (Store, Item) throws -> Void = { _, item in
        throw CoreError(.noteHidden, at: item.title)
    }
    /// The person who is asked and told; nil for nobody.
    package var person: (any OperationPerson)?
    /// Whether somebody answers questions.
    package var isAttended: Bool { person?.canAnswer ?? false }
    /// Makes sure that somebody has the passphrase of the store, to do what decides who may open it.
    package var requirePassphrase: (_ reason: String) throws -> Void = { throw PersonCheck.absent($0) }
    /// Makes sure that a person is there, who is told for what.
    package var requirePerson: (Store, _ reason: String, _ outcomeOfANo: String) throws -> Void = { _, reason, _ in
        throw PersonCheck.absent(reason)
    }
    /// Asks whether somebody is there; nil where nothing is set up that could be asked.
    package var presence: HostedPresence?
    /// Whose keys are meant where nobody is named.
    package var profile = SlotTerms.defaultProfile
    /// Where the TPM is, in the words of tpm2-tss; nil for the kernel's device.
    package var tpm: String?
    /// Whether there is a way to find out whether a person is there.
    package var canAskForPresence: () -> Bool = { true }
    /// Opens a locked item whose passphrase was not given yet.
    package var openNote: (Store, VaultRecord, Vault, Item) throws -> Item = { _, _, vault, item in
        try vault.opened(item)
    }
    /// The agent's home for records; nil for files, as where no agent runs.
    package var records: (() -> any ProtectedRecords)?
    /// Locks the store, once the answer is on its way.
    package var lock: () -> Void = {}

    package init(stateDirectory: String) { self.stateDirectory = stateDirectory }
}

/// A store in use. One isolation domain at a time.
package final class StoreDesk {
    package let store: Store
    package let surroundings: DeskSurroundings
    /// What whoever asks may reach.
    package let grant: AccessGrant
    /// The vault and the item that the request turned out to be about, for the log.
    package var subject: (vault: VaultID, item: EntityID?)?
    /// The request that is being performed: where progress goes, and whether it is still wanted.
    package var work = OperationWork()
    private var vaults: [VaultID: Vault] = [:]
    /// Vaults whose index somebody waited for in vain: it is made once the answer is on its way.
    private var dueIndexes: [VaultID: Vault] = [:]
    private var indexStage = OperationProgress.indexing
    private var book: DraftBook?

    package init(_ store: Store, _ surroundings: DeskSurroundings, grant: AccessGrant = .everything) {
        self.store = store
        self.surroundings = surroundings
        self.grant = grant
    }

    // MARK: Vaults

    /// What this device remembers of the store beside it.
    package var deviceRecords: SyncRecords {
        SyncRecords(
            stateDirectory: surroundings.stateDirectory, storeID: store.keyring.storeID, fileSystem: store.fileSystem)
    }

    /// The vault that is meant where none is named: the one that was chosen on this device, else the first one.
    package var defaultVault: VaultRecord {
        get throws {
            if let chosen = deviceRecords.defaultVault,
                let record = try vaultRecords.first(where: { $0.vaultID.hex == chosen })
            {
                return record
            }
            // Without a named vault nothing is written into another person's.
            if let first = try store.firstVault, admits(first), try store.isFoundedHere(first) { return first }
            if let own = try vaultRecords.first(where: { try store.isFoundedHere($0) }) { return own }
            guard grant.vaults == nil else { return try firstAdmitted() }
            return try store.vaultRecord(nil)
        }
    }

    private func firstAdmitted() throws -> VaultRecord {
        guard let first = try vaultRecords.first else { throw CoreError(.vaultNotFound) }
        return first
    }

    /// - Parameter reference: name or id; nil for the default.
    package func record(_ reference: String?) throws -> VaultRecord {
        guard let reference else { return try defaultVault }
        return try store.vaultRecord(reference, among: admits)
    }

    /// The one that is named, else all, the default first.
    package func records(_ reference: String?) throws -> [VaultRecord] {
        if let reference { return [try record(reference)] }
        let first = try defaultVault
        return try [first] + vaultRecords.filter { $0.vaultID != first.vaultID }
    }

    /// A vault for reading, with what others have written meanwhile.
    package func vault(_ record: VaultRecord) throws -> Vault {
        if let vault = vaults[record.vaultID] {
            do {
                try vault.refresh()
                return vault
            } catch let error as CoreError where (error.cause as? StorageError)?.code == .journalDamagedSegment {
                // Under keys that came since, what it reads looks damaged: a new handle has them.
                vault.close()
                vaults[record.vaultID] = nil
            }
        }
        // A text that a program did not live to save is one that the person thinks is there. If it cannot be saved now, it waits.
        if grant.access == .control { _ = try? settleDrafts(of: record) }
        let vault = try surroundings.openVault(store, record, false)
        vaults[record.vaultID] = vault
        return vault
    }

    /// Runs `body` with the vault open for writing; it sees the present as it is then.
    package func writing<Result>(_ record: VaultRecord, _ body: (Vault) throws -> Result) throws -> Result {
        let vault = try surroundings.openVault(store, record, true)
        defer { vault.close() }
        let result = try body(vault)
        let problem = record.kind == .synced ? deviceRecords.last(record.vaultID.hex)?.problem : nil
        if problem == SyncError.Code.memberUnknown.rawValue {
            let name = TextWidth.displaySafe(record.name)
            surroundings.person?.warn(
                "that stays on this device: by the server's word you are no member of \"\(name)\" any more")
        }
        return result
    }

    /// Removes a vault with everything in it, for good.
    func removeVault(_ record: VaultRecord) throws {
        vaults[record.vaultID]?.close()
        vaults[record.vaultID] = nil
        dueIndexes[record.vaultID] = nil
        try store.removeVault(record.vaultID.hex)
        try? drafts.removeAll(of: record.vaultID)
    }

    /// The drafts of the store on this machine.
    var drafts: DraftBook {
        get throws {
            if let book { return book }
            let made = try DraftBook(store)
            book = made
            return made
        }
    }

    /// Says that a list was made without an index, which is to be made.
    func indexIsDue(_ record: VaultRecord, _ vault: Vault) { dueIndexes[record.vaultID] = vault }

    /// Does what nobody was to wait for.
    ///
    /// - Returns: why an index could not be made.
    @discardableResult
    package func catchUp() -> [SearchError] {
        defer { dueIndexes = [:] }
        return dueIndexes.values.compactMap { vault in (try? vault.synchronizeIndex()) ?? nil }
    }

    /// Takes how far an index is that is being made.
    package func reportIndex(_ done: Int, of total: Int) {
        work.report(OperationProgress(done: done, total: total, stage: indexStage))
    }

    /// Makes a vault's index as a part of the request, so that the first search need not. What is saved stays saved,
    /// whatever becomes of it.
    func makeIndex(of vault: Vault) throws {
        indexStage = "index"
        defer { indexStage = OperationProgress.indexing }
        guard let obstacle = try vault.synchronizeIndex() else { return }
        surroundings.person?.note("\(obstacle.words) Everything is saved, and is found without the index.")
    }

    // MARK: Items

    /// Where an item is.
    package struct Place {
        package let record: VaultRecord
        package let vault: Vault
        package let id: EntityID

        /// The shortest beginning of the id that names no other item of the vault.
        package var shortID: String { get throws { try vault.shortID(id) } }
    }

    /// The item that a reference names, in the vault that is named, else in whichever has it.
    ///
    /// - Throws: `CoreError.itemAmbiguous` with the vaults if several hold such an item: nothing is guessed (R34).
    ///
    /// - Parameter other: a vault that is not looked into where none is named.
    package func find(_ reference: String, vault name: String?, notIn other: VaultID? = nil) throws -> Place {
        let place = try search(reference, among: records(name).filter { name != nil || $0.vaultID != other })
        subject = (place.record.vaultID, place.id)
        return place
    }

    private func search(_ reference: String, among records: [VaultRecord]) throws -> Place {
        if records.count == 1 { return try place(reference, records[0]) }
        var found: [(place: Place, item: Item)] = []
        var candidates: [CoreError.Candidate] = []
        for record in records {
            do {
                let place = try place(reference, record)
                found.append((place, try place.vault.item(place.id)))
            } catch let error as CoreError where error.code == .itemAmbiguous {
                candidates += error.candidates.map { candidate in
                    var candidate = candidate
                    candidate.vault = record.name
                    return candidate
                }
            } catch let error as CoreError where error.code == .itemNotFound {}
        }
        try Self.dropDoubles(&found)
        candidates += found.map { CoreError.Candidate(ItemSummary($0.item), vault: $0.place.record.name) }
        guard !candidates.isEmpty else { throw CoreError(.itemNotFound, at: reference) }
        guard candidates.count == 1, let place = found.first?.place else {
            throw CoreError(.itemAmbiguous, at: reference, candidates: candidates)
        }
        return place
    }

    /// Of an item that was moved, the one that it is now is meant; while it moves, the old one.
    private static func dropDoubles(_ found: inout [(place: Place, item: Item)]) throws {
        let all = found
        found.removeAll { entry in
            all.contains { $0.place.id == entry.place.id && $0.place.record.vaultID == entry.item.moved?.vault }
        }
        let left = found.map(\.place)
        try found.removeAll { entry in
            try left.contains { other in
                let isDouble = other.id == entry.place.id && other.record.vaultID != entry.place.record.vaultID
                return try isDouble && isLess(entry.place, than: other)
            }
        }
    }

    /// Whether one of two places of an item does not count. Where neither is so, nothing is guessed.
    private static func isLess(_ place: Place, than other: Place) throws -> Bool {
        // A copy to read, as of a vault that was founded anew.
        let (mayWrite, mayWriteThere) = (try place.vault.mayAccountWrite, try other.vault.mayAccountWrite)
        if mayWrite != mayWriteThere { return !mayWrite }
        return try place.vault.isArriving(place.id, from: other.vault)
    }

    /// Items of one vault: of the one that is named, else of the one that has the first.
    package struct Places {
        package let record: VaultRecord
        package let vault: Vault
        /// Each once, in the order in which they were named.
        package private(set) var ids: [EntityID]
    }

    /// - Throws: as `find`; `OperationError.requestInvalid` if none is named.
    package func find(all references: [String], vault name: String?, notIn other: VaultID? = nil) throws -> Places {
        guard let first = references.first else { throw OperationError(.requestInvalid, at: "items") }
        let place = try find(first, vault: name, notIn: other)
        let ids = try [place.id] + references.dropFirst().map { try resolve($0, in: place.vault) }
        var seen: Set<EntityID> = []
        return Places(record: place.record, vault: place.vault, ids: ids.filter { seen.insert($0).inserted })
    }

    private func place(_ reference: String, _ record: VaultRecord) throws -> Place {
        let vault = try vault(record)
        return Place(record: record, vault: vault, id: try resolve(reference, in: vault))
    }

    /// An item with its contents: those of a hidden one once a person has shown to be there, those of a locked one once
    /// its passphrase was given.
    package func readable(_ item: Item, of record: VaultRecord, in vault: Vault) throws -> Item {
        if item.isVeiled { try surroundings.requirePresence(store, item) }
        let item = try vault.revealed(item)
        return item.isSealed ? try surroundings.openNote(store, record, vault, item) : item
    }

    /// An item with as much of its contents as is open already; nobody is asked.
    package func open(_ item: Item, in vault: Vault) throws -> Item {
        item.isVeiled && !store.hiddenGate.isOpen ? item : try vault.revealed(item)
    }

    /// The item at a place, with its contents.
    package func readable(_ place: Place) throws -> Item {
        try readable(place.vault.item(place.id), of: place.record, in: place.vault)
    }
}
