// Lists, references, searches and links of the current state, out of the index; by reading all items where there is none.

internal import CoffretBase
package import CoffretSearch
package import CoffretStorage

/// An item that a search found.
package struct ItemHit: Equatable, Sendable {
    package let item: ItemSummary
    /// The words in the title, as offsets into its UTF-8.
    package let titleMatches: [Range<Int>]
    /// A piece of the text, on one line, around what was found.
    package let snippet: String
    /// The words in the snippet, as offsets into its UTF-8.
    package let snippetMatches: [Range<Int>]
}

/// One page of what a search found.
package struct ItemSearchResult: Equatable, Sendable {
    /// Best first.
    package let hits: [ItemHit]
    /// How many items match altogether.
    package let totalCount: Int
    /// Words that no item has, and the nearest ones, which were looked for instead.
    package var corrections: [WordCorrection] = []
    /// The words that the query leaves out, as they were written.
    package var exclusions: [String] = []

    package init(
        hits: [ItemHit], totalCount: Int, corrections: [WordCorrection] = [], exclusions: [String] = []
    ) {
        self.hits = hits
        self.totalCount = totalCount
        self.corrections = corrections
        self.exclusions = exclusions
    }
}

/// The beginning of a list.
package struct ItemPage: Equatable, Sendable {
    package let items: [ItemSummary]
    /// How long the list is.
    package let totalCount: Int

    package init(items: [ItemSummary], totalCount: Int) {
        self.items = items
        self.totalCount = totalCount
    }
}

/// A tag and how many items carry it.
package struct TagUse: Equatable, Sendable {
    package let path: String
    package let itemCount: Int

    package init(path: String, itemCount: Int) {
        self.path = path
        self.itemCount = itemCount
    }
}

/// A link in a note and what it leads to.
package struct ItemLink: Equatable, Sendable {
    package let link: MarkdownScan.Link
    /// None if it leads nowhere, several if its title is not one item's alone.
    package var items: [ItemSummary]
}

extension Vault {
    /// The items that a filter admits, in an order.
    package func list(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified, limit: Int = .max, offset: Int = 0
    ) throws -> [ItemSummary] {
        try page(filter, order: order, limit: limit, offset: offset).items
    }

    /// A part of the items that a filter admits, in an order, and how many there are in all. What is not in the part is
    /// not read.
    package func page(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified, limit: Int, offset: Int = 0
    ) throws -> ItemPage {
        let page = try fromIndex { index in
            let list = try inSearch(
                index.list(ListFilter(filter), order: ListOrder(order), limit: limit, offset: offset))
            return ItemPage(items: list.documents.compactMap(ItemSummary.init), totalCount: list.totalCount)
        }
        if let page { return page }
        return try pageByReading(filter, order: order, limit: limit, offset: offset)
    }

    /// How many items there are of each kind outside of the trash, and how many lie in it.
    package func itemCounts() throws -> (kinds: [ItemKind: Int], trashed: Int) {
        let found = try fromIndex { index in
            try inSearch(index.counts())
        }
        var kinds: [ItemKind: Int] = [:]
        if let found {
            for (number, count) in found.kinds {
                if let kind = ItemKind(rawValue: number) { kinds[kind] = count }
            }
            return (kinds, found.trashed)
        }
        var trashed = 0
        for item in try present.list(.everything) {
            if item.isTrashed { trashed += 1 } else { kinds[item.kind, default: 0] += 1 }
        }
        return (kinds, trashed)
    }

    /// As `page`, out of the items themselves.
    ///
    /// - Complexity: reads every item.
    package func pageByReading(
        _ filter: ItemFilter = ItemFilter(), order: ItemOrder = .modified, limit: Int, offset: Int = 0
    ) throws -> ItemPage {
        let items = try present.list(filter, order: order)
        return ItemPage(items: Array(items.dropFirst(offset).prefix(limit)), totalCount: items.count)
    }

    /// The item that a reference names; see `ReferenceResolver`. An id needs no index.
    ///
    /// - Throws: `CoreError` `.itemNotFound`, `.itemAmbiguous` with the candidates (R34).
    package func resolve(_ reference: String) throws -> EntityID {
        let resolver = ReferenceResolver(reference)
        if let id = try resolver.resolveByID(in: try present.reader) { return id }
        let isFarOff = try isIndexFarOff()
        let found =
            isFarOff
            ? nil
            : try fromIndex { index in
                try inSearch(index.resolve(reference, limit: 1_000))
                    .compactMap(ItemSummary.init)
            }
        if let found { return try resolver.resolveByTitle(among: found) }
        return try resolver.resolveByTitle(among: pageByReading(.everything, limit: .max).items)
    }

    /// As above, where the caller may know of these items only.
    package func resolve(_ reference: String, among items: [ItemSummary]) throws -> EntityID {
        try ReferenceResolver(reference).resolve(among: items)
    }

