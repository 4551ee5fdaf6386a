// `coffret link`: what a note links to and what links to it, and one link more.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

enum LinkCommand {
    static let target = ArgumentDescription.optional("TARGET", "the item to link to")

    static let description = CommandDescription(
        "link", group: .find, "Show what an item links to, and what links to it; or add a link",
        discussion: [
            "A link in a text is written [[Title]]. With TARGET, a link to that item is added at the end of ITEM's text; it names the item itself, so it holds when the title changes."
        ],
        arguments: [CommonArguments.item, target],
        examples: [
            CommandExample("coffret link tomatoes", "what it links to, and what links to it"),
            CommandExample("coffret link tomatoes 'Copper spray'", "adds a link"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        if let target = context.arguments.value(target) { return try add(target, context) }
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let shown = try session.vault.item(id)
        if shown.isVeiled { try session.requirePresence(for: shown) }
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
            var table = ItemTable(context: context)
            var lines: [String] = []
            var seen = Set<EntityID>()
            let found = links.flatMap(\.items).filter { seen.insert($0.id).inserted }
            var named = Set<String>()
            let dangling = links.filter { $0.items.isEmpty && named.insert($0.link.destination).inserted }
            if !links.isEmpty { lines.append(context.terminal.style.apply(.heading, "Links to")) }
            lines += try table.lines(found.map { ListedItem(item: $0, vault: session.vault) }).map { "  " + $0 }
            lines += dangling.map { "  (nothing named \"\(TextWidth.displaySafe($0.link.destination))\" yet)" }
            if !backlinks.isEmpty {
                if !lines.isEmpty { lines.append("") }
                lines.append(context.terminal.style.apply(.heading, "Linked from"))
                lines += try table.lines(backlinks.map { ListedItem(item: $0, vault: session.vault) }).map { "  " + $0 }
            }
            return lines.isEmpty ? "No links, in or out." : lines.joined(separator: "\n")
        }
    }

    private static func add(_ reference: String, _ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let target = try session.vault.resolve(reference)
        _ = try session.readable(session.vault.item(id))
        let isLinked = try session.vault.links(of: id).contains { $0.items.map(\.id) == [target] }
        if !isLinked {
            try session.writing { vault in
                try vault.batch { (batch) throws(CoreError) in try batch.addLink(from: id, to: target) }
            }
        }
        let item = try session.vault.item(id)
        let linked = try session.vault.item(target)
        try context.confirmDone(.item(item, revealsSecrets: false)) {
            let labels = try [item, linked].map { context.label($0, try session.shortID($0.id)) }
            return "\(labels[0]) \(isLinked ? "links to" : "now links to") \(labels[1])\(isLinked ? " already" : "")"
        }
    }
}
