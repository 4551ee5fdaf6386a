// Another passphrase, a better scheme, and what an offline device brought back: sealing locked notes anew. The one
// thing to keep true: it is no edit, it goes up and never down, and it never decides between two edits.

package import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

extension Vault {
    /// Seals locked notes under a new passphrase, in one commit.
    ///
    /// Where all notes of an old record go along, the new record replaces it: notes that an offline device still seals
    /// under the old passphrase then open under the new one, through a ladder that the new record holds. Otherwise
    /// both passphrases stay in use, and neither opens what is under the other.
    ///
    /// - Parameter isCompromised: the old passphrase is known to others: no ladder is written, and notes that arrive
    ///   under the old one need it typed once more.
    /// - Throws: `CoreError` `.noteNotLocked`, `.noteLocked` if the key of one is not held, `.noteUnsettled`.
    @discardableResult
    package func relockNotes(
        _ ids: [EntityID], with new: NewRecord, isCompromised: Bool = false
    ) throws -> RecordInUse {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        let opener = try opener()
        var items: [Item] = []
        var records: Set<UniqueID> = []
        for id in ids {
            let stored = try wholeItem(id)
            let opened = try opener.open(stored).item
            guard opened.conflicts.isEmpty else { throw CoreError(.noteUnsettled, at: opened.visibleTitle) }
            records.formUnion(stored.lock?.records ?? [])
            items.append(try moveFilesUnderNewKeys(opened))
        }
        // A record that keeps a note of its own stays in use.
        let moving = Set(ids)
        try forEachLockedNote { item, lock in
            if !moving.contains(item.id) { records.subtract(lock.records) }
        }
        var replaced: [(id: UniqueID, key: RecordKey?)] = []
        for id in records.sorted() {
            // Scheme 1 has no ladder.
            let key = isCompromised || new.scheme == .bear ? nil : try opener.key(of: id)
            replaced.append((id, key))
        }
        let made = try makeRecord(new, replacing: replaced)
        let changes = try changes(adding: made.record, hint: new.hint)
        try batch { batch in
            batch.write(changes)
            for item in items { try batch.seal(item, under: made, isReseal: true) }
        }
        return made
    }

    /// All locked notes, in the order of their ids.
    ///
    /// - Parameter record: only those that name this record; nil for all.
    package func lockedNotes(under record: UniqueID? = nil) throws -> [EntityID] {
        var ids: [EntityID] = []
        try forEachLockedNote { item, lock in
            if record.map(lock.records.contains) ?? true { ids.append(item.id) }
        }
        return ids
    }

    /// Whether opening a note should be followed by `resealSilently`: it lies under a replaced record or an outdated
    /// scheme, or a merge or an offline device left several versions of it.
    package func needsResealing(_ item: Item) throws -> Bool {
        guard item.lock?.isOpen == false else { return false }
        let opener = try opener()
        let opened = try opener.open(item)
        guard opened.item.conflicts.isEmpty else { return false }
        let scheme = try record(for: item).scheme
        return opened.needsSealing || lockPolicy.isOutdated(scheme)
    }

    /// Brings what a passphrase opened up to date, without a word and without counting as an edit: notes under a
    /// replaced record or in several versions are sealed under the newest record; all notes of an outdated scheme
    /// under a new record with the same passphrase.
    ///
    /// - Parameter passphrase: as typed; nil if only the key is held, and then outdated schemes wait.
    /// - Returns: how many notes were sealed anew.
    @discardableResult
    package func resealSilently(
        _ id: EntityID, passphrase: NotePassphrase? = nil, effort: LockEffort = PasswordRecord.normalEffort
    ) throws -> Int {
        guard isWritable else { return 0 }
        let note = try wholeItem(id)
        guard note.isSealed else { return 0 }
        let record = try record(for: note)
        if lockPolicy.isOutdated(record.scheme), let passphrase {
            var new = NewRecord(passphrase)
            new.effort = effort
            new.hint = try hint(of: record.id)
            // Those that hold a decision for the person stay, and their record with them.
            let opener = try opener()
            var ids: [EntityID] = []
            for id in try lockedNotes(under: record.id) {
                guard let opened = try? opener.open(wholeItem(id)).item, opened.conflicts.isEmpty else { continue }
                ids.append(id)
            }
            guard !ids.isEmpty, (try? record.open(passphrase)) != nil else { return 0 }
            try relockNotes(ids, with: new)
            return ids.count
        }
        let opener = try opener()
        let opened = try opener.open(note)
        guard opened.needsSealing, opened.item.conflicts.isEmpty else { return 0 }
        let inUse = RecordInUse(record: record, key: try opener.key(of: record.id))
        let moved = try moveFilesUnderNewKeys(opened.item)
        try batch { batch in try batch.seal(moved, under: inUse, isReseal: true, from: opened.item)
        }
        try forgetWords()
        return 1
    }

    /// The records of broken schemes that notes still lie under, the newest first: the program asks for their
    /// passphrases at its start.
    package func recordsOfBrokenSchemes() throws -> [PasswordRecord] {
        guard !lockPolicy.brokenSchemes.isEmpty else { return [] }
        return try passwordRecords().filter { summary in
            summary.noteCount > 0 && lockPolicy.brokenSchemes.contains(summary.record.scheme)
        }.map(\.record)
    }
}
