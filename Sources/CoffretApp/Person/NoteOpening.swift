// The way to what is locked. Invariant: a passphrase is asked for the note that was named, never for one that merely lies in the
// vault.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

/// Opens locked items by asking a person.
package struct NoteOpening {
    private let person: any OperationPerson
    private let now: Milliseconds
    /// Opens a vault for one change.
    private let openForWriting: (VaultRecord) throws -> Vault

    package init(
        person: any OperationPerson, now: Milliseconds, openForWriting: @escaping (VaultRecord) throws -> Vault
    ) {
        self.person = person
        self.now = now
        self.openForWriting = openForWriting
    }

    /// An item with its contents. A note whose sealing is out of date is sealed anew on the way, if nobody else is writing.
    package func open(_ item: Item, _ record: VaultRecord, _ vault: Vault) throws -> Item {
        var typed: NotePassphrase?
        var asked: Set<UniqueID> = []
        while true {
            do {
                let opened = try vault.opened(item)
                reseal(item, typed, record, vault)
                return opened
            } catch let error as CoreError where error.code == .noteLocked {
                // First the record that the note belongs under; then what its parts name beside it, which an
                // offline device brought back and no ladder opens.
                var record = try vault.record(for: item)
                if asked.contains(record.id), let place = error.place { record = try vault.record(place) }
                guard person.canAnswer, asked.insert(record.id).inserted else { throw error }
                typed = try unlock(record, of: item, in: vault, isOlder: asked.count > 1) ?? typed
            }
        }
    }

    /// - Returns: what was typed; nil if it opened another record of the note than was asked for.
    private func unlock(
        _ record: PasswordRecord, of item: Item, in vault: Vault, isOlder: Bool
    ) throws -> NotePassphrase? {
        let title = TextWidth.truncate(TextWidth.displaySafe(item.title), to: 40)
        let day = RelativeTime(nowMilliseconds: now).day(record.created)
        let question =
            isOlder
            ? "\"\(title)\" was changed on another device under the passphrase of \(day): "
            : "Passphrase of \"\(title)\": "
        try vault.checkAttempts(at: record)
        let passphrase = try NotePassphrase(
            person.secret(SessionQuestion(.notePassphrase, question, reason: "open \"\(title)\"")))
        do {
            let opened = try person.deriving { try vault.unlock(record, of: item, passphrase) }
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
    private func reseal(_ item: Item, _ passphrase: NotePassphrase?, _ record: VaultRecord, _ vault: Vault) {
        guard (try? vault.needsResealing(item)) == true else { return }
        if vault.isWritable {
            _ = try? vault.resealSilently(item.id, passphrase: passphrase)
        } else if let writable = try? openForWriting(record) {
            defer { writable.close() }
            _ = try? writable.resealSilently(item.id, passphrase: passphrase)
        }
    }
}
