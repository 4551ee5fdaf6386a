// Searching. Invariant: what is counted, what is ranked and what is shown come from one state of the index.

internal import CoffretSQLite

extension SearchIndex {
    /// How far into the results one can page.
    package static let reachMax = 10_000

    /// The documents that a query describes, best first; those that it only filters, last changed first. A query of signs
    /// alone finds documents by their titles.
    ///
    /// - Parameter limit: how many to give; `offset + limit` at most 10,000.
    /// - Throws: `SearchError`: `.queryEmpty` if the query holds neither a word nor a filter, and nothing is called so;
    ///   `.rebuildNeeded` and other `index…` codes.
    ///   Words that changes have left to it are brought in first; where that cannot be, `.indexReadOnly` and its like.
    /// - Complexity: one pass over the matching rows, without sorting them.
    package func search(_ query: SearchQuery, limit: Int = 20, offset: Int = 0) throws(SearchError) -> SearchResults {
        let limit = max(0, min(limit, Self.reachMax))
        let offset = max(0, min(offset, Self.reachMax - limit))
        let results = try readWords { session throws(SQLiteError) -> SearchResults? in
            guard let written = query.root.pruned(session.fullText.tokenizer) else {
                return try session.called(query, limit: limit, offset: offset)
            }
            var speller = Speller(session: session, columns: query.columns, engine: engine)
            let root = try speller.corrected(written)
            let evaluator = QueryEvaluator(session: session, query: query, root: root)
            let (ranked, totalCount) = try evaluator.rank(keptCountMax: offset + limit)
            return try session.results(
                Array(ranked.dropFirst(offset).prefix(limit)), of: totalCount, terms: root.positiveTerms,
                columns: query.columns, corrections: speller.corrections)
        }
        guard let results else { throw SearchError(.queryEmpty, at: 0) }
        return results
    }
}

extension SearchIndex.Session {
    /// The documents whose title is a query without words; nil if there are none.
    fileprivate func called(_ query: SearchQuery, limit: Int, offset: Int) throws(SQLiteError) -> SearchResults? {
        let signs = query.root.positiveTerms.map(\.text).joined(separator: " ")
        let numbers = try numbers(named: NameKey.derive(signs, fullText.tokenizer)).filter {
            query.includesTrashed || visible.contains($0)
        }.sorted { (attributes[$0].modified, $0) > (attributes[$1].modified, $1) }
        guard !signs.isEmpty, !numbers.isEmpty else { return nil }
        return try results(
            numbers.dropFirst(offset).prefix(limit).map { RankedDocument(number: $0, score: 0) }, of: numbers.count,
            terms: [], columns: [])
    }

    fileprivate func results(
        _ ranked: [RankedDocument], of totalCount: Int, terms: [TextTerm], columns: Set<SearchColumn>,
        corrections: [WordCorrection] = []
    ) throws(SQLiteError) -> SearchResults {
        let finder = SnippetFinder(terms: terms, columns: columns, tokenizer: fullText.tokenizer)
        var hits: [SearchHit] = []
        hits.reserveCapacity(ranked.count)
        for found in ranked {
            let document = try summary(found.number)
            hits.append(
                SearchHit(
                    document: document, score: found.score,
                    titleMatches: finder.matches(in: document.title, column: .title)))
        }
        return SearchResults(hits: hits, totalCount: totalCount, corrections: corrections, finder: finder)
    }
}

/// Runs one query.
struct QueryEvaluator {
    let session: SearchIndex.Session
    let query: SearchQuery
    let root: QueryNode

    /// The best documents and how many there are.
    func rank(keptCountMax: Int) throws(SQLiteError) -> ([RankedDocument], Int) {
        let (words, conditions) = split(root)
        var accepted = place
        for condition in conditions { accepted.formIntersection(try documents(condition)) }
        if let words {
            // The common case: what FTS5 finds, less what a filter refuses, in one pass.
            let collector = MatchCollector(
                attributes: session.attributes, accepted: accepted, expression: words,
                keptCountMax: keptCountMax, titled: try titled)
            try visit(words.text, collector)
            return (collector.best(), collector.totalCount)
        }
        guard let any = MatchExpression.anyOf(root.positiveTerms, columns: query.columns) else {
            return (byTime(accepted, keptCountMax), accepted.count)
        }
        // Words and filters are mixed in alternatives: the set is known, now rank those that hold a word;
        // those that are there for another reason follow.
        let collector = MatchCollector(
            attributes: session.attributes, accepted: accepted, expression: any,
            keptCountMax: keptCountMax, titled: try titled, remembersSeen: true)
        try visit(any.text, collector)
        let best = collector.best()
        var rest = accepted
        if let seen = collector.seen { rest.subtract(seen) }
        return (best + byTime(rest, keptCountMax - best.count), accepted.count)
    }

