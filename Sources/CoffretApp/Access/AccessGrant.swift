// The limits of a session. Invariant: a grant only ever takes away; one that says nothing of an operation refuses it.

package import CoffretCore
package import CoffretCrypto
internal import CoffretKeys
package import CoffretWire

/// The operations, vaults and items that a session may reach.
package struct AccessGrant: Equatable, Sendable {
    /// Operations that need this access or less are allowed.
    package var access: OperationAccess
    /// Operations that are allowed beside those.
    package var operations: Set<String> = []
    /// Nil for all.
    package var vaults: Set<VaultID>?
    /// Items with one of these tags, or with one below it; nil for all.
    package var tags: [TagPath]?

    /// What a person has, and a program without a token.
    package static let everything = AccessGrant(access: .control)

    package init(access: OperationAccess) { self.access = access }

    /// Operations that keep to the vaults and tags of a grant. Any other is refused where there are such limits, so that a new one
    /// shows nothing before somebody has looked at it.
    static let limitedOperations: Set<String> = [
        Hello.name, VaultList.name, ItemList.name, ItemSearch.name, ItemRead.name, ItemCreate.name, ItemEdit.name,
        ItemFlag.name, ItemTrash.name, ItemRestore.name, ItemRemove.name, ItemHistory.name, ItemCompare.name,
        ConflictList.name, ConflictRead.name, ConflictSettle.name, LinkList.name, LinkAdd.name, TagList.name,
        TagChange.name, FileList.name, FileAdd.name, FileRead.name, FileRename.name, FileRemove.name, CodeRead.name,
        ReferenceRead.name, FieldRead.name, NameList.name, LoginMatch.name,
        PasswordAudit.name,
    ]
    /// Operations on all of a vault: they keep to vaults, and are refused where tags are limited. The shortest id of an item tells of
    /// those with a similar one.
    static let vaultOperations: Set<String> = [TagRename.name, ImportRun.name, ExportRun.name, ItemLabel.name]

    package func allows(_ operation: any StoreOperation.Type) -> Bool {
        if operation.access == .none { return true }
        if operation.access == .control { return access == .control }
        if vaults != nil || tags != nil, !Self.limitedOperations.contains(operation.name) {
            guard tags == nil, Self.vaultOperations.contains(operation.name) else { return false }
        }
        return operation.access <= access || operations.contains(operation.name)
    }

    func admits(_ vault: VaultRecord) -> Bool { vaults?.contains(vault.vaultID) ?? true }

    /// - Parameter own: all tags of an item.
    func admits(tags own: [TagPath]) -> Bool {
        guard let tags else { return true }
        return own.contains { tag in tags.contains { tag.isInside($0) } }
    }

    func admits(_ item: ItemSummary) -> Bool {
        tags == nil || admits(tags: item.tags.compactMap { try? TagPath($0) })
    }
}
