// Searching, tags and links without an index: for the past, which no index reflects, and for places where none can be
// kept. Invariant: what is found here is what the index would find, only slower and in the order of time rather than
// of rank.

internal import CoffretBase
package import CoffretSearch
internal import CoffretStorage

extension VaultView {
    /// Searches this state by reading every item.
    ///
    /// The query is the index's own. Hits come last changed first.
    /// - Throws: `CoreError.search` with the cause for a query that cannot be understood.
    package func search(
        _ text: String, options: SearchQueryOptions = SearchQueryOptions(), limit: Int = 20, offset: Int = 0
    ) throws -> ItemSearchResult {
        let query = try inSearch(SearchQuery.parse(text, options: options))
        var found: [(item: ItemSummary, snippet: String)] = []
        try forEachItem { item in
            guard query.includesTrashed || !item.isTrashed else { return }
            let document = ScannedDocument(item)
            if document.matches(query) { found.append((document.summary, document.beginning)) }
        }
        found.sort { ItemOrder.modified.isBefore($0.item, $1.item) }
        return ItemSearchResult(
            hits: found.dropFirst(max(0, offset)).prefix(max(0, limit)).map {
                ItemHit(item: $0.item, titleMatches: [], snippet: $0.snippet, snippetMatches: [])
            }, totalCount: found.count, exclusions: query.exclusions)
    }

    /// All tags in use, by path; items in the trash do not count.
    package func tags() throws -> [TagUse] {
        var uses: [String: (path: String, count: Int)] = [:]
        try forEachItem { item in
            guard !item.isTrashed else { return }
            for tag in item.tags { uses[tag.folded, default: (tag.path, 0)].count += 1 }
        }
        return uses.sorted { $0.key < $1.key }.map { TagUse(path: $0.value.path, itemCount: $0.value.count) }
    }

    func resolve(_ links: [(MarkdownScan.Link, [String])]) throws -> [ItemLink] {
        var answers: [String: [ItemSummary]] = [:]
        try forEachItem { item in
            let summary = ItemSummary(item)
            for key in NoteLink.keys(of: item, title: summary.title) {
                answers[key, default: []].append(summary)
            }
        }
        return links.map { link, keys in
            let items = keys.lazy.compactMap { answers[$0] }.first ?? []
            return ItemLink(link: link, items: items.sorted(by: Self.isOfferedBefore))
        }
    }

    /// The order in which the index offers documents: out of the trash before in it, last changed first.
    private static func isOfferedBefore(_ left: ItemSummary, _ right: ItemSummary) -> Bool {
        if left.isTrashed != right.isTrashed { return right.isTrashed }
        return left.modified != right.modified ? left.modified > right.modified : left.id < right.id
    }

    func backlinks(of target: Item) throws -> [ItemSummary] {
        let sought = Set(NoteLink.keys(of: target, title: target.title))
        var found: [ItemSummary] = []
        try forEachItem { item in
            let keys = MarkdownScan(item.text).links.flatMap { NoteLink.keys(in: $0, from: item.path) }
            if !item.isTrashed && keys.contains(where: sought.contains) { found.append(ItemSummary(item)) }
        }
        return found.sorted { ItemOrder.modified.isBefore($0, $1) }
    }
}

/// An item as words, for matching queries without an index.
private struct ScannedDocument {
    let summary: ItemSummary
    let beginning: String
    private let columns: [SearchColumn: [String]]

    init(_ item: Item) {
        summary = ItemSummary(item)
        let document = SearchDocument(item)
        beginning = String(document.body.prefix(120)).split(whereSeparator: \.isNewline).joined(separator: " ")
        columns = [
            .title: Self.words(document.title), .tags: document.tags.flatMap(Self.words),
            .fields: document.fields.flatMap { Self.words($0.name + " " + $0.text) }, .body: Self.words(document.body),
        ]
    }

    private static func words(_ text: String) -> [String] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    func matches(_ query: SearchQuery) -> Bool { matches(query.root, in: query.columns) }

    private func matches(_ node: QueryNode, in scope: Set<SearchColumn>) -> Bool {
        switch node {
        case .text(let term): matches(term, in: scope)
        case .filter(let filter): matches(filter)
        case .all(let nodes): nodes.allSatisfy { matches($0, in: scope) }
        case .any(let nodes): nodes.contains { matches($0, in: scope) }
        case .not(let inner): !matches(inner, in: scope)
        }
    }

    private func matches(_ term: TextTerm, in scope: Set<SearchColumn>) -> Bool {
        let sought = Self.words(term.text)
        guard let last = sought.last else { return true }
        let places = term.column.map { [$0] } ?? SearchColumn.allCases.filter { scope.isEmpty || scope.contains($0) }
        return places.contains { column in
            let words = columns[column] ?? []
            guard words.count >= sought.count else { return false }
            return (0...(words.count - sought.count)).contains { start in
                let end = words[start + sought.count - 1]
                return words[start..<(start + sought.count - 1)].elementsEqual(sought.dropLast())
                    && (term.isPrefix || term.goesOn ? end.hasPrefix(last) : end == last)
            }
        }
    }

    private func matches(_ filter: QueryFilter) -> Bool {
        switch filter {
        case .tag(let path):
            guard let wanted = try? TagPath(path) else { return false }
            return summary.tags.contains { (try? TagPath($0))?.isInside(wanted) ?? false }
        case .kind(let kind): return summary.kind.rawValue == kind
        case .flag(let flag): return summary.flags[flag]
        case .locked: return summary.isLocked
        case .conflicted: return summary.hasConflicts
        case .untagged: return summary.tags.isEmpty
        case .hasAttachments: return summary.hasAttachments
        case .modified(let range): return range.contains(summary.modified)
        case .created(let range): return range.contains(summary.created)
        }
    }
}
