// Checkpoints of vaults that nobody else has. Invariant: the chains are durable before the vault rests on a link.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage

extension Store {
    /// Writes a checkpoint into the member chain of a local vault, with a root.
    ///
    /// - Parameters:
    ///   - purges: entities whose entries go for good.
    ///   - frontier: what it accepts; nil: all.
    /// - Returns: the number of the link.
    /// - Throws: `CoreError.historyKept` where none can be written.
    func writeCheckpoint(
        in vault: VaultID, _ repository: LogRepository, purges: [EntityID] = [], upTo frontier: Frontier? = nil
    ) throws -> Int {
        var chains = try followedChains(of: vault)
        let keys = try inKeys(StoreLogKeyring(keyring, vault))
        let now = environment.clock.now
        try inStorage { () throws(StorageError) in
            try repository.follow(chains.vaultChains)
            try repository.settle(now: now)
        }
        guard let writer = LinkWriter(repository: repository, chains: chains, keys: keys),
            let due = try writer.due(asked: true, now: now)
        else { throw CoreError(.storage, at: "checkpoint") }
        let made = try writer.draft(
            due, purges: purges, upTo: frontier, isAlone: true, hasUnreadable: false, cursor: nil, now: now)
        if case .failure(let obstacle)? = made { throw CoreError(.historyKept, at: obstacle.name) }
        guard case .success(let draft)? = made, draft.root != nil else {
            throw CoreError(.historyKept, at: "checkpoint")
        }
        do throws(FollowFailure) { try chains.takeOwn(link: draft.link, keys: keys) } catch {
            throw CoreError(.storage, at: "checkpoint", cause: error)
        }
        try keep(chains)
        try inStorage(repository.takeOwn(chains.vaultChains, isRoot: true))
        return chains.links.count - 1
    }
}
