// An open vault, for the commands that work with items. The one thing to keep true: the writer's lock is
// taken when something is to be written and not before, so that an open editor or a question keeps
// nobody waiting.

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
    /// The vault's id in hex; nil for the one that is wanted.
    let reference: String?

    private init(store: StoreSession, reference: String?, context: CommandContext) throws {
        self.store = store
        self.reference = reference
        self.context = context
        vault = try store.openVault(reference, isWritable: false)
        IndexProgress.observe(vault, context)
    }

    /// Opens the vault that was named, else the one that holds the item which was named, else the default.
    static func open(_ context: CommandContext) throws -> VaultSession {
        let store = try StoreSession.open(context, with: .passphrase)
        let session = try VaultSession(store: store, reference: try holder(in: store, context), context: context)
        try BrokenSchemes.replace(session, context)
        return session
    }

    /// Every vault by itself, the default first, where several are there and none was named; otherwise the one of `open`.
    static func openAll(_ context: CommandContext) throws -> [VaultSession] {
        let store = try StoreSession.open(context, with: .passphrase)
        let references = try store.unnamedVaults?.map(\.vaultID.hex)
        let sessions =
            try references?.map { try VaultSession(store: store, reference: $0, context: context) }
            ?? [VaultSession(store: store, reference: nil, context: context)]
        for session in sessions { try BrokenSchemes.replace(session, context) }
        return sessions
    }

    /// Every vault of the store, whatever is the default.
    static func openEvery(_ context: CommandContext) throws -> [VaultSession] {
        let store = try StoreSession.open(context, with: .passphrase)
        let sessions = try store.store.vaults.map {
            try VaultSession(store: store, reference: $0.vaultID.hex, context: context)
        }
        for session in sessions { try BrokenSchemes.replace(session, context) }
        return sessions
    }

    /// The vault that holds the item of the command line; nil if only one can be meant, or none has it.
    ///
    /// - Throws: `CoreError.itemAmbiguous` with the vaults if several hold such an item: nothing is guessed (R34).
    private static func holder(in store: StoreSession, _ context: CommandContext) throws -> String? {
        guard let item = context.arguments.values(CommonArguments.items).first, let records = try store.unnamedVaults
        else { return nil }
        var holders: [String] = []
        var candidates: [CoreError.Candidate] = []
        for record in records {
            let vault = try store.openVault(record.vaultID.hex, isWritable: false)
            do throws(CoreError) {
                let summary = ItemSummary(try vault.item(try vault.resolve(item)))
                candidates.append(CoreError.Candidate(summary, vault: record.name))
            } catch {
                guard error.code != .itemNotFound else { continue }
                guard error.code == .itemAmbiguous else { throw error }
                candidates += error.candidates.map { candidate in
                    var candidate = candidate
                    candidate.vault = record.name
                    return candidate
                }
            }
            holders.append(record.vaultID.hex)
        }
        guard holders.count > 1 else { return holders.first }
        throw CoreError(.itemAmbiguous, at: item, candidates: candidates)
    }

    /// Runs `body` with the vault open for writing; it sees the present as it is then. The lock is given
    /// back when the process ends.
    @discardableResult
    func writing<Result>(_ body: (Vault) throws -> Result) throws -> Result {
        if !vault.isWritable {
            vault = try store.openVault(reference, isWritable: true)
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
        let counts = try vault.distinguishingDigitCounts(of: ids)
        return Dictionary(
            zip(ids, counts).map { ($0, String($0.uuid.hex.prefix($1))) }, uniquingKeysWith: { first, _ in first })
    }

    /// What people call the device that made a commit.
    func deviceName(ofCommit name: BlobName) -> String {
        guard let commit = try? vault.repository.commit(named: name) else { return "another device" }
        return store.deviceName(commit.deviceID)
    }
}
