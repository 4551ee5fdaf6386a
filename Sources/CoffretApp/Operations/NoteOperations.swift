// Operations on locked notes. Invariant: a passphrase lies in locked memory from its first byte, and in no message.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
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
    fileprivate func forgetNoteKeys(of items: [Item], also others: Set<UniqueID> = [], in vault: Vault) throws {
        var records = others
        for item in items { records.formUnion(try vault.recordsLeading(to: item)) }
        for record in records { store.noteKeys.lock(record) }
        HostedStore.current?.forgetNoteKeys(of: records)
    }
}

extension NoteLock: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        if isNew != true, hint != nil || isForOtherPrograms == true {
            throw OperationError(.requestInvalid, at: hint == nil ? "isForOtherPrograms" : "hint")
        }
        let places = try desk.find(all: notes, vault: vault)
        let items = try places.ids.map(places.vault.item)
        var answer = Answer()
        answer.notes = places.ids.map(\.uuid.hex)
        answer.isClosed = try Self.areOpen(items, in: places.vault, on: desk)
        if answer.isClosed {
            if isTrial != true { try desk.forgetNoteKeys(of: items, in: places.vault) }
            return answer
        }
        try Self.check(items)
        if isTrial == true { return answer }
        try lock(places, on: desk)
        let plan = try desk.vault(places.record).forgettingPlan(for: places.ids)
        answer.readableVersionCount = plan?.versionCount ?? 0
        return answer
    }

    /// Whether all are locked, and one of them was opened.
    private static func areOpen(_ items: [Item], in vault: Vault, on desk: StoreDesk) throws -> Bool {
        guard items.allSatisfy(\.isLocked) else { return false }
        let held = desk.store.noteKeys.records
        return try items.contains { try !vault.recordsLeading(to: $0).isDisjoint(with: held) }
    }

    /// - Throws: `CoreError` `.noteAlreadyLocked`, `.noteKind`.
    private static func check(_ items: [Item]) throws {
        for item in items where item.isLocked { throw CoreError(.noteAlreadyLocked, at: item.title) }
        if let other = items.first(where: { $0.kind != .note }) { throw CoreError(.noteKind, at: other.title) }
    }

    private func lock(_ places: StoreDesk.Places, on desk: StoreDesk) throws {
        try desk.warnOfGuesses(places.record)
        let inUse = try Self.recordsInUse(of: places.vault)
        let brought = try desk.takeBroughtPassphrase()
        // With a descriptor the request says which it is; a person who locks a first note begins one.
        if isNew == true || brought == nil && inUse.isEmpty {
            var new = NewRecord(try brought ?? desk.newNotePassphrase("Passphrase for locked notes: "))
            (new.hint, new.effort) = (hint, effort?.effort ?? new.effort)
            if isForOtherPrograms == true {
                new.scheme = .bear
                desk.surroundings.person?.warn(
                    "scheme 1 does not stretch the passphrase: it can be guessed at the speed of a few hashes, and opening the note with coffret locks it anew with scheme 2"
                )
            }
            try desk.deriving {
                try desk.requireUnusedElsewhere(new.passphrase, places)
                try seal(places, on: desk) { _ = try $0.lockNotes($1, with: new, hidesTitle: $2) }
            }
            return
        }
        let passphrase = try brought ?? desk.notePassphrase("Passphrase of your locked notes: ")
        let record = try desk.deriving { try Self.record(of: passphrase, among: inUse, in: places.vault) }
        try seal(places, on: desk) { try $0.lockNotes($1, under: record, hidesTitle: $2) }
    }

    private func seal(
        _ places: StoreDesk.Places, on desk: StoreDesk, _ lock: (Vault, [EntityID], _ hidesTitle: Bool) throws -> Void
    ) throws {
        try desk.writing(places.record) { vault in
            try lock(vault, places.ids, hidesTitle ?? false)
            try desk.forgetNoteKeys(of: places.ids.map(vault.item), in: vault)
        }
    }

    /// The passphrases that locked notes have, and that more notes may be sealed under.
    private static func recordsInUse(of vault: Vault) throws -> [PasswordRecord] {
        try vault.passwordRecords()
            .filter { $0.noteCount > 0 && $0.replacedBy == nil && !vault.lockPolicy.isOutdated($0.record.scheme) }
            .map(\.record)
    }

    /// The record that a passphrase opens.
    ///
    /// - Throws: `CommandFailure` with `core.note.passphrase-wrong` if no locked note has it.
    private static func record(
        of passphrase: NotePassphrase, among records: [PasswordRecord], in vault: Vault
    ) throws -> RecordInUse {
        do {
            return try vault.unlockRecord(among: records, passphrase)
        } catch let error as CoreError where error.code == .notePassphraseWrong {
            throw CommandFailure(
                .wrongPassphrase, code: error.code.rawValue, "no locked note has this passphrase; nothing was changed",
                hint: "coffret note lock --new begins another passphrase; coffret note hint NOTE shows a hint")
        }
    }
}

