// The door for programs in Swift. Invariant: nothing here holds a key or opens a vault: the agent's process does, and this asks it.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWire

/// A store that the agent has unlocked, open for requests.
///
/// ```swift
/// let session = try CoffretSession.open()
/// for item in try session.items(tags: ["recipes"]).items { print(item.title) }
/// ```
///
/// A session is a process of the agent that has the store open. It ends when the store locks; then each call throws
/// `CoffretError.ended`, and another session can be opened once the store is unlocked. Where a TPM is at hand, a session that nobody
/// uses for 20 s ends by itself, and the next call opens another one without the caller's doing.
///
/// Names of items are ids, beginnings of ids (at least four digits), titles, or beginnings of titles. Nothing is guessed: a name that fits
/// several things throws `core.item.ambiguous` with the candidates.
///
/// - Complexity: each call is one request to another process, below a millisecond for small answers.
/// - Concurrency: one call at a time.
public final class CoffretSession {
    private let client: SessionClient

    private init(_ client: SessionClient) { self.client = client }

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - store: the store's folder; nil for the one that `coffret` would use.
    ///   - token: the secret of a token (`coffret token new`), which narrows the session down; nil for a session that may ask for
    ///     everything.
    /// - Throws: `CoffretError`: `.noAgent`, `.locked`, `token.invalid`, `token.expired`.
    public static func open(store: String? = nil, token: String? = nil) throws(CoffretError) -> CoffretSession {
        let environment = ProcessEnvironment()
        let named =
            store ?? environment.value(.store)
            ?? environment.baseDirectory(.dataHome, below: ".local/share").map { $0 + "/coffret" }
        // A program in a container does not see the store.
        guard let named, let path = AgentLocation.canonical(named) ?? (token == nil ? nil : named) else {
            throw CoffretError(
                code: "cli.store.missing", message: "there is no store", hint: "coffret init makes one")
        }
        let client = try inKit { try SessionClient.open(environment, store: path, token: token) }
        guard let client else {
            throw CoffretError(code: CoffretError.noAgent, message: "no agent runs", hint: "coffret unlock starts one")
        }
        return CoffretSession(client)
    }

    /// Refuses core dumps and inspection of this process by others of the same user, and makes new files private. For a program that
    /// handles secrets: to be called first.
    public static func hardenProcess() { ProcessHardening.apply() }

    // MARK: Reading

    /// The vaults of the store, by name.
    public func vaults() throws(CoffretError) -> [Vault] {
        try ask(VaultList()).vaults.map { Vault(message: $0) }
    }

    /// A list of items, last changed first.
    ///
    /// - Parameters:
    ///   - vault: name or id; nil for all vaults.
    ///   - tags: the items have each of these, or one below it.
    ///   - kind: such as `note` or `login`; nil for all.
    ///   - limit: at most so many.
    ///   - offset: so many of the list are passed over.
    public func items(
        vault: String? = nil, tags: [String] = [], kind: String? = nil, limit: Int = 1_000, offset: Int = 0
    ) throws(CoffretError) -> ItemPage {
        var request = ItemList()
        (request.vault, request.kind, request.limit, request.offset) = (vault, kind, limit, offset)
        if !tags.isEmpty { request.tags = tags }
        let answer = try ask(request)
        return ItemPage(items: answer.items.map { ItemSummary(message: $0) }, totalCount: answer.total)
    }

    /// Finds items by words, best first. The last word may be a beginning.
    ///
    /// - Parameter query: words, `"phrases"`, `tag:`, `type:`, `in:`, as `coffret search` takes them.
    public func search(_ query: String, vault: String? = nil, limit: Int = 20) throws(CoffretError) -> ItemPage {
        var request = ItemSearch()
        (request.query, request.vault, request.limit) = (query, vault, limit)
        let answer = try ask(request)
        return ItemPage(items: answer.hits.map { ItemSummary(message: $0) }, totalCount: answer.total)
    }

