// A vault as people use it. The one thing to keep true: every change goes through one commit of the repository,
// and nothing that is derived, such as the index, is ever the only place where something stands.

package import CoffretBase
package import CoffretStorage

/// Items, their history and how to find them, over one repository.
///
/// Opening reads nothing beyond what the repository's opening reads. Not Sendable: one isolation domain at a time.
package final class Vault {
    /// Who the vault is and what people call it.
    package let name: String
    /// The facts below; import and export read and write them directly where items do not say enough.
    package let repository: VaultRepository

    let clock: any WallClock
    let random: any RandomSource

    /// - Parameter repository: open, for reading or for writing.
    package init(name: String, repository: VaultRepository, clock: any WallClock, random: any RandomSource) {
        self.name = name
        self.repository = repository
        self.clock = clock
        self.random = random
    }

    /// Whether the vault may be changed.
    package var isWritable: Bool { repository.isWritable }

    /// Gives the writer's lock back; the vault is not to be used any more.
    package func close() {
        repository.close()
    }

    /// Everything as it stands now.
    package var present: VaultView {
        get throws(CoreError) {
            let snapshot = try inStorage { () throws(StorageError) in try repository.present }
            return VaultView(reader: SnapshotReader(snapshot: snapshot))
        }
    }

    /// The item with an id, trashed or not.
    ///
    /// - Throws: `CoreError.itemNotFound` if there is none.
    package func item(_ id: EntityID) throws(CoreError) -> Item {
        guard let item = try present.item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        return item
    }

    /// The items that a filter admits, in an order.
    package func list(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified
    ) throws(CoreError) -> [ItemSummary] {
        try present.list(filter, order: order)
    }

    /// The item that a reference names; see `ReferenceResolver`.
    ///
    /// - Throws: `CoreError` `.itemNotFound`, `.itemAmbiguous` with the candidates (R34).
    package func resolve(_ reference: String) throws(CoreError) -> EntityID {
        try present.resolve(reference)
    }

    /// Writes changes as one commit; none at all if there are none.
    ///
    /// - Returns: the commit, or nil if nothing changed.
    @discardableResult
    func commit(_ changes: [FactChange]) throws(CoreError) -> BlobName? {
        guard !changes.isEmpty else { return nil }
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        return try inStorage { () throws(StorageError) in
            try repository.commit(changes, time: clock.now).name
        }
    }
}
