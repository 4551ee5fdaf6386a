// Operations that list and find. Invariant: one vault and several give the same form; only where there are several does an
// entry name its vault.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretSearch
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension Hello: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.version = CoffretVersion.text
        answer.operations = Operations.all.filter { desk.grant.allows($0) }.map { $0.name }
        return answer
    }
}

/// An item of a list, and where it is.
struct ListedItem {
    let item: ItemSummary
    let vault: Vault
    /// Words that were found, if this was searched for.
    let hit: ItemHit?

    init(item: ItemSummary, vault: Vault, hit: ItemHit? = nil) {
        self.item = item
        self.vault = vault
        self.hit = hit
    }
}

/// A list over one vault or several.
struct ItemListing {
    fileprivate(set) var rows: [ListedItem] = []
    fileprivate(set) var totalCount = 0
    /// In the order in which they were looked through.
    fileprivate(set) var vaults: [Vault] = []
    /// The other people who have a vault.
    fileprivate(set) var people: [VaultID: VaultOthers] = [:]
    /// Vaults that were read item by item, because they have no index yet.
    fileprivate(set) var withoutIndex: [Vault] = []

    var isOverSeveral: Bool { vaults.count > 1 }

    fileprivate mutating func add(_ vault: Vault, _ record: VaultRecord, _ readers: VaultReaders) {
        vaults.append(vault)
        people[record.vaultID] = readers.people(of: record, vault)
    }

    fileprivate func message(of row: ListedItem, snippet: String? = nil) -> SummaryMessage {
        var message = SummaryMessage(row.item, snippet: snippet, vault: isOverSeveral ? row.vault.name : nil)
        let people = people[row.vault.repository.keys.vaultID]
        (message.owner, message.people) = (people?.owner, people?.others)
        return message
    }
}

extension ItemList: PiecewiseOperation {
    private static let usualLimit = 1_000

    /// How many items are read before the first part is sent, and each time after that.
    private static let (firstCount, pieceCount) = (100, 1_000)

    package func perform(on desk: StoreDesk) throws -> Answer {
        guard let part = desk.work.part, let parts = try parts(on: desk) else {
            let listing = try listed(on: desk, limit: limit ?? Self.usualLimit)
            var answer = try Answer(listing, givesShortIDs: desk.givesShortIDs(givesShortIDs))
            let isOfNow = at == nil && version == nil
            if givesExcerpts == true, isOfNow, desk.grant.allows(ItemRead.self) { try answer.addExcerpts(of: listing) }
            return answer
        }
        var answer = Answer()
        while let next = try parts() {
            try desk.work.checkCancelled()
            try part(next)
            answer.total = next.total
        }
        return answer
    }

    package func parts(on desk: StoreDesk) throws -> (() throws -> Answer?)? {
        guard let pieces = try pieces(on: desk, limit: limit ?? Self.usualLimit) else { return nil }
        var listing = pieces.listing
        var count = Self.firstCount
        return {
            listing.rows = try pieces.next(count)
            count = Self.pieceCount
            return listing.rows.isEmpty ? nil : try Answer(listing, givesShortIDs: desk.givesShortIDs(givesShortIDs))
        }
    }

    /// - Parameter limit: at most so many rows.
    private func listed(on desk: StoreDesk, limit: Int) throws -> ItemListing {
        let (filter, order) = (try filter(), order.flatMap { ItemOrder(rawValue: $0.rawValue) } ?? .modified)
        let (limit, offset) = (max(0, limit), max(0, offset ?? 0))
        let moment = try Moment(at: at, version: version)
        let (records, readers) = (try desk.records(vault), VaultReaders(desk))
        let isWhole = records.count > 1 || desk.grant.tags != nil
        var listing = ItemListing()
        for (index, record) in records.enumerated() {
            try desk.work.step(index, of: records.count)
            let vault = try desk.vault(record)
            listing.add(vault, record, readers)
            // Of several lists, all may come from one; of a limited one, any.
            let page = try page(
                of: vault, filter, order, limit: isWhole ? .max : limit, offset: isWhole ? 0 : offset, at: moment,
                &listing.withoutIndex)
            if listing.withoutIndex.last === vault { desk.indexIsDue(record, vault) }
            let within = try desk.within(page, of: vault)
            listing.rows += within.items.map { ListedItem(item: $0, vault: vault) }
            listing.totalCount += within.totalCount
        }
        guard isWhole else { return listing }
        listing.rows.sort { order.isBefore($0.item, $1.item) }
        listing.rows = Array(listing.rows.dropFirst(offset).prefix(limit))
        return listing
    }

