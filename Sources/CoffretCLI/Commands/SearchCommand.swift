// `coffret search`: words, phrases, beginnings and fields.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretSearch
internal import CoffretTerminal
internal import CoffretWire

enum SearchCommand {
    static let query = ArgumentDescription.required("QUERY", repeats: true, "what to look for")

    static let description = CommandDescription(
        "search", group: .find, "Find items by words, best first",
        discussion: [
            "All words must be there; the last one may be a beginning. \"a phrase\" in double quotes; tom* for beginnings; -word for items without it, unless the query looks like a command; tag:garden, type:login, in:title narrow it down. For a word that no item has, the nearest ones are looked for."
        ],
        arguments: [query], options: [CommonArguments.limit],
        examples: [
            CommandExample("coffret search tomato blight", "items with both words"),
            CommandExample("coffret search '\"copper spray\" tag:garden'", "a phrase, under a tag"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let text = context.arguments.values(query).joined(separator: " ")
        let options = SearchQueryOptions(lastWordIsPrefix: true)
        _ = try SearchQuery.parse(text, options: options)
        let sessions = try VaultSession.openAll(context)
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 20 : 10_000)
        guard let session = sessions.first, sessions.count == 1 else {
            return try acrossVaults(sessions, text, options, limit: limit, context)
        }
        let results = try context.timings.measure("search") {
            try session.vault.search(text, options: options, limit: limit)
        }
        let value = JSONValue.fields([
            "hits": .array(results.hits.map { SummaryMessage($0.item, snippet: $0.snippet).json }),
            "total": .integer(results.totalCount),
            "didYouMean": didYouMean(results.corrections), "without": without(results.exclusions),
        ])
        say(results.corrections, results.exclusions, context)
        try context.print(value) {
            guard !results.hits.isEmpty else {
                return context.terminal.outputIsTerminal ? "Nothing found for \(TextWidth.displaySafe(text))." : ""
            }
            var table = ItemTable(context: context, session: session)
            var lines = try table.lines(
                results.hits.map { hit in
                    .init(
                        item: hit.item, titleMatches: hit.titleMatches,
                        snippet: MarkedText(hit.snippet, matches: hit.snippetMatches))
                })
            if context.terminal.outputIsTerminal {
                lines.append(
                    context.terminal.style.apply(
                        .faint, footer(results, microseconds: context.timings.microseconds(of: "search"))))
            }
            return lines.joined(separator: "\n")
        }
    }

    /// Says what was looked for instead of words that are nowhere, and what is left out.
    private static func say(_ corrections: [WordCorrection], _ exclusions: [String], _ context: CommandContext) {
        guard !context.isJSON else { return }
        for correction in corrections {
            let nearest = correction.nearest.prefix(3).map { TextWidth.displaySafe($0) }.joined(separator: ", ")
            context.note("No item has \(TextWidth.displaySafe(correction.word)). Did you mean \(nearest)?")
        }
        guard !exclusions.isEmpty else { return }
        context.note("without: \(exclusions.map { TextWidth.displaySafe($0) }.joined(separator: ", "))")
    }

    private static func didYouMean(_ corrections: [WordCorrection]) -> JSONValue? {
        guard !corrections.isEmpty else { return nil }
        return .array(
            corrections.map { .fields(["word": .string($0.word), "nearest": .strings($0.nearest)]) })
    }

    private static func without(_ exclusions: [String]) -> JSONValue? {
        exclusions.isEmpty ? nil : .strings(exclusions)
    }

    /// What several vaults hold, vault by vault, the default first.
    private static func acrossVaults(
        _ sessions: [VaultSession], _ text: String, _ options: SearchQueryOptions, limit: Int,
        _ context: CommandContext
    ) throws {
        var rows: [(session: VaultSession, hit: ItemHit)] = []
        var totalCount = 0
        var corrections: [WordCorrection]?
        for session in sessions {
            let results = try context.timings.measure("search") {
                try session.vault.search(text, options: options, limit: limit)
            }
            // A word that another vault has is somewhere; a vault with nothing like it says nothing.
            if results.totalCount > 0 || !results.corrections.isEmpty {
                corrections = (corrections ?? results.corrections).filter { known in
                    results.corrections.contains { $0.word == known.word }
                }
            }
            rows += results.hits.map { (session, $0) }
            totalCount += results.totalCount
        }
        let shown = rows.prefix(limit)
        let exclusions = try SearchQuery.parse(text, options: options).exclusions
        let value = JSONValue.fields([
            "hits": .array(
                shown.map { SummaryMessage($0.hit.item, snippet: $0.hit.snippet, vault: $0.session.vault.name).json }),
            "total": .integer(totalCount),
            "didYouMean": didYouMean(corrections ?? []), "without": without(exclusions),
        ])
        say(corrections ?? [], exclusions, context)
        try context.print(value) {
            guard !rows.isEmpty, let first = sessions.first else {
                let isShown = context.terminal.outputIsTerminal
                return isShown ? "Nothing found for \(TextWidth.displaySafe(text)) in \(sessions.count) vaults." : ""
            }
            var table = ItemTable(context: context, session: first)
            return try table.lines(
                shown.map { row in
                    .init(
                        item: row.hit.item, titleMatches: row.hit.titleMatches,
                        snippet: MarkedText(row.hit.snippet, matches: row.hit.snippetMatches), vault: row.session)
                }
            ).joined(separator: "\n")
        }
    }

    /// `2 items · 3 ms`, and how many more there are.
    private static func footer(_ results: ItemSearchResult, microseconds: Int) -> String {
        let found = NumberText.counted(results.totalCount, "item")
        let shown = results.hits.count < results.totalCount ? ", the best \(results.hits.count) are shown" : ""
        return "\(found)\(shown) · \(max(1, (microseconds + 500) / 1000)) ms"
    }
}
