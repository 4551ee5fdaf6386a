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
        let store = try StoreSession.open(context, with: .passphrase)
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 20 : 10_000)
        var request = ItemSearch()
        (request.query, request.vault) = (text, store.namedVault)
        for record in try store.desk.records(store.namedVault) { _ = try store.desk.vault(record) }
        let results = try context.timings.measure("search") { try request.listed(on: store.desk, limit: limit) }
        say(results.corrections, results.exclusions, context)
        try context.print(ItemSearch.Answer(results, marksMatches: false).json) {
            guard !results.found.rows.isEmpty else { return emptyText(results.found, text, context) }
            var table = ItemTable(context: context)
            var lines = try table.lines(results.found)
            if context.terminal.outputIsTerminal, !results.found.isOverSeveral {
                let footer = footer(results.found, microseconds: context.timings.microseconds(of: "search"))
                lines.append(context.terminal.style.apply(.faint, footer))
            }
            return lines.joined(separator: "\n")
        }
    }

    private static func emptyText(_ found: ItemListing, _ text: String, _ context: CommandContext) -> String {
        guard context.terminal.outputIsTerminal else { return "" }
        let place = found.isOverSeveral ? " in \(found.vaults.count) vaults" : ""
        return "Nothing found for \(TextWidth.displaySafe(text))\(place)."
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

    /// `2 items · 3 ms`, and how many more there are.
    private static func footer(_ results: ItemListing, microseconds: Int) -> String {
        let found = NumberText.counted(results.totalCount, "item")
        let shown = results.rows.count < results.totalCount ? ", the best \(results.rows.count) are shown" : ""
        return "\(found)\(shown) · \(max(1, (microseconds + 500) / 1000)) ms"
    }
}
