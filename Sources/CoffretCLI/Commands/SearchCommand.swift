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
        _ = try SearchQuery.parse(text, options: SearchQueryOptions(lastWordIsPrefix: true))
        let store = try CommandStore.open(context)
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 20 : 10_000)
        var request = ItemSearch()
        (request.query, request.vault, request.limit) = (text, store.listedVault, limit)
        if !context.isJSON { (request.marksMatches, request.givesShortIDs) = (true, true) }
        let results = try context.timings.measure("search") { try store.perform(request) }
        say(results, context)
        try context.print(results.json) {
            guard !results.hits.isEmpty else { return try emptyText(text, store, context) }
            var table = ItemTable(context: context)
            var lines = table.lines(results.hits)
            if context.terminal.outputIsTerminal, results.hits[0].vault == nil {
                let footer = footer(results, microseconds: context.timings.microseconds(of: "search"))
                lines.append(context.terminal.style.apply(.faint, footer))
            }
            return lines.joined(separator: "\n")
        }
    }

    private static func emptyText(_ text: String, _ store: CommandStore, _ context: CommandContext) throws -> String {
        guard context.terminal.outputIsTerminal else { return "" }
        let count = store.listedVault == nil ? try store.vaultCount : 1
        let place = count > 1 ? " in \(count) vaults" : ""
        return "Nothing found for \(TextWidth.displaySafe(text))\(place)."
    }

    /// Says what was looked for instead of words that are nowhere, and what is left out.
    private static func say(_ results: ItemSearch.Answer, _ context: CommandContext) {
        guard !context.isJSON else { return }
        for correction in results.didYouMean ?? [] {
            let nearest = correction.nearest.prefix(3).map { TextWidth.displaySafe($0) }.joined(separator: ", ")
            context.note("No item has \(TextWidth.displaySafe(correction.word)). Did you mean \(nearest)?")
        }
        guard let exclusions = results.without, !exclusions.isEmpty else { return }
        context.note("without: \(exclusions.map { TextWidth.displaySafe($0) }.joined(separator: ", "))")
    }

    /// `2 items · 3 ms`, and how many more there are.
    private static func footer(_ results: ItemSearch.Answer, microseconds: Int) -> String {
        let found = NumberText.counted(results.total, "item")
        let shown = results.hits.count < results.total ? ", the best \(results.hits.count) are shown" : ""
        return "\(found)\(shown) · \(max(1, (microseconds + 500) / 1000)) ms"
    }
}
