// Values that devices wrote at the same time, found and settled. Invariant: settling writes one value anew, which
// supersedes the others; the history still has them.

package import CoffretBase
internal import CoffretHistory
package import CoffretLogs
internal import CoffretSearch
package import CoffretStorage

/// Which of several values a person wants.
package enum ConflictChoice: Equatable, Sendable {
    /// The value that is shown now.
    case shown
    /// The other value of a conflict, by its place in the item's conflicts.
    case other(Int)
    /// Of texts: all of them, one below the other. Other attributes keep what is shown.
    case all
}

extension Vault {
    /// More items than these are not read one by one.
    private static let readItemCountMax = 1_000

    /// The items with conflicts, in the order of their ids.
    ///
    /// - Complexity: reads those items, which the index knows; where there is none yet, walks all facts.
    package func conflictedItems() throws -> [Item] {
        let view = try present
        var filter = ItemFilter.everything
        filter.hasConflicts = true
        let known =
            try isIndexUnmade()
            ? nil
            : try fromIndex { index in
                try inSearch(index.list(ListFilter(filter)).documents)
                    .compactMap { EntityID(bytes: $0.entity) }
            }
        if let known { return try items(known.sorted(), view) }
        var entities: [EntityID] = []
        var last: FactKey?
        try inStorage(
            view.snapshot.forEachFact { (fact) throws(StorageError) in
                if fact.key == last, entities.last != fact.key.entity { entities.append(fact.key.entity) }
                last = fact.key
            })
        return try items(entities, view)
    }

    /// The items with conflicts among those that differ from an earlier state.
    ///
    /// - Complexity: reads what differs.
    package func conflictedItems(since mark: StateMark) throws -> [Item] {
        guard !mark.isEmpty, let changed = try changedItems(since: mark), changed.count <= Self.readItemCountMax else {
            return try conflictedItems()
        }
        return try items(changed.sorted(), present)
    }

    /// Which device wrote the other value, and when by its clock; nil where the entry is gone.
    package func origin(of conflict: ItemConflict) throws -> (device: [UInt8], time: Milliseconds)? {
        try inStorage(repository.entry(at: conflict.dot)).map { ($0.context.deviceID.bytes, $0.body.time) }
    }

    /// The items with values between which a person has to choose: not all concurrent values contradict each other.
    private func items(_ entities: [EntityID], _ view: VaultView) throws -> [Item] {
        var items: [Item] = []
        for entity in entities {
            if let item = try view.item(entity), !item.conflicts.isEmpty { items.append(item) }
        }
        return items
    }

    /// Settles the conflicts of an item as one entry.
    ///
    /// - Parameter attribute: settles this one only; nil for all.
    /// - Returns: how many attributes were settled; 0 changes nothing.
    /// - Throws: `CoreError.itemNotFound`, `.fieldNotFound` if `attribute` has no conflict or `.other` names none.
    package func settleConflicts(
        of id: EntityID, attribute: String? = nil, choice: ConflictChoice
    ) throws -> Int {
        try batch { batch in
            let view = try whole
            guard let item = try view.item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
            let conflicts = item.conflicts.filter { attribute == nil || $0.attribute == attribute }
            if let attribute, conflicts.isEmpty { throw CoreError(.fieldNotFound, at: attribute) }
            var chosen: ItemConflict?
            if case .other(let index) = choice {
                guard item.conflicts.indices.contains(index), conflicts.contains(item.conflicts[index]) else {
                    throw CoreError(.fieldNotFound, at: "\(index + 1)")
                }
                chosen = item.conflicts[index]
            }
            // One value is chosen for its own attribute only.
            let names = chosen.map { [$0.attribute] } ?? Set(conflicts.map(\.attribute)).sorted()
            var changes: [LogChange] = []
            for name in names {
                guard let named = Attribute(name) else { continue }
                let key = FactKey(entity: id, attribute: named)
                changes.append(
                    LogChange(key: key, value: try settledValue(view, key, item: item, chosen: chosen, choice)))
            }
            guard !changes.isEmpty else { return 0 }
            changes.append(
                LogChange(
                    key: FactKey(entity: id, attribute: ItemAttribute.modified),
                    value: FactValue.encode(max(batch.time, item.modified))))
            batch.write(changes)
            return names.count
        }
    }

    private func settledValue(
        _ view: VaultView, _ key: FactKey, item: Item, chosen: ItemConflict?, _ choice: ConflictChoice
    ) throws -> [UInt8] {
        let siblings = try inStorage(view.snapshot.facts(under: key))
        if choice == .all, key.attribute == ItemAttribute.text {
            let others = item.conflicts.filter { $0.attribute == key.attribute.name }.compactMap(\.otherText)
            return FactValue.encode(itemText: ([item.text] + others).map(Self.withLineEnd).joined(separator: "\n"))
        }
        let other = siblings.first { $0.dot == chosen?.dot }
        if other == nil, siblings.count > 1, ItemTexts.isText(key), let shown = try view.reader.text(key, siblings).text
        {
            return shown
        }
        let fact = other ?? siblings.winner
        guard let fact else { throw CoreError(.fieldNotFound, at: key.attribute.name) }
        return try view.reader.value(of: fact)
    }

    private static func withLineEnd(_ text: String) -> String { text.hasSuffix("\n") ? text : text + "\n" }
}