    /// The list as it comes; nil for the past, and for the titles of several vaults, which each index orders by itself.
    private func pieces(on desk: StoreDesk, limit: Int) throws -> Pieces? {
        guard offset == nil, givesExcerpts != true else { return nil }
        let records = try desk.records(vault)
        let order = order.flatMap { ItemOrder(rawValue: $0.rawValue) } ?? .modified
        guard at == nil, version == nil, desk.grant.tags == nil else { return nil }
        guard records.count == 1 || order != .title else { return nil }
        let (filter, limit, readers) = (try filter(), max(0, limit), VaultReaders(desk))
        var listing = ItemListing()
        var merge = ListMerge(order: order, countMax: limit)
        for record in records {
            let vault = try desk.vault(record)
            // Of many small vaults, opening each index would be most of the work.
            let isRead = try records.count > 1 && vault.isSmall()
            // A reader of a list does not wait for an index.
            let isIndexDue = try !isRead && vault.isIndexFarOff()
            let found = try vault.listing(filter, order: order, limit: limit, isReading: isRead || isIndexDue)
            listing.add(vault, record, readers)
            listing.totalCount += found.totalCount
            if isIndexDue {
                listing.withoutIndex.append(vault)
                desk.indexIsDue(record, vault)
            }
            merge.add(found, of: vault)
        }
        return Pieces(listing: listing) { count in try merge.next(count) }
    }

    /// A list that comes piece by piece.
    private struct Pieces {
        /// The list without its rows.
        let listing: ItemListing
        /// The next rows, at most so many; none at the end.
        let next: (Int) throws -> [ListedItem]
    }

    private func page(
        of vault: Vault, _ filter: ItemFilter, _ order: ItemOrder, limit: Int, offset: Int, at moment: Moment?,
        _ withoutIndex: inout [Vault]
    ) throws -> ItemPage {
        if let moment {
            let items = try vault.view(at: moment).list(filter, order: order)
            return ItemPage(items: Array(items.dropFirst(offset).prefix(limit)), totalCount: items.count)
        }
        // A reader of a list does not wait for an index.
        guard try vault.isIndexFarOff() else {
            return try vault.page(filter, order: order, limit: limit, offset: offset)
        }
        withoutIndex.append(vault)
        return try vault.pageByReading(filter, order: order, limit: limit, offset: offset)
    }

    private func filter() throws -> ItemFilter {
        var filter = includesAll == true ? ItemFilter.everything : ItemFilter()
        filter.tags = try (tags ?? []).map(TagPath.init(wanted:))
        if let kind = try ItemKind(wanted: kind) { filter.kinds = [kind] }
        filter.flags.merge(flags) { $1 }
        // The trash has what lay in the archive too.
        if isTrashed == true, isArchived == nil { filter.isArchived = nil }
        return filter
    }
}

/// Lists of several vaults as one, in order. Invariant: of each list no more is read than the next piece may take.
private struct ListMerge {
    private struct Source {
        let vault: Vault
        let listing: PiecewiseListing
        var waiting: ArraySlice<ItemSummary> = []
        var isEnded = false

        mutating func fill(_ count: Int) throws {
            guard waiting.isEmpty, !isEnded else { return }
            waiting = try listing.next(count)[...]
            isEnded = waiting.isEmpty
        }
    }