    /// Everything that the query may speak of at all.
    private var place: DocumentSet {
        query.includesTrashed ? DocumentSet(session.attributes) { _ in true } : session.visible
    }

    /// The documents whose title says what was searched for, and nothing more, or a run of words of it, with the part of the
    /// words that is: 1 for all, less than a half for a run.
    private var titled: [Int64: Double] {
        get throws(SQLiteError) {
            let words = root.positiveTerms.prefix(Self.titleWordCountMax + 1).map { $0.spellings.first ?? $0.text }
            var titled: [Int64: Double] = [:]
            func add(_ run: ArraySlice<String>, _ part: Double) throws(SQLiteError) {
                let key = NameKey.derive(run.joined(separator: " "), session.fullText.tokenizer)
                for number in try session.numbers(named: key) { titled[number] = max(titled[number] ?? 0, part) }
            }
            if words.count <= Self.titleWordCountMax {
                for start in words.indices {
                    for end in start + 1...words.count where end - start < words.count {
                        try add(words[start..<end], 0.5 * Double(end - start) / Double(words.count))
                    }
                }
            }
            let all = root.positiveTerms.map { $0.spellings.first ?? $0.text }
            try add(all[...], 1)
            return titled
        }
    }

    /// Titles are looked for among the words of queries up to this length.
    private static let titleWordCountMax = 6

    /// The part of a query that FTS5 can answer, and conditions that must hold besides.
    private func split(_ node: QueryNode) -> (MatchExpression?, [QueryNode]) {
        if let words = MatchExpression(node, columns: query.columns) { return (words, []) }
        guard case .all(let children) = node else { return (nil, [node]) }
        var textual: [QueryNode] = []
        var others: [QueryNode] = []
        for child in children {
            var inner = child
            if case .not(let negated) = child { inner = negated }
            if MatchExpression(inner, columns: query.columns) != nil {
                textual.append(child)
            } else {
                others.append(child)
            }
        }
        guard let words = MatchExpression(.all(textual), columns: query.columns) else { return (nil, children) }
        return (words, others)
    }

    /// The documents for which a part of the query holds.
    private func documents(_ node: QueryNode) throws(SQLiteError) -> DocumentSet {
        if let words = MatchExpression(node, columns: query.columns) {
            let collector = SetCollector(attributes: session.attributes)
            try visit(words.text, collector)
            return collector.documents
        }
        switch node {
        case .text:
            preconditionFailure("words alone are an expression")
        case .filter(let filter):
            return try documents(filter)
        case .not(let inner):
            var all = DocumentSet(session.attributes) { _ in true }
            all.subtract(try documents(inner))
            return all
        case .all(let children):
            var result = DocumentSet(session.attributes) { _ in true }
            for child in children { result.formIntersection(try documents(child)) }
            return result
        case .any(let children):
            var result = DocumentSet(numberMax: session.attributes.numberMax)
            for child in children { result.formUnion(try documents(child)) }
            return result
        }
    }

    private func documents(_ filter: QueryFilter) throws(SQLiteError) -> DocumentSet {
        let table = session.attributes
        switch filter {
        case .tag(let path): return try session.documents(tagged: path)
        case .kind(let kind): return DocumentSet(table) { $0.kind == kind }
        case .flag(let flag): return DocumentSet(table) { $0.has(flag) }
        case .locked: return DocumentSet(table) { $0.has(DocumentAttributes.locked) }
        case .conflicted: return DocumentSet(table) { $0.has(DocumentAttributes.conflicted) }
        case .untagged: return DocumentSet(table) { !$0.has(DocumentAttributes.tagged) }
        case .hasAttachments: return DocumentSet(table) { $0.has(DocumentAttributes.attachments) }
        case .modified(let range): return DocumentSet(table) { range.contains($0.modified) }
        case .created(let range): return DocumentSet(table) { range.contains($0.created) }
        }
    }

    private func visit(_ expression: String, _ visitor: any FullTextVisitor) throws(SQLiteError) {
        try session.fullText.visitRows(
            of: "search", matching: expression, on: session.connection, visitor: visitor)
    }

    private func byTime(_ documents: DocumentSet, _ count: Int) -> [RankedDocument] {
        let table = session.attributes
        return documents.numbers.sorted { table[$0].modified > table[$1].modified }
            .prefix(max(0, count)).map { RankedDocument(number: $0, score: 0) }
    }
}
