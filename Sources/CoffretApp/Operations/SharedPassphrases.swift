// Passphrases of locked notes that other people can guess at. Invariant: a passphrase that opens something of a vault of one's own
// is not given to a vault that others have, nor the other way round.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal

extension StoreDesk {
    /// So many passphrases of one vault are compared, the newest first: whoever writes there may plant records without end, and each
    /// costs a derivation.
    private static let comparedRecordCountMax = 16

    /// Says who can guess at the passphrase of a locked note, before it is asked for.
    func warnOfGuesses(_ record: VaultRecord) throws {
        let count = try others(in: record).count
        guard count > 0, let person = surroundings.person else { return }
        let who = count == 1 ? "another person has" : "\(count) other people have"
        let name = TextWidth.displaySafe(record.name)
        person.warn(
            "\(who) the vault \"\(name)\" and can try to guess this passphrase: use one that is used nowhere else")
    }

    /// Refuses a new passphrase that opens locked notes of another vault, where other people have one of the two.
    ///
    /// - Throws: `CoreError` `.notePassphraseElsewhere` with that vault; `.keys` with the pause of a passphrase that was typed
    ///   wrong too often.
    /// - Complexity: one Argon2id for each passphrase of those vaults.
    func requireUnusedElsewhere(_ passphrase: NotePassphrase, _ places: Places) throws {
        let isShared = try !others(in: places.record).isEmpty
        for record in try store.vaults where record.vaultID != places.record.vaultID {
            guard try isShared || !others(in: record).isEmpty else { continue }
            let other = try vault(record)
            for made in try other.recordTable().newestFirst.prefix(Self.comparedRecordCountMax) {
                try other.checkAttempts(at: made)
                guard try Self.opens(made, passphrase) else { continue }
                throw CoreError(.notePassphraseElsewhere, at: record.name)
            }
        }
    }

    private static func opens(_ record: PasswordRecord, _ passphrase: NotePassphrase) throws -> Bool {
        do {
            _ = try record.open(passphrase)
            return true
        } catch let error as CoreError {
            switch error.code {
            case .notePassphraseWrong, .recordPolicy, .recordConstantsMissing: return false
            default: throw error
            }
        }
    }

    /// Refuses to bring a locked note to other people while notes that stay behind have its passphrase.
    ///
    /// - Throws: `CoreError.notePassphraseElsewhere` with the vault where they stay.
    func requireOwnPassphrases(_ places: Places) throws {
        var records: Set<UniqueID> = []
        for id in places.ids { records.formUnion(try places.vault.recordsLeading(to: places.vault.item(id))) }
        for record in records.sorted() {
            let staying = Set(try places.vault.lockedNotes(under: record)).subtracting(places.ids)
            guard staying.isEmpty else { throw CoreError(.notePassphraseElsewhere, at: places.record.name) }
        }
    }
}