    private let order: ItemOrder
    private var countLeft: Int
    private var sources: [Source] = []

    init(order: ItemOrder, countMax: Int) {
        self.order = order
        countLeft = countMax
    }

    mutating func add(_ listing: PiecewiseListing, of vault: Vault) {
        sources.append(Source(vault: vault, listing: listing))
    }

    /// The next items, `count` at most; none at the end.
    mutating func next(_ count: Int) throws -> [ListedItem] {
        var items: [ListedItem] = []
        while items.count < count, countLeft > 0 {
            var first: (index: Int, item: ItemSummary)?
            for index in sources.indices {
                try sources[index].fill(min(count, countLeft))
                guard let item = sources[index].waiting.first else { continue }
                if let known = first, !order.isBefore(item, known.item) { continue }
                first = (index, item)
            }
            guard let (index, item) = first else { break }
            sources[index].waiting.removeFirst()
            items.append(ListedItem(item: item, vault: sources[index].vault))
            countLeft -= 1
        }
        return items
    }
}

extension StoreDesk {
    /// How short an id can be depends on all items of a vault; a session with tags does not know them.
    func givesShortIDs(_ isWanted: Bool?) -> Bool { isWanted == true && grant.tags == nil }
}

extension ItemListing {
    /// Short ids by id. What one vault tells apart with fewer digits may be two items in two vaults.
    fileprivate func shortIDs() throws -> [EntityID: String] {
        guard isOverSeveral else { return try rows.first?.vault.shortIDs(rows.map(\.item.id)) ?? [:] }
        return Dictionary(rows.map { ($0.item.id, String($0.item.id.uuid.hex.prefix(8))) }) { first, _ in first }
    }
}

extension ItemList.Answer {
    init(_ listing: ItemListing, givesShortIDs: Bool = false) throws {
        self.init()
        let shortIDs = givesShortIDs ? try listing.shortIDs() : [:]
        items = listing.rows.map { row in
            var item = listing.message(of: row)
            item.shortID = shortIDs[row.item.id]
            return item
        }
        total = listing.totalCount
    }
}

/// A listing with what a search says beside it.
struct SearchListing {
    fileprivate(set) var found = ItemListing()
    /// Words that no vault has, and what was looked for instead.
    fileprivate(set) var corrections: [WordCorrection] = []
    /// Words that the query excludes, as they were written.
    fileprivate(set) var exclusions: [String] = []
}

extension ItemSearch: PerformedOperation {
    private static let usualLimit = 20

    package func perform(on desk: StoreDesk) throws -> Answer {
        try Answer(
            listed(on: desk, limit: limit ?? Self.usualLimit), marksMatches: marksMatches ?? false,
            givesShortIDs: desk.givesShortIDs(givesShortIDs))
    }

    /// - Parameter limit: at most so many rows.
    private func listed(on desk: StoreDesk, limit: Int) throws -> SearchListing {
        let options = SearchQueryOptions(lastWordIsPrefix: true)
        var listing = SearchListing()
        var corrections: [WordCorrection]?
        let (records, readers) = (try desk.records(vault), VaultReaders(desk))
        var ranked: [[ListedItem]] = []
        for (index, record) in records.enumerated() {
            try desk.work.step(index, of: records.count)
            let vault = try desk.vault(record)
            let results = try found(in: vault, on: desk, options, limit: max(0, limit), offset: max(0, offset ?? 0))
            listing.found.add(vault, record, readers)
            // A word that another vault has is somewhere; a vault with nothing like it says nothing.
            if results.totalCount > 0 || !results.corrections.isEmpty {
                corrections = (corrections ?? results.corrections).filter { known in
                    results.corrections.contains { $0.word == known.word }
                }
            }
            ranked.append(results.hits.map { ListedItem(item: $0.item, vault: vault, hit: $0) })
            listing.found.totalCount += results.totalCount
            listing.exclusions = results.exclusions
        }
        listing.found.rows = Array(Self.interleaved(ranked).prefix(max(0, limit)))
        listing.corrections = corrections ?? []
        return listing
    }
}

