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

    /// The same; nil if the request brought none, and somebody can be asked.
    fileprivate func takeBroughtPassphrase() throws -> NotePassphrase? {
        do {
            return try takePassphrase()
        } catch let error as OperationError where error.place == "none" && surroundings.isAttended {
            return nil
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
        if isKept == true { try Self.requireAgent() }
        let passphrase = try desk.takeBroughtPassphrase()
        let place = try desk.find(note, vault: vault)
        let item = try place.vault.item(place.id)
        guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.title) }
        if item.isVeiled { try desk.surroundings.requirePresence(desk.store, item) }
        if let passphrase { _ = try place.vault.unlock(place.vault.record(for: item), of: item, passphrase) }
        let opened = try desk.readable(place)
        if isKept == true { HostedCommand.current?.keepNoteKeys(of: desk.store) }
        return ItemMessage(opened, revealsSecrets: false)
    }
}

extension NoteUnlock {
    /// Keys of open notes are handed to the agent, which keeps them until the store locks.
    private static func requireAgent() throws {
        guard HostedCommand.isRunning else {
            throw CommandFailure(
                .unavailable, .noteNeedsAgent, "there is no agent that could keep the note open",
                hint:
                    "coffret unlock starts it; coffret show NOTE asks for the passphrase each time; --for-good takes the lock off"
            )
        }
    }
}

extension Vault {
    /// Takes a passphrase for a record of a locked note, or for another one that the note names: somebody may have replaced the
    /// record on another device, and then the old passphrase is as good.
    ///
    /// - Throws: as `unlockRecord(among:_:)`.
    package func unlock(
        _ record: PasswordRecord, of item: Item, _ passphrase: NotePassphrase
    ) throws -> RecordInUse {
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

extension PassphraseList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let open = desk.store.noteKeys.records
        var answer = Answer()
        answer.passphrases = try desk.vault(desk.record(vault)).passwordRecords().map { summary in
            var message = PassphraseMessage()
            (message.id, message.scheme) = (summary.record.id.hex, Int(summary.record.scheme.rawValue))
            (message.created, message.noteCount) = (WireMoment(summary.record.created), summary.noteCount)
            (message.hasHint, message.isOpen) = (summary.hasHint, open.contains(summary.record.id))
            message.replacedBy = summary.replacedBy?.hex
            return message
        }
        return answer
    }
}

extension NoteInspect: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(note, vault: vault)
        let item = try place.vault.item(place.id)
        let record = try place.vault.record(for: item)
        var answer = Answer()
        (answer.id, answer.scheme) = (item.id.uuid.hex, Int(record.scheme.rawValue))
        (answer.passphrase, answer.hint) = (record.id.hex, try place.vault.hint(of: record.id))
        (answer.home, answer.salt) = (record.identity.home.hex, Hex.encode(record.identity.salt))
        answer.memoryKibibytes = record.identity.effort.map { Int($0.memoryKibibytes) }
        answer.passCount = record.identity.effort.map { Int($0.passCount) }
        if let text = item.lock?.parts[.text] {
            let value = text.values[text.preferred]
            answer.record = value.record.hex
            answer.encryptionID = value.encryptionID.description.uppercased()
            answer.sealed = Base64.standard.encode(value.body)
        }
        return answer
    }
}

extension NoteList {
    fileprivate init(_ ids: [EntityID]) {
        self.init()
        notes = ids.map(\.uuid.hex)
    }
}
