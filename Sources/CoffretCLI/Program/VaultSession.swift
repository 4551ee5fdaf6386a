// An open vault, for the commands that work with items. The one thing to keep true: the writer's lock is
// taken when something is to be written and not before, so that an open editor or a question keeps
// nobody waiting.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTrust

/// The vault that a command works with.
final class VaultSession {
    let store: StoreSession
    /// Open for reading until the first `writing`.
    private(set) var vault: Vault
    let context: CommandContext
    let record: VaultRecord

    init(_ store: StoreSession, _ record: VaultRecord, _ vault: Vault) {
        self.store = store
        self.record = record
        self.vault = vault
        context = store.context
    }

    private convenience init(_ store: StoreSession, _ record: VaultRecord) throws {
        self.init(store, record, try store.desk.vault(record))
    }

    /// Opens the vault that was named, else the one that holds the item which was named, else the default.
    static func open(_ context: CommandContext) throws -> VaultSession {
        let store = try StoreSession.open(context, with: .passphrase)
        return try VaultSession(store, wanted(in: store, context))
    }

    /// The vault that was named, else every vault by itself, the default first.
    static func openAll(_ context: CommandContext) throws -> [VaultSession] {
        let store = try StoreSession.open(context, with: .passphrase)
        return try store.desk.records(store.namedVault).map { try VaultSession(store, $0) }
    }

    private static func wanted(in store: StoreSession, _ context: CommandContext) throws -> VaultRecord {
        guard store.namedVault == nil, let item = context.arguments.values(CommonArguments.items).first,
            try store.store.vaults.count > 1
        else { return try store.desk.record(store.namedVault) }
        do {
            return try store.find(item).record
        } catch let error as CoreError where error.code == .itemNotFound {
            return try store.desk.defaultVault
        }
    }

    /// Runs `body` with the vault open for writing; it sees the present as it is then. The lock is given
    /// back when the process ends.
    @discardableResult
    func writing<Result>(_ body: (Vault) throws -> Result) throws -> Result {
        if !vault.isWritable {
            vault = try store.desk.surroundings.openVault(store.store, record, true)
        }
        return try body(vault)
    }

    /// The shortest beginning of an item's id that names no other item; at least four digits.
    func shortID(_ id: EntityID) throws -> String { try vault.shortID(id) }

    /// Short ids for a list of items.
    func shortIDs(_ ids: [EntityID]) throws -> [EntityID: String] { try vault.shortIDs(ids) }
}