extension LockEffortMessage {
    fileprivate var effort: LockEffort {
        LockEffort(memoryKibibytes: UInt32(clamping: memoryKibibytes), passCount: UInt32(clamping: passCount))
    }
}

extension NoteRelock: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let places = try places(desk)
        var before: Set<UniqueID> = []
        for id in places.ids {
            before.formUnion(try places.vault.recordsLeading(to: try places.vault.item(id)))
            try desk.open(id, places)
        }
        try desk.warnOfGuesses(places.record)
        var new = NewRecord(try desk.newNotePassphrase("New passphrase for locked notes: "))
        (new.hint, new.effort) = (hint, effort?.effort ?? new.effort)
        let made = try desk.deriving {
            try desk.requireUnusedElsewhere(new.passphrase, places)
            return try desk.writing(places.record) { vault in
                try vault.relockNotes(places.ids, with: new, isCompromised: isCompromised == true)
            }
        }
        try desk.forgetNoteKeys(of: [], also: before.union([made.record.id]), in: places.vault)
        var answer = Answer()
        (answer.relocked, answer.record) = (places.ids.map(\.uuid.hex), made.record.id.hex)
        answer.replacedCount = made.record.previous.count
        return answer
    }

    private func places(_ desk: StoreDesk) throws -> StoreDesk.Places {
        if let notes { return try desk.find(all: notes, vault: vault) }
        let record = try desk.record(vault)
        let opened = try desk.vault(record)
        let ids = try opened.lockedNotes()
        guard !ids.isEmpty else { throw CommandFailure(.notFound, .versionNotFound, "no note is locked") }
        return StoreDesk.Places(record: record, vault: opened, ids: ids)
    }
}

extension NoteRelease: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NoteList {
        let places = try desk.find(all: notes, vault: vault)
        for id in places.ids { try desk.open(id, places) }
        try desk.writing(places.record) { vault in try vault.unlockNotes(places.ids) }
        return NoteList(places.ids)
    }
}

extension StoreDesk {
    /// Opens a locked note, whose passphrase the person is asked for.
    fileprivate func open(_ id: EntityID, _ places: Places) throws {
        let item = try places.vault.item(id)
        guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.title) }
        _ = try readable(item, of: places.record, in: places.vault)
    }

    fileprivate func notePassphrase(_ question: String) throws -> NotePassphrase {
        try NotePassphrase(asked(SessionQuestion(.notePassphrase, question, reason: "lock notes")))
    }

    fileprivate func newNotePassphrase(_ question: String) throws -> NotePassphrase {
        try NotePassphrase(asked(SessionQuestion(.newNotePassphrase, question, reason: "lock notes")))
    }

    func asked(_ question: SessionQuestion) throws -> SecretBytes {
        guard let person = surroundings.person else { throw OperationError(.unanswered) }
        return try person.secret(question)
    }

    fileprivate func deriving<Value>(_ body: () throws -> Value) throws -> Value {
        try surroundings.person?.deriving(body) ?? body()
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
        if isKept == true { HostedStore.current?.keepNoteKeys(of: desk.store) }
        return ItemMessage(opened, revealsSecrets: false)
    }
}

extension NoteUnlock {
    /// Keys of open notes are handed to the agent, which keeps them until the store locks.
    private static func requireAgent() throws {
        guard HostedStore.isRunning else {
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
