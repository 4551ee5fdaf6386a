// Operations on locked notes. Invariant: a passphrase lies in locked memory from its first byte, and in no message.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension StoreDesk {
    /// The passphrase that the request's descriptor holds.
    fileprivate func takePassphrase() throws -> NotePassphrase {
        let source = try takeDescriptor()
        return try DescriptorTransfer.told {
            try NotePassphrase(DescriptorTransfer.secret(from: source.number, work))
        }
    }

    /// Forgets the keys of notes, here and in the agent.
    package func forgetNoteKeys(of items: [Item], also others: Set<UniqueID> = [], in vault: Vault) throws {
        var records = others
        for item in items { records.formUnion(try vault.recordsLeading(to: item)) }
        for record in records { store.noteKeys.lock(record) }
        HostedCommand.current?.forgetNoteKeys(of: records)
    }
}

extension NoteLock: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NoteList {
        let passphrase = try desk.takePassphrase()
        if isNew != true, hint != nil { throw OperationError(.requestInvalid, at: "hint") }
        let places = try desk.find(all: notes, vault: vault)
        try Self.check(places.ids.map(places.vault.item))
        if isNew == true {
            var new = NewRecord(passphrase)
            new.hint = hint
            try locked(places, with: new, on: desk)
        } else {
            try locked(places, under: Self.record(of: passphrase, in: places.vault), on: desk)
        }
        return NoteList(places.ids)
    }

    /// - Throws: `CoreError` `.noteAlreadyLocked`, `.noteKind`.
    package static func check(_ items: [Item]) throws {
        for item in items where item.isLocked { throw CoreError(.noteAlreadyLocked, at: item.title) }
        if let other = items.first(where: { $0.kind != .note }) { throw CoreError(.noteKind, at: other.title) }
    }

    /// The passphrases that locked notes have, and that more notes may be sealed under.
    package static func recordsInUse(of vault: Vault) throws -> [PasswordRecord] {
        try vault.passwordRecords()
            .filter { $0.noteCount > 0 && $0.replacedBy == nil && !vault.lockPolicy.isOutdated($0.record.scheme) }
            .map(\.record)
    }

    /// The record that a passphrase opens.
    ///
    /// - Throws: `CommandFailure` with `core.note.passphrase-wrong` if no locked note has it.
    package static func record(of passphrase: NotePassphrase, in vault: Vault) throws -> RecordInUse {
        do {
            return try vault.unlockRecord(among: recordsInUse(of: vault), passphrase)
        } catch let error as CoreError where error.code == .notePassphraseWrong {
            throw CommandFailure(
                .wrongPassphrase, code: error.code.rawValue, "no locked note has this passphrase; nothing was changed",
                hint: "coffret note lock --new begins another passphrase; coffret note hint NOTE shows a hint")
        }
    }

    /// Seals notes under a record that is there.
    package func locked(_ places: StoreDesk.Places, under record: RecordInUse, on desk: StoreDesk) throws {
        try desk.writing(places.record) { vault in
            try vault.lockNotes(places.ids, under: record, hidesTitle: hidesTitle ?? false)
            try desk.forgetNoteKeys(of: places.ids.map(vault.item), in: vault)
        }
    }

    /// Seals notes under a new record.
    package func locked(_ places: StoreDesk.Places, with new: NewRecord, on desk: StoreDesk) throws {
        try desk.writing(places.record) { vault in
            try vault.lockNotes(places.ids, with: new, hidesTitle: hidesTitle ?? false)
            try desk.forgetNoteKeys(of: places.ids.map(vault.item), in: vault)
        }
    }
}

extension NoteUnlock: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ItemMessage {
        let passphrase = try desk.takePassphrase()
        let place = try desk.find(note, vault: vault)
        let item = try place.vault.item(place.id)
        guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.title) }
        if item.isVeiled { try desk.surroundings.requirePresence(desk.store, item) }
        _ = try place.vault.unlock(place.vault.record(for: item), of: item, passphrase)
        return ItemMessage(try desk.readable(place), revealsSecrets: false)
    }
}

extension Vault {
    /// Takes a passphrase for a record of a locked note, or for another one that the note names: somebody may have replaced the
    /// record on another device, and then the old passphrase is as good.
    ///
    /// - Throws: as `unlockRecord(among:_:)`.
    package func unlock(
        _ record: PasswordRecord, of item: Item, _ passphrase: NotePassphrase
    ) throws(CoreError) -> RecordInUse {
        let others = (item.lock?.records ?? []).filter { $0 != record.id }.compactMap { try? self.record($0.hex) }
        return try unlockRecord(among: [record] + others, passphrase)
    }
}

extension NoteClose: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NoteList {
        let places = try desk.find(all: notes, vault: vault)
        let items = try places.ids.map(places.vault.item)
        for item in items where !item.isLocked { throw CoreError(.noteNotLocked, at: item.title) }
        try desk.forgetNoteKeys(of: items, in: places.vault)
        return NoteList(places.ids)
    }
}

extension NoteList {
    fileprivate init(_ ids: [EntityID]) {
        self.init()
        notes = ids.map(\.uuid.hex)
    }
}
