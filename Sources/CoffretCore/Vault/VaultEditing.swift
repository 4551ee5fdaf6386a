// Single changes: each a commit of its own.

package import CoffretBase
package import CoffretStorage

extension Vault {
    /// Makes an item.
    package func create(_ draft: ItemDraft) throws -> EntityID {
        try batch { batch in try batch.create(draft) }
    }

    /// Changes an item; see `VaultBatch.update`.
    ///
    /// - Returns: whether anything changed.
    @discardableResult
    package func update(
        _ id: EntityID, _ edit: (inout Item) throws -> Void
    ) throws -> Bool {
        try batch { batch in try batch.update(id, edit) }
    }

    /// Moves an item to the trash.
    package func trash(_ id: EntityID) throws {
        try batch { batch in try batch.set(.trashed, of: id, to: true) }
    }

    /// Takes an item out of the trash.
    package func restoreFromTrash(_ id: EntityID) throws {
        try batch { batch in try batch.set(.trashed, of: id, to: false) }
    }

    /// Sets a flag of an item, or takes it off.
    package func set(_ flag: Flag, of id: EntityID, to isSet: Bool) throws {
        try batch { batch in try batch.set(flag, of: id, to: isSet) }
    }

    /// Hides items behind the question whether somebody is there, or shows them as before. Encrypts nothing. Their words
    /// leave the search index, or come back into it.
    package func setHidden(_ ids: [EntityID], _ isHidden: Bool) throws {
        try batch { batch in
            for id in ids { try batch.setHidden(id, isHidden) }
        }
        if isHidden { try forgetWords() }
    }

    /// Removes items from the current state; the past still has them until history is compacted.
    package func deletePermanently(_ ids: [EntityID]) throws {
        try batch { batch in
            for id in ids { try batch.delete(id) }
        }
    }
}
