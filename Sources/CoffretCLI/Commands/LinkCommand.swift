// `coffret link`: what a note links to, and what links to it.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage

enum LinkCommand {
    static let description = CommandDescription(
        "link", group: .find, "Show what an item links to, and what links to it",
        discussion: ["A link in a text is written [[Title]]."],
        arguments: [CommonArguments.item], run: run)

    static func run(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let links = try session.vault.links(of: id)
        let backlinks = try session.vault.backlinks(of: id)
        let value = JSONValue.fields([
            "links": .array(
                links.map {
                    .fields(["target": .string($0.link.destination), "items": .array($0.items.map { .summary($0) })])
                }),
            "backlinks": .array(backlinks.map { .summary($0) }),
        ])
        try context.print(value) {
            let table = ItemTable(context: context, session: session)
            var lines: [String] = []
            let found = links.flatMap(\.items)
            let dangling = links.filter(\.items.isEmpty)
            if !links.isEmpty { lines.append(context.terminal.style.apply(.heading, "Links to")) }
            lines += try table.lines(found.map { .init(item: $0) }).map { "  " + $0 }
            lines += dangling.map { "  (nothing named \"\(TextWidth.displaySafe($0.link.destination))\" yet)" }
            if !backlinks.isEmpty {
                if !lines.isEmpty { lines.append("") }
                lines.append(context.terminal.style.apply(.heading, "Linked from"))
                lines += try table.lines(backlinks.map { .init(item: $0) }).map { "  " + $0 }
            }
            return lines.isEmpty ? "No links, in or out." : lines.joined(separator: "\n")
        }
    }
}
