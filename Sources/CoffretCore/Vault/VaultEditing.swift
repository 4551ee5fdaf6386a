// Single changes: each a commit of its own.

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
        try batch { batch in try batch.setTrashed(id, true) }
    }

    /// Takes an item out of the trash.
    package func restoreFromTrash(_ id: EntityID) throws {
        try batch { batch in try batch.setTrashed(id, false) }
    }

    /// Pins or unpins an item.
    package func setPinned(_ id: EntityID, _ isPinned: Bool) throws {
        try batch { batch in try batch.setPinned(id, isPinned) }
    }

    /// Hides items behind the question whether somebody is there, or shows them as before. Encrypts nothing. Their words
    /// leave the search index, or come back into it.
    package func setHidden(_ ids: [EntityID], _ isHidden: Bool) throws {
        try batch { batch in
            for id in ids { try batch.setHidden(id, isHidden) }
        }
        if isHidden { try forgetWords() }
    }

    /// Archives an item or brings it back.
    package func setArchived(_ id: EntityID, _ isArchived: Bool) throws {
        try batch { batch in try batch.setArchived(id, isArchived) }
    }

    /// Removes items from the current state; the past still has them until history is compacted.
    package func deletePermanently(_ ids: [EntityID]) throws {
        try batch { batch in
            for id in ids { try batch.delete(id) }
        }
    }
}
