// Vaults of which one request says that nothing is new. The one thing to keep true: a vault is passed over only where a sync
// left it with nothing to do a moment ago, nothing was written here since, and the server says that it stands as it did then.

internal import CoffretAccount
package import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
package import CoffretKeys
package import CoffretSync
internal import CoffretWire

extension AccountSync {
    /// A server may say that nothing is new for so long, until all is looked at again.
    package static let restMilliseconds: Milliseconds = 3_600_000

    /// Asks how all vaults stand, before chains are followed: what comes later is news.
    package func askForHeads() throws {
        heads = [:]
        for entry in try account.connection.heads() {
            guard let vault = VaultID(entry.zone) else { continue }
            heads[vault] = entry
        }
    }

    /// The head of a vault of which nothing is new here or there, and its state; nil where it is to be synced.
    package func rest(of record: VaultRecord) throws -> (head: [UInt8], version: String?)? {
        guard let now = heads[record.vaultID], let known = try store.rest(of: record.vaultID),
            known.server == account.connection.settings.address.url, known.head == now.head ?? [],
            known.cursor == now.cursor, known.people == now.people, known.words == now.words,
            known.generation == store.keyring.generation,
            0..<Self.restMilliseconds ~= clock.now &- known.time, known.files == stamp(of: record.vaultID)
        else { return nil }
        return (known.head, known.version)
    }

    /// Notes that a sync of everything left a vault with nothing to do, where it did.
    ///
    /// - Parameter report: of the one sync since `askForHeads`.
    package func noteRest(of record: VaultRecord, _ report: SyncReport) throws {
        // A person to whom nothing could be sealed may have other keys by the next sync, and the vault's numbers do not tell.
        guard let before = heads.removeValue(forKey: record.vaultID), report.linkCount == 0, report.letterCount == 0,
            people.unsealed.isEmpty
        else { return }
        // Before the look: what is written from now on is news for the next sync.
        let files = stamp(of: record.vaultID)
        guard let cursor = try syncer(for: record).restingCursor(behind: report) else { return }
        // Others' words are not among this device's own.
        let rest = VaultRest(
            server: account.connection.settings.address.url, head: report.serverHead ?? [], cursor: cursor,
            people: before.people, words: before.words + UInt64(report.wordCount), files: files,
            generation: store.keyring.generation, version: report.version, time: clock.now)
        try store.note(rest, of: record.vaultID)
    }

    /// Of the journal, and of the file `chains`: a sync brings that again where it is lost.
    private func stamp(of vault: VaultID) -> [UInt8] {
        let folder = store.layout.vaultPath(vault)
        let files = FileStamps.files(of: PathText.join(folder, "journal")) + [PathText.join(folder, "chains")]
        return Array(FileStamps.hash(files).utf8)
    }
}
