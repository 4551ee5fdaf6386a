// Locking notes, reading them, and changing what they are locked with. Invariant: from the commit that locks a note
// on, nothing readable of it is written anywhere.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretSearch
package import CoffretStorage

/// A record with its key, ready to seal under.
package struct RecordInUse: Sendable {
    package let record: PasswordRecord
    package let key: RecordKey
}

/// The values of a new password record.
package struct NewRecord {
    package var passphrase: NotePassphrase
    package var scheme: LockScheme = .newest
    package var effort: LockEffort = PasswordRecord.normalEffort
    /// Readable by everybody who can open the vault.
    package var hint: String?

    package init(_ passphrase: NotePassphrase) { self.passphrase = passphrase }
}

extension Vault {
    func opener() throws -> NoteOpener { NoteOpener(records: try recordTable(), keys: noteKeys) }

    // MARK: Reading

    /// A locked item with its contents, out of the keys that are held; any other item as it is.
    ///
    /// - Throws: `CoreError` `.noteHidden` if nobody has shown to be there; `.noteLocked` with the id of the record
    ///   whose passphrase is missing, `.recordUnsupported`, `.recordNotFound`, `.recordChanged`, `.noteDamaged`.
    package func opened(_ item: Item) throws -> Item {
        let item = try revealed(item)
        guard item.isSealed else { return item }
        return try opener().open(item).item
    }

    /// The record whose passphrase opens a sealed item, as things stand now: the newest one of those that replaced
    /// the ones it names.
    ///
    /// - Throws: `CoreError` `.noteNotLocked`; `.recordNotFound`, `.recordUnsupported`, `.recordChanged`.
    package func record(for item: Item) throws -> PasswordRecord {
        guard let lock = item.lock else { throw CoreError(.noteNotLocked, at: item.id.uuid.hex) }
        let table = try recordTable()
        let opener = NoteOpener(records: table, keys: noteKeys)
        guard let id = opener.target(of: lock) else { throw CoreError(.recordUnsupported, at: item.id.uuid.hex) }
        guard let record = table[id] else { throw table.unusable[id] ?? CoreError(.recordNotFound, at: id.hex) }
        return record
    }

    /// Every record whose key opens something of a sealed item: those that it names, and those that replaced them.
    package func recordsLeading(to item: Item) throws -> Set<UniqueID> {
        guard let lock = item.lock else { return [] }
        let records = try recordTable().records.values
        var found = Set(lock.records)
        var left = lock.records
        while let id = left.popLast() {
            for newer in records where newer.previous.contains(where: { $0.id == id }) {
                if found.insert(newer.id).inserted { left.append(newer.id) }
            }
        }
        return found
    }

    /// Refuses before anybody types a passphrase in vain.
    ///
    /// - Throws: `CoreError` `.keys` with the pause as its cause.
    package func checkAttempts(at record: PasswordRecord) throws {
        guard let noteAttempts else { return }
        try inKeys(noteAttempts(record.id).checkPause())
    }

    /// Takes a passphrase for a record, and holds its key from now on.
    ///
    /// - Throws: `CoreError` `.notePassphraseWrong`, `.recordPolicy`; `.keys` with the pause as its cause after too many
    ///   wrong ones.
    @discardableResult
    package func unlockRecord(_ record: PasswordRecord, _ passphrase: NotePassphrase) throws -> RecordInUse {
        do {
            return try unlockRecord(among: [record], passphrase)
        } catch let error as CoreError where error.code == .notePassphraseWrong {
            throw CoreError(.notePassphraseWrong, at: record.id.hex)
        }
    }

    /// Takes a passphrase for whichever record it opens. It counts as wrong, for each of them, only if it opens none;
    /// the counts of those that it does not open stay as they are.
    ///
    /// - Throws: as above; a pause of one record does not keep others from being tried.
    package func unlockRecord(
        among records: [PasswordRecord], _ passphrase: NotePassphrase
    ) throws -> RecordInUse {
        var opened: RecordInUse?
        // In one order in all processes, since the counts are locked one inside the other.
        try attempt(records.sorted { $0.id < $1.id }[...], passphrase, &opened)
        guard let opened else { throw CoreError(.notePassphraseWrong) }
        noteKeys.add(opened.key)
        return opened
    }

    private func attempt(
        _ records: ArraySlice<PasswordRecord>, _ passphrase: NotePassphrase, _ opened: inout RecordInUse?
    ) throws {
        guard let record = records.first else { throw CoreError(.notePassphraseWrong) }
        do {
            try counted(record) {
                do {
                    opened = RecordInUse(record: record, key: try record.open(passphrase))
                    return
                } catch let error as CoreError where error.code == .notePassphraseWrong {}
                try attempt(records.dropFirst(), passphrase, &opened)
                // Not wrong, and not right for this one either.
                throw CoreError(.noteLocked)
            }
        } catch let error as CoreError {
            if opened != nil { return }
            guard (error.cause as? KeyError)?.code == .attemptsPausing, records.count > 1 else { throw error }
            do {
                try attempt(records.dropFirst(), passphrase, &opened)
            } catch let other as CoreError where other.code == .notePassphraseWrong {
                throw error
            }
        }
    }

    private func counted(_ record: PasswordRecord, _ body: () throws -> Void) throws {
        guard let noteAttempts else { return try body() }
        try noteAttempts(record.id).attempt(
            isWrong: { ($0 as? CoreError)?.code == .notePassphraseWrong },
            refusal: { CoreError(.keys, at: $0.code.rawValue, cause: $0) as any Error }, body)
    }