    /// The items with exactly this title, in any case, in the trash or not.
    func titled(_ title: String) throws -> [ItemSummary] {
        let sought = title.lowercased()
        let found = try fromIndex { index in
            try inSearch(index.documents(answeringTo: "t:" + sought))
                .compactMap(ItemSummary.init)
        }
        if let found { return found }
        return try list(.everything).filter { $0.title.lowercased() == sought }
    }

    /// The items whose titles begin so, in any case. Asked when no id and no whole title does.
    func titles(beginningWith start: String) throws -> [ItemSummary] {
        let sought = start.lowercased()
        guard !sought.isEmpty else { return [] }
        var found = try fromIndex { index in
            try inSearch(index.resolve(start, limit: 1_000))
                .compactMap(ItemSummary.init)
        }
        if found == nil { found = try list(.everything) }
        return (found ?? []).filter { $0.title.lowercased().hasPrefix(sought) }
    }

    /// So many hits of an answer, the best, have snippets: each costs the reading of an item, and nobody reads more of them.
    package static let snippetCountMax = 200

    /// Searches the current state.
    ///
    /// - Parameter text: words, `"phrases"`, `prefix*`, `tag:`, `type:`, `in:` and the rest of `Spec/search.md`.
    /// - Throws: `CoreError.search` with the cause for a query that cannot be understood.
    package func search(
        _ text: String, options: SearchQueryOptions = SearchQueryOptions(), limit: Int = 20, offset: Int = 0
    ) throws -> ItemSearchResult {
        let query = try inSearch(SearchQuery.parse(text, options: options))
        let found = try fromIndex(forWords: true) { index in
            let results = try inSearch(index.search(query, limit: limit, offset: offset))
            let view = try whole
            var hits: [ItemHit] = []
            hits.reserveCapacity(results.hits.count)
            for (number, hit) in results.hits.enumerated() {
                guard let item = ItemSummary(hit.document) else { continue }
                // An item that cannot be read is found all the same, and says what is wrong with it when it is opened.
                let contents = number < Self.snippetCountMax ? try? view.item(item.id) : nil
                let snippet = contents.map { results.snippet(ofBody: $0.searchedText, of: SearchDocument($0)) }
                hits.append(
                    ItemHit(
                        item: item, titleMatches: hit.titleMatches, snippet: snippet?.text ?? "",
                        snippetMatches: snippet?.matches ?? []))
            }
            return ItemSearchResult(
                hits: hits, totalCount: results.totalCount, corrections: results.corrections,
                exclusions: query.exclusions)
        }
        if let found { return found }
        return try present.search(text, options: options, limit: limit, offset: offset)
    }

    /// All tags in use, by path; items in the trash do not count.
    package func tags() throws -> [TagUse] {
        let found = try fromIndex { index in
            try inSearch(index.tags())
        }
        if let found { return found.map { TagUse(path: $0.path, itemCount: $0.count) } }
        return try present.tags()
    }

    /// The links in an item's text, in its order, with the items that they lead to; without those that show one of
    /// the item's own files.
    ///
    /// - Throws: `CoreError.noteHidden` if nobody has shown to be there.
    package func links(of id: EntityID) throws -> [ItemLink] {
        let item = try revealed(item(id))
        let links = MarkdownScan(item.text).links.map { ($0, NoteLink.keys(in: $0, from: item.path)) }
            .filter { link, keys in
                let name = link.destination.split(separator: "/").last ?? ""
                return !keys.isEmpty && !item.attachments.contains { $0.name == name }
            }
        let found = try fromIndex { index in
            var resolved: [ItemLink] = []
            for (link, keys) in links {
                var items: [ItemSummary] = []
                for key in keys where items.isEmpty {
                    let documents = try inSearch(index.documents(answeringTo: key))
                    items = documents.compactMap(ItemSummary.init)
                }
                resolved.append(ItemLink(link: link, items: items))
            }
            return resolved
        }
        if let found { return found }
        return try present.resolve(links)
    }

    /// The items whose texts link to an item; those in the trash left out.
    package func backlinks(of id: EntityID) throws -> [ItemSummary] {
        let item = try item(id)
        let found = try fromIndex { index in
            try inSearch(index.documents(linkingTo: id.bytes))
                .compactMap(ItemSummary.init)
        }
        if let found { return found }
        return try present.backlinks(of: item)
    }
}

extension VaultBatch {
    /// Adds a link to another item at the end of an item's text, on a line of its own.
    ///
    /// The link names the id, so that it stays when the title changes.
    package func addLink(from id: EntityID, to target: EntityID) throws {
        guard let item = try item(target) else { throw CoreError(.itemNotFound, at: target.uuid.hex) }
        let label = item.title.filter { $0 != "[" && $0 != "]" && !$0.isNewline }
        try update(id) { source in
            source = try vault.opened(source)
            if !source.text.isEmpty && !source.text.hasSuffix("\n") { source.text += "\n" }
            source.text += "[\(label.isEmpty ? "Untitled" : label)](\(NoteLink.scheme)\(target.uuid.hex))\n"
        }
    }
}
