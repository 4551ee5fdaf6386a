// `coffret search`: words, phrases, beginnings and fields.

internal import CoffretBase
internal import CoffretCore
internal import CoffretSearch

enum SearchCommand {
    static let query = ArgumentDescription.required("QUERY", repeats: true, "what to look for")

    static let description = CommandDescription(
        "search", group: .find, "Find items by words, best first",
        discussion: [
            "All words must be there. \"a phrase\" in double quotes; tom* for beginnings; -word for items without it; tag:garden, type:login, in:title narrow it down."
        ],
        arguments: [query], options: [CommonArguments.limit],
        examples: [
            CommandExample("coffret search tomato blight", "items with both words"),
            CommandExample("coffret search '\"copper spray\" tag:garden'", "a phrase, under a tag"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let text = context.arguments.values(query).joined(separator: " ")
        _ = try SearchQuery.parse(text)
        let sessions = try VaultSession.openAll(context)
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 20 : 10_000)
        guard let session = sessions.first, sessions.count == 1 else {
            return try acrossVaults(sessions, text, limit: limit, context)
        }
        let results = try context.timings.measure("search") { try session.vault.search(text, limit: limit) }
        let value = JSONValue.fields([
            "hits": .array(results.hits.map { .summary($0.item, snippet: $0.snippet) }),
            "total": .integer(results.totalCount),
        ])
        try context.print(value) {
            guard !results.hits.isEmpty else {
                return context.terminal.outputIsTerminal ? "Nothing found for \(TextWidth.displaySafe(text))." : ""
            }
            var lines = try ItemTable(context: context, session: session).lines(
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

    /// What several vaults hold, vault by vault, the default first.
    private static func acrossVaults(
        _ sessions: [VaultSession], _ text: String, limit: Int, _ context: CommandContext
    ) throws {
        var rows: [(session: VaultSession, hit: ItemHit)] = []
        var totalCount = 0
        for session in sessions {
            let results = try context.timings.measure("search") { try session.vault.search(text, limit: limit) }
            rows += results.hits.map { (session, $0) }
            totalCount += results.totalCount
        }
        let shown = rows.prefix(limit)
        let value = JSONValue.fields([
            "hits": .array(
                shown.map { .summary($0.hit.item, snippet: $0.hit.snippet, vault: $0.session.vault.name) }),
            "total": .integer(totalCount),
        ])
        try context.print(value) {
            guard !rows.isEmpty, let first = sessions.first else {
                let isShown = context.terminal.outputIsTerminal
                return isShown ? "Nothing found for \(TextWidth.displaySafe(text)) in \(sessions.count) vaults." : ""
            }
            return try ItemTable(context: context, session: first).lines(
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