    // MARK: Locking

    /// Makes a password record; it is written with the first note that is sealed under it.
    ///
    /// - Parameter replaced: keys of records that it replaces; nil after a compromise, when no ladder is written.
    func makeRecord(
        _ new: NewRecord, replacing replaced: [(id: UniqueID, key: RecordKey?)] = []
    ) throws -> RecordInUse {
        let made = try PasswordRecord.make(
            scheme: new.scheme, passphrase: new.passphrase, effort: new.effort, home: repository.keys.vaultID,
            time: clock.now, previous: replaced, random: random)
        noteKeys.add(made.key)
        return RecordInUse(record: made.record, key: made.key)
    }

    /// Seals notes under a passphrase of their own, files included, in one commit. Their words leave the search index.
    ///
    /// - Parameters:
    ///   - hidesTitle: seals title, tags and path too.
    /// - Throws: `CoreError` `.noteKind`, `.noteAlreadyLocked`, `.noteUnsettled`, `.itemUnsupported`,
    ///   `.fieldInvalid` if a text is too long; then nothing has changed.
    /// - Returns: the record that the notes are sealed under.
    @discardableResult
    package func lockNotes(
        _ ids: [EntityID], with new: NewRecord, hidesTitle: Bool = false
    ) throws -> RecordInUse {
        try checkCanLock(ids)
        let made = try makeRecord(new)
        try lockNotes(ids, under: made, adding: changes(adding: made.record, hint: new.hint), hidesTitle: hidesTitle)
        return made
    }

    /// As above, under a record that is there.
    package func lockNotes(
        _ ids: [EntityID], under record: RecordInUse, hidesTitle: Bool = false
    ) throws {
        try checkCanLock(ids)
        try lockNotes(ids, under: record, adding: [], hidesTitle: hidesTitle)
    }

    private func checkCanLock(_ ids: [EntityID]) throws {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        for id in ids {
            let item = try wholeItem(id)
            guard item.kind == .note else { throw CoreError(.noteKind, at: item.title) }
            guard !item.isLocked else { throw CoreError(.noteAlreadyLocked, at: item.title) }
            guard item.conflicts.isEmpty else { throw CoreError(.noteUnsettled, at: item.title) }
            guard item.unreadableAttributes.isEmpty else { throw CoreError(.itemUnsupported, at: item.title) }
        }
    }

    private func lockNotes(
        _ ids: [EntityID], under record: RecordInUse, adding changes: [LogChange], hidesTitle: Bool
    ) throws {
        var items: [Item] = []
        for id in ids {
            var item = try wholeItem(id)
            var lock = ItemLock(parts: [:])
            lock.isOpen = true
            lock.sealsTitle = hidesTitle
            item.lock = lock
            if !hidesTitle {
                if (item.givenTitle ?? "").isEmpty, !item.title.isEmpty { item.givenTitle = item.title }
                item.givenTags = item.tags
            }
            items.append(try moveFilesUnderNewKeys(item))
        }
        try batch { batch in
            batch.write(changes)
            for item in items { try batch.seal(item, under: record, isReseal: false) }
        }
        try forgetWords()
    }

    /// Stores the files of an item that are not sealed anew, under keys that no history knows.
    func moveFilesUnderNewKeys(_ item: Item) throws -> Item {
        let sealed = Set(item.lock?.files.map(\.id) ?? [])
        var item = item
        for index in item.attachments.indices where !sealed.contains(item.attachments[index].id) {
            item.attachments[index] = try copyContent(of: item.attachments[index])
        }
        return item
    }

    /// The same file once more, sealed for a vault under a key of its own.
    func copyContent(of attachment: Attachment) throws -> Attachment { try copyContent(of: attachment, into: self) }

    func copyContent(of attachment: Attachment, into target: Vault) throws -> Attachment {
        let store = try target.contents()
        let reader = try reader(of: attachment)
        let reference = try inStorage { () throws(StorageError) in
            let writer = try store.makeWriter()
            try unsafe reader.read { (piece) throws(StorageError) in try unsafe writer.write(piece) }
            return try writer.finish()
        }
        return Attachment(
            id: attachment.id, item: attachment.item, name: attachment.name, mediaType: attachment.mediaType,
            byteCount: attachment.byteCount, path: attachment.path, created: attachment.created,
            encodedReference: reference.encode())
    }

    /// Brings the index up to date and makes it anew, so that no words of what was just locked are left in it.
    package func forgetWords() throws {
        _ = try fromIndex { index in
            guard try inSearch(index.hasEndedWords()) else { return }
            try rebuild(index, to: IndexedState(presentMark()))
        }
    }

    // MARK: Taking locks off

    /// Takes the locks off notes: they are stored like all others from then on.
    ///
    /// - Throws: `CoreError` `.noteNotLocked`, `.noteLocked` if the key of one is not held, `.noteUnsettled`.
    package func unlockNotes(_ ids: [EntityID]) throws {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        let opener = try opener()
        var items: [Item] = []
        for id in ids {
            let item = try wholeItem(id)
            let opened = try opener.open(item).item
            guard opened.conflicts.isEmpty else { throw CoreError(.noteUnsettled, at: item.title) }
            items.append(opened)
        }
        try batch { batch in
            for item in items { try batch.unseal(item, home: repository.keys.vaultID) }
        }
    }
}
