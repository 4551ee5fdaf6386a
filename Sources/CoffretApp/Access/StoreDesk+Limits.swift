// A desk with limits. Invariant: what lies outside of them is refused as what is not there, in the same words; so nothing tells
// the two apart but time.

internal import CoffretBase
internal import CoffretCore
package import CoffretKeys
internal import CoffretStorage
internal import CoffretWire

extension StoreDesk {
    /// The vaults that the session may know of, by name.
    package var vaultRecords: [VaultRecord] { get throws { try store.vaults.filter(admits) } }

    /// - Returns: nil where nothing is limited to tags.
    func itemsWithin(_ vault: Vault) throws -> [ItemSummary]? {
        guard grant.tags != nil else { return nil }
        // A reader of a list does not wait for an index.
        let page =
            try vault.isIndexFarOff()
            ? vault.pageByReading(.everything, limit: .max) : vault.page(.everything, limit: .max)
        return page.items.filter(grant.admits)
    }

    func resolve(_ reference: String, in vault: Vault) throws -> EntityID {
        guard let items = try itemsWithin(vault) else { return try vault.resolve(reference) }
        return try vault.resolve(reference, among: items)
    }

    /// The items of `found` that the session may see.
    func within(_ found: [ItemSummary]) -> [ItemSummary] { found.filter(grant.admits) }

    /// Reads values behind references, within the limits of the session.
    func secretResolver() -> SecretResolver {
        let guests = guests
        return SecretResolver(
            store: store, admits: admits, needsWholeIDs: { try !guests.allows($0, for: .run) }
        ) { vault in
            try self.itemsWithin(vault).map { Set($0.map(\.id)) }
        }
    }

    /// The part of a list that the session may see.
    func within(_ listing: ItemPage, of vault: Vault) throws -> ItemPage {
        guard let items = try itemsWithin(vault) else { return listing }
        // The present decides, also on the past: an item is in or out as a whole.
        let ids = Set(items.map(\.id))
        let rows = listing.items.filter { ids.contains($0.id) }
        return ItemPage(items: rows, totalCount: rows.count)
    }

    /// The tags of items that the session may see, by path.
    func tags(in vault: Vault) throws -> [TagUse] {
        guard let items = try itemsWithin(vault) else { return try vault.tags() }
        var uses: [String: (path: String, count: Int)] = [:]
        for item in items where !item.isTrashed {
            for tag in item.tags { uses[(try? TagPath(tag))?.folded ?? tag, default: (tag, 0)].count += 1 }
        }
        return uses.sorted { $0.key < $1.key }.map { TagUse(path: $0.value.path, itemCount: $0.value.count) }
    }

    /// Refuses an item that the session itself could not see.
    func requireWithin(_ draft: ItemDraft) throws {
        guard grant.tags != nil else { return }
        let tags = draft.tags + MarkdownScan(draft.text).tags.map(\.tag)
        guard grant.admits(tags: tags) else { throw OperationError(.notAllowed, at: "tags") }
    }
}