    /// An item with its contents.
    ///
    /// - Parameters:
    ///   - revealsSecrets: whether values of secret fields are given; they are in this process's memory from then on.
    ///   - version: an earlier version, as `history` names it; nil for the present one.
    /// - Throws: `CoffretError`: `core.item.not-found`, `core.item.ambiguous`, `core.note.locked`, `core.note.hidden`.
    public func item(
        _ name: String, vault: String? = nil, revealsSecrets: Bool = false, version: String? = nil
    ) throws(CoffretError) -> Item {
        var request = ItemRead()
        (request.item, request.vault, request.revealsSecrets) = (name, vault, revealsSecrets)
        request.version = version
        return Item(message: try ask(request))
    }

    /// The one-time code of an item, and for how many seconds it is valid; nil for one that is counted.
    public func oneTimeCode(
        of name: String, vault: String? = nil
    ) throws(CoffretError) -> (code: String, remainingSeconds: Int?) {
        var request = CodeRead()
        (request.item, request.vault) = (name, vault)
        let answer = try ask(request)
        return (answer.code, answer.remainingSeconds)
    }

    /// The tags of a vault, by path, and how many items have each.
    ///
    /// - Parameter vault: nil for the default vault.
    public func tags(vault: String? = nil) throws(CoffretError) -> [(path: String, itemCount: Int)] {
        var request = TagList()
        request.vault = vault
        return try ask(request).tags.map { ($0.tag, $0.count) }
    }

    // MARK: Writing

    /// Makes an item, as one change.
    ///
    /// - Parameter vault: nil for the default vault.
    /// - Returns: the item as it was saved.
    @discardableResult
    public func create(_ draft: ItemDraft, vault: String? = nil) throws(CoffretError) -> Item {
        var request = draft.request
        request.vault = vault
        return Item(message: try ask(request))
    }

    /// Changes an item, as one change. What the edit leaves out stays as it is.
    ///
    /// - Returns: the item as it is now, and whether anything was written.
    @discardableResult
    public func edit(
        _ name: String, vault: String? = nil, _ edit: ItemEdit
    ) throws(CoffretError) -> (item: Item, isChanged: Bool) {
        var request = edit.request
        (request.item, request.vault) = (name, vault)
        let answer = try ask(request)
        return (Item(message: answer.item), answer.isChanged)
    }

    /// Gives an item tags and takes others away, as one change.
    @discardableResult
    public func changeTags(
        of name: String, vault: String? = nil, add: [String] = [], remove: [String] = []
    ) throws(CoffretError) -> Item {
        var request = TagChange()
        (request.item, request.vault, request.add, request.remove) = (name, vault, add, remove)
        return Item(message: try ask(request).item)
    }

    /// Moves items of one vault to the trash, as one change.
    ///
    /// - Returns: their ids.
    @discardableResult
    public func trash(_ names: [String], vault: String? = nil) throws(CoffretError) -> [String] {
        var request = ItemTrash()
        (request.items, request.vault) = (names, vault)
        return try ask(request).trashed
    }

    // MARK: Long work

    /// Reads and verifies everything in a vault, or in all.
    ///
    /// - Parameter progress: is told how far the work is; false cancels it, and the call throws `CoffretError.cancelled`.
    /// - Returns: codes and places of all that is wrong, at most a hundred of each vault; empty if nothing is.
    public func verify(
        vault: String? = nil, progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> [(code: String, place: String?)] {
        var request = VaultVerify()
        request.vault = vault
        let answer = try ask(request, progress: progress)
        return answer.vaults.flatMap { $0.problems.map { ($0.code, $0.place) } }
    }

    func ask<Request: StoreOperation>(
        _ request: Request, bringing descriptor: Int32? = nil, progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> Request.Answer {
        let descriptors = descriptor.map { [$0] } ?? []
        return try inKit {
            guard let progress else { return try client.perform(request, descriptors: descriptors) }
            var isCancelled = false
            return try client.perform(request, descriptors: descriptors) { message in
                if isCancelled || progress(Progress(message: message)) { return }
                isCancelled = true
                try self.client.cancel()
            }
        }
    }
}

/// Runs `body`, and turns its errors into this library's.
private func inKit<Result>(_ body: () throws -> Result) throws(CoffretError) -> Result {
    do {
        return try body()
    } catch {
        throw CoffretError(error)
    }
}
