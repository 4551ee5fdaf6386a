// Items as lists show them, and filters of lists.

package import CoffretBase
internal import CoffretSearch
package import CoffretStorage

/// An item in a list.
package struct ItemSummary: Flagged, Equatable, Sendable {
    package let id: EntityID
    package let kind: ItemKind
    package let title: String
    package let tags: [String]
    package let created: Milliseconds
    package let modified: Milliseconds
    package var flags: FlagSet
    package let hasAttachments: Bool
    package let isLocked: Bool
    /// Whether devices wrote values that contradict each other.
    package let hasConflicts: Bool

    package init(
        id: EntityID, kind: ItemKind, title: String, tags: [String], created: Milliseconds, modified: Milliseconds,
        flags: FlagSet, hasAttachments: Bool, isLocked: Bool, hasConflicts: Bool
    ) {
        self.id = id
        self.kind = kind
        self.title = title
        self.tags = tags
        self.created = created
        self.modified = modified
        self.flags = flags
        self.hasAttachments = hasAttachments
        self.isLocked = isLocked
        self.hasConflicts = hasConflicts
    }

    /// The summary of an item that was read whole.
    package init(_ item: Item) {
        self.init(
            id: item.id, kind: item.kind, title: item.visibleTitle, tags: item.visibleTags.map(\.path),
            created: item.created, modified: item.modified, flags: item.flags,
            hasAttachments: item.hasAttachments, isLocked: item.isLocked, hasConflicts: !item.conflicts.isEmpty)
    }

    /// The summary of a document of the index; nil if it is no item that this version knows.
    init?(_ document: DocumentSummary) {
        guard let id = EntityID(bytes: document.entity), let kind = ItemKind(id) else { return nil }
        self.init(
            id: id, kind: kind, title: document.title, tags: document.tags, created: document.createdMilliseconds,
            modified: document.modifiedMilliseconds, flags: document.flags, hasAttachments: document.hasAttachments,
            isLocked: document.isLocked,
            hasConflicts: document.hasConflicts)
    }
}

/// Which items a list has.
package struct ItemFilter: FlagWanting, Equatable, Sendable {
    /// Nil for all kinds.
    package var kinds: Set<ItemKind>?
    /// The item must have each of these tags, or one below it.
    package var tags: [TagPath] = []
    /// By default neither archived nor trashed items are shown.
    package var flags: [Flag: Bool] = .listed
    package var hasConflicts: Bool?

    package init() {}

    /// All items, wherever they are.
    package static var everything: ItemFilter {
        var filter = ItemFilter()
        filter.flags = [:]
        return filter
    }

    /// Whether the item belongs into the list.
    package func admits(_ item: ItemSummary) -> Bool {
        if let kinds, !kinds.contains(item.kind) { return false }
        if !admits(item.flags) { return false }
        if let hasConflicts, hasConflicts != item.hasConflicts { return false }
        let own = item.tags.compactMap { try? TagPath($0) }
        return tags.allSatisfy { wanted in own.contains { $0.isInside(wanted) } }
    }
}

/// The order of a list.
package enum ItemOrder: String, Sendable, CaseIterable {
    /// Last changed first, pinned ones before all others.
    case modified
    /// Last made first.
    case created
    /// By title, without regard to the case of letters.
    case title

    /// Whether `left` comes before `right`.
    package func isBefore(_ left: ItemSummary, _ right: ItemSummary) -> Bool {
        switch self {
        case .modified:
            if left.isPinned != right.isPinned { return left.isPinned }
            return left.modified != right.modified ? left.modified > right.modified : left.id < right.id
        case .created: return left.created != right.created ? left.created > right.created : left.id < right.id
        case .title:
            let (first, second) = (left.title.lowercased(), right.title.lowercased())
            return first != second ? first < second : left.id < right.id
        }
    }
}
