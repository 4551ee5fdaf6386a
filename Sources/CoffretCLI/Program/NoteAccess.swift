// The way to what is locked or hidden. The one thing to keep true: a passphrase is asked for the note that was named,
// never for one that merely lies in the vault.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal

extension VaultSession {
    /// An item with its contents: asks for the passphrase of a locked note, and for presence before a hidden one.
    ///
    /// A note whose sealing is out of date is sealed anew on the way, if nobody else is writing.
    func readable(_ item: Item) throws -> Item {
        if item.isVeiled { try requirePresence(for: item) }
        let item = try vault.revealed(item)
        guard item.isSealed else { return item }
        return try open(item)
    }

    private func open(_ item: Item) throws -> Item {
        var typed: NotePassphrase?
        var asked: Set<UniqueID> = []
        while true {
            do throws(CoreError) {
                let opened = try vault.opened(item)
                reseal(item, typed)
                return opened
            } catch {
                guard error.code == .noteLocked else { throw error }
                // First the record that the note belongs under; then what its parts name beside it, which an
                // offline device brought back and no ladder opens.
                var record = try vault.record(for: item)
                if asked.contains(record.id), let place = error.place { record = try vault.record(place) }
                guard asked.insert(record.id).inserted else { throw error }
                typed = try unlock(record, of: item, isOlder: asked.count > 1) ?? typed
            }
        }
    }

    /// - Returns: what was typed; nil if it opened another record of the note than was asked for.
    private func unlock(_ record: PasswordRecord, of item: Item, isOlder: Bool) throws -> NotePassphrase? {
        let title = TextWidth.truncate(TextWidth.displaySafe(item.title), to: 40)
        let day = context.relativeTime.day(record.created)
        let question =
            isOlder
            ? "\"\(title)\" was changed on another device under the passphrase of \(day): "
            : "Passphrase of \"\(title)\": "
        try vault.checkAttempts(at: record)
        let passphrase = try PassphraseSource(context: context).note(question)
        do {
            let opened = try context.deriving { try vault.unlock(record, of: item, passphrase) }
            return opened.record.id == record.id ? passphrase : nil
        } catch let error as CoreError where error.code == .notePassphraseWrong {
            throw wrongPassphrase(error, hasHint: try vault.hint(of: record.id) != nil, item)
        }
    }

    private func wrongPassphrase(_ error: CoreError, hasHint: Bool, _ item: Item) -> CommandFailure {
        CommandFailure(
            .wrongPassphrase, code: error.code.rawValue,
            "the passphrase does not open \"\(TextWidth.truncate(TextWidth.displaySafe(item.title), to: 60))\"",
            hint: hasHint ? "coffret note hint \(item.id.uuid.hex.prefix(8)) shows its hint" : nil)
    }

    /// Brings the sealing of a note up to date. Reading never fails because of it.
    private func reseal(_ item: Item, _ passphrase: NotePassphrase?) {
        guard (try? vault.needsResealing(item)) == true else { return }
        _ = try? writingOnce { vault in try vault.resealSilently(item.id, passphrase: passphrase) }
    }

    // MARK: Presence

    /// Makes sure that somebody is there before contents of a hidden item are used.
    func requirePresence(for item: Item) throws {
        try store.requirePresence(toShow: item.title, item.kind)
    }
}

extension StoreSession {
    /// Makes sure that somebody is there: by whatever the agent asks with, or by the store's passphrase, unless it
    /// was given for this very command. Asks once in a command.
    ///
    /// - Parameter kind: what the item is; nil where only its title is known.
    func requirePresence(toShow title: String, _ kind: ItemKind? = nil) throws {
        // Whoever wrote the title may be another device, or an imported file.
        let title = TextWidth.truncate(TextWidth.displaySafe(title), to: 40)
        let word = kind?.noun ?? "item"
        try requirePerson(to: "show the hidden \(word) \"\(title)\"", orElse: "the \(word) stays hidden")
    }

    /// As above, for anything that a person has to want.
    ///
    /// - Parameters:
    ///   - reason: ends a sentence that begins with "Show that you are there, to".
    ///   - outcome: of a no.
    func requirePerson(to reason: String, orElse outcome: String) throws {
        if store.hiddenGate.isOpen { return }
        guard try PersonCheck(context, store: self).ask(reason: reason) else {
            throw CommandFailure(.permission, .presenceRefused, "nobody confirmed; \(outcome)")
        }
        store.hiddenGate.open()
    }

    /// Whether there is a way to ask; scripts without one are told that an item is hidden.
    var canAskForPresence: Bool { context.presence != nil || context.prompt() != nil }

    /// Checks a passphrase against the store.
    ///
    /// - Throws: as opening the store with it.
    func confirm(passphrase: consuming SecretBytes) throws {
        let passphrase = try PassphraseSource.passphrase(passphrase)
        let path = try StoreAccess.path(context)
        _ = try context.deriving {
            try Store.open(at: path, with: .passphrase(passphrase), environment: StoreAccess.environment(context))
        }
    }
}