extension ItemSearch {
    /// The best of each vault first: scores of two vaults are not to be compared.
    private static func interleaved(_ ranked: [[ListedItem]]) -> [ListedItem] {
        let count = ranked.map(\.count).max() ?? 0
        return (0..<count).flatMap { rank in ranked.compactMap { $0.indices.contains(rank) ? $0[rank] : nil } }
    }

    private func found(
        in vault: Vault, on desk: StoreDesk, _ options: SearchQueryOptions, limit: Int, offset: Int
    ) throws -> ItemSearchResult {
        guard desk.grant.tags != nil else {
            return try vault.search(query, options: options, limit: limit, offset: offset)
        }
        let all = try vault.search(query, options: options, limit: .max, offset: 0)
        let hits = all.hits.filter { desk.grant.admits($0.item) }
        // Words that others' items have are none that may be suggested.
        return ItemSearchResult(
            hits: Array(hits.dropFirst(offset).prefix(limit)), totalCount: hits.count, exclusions: all.exclusions)
    }
}

extension ItemSearch.Answer {
    init(_ listing: SearchListing, marksMatches: Bool, givesShortIDs: Bool) throws {
        self.init()
        let shortIDs = givesShortIDs ? try listing.found.shortIDs() : [:]
        hits = listing.found.rows.map { row in
            var hit = listing.found.message(of: row, snippet: row.hit?.snippet)
            hit.shortID = shortIDs[row.item.id]
            if marksMatches {
                hit.titleMatches = row.hit?.titleMatches.flatMap { [$0.lowerBound, $0.upperBound] }
                hit.snippetMatches = row.hit?.snippetMatches.flatMap { [$0.lowerBound, $0.upperBound] }
            }
            return hit
        }
        total = listing.found.totalCount
        if !listing.corrections.isEmpty {
            didYouMean = listing.corrections.map { correction in
                var message = CorrectionMessage()
                message.word = correction.word
                message.nearest = correction.nearest
                return message
            }
        }
        without = listing.exclusions.isEmpty ? nil : listing.exclusions
    }
}

extension TagList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.tags = try desk.tags(in: desk.vault(desk.record(vault))).map { use in
            var tag = TagMessage()
            tag.tag = use.path
            tag.count = use.itemCount
            return tag
        }
        return answer
    }
}

extension TagChange: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let (added, removed) = (
            try (add ?? []).map(TagPath.init(wanted:)), try (remove ?? []).map(TagPath.init(wanted:))
        )
        let place = try desk.find(item, vault: vault)
        return try desk.writing(place.record) { vault in
            let text = try vault.item(place.id).text
            try vault.batch { batch in
                if !removed.isEmpty { try batch.removeTags(removed, from: place.id) }
                if !added.isEmpty { try batch.addTags(added, to: place.id) }
            }
            let item = try vault.item(place.id)
            var answer = Answer()
            answer.item = ItemMessage(item, revealsSecrets: false)
            answer.isTextChanged = item.text != text
            return answer
        }
    }
}

extension TagRename: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let (old, new) = (try TagPath(wanted: tag), try TagPath(wanted: newTag))
        let count = try desk.writing(desk.record(vault)) { vault in try vault.renameTag(old, to: new) }
        guard count.itemCount > 0 else {
            throw CommandFailure(
                .notFound, .tagNotFound, "no item has the tag #\(TextWidth.displaySafe(old.path))",
                hint: "coffret tag ls lists the tags")
        }
        var answer = Answer()
        (answer.itemCount, answer.textCount) = count
        return answer
    }
}

extension StoreLock: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NothingMessage {
        desk.surroundings.lock()
        return NothingMessage()
    }
}
