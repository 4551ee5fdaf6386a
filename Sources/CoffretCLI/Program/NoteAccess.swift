// The way to what is locked or hidden, for commands that have a vault open in this process.

internal import CoffretApp
internal import CoffretCore
internal import CoffretKeys
internal import CoffretTerminal

extension VaultSession {
    /// An item with its contents: asks for the passphrase of a locked note, and for presence before a hidden one.
    func readable(_ item: Item) throws -> Item { try store.desk.readable(item, of: record, in: vault) }
}

extension StoreSession {
    /// Makes sure that a person is there, unless that was shown before.
    ///
    /// - Parameters:
    ///   - reason: ends a sentence that begins with "Show that you are there, to".
    ///   - outcome: of a no.
    func requirePerson(to reason: String, orElse outcome: String) throws {
        try personCheck.require(to: reason, orElse: outcome, in: store)
    }
}
