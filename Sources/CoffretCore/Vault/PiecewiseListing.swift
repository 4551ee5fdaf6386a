// Long lists, piece by piece. Invariant: the first piece costs what it holds, and no item comes twice.

internal import CoffretBase
internal import CoffretSearch
package import CoffretStorage

/// A list of items whose beginning is there at once.
package final class PiecewiseListing {
    /// How many items there are in all, as many as are given or more.
    package let totalCount: Int
    private let vault: Vault
    private let filter: ItemFilter
    private let order: ItemOrder
    private let limit: Int
    /// Nil where items are read.
    private var documents: DocumentListing?
    private var read: ArraySlice<ItemSummary>

    fileprivate init(
        _ vault: Vault, _ filter: ItemFilter, _ order: ItemOrder, limit: Int, documents: DocumentListing?,
        read: [ItemSummary]
    ) {
        self.vault = vault
        self.filter = filter
        self.order = order
        self.limit = limit
        self.documents = documents
        self.read = read.prefix(limit)
        totalCount = documents?.totalCount ?? read.count
    }

    /// The next items, `count` at most; none at the end.
    ///
    /// An index that is found damaged on the way is left alone, and the rest comes from the items themselves.
    package func next(_ count: Int) throws -> [ItemSummary] {
        while let documents {
            do throws(SearchError) {
                let found = try documents.next(count)
                let items = found.compactMap(ItemSummary.init)
                if !items.isEmpty || found.isEmpty { return items }
            } catch {
                guard error.code.isAboutIndex else { throw CoreError(.search, at: error.code.rawValue, cause: error) }
                vault.indexer?.willRead?(error)
                let all = try vault.pageByReading(filter, order: order, limit: .max).items
                let rest = all.filter { !documents.hasGiven($0.id.bytes) }
                read = rest.prefix(limit - min(limit, all.count - rest.count))
                self.documents = nil
            }
        }
        defer { read = read.dropFirst(count) }
        return Array(read.prefix(count))
    }
}

extension Vault {
    /// The items that a filter admits, in an order, to be taken piece by piece.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - isReading: whether the items themselves are read, for who does not want to wait for an index.
    /// - Complexity: with an index, sorts what it holds in memory of all items.
    package func listing(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified, limit: Int = .max, isReading: Bool = false
    ) throws -> PiecewiseListing {
        let documents =
            isReading
            ? nil
            : try fromIndex { index in
                try inSearch(index.listing(ListFilter(filter), order: ListOrder(order), limit: limit))
            }
        let read = documents == nil ? try pageByReading(filter, order: order, limit: .max).items : []
        return PiecewiseListing(self, filter, order, limit: limit, documents: documents, read: read)
    }

    /// The shortest beginning of an item's id, in hex digits, that names no other item; at least four digits.
    package func shortID(_ id: EntityID) throws -> String {
        String(id.uuid.hex.prefix(try present.distinguishingDigitCount(of: id)))
    }

    /// Short ids for a list of items.
    ///
    /// - Complexity: two look-ups for each in the index; where there is none, a walk through all items for many ids.
    package func shortIDs(_ ids: [EntityID]) throws -> [EntityID: String] {
        var counts: [Int]?
        if ids.count > 1, try !isSmall(), try !isIndexFarOff() {
            counts = try fromIndex { index in
                try inSearch(index.distinguishingDigitCounts(of: ids.map(\.bytes)))
            }
        }
        if counts == nil { counts = try present.distinguishingDigitCounts(of: ids) }
        var result: [EntityID: String] = [:]
        for (id, count) in zip(ids, counts ?? []) {
            result[id] = String(id.uuid.hex.prefix(max(count, ReferenceResolver.digitCountMin)))
        }
        return result
    }
}

extension ListFilter {
    init(_ filter: ItemFilter) {
        self.init()
        kinds = filter.kinds.map { Set($0.map(\.rawValue)) }
        tags = filter.tags.map(\.folded)
        flags = filter.flags
        hasConflicts = filter.hasConflicts
    }
}

extension ListOrder {
    init(_ order: ItemOrder) {
        switch order {
        case .modified: self = .pinnedFirst
        case .created: self = .created
        case .title: self = .title
        }
    }
}
