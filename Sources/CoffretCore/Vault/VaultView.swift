// The whole vault at one moment, read-only. Serves the past, where no index reaches, and direct reads of the
// present; everything here works by reading facts.

internal import CoffretBase
internal import CoffretHistory
package import CoffretLogs
internal import CoffretSearch
package import CoffretStorage

/// One state of a vault.
package struct VaultView {
    let reader: SnapshotReader
    /// Nil for a view with all contents.
    var hidden: HiddenItems?

    /// The state of facts behind the view.
    package var snapshot: LogSnapshot { reader.snapshot }

    /// What several concurrent texts show in this state; nil: nothing that can be read.
    package func shownText(under key: FactKey, of facts: [Fact]) throws(StorageError) -> [UInt8]? {
        do { return try reader.text(key, facts).text } catch {
            throw ((error as? CoreError)?.cause as? StorageError)
                ?? StorageError(.factMalformedValue, place: key.description, cause: error)
        }
    }

    /// The item with an id; nil if it did not exist then.
    package func item(_ id: EntityID) throws -> Item? {
        guard let item = try reader.item(id) else { return nil }
        return try hidden?.veil(item) ?? item
    }

    /// Goes through all items, kind by kind, in the order of their ids.
    ///
    /// - Complexity: reads every fact of every item.
    package func forEachItem(_ body: (Item) throws -> Void) throws {
        try reader.forEachItem { item in try body(hidden?.veil(item) ?? item) }
    }

    /// The items that a filter admits, in an order.
    ///
    /// - Complexity: reads every fact of every item.
    package func list(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified
    ) throws -> [ItemSummary] {
        var summaries: [ItemSummary] = []
        try forEachItem { item in
            let summary = ItemSummary(item)
            if filter.admits(summary) { summaries.append(summary) }
        }
        return summaries.sorted { order.isBefore($0, $1) }
    }

    /// The item that a reference names, as `ReferenceResolver` describes.
    ///
    /// - Throws: `CoreError` `.itemNotFound`, `.itemAmbiguous` with the candidates (R34).
    package func resolve(_ reference: String) throws -> EntityID {
        let resolver = ReferenceResolver(reference)
        if let id = try resolver.resolveByID(in: reader) { return id }
        return try resolver.resolveByTitle(among: list(.everything))
    }

    /// For each id, how many of its hex digits no other item's id begins with; at least four.
    ///
    /// - Complexity: a few range reads for each; for many, a walk through the ids of all items.
    func distinguishingDigitCounts(of ids: [EntityID]) throws -> [Int] {
        guard ids.count > Self.lookedUpCountMax else {
            var counts: [Int] = []
            for id in ids { counts.append(try distinguishingDigitCount(of: id)) }
            return counts
        }
        let sorted = try reader.itemUUIDs().sorted()
        return ids.map { id in
            let place = partitionPoint(sorted.count) { sorted[$0] < id.uuid }
            let neighbours = [place - 1, place + 1].filter(sorted.indices.contains).map { sorted[$0].bytes }
            let shared = neighbours.map { HexDigits.sharedCount($0, id.uuid.bytes) }.max() ?? 0
            return max(shared + 1, ReferenceResolver.digitCountMin)
        }
    }

    private static var lookedUpCountMax: Int { 256 }

    /// How many hex digits of an item's id no other item's id begins with; at least four.
    ///
    /// - Complexity: a few range reads; no index.
    package func distinguishingDigitCount(of id: EntityID) throws -> Int {
        let digits = id.uuid.bytes.flatMap { [$0 >> 4, $0 & 15] }
        var count = ReferenceResolver.digitCountMin
        while count < digits.count, try reader.itemIDs(beginningWith: Array(digits[..<count]), countMax: 2).count > 1 {
            count += 1
        }
        return count
    }
}
