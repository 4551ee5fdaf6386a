// An open vault, for the commands that work with items. The one thing to keep true: the writer's lock is
// taken when something is to be written and not before, so that an open editor or a question keeps
// nobody waiting.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretSync

/// The vault that a command works with.
final class VaultSession {
    let store: StoreSession
    /// Open for reading until the first `writing`.
    private(set) var vault: Vault
    let context: CommandContext

    private init(store: StoreSession, vault: Vault, context: CommandContext) {
        self.store = store
        self.vault = vault
        self.context = context
        IndexProgress.observe(vault, context)
    }

    static func open(_ context: CommandContext) throws -> VaultSession {
        let store = try StoreSession.open(context, with: .passphrase)
        let session = VaultSession(store: store, vault: try store.openVault(isWritable: false), context: context)
        try BrokenSchemes.replace(session, context)
        return session
    }

    /// Runs `body` with the vault open for writing; it sees the present as it is then. The lock is given
    /// back when the process ends.
    @discardableResult
    func writing<Result>(_ body: (Vault) throws -> Result) throws -> Result {
        if !vault.isWritable {
            vault = try store.openVault(isWritable: true)
            IndexProgress.observe(vault, context)
        }
        return try body(vault)
    }

    /// The same, with the lock given back at once.
    func writingOnce(_ body: (Vault) throws -> Void) throws {
        if vault.isWritable { return try body(vault) }
        let vault = try store.openVault(isWritable: true)
        defer { vault.close() }
        try body(vault)
    }

    /// How an empty vault is spoken of. On a device that was just paired it lies at the server still.
    var emptyWords: String {
        get throws {
            let standing = try store.store.standing(of: vault)
            return standing.head == nil && standing.serverHead != nil
                ? "Nothing of this vault is here yet: coffret sync brings it." : "The vault is empty."
        }
    }

    /// The shortest beginning of an item's id that names no other item; at least four digits.
    func shortID(_ id: EntityID) throws -> String {
        try shortIDs([id])[id] ?? id.uuid.hex
    }

    /// Short ids for a list of items.
    func shortIDs(_ ids: [EntityID]) throws -> [EntityID: String] {
        let view = try vault.present
        var result: [EntityID: String] = [:]
        for id in ids { result[id] = String(id.uuid.hex.prefix(try view.distinguishingDigitCount(of: id))) }
        return result
    }

    /// What people call the device that made a commit.
    func deviceName(ofCommit name: BlobName) -> String {
        guard let commit = try? vault.repository.commit(named: name) else { return "another device" }
        return store.deviceName(commit.deviceID)
    }
}
