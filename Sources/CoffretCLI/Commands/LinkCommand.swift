// `coffret link`: what a note links to and what links to it, and one link more.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

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
        let store = try CommandStore.open(context)
        var request = LinkList()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.givesShortIDs = context.isJSON ? nil : true
        let found = try store.perform(request)
        try context.print(found.json) {
            var table = ItemTable(context: context)
            var lines: [String] = []
            var seen = Set<String>()
            let items = found.links.flatMap(\.items).filter { seen.insert($0.id).inserted }
            var named = Set<String>()
            let dangling = found.links.filter { $0.items.isEmpty && named.insert($0.target).inserted }
            if !found.links.isEmpty { lines.append(context.terminal.style.apply(.heading, "Links to")) }
            lines += table.lines(items).map { "  " + $0 }
            lines += dangling.map { "  (nothing named \"\(TextWidth.displaySafe($0.target))\" yet)" }
            if !found.backlinks.isEmpty {
                if !lines.isEmpty { lines.append("") }
                lines.append(context.terminal.style.apply(.heading, "Linked from"))
                lines += table.lines(found.backlinks).map { "  " + $0 }
            }
            return lines.isEmpty ? "No links, in or out." : lines.joined(separator: "\n")
        }
    }

    private static func add(_ reference: String, _ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = LinkAdd()
        request.item = context.arguments.required(CommonArguments.item)
        (request.target, request.vault) = (reference, store.namedVault)
        let answer = try store.perform(request)
        try context.confirmDone(answer.item.json) {
            let labels = try store.labels([answer.item.id, answer.target ?? reference])
            let (from, to) = (labels[0], labels[1])
            return answer.isChanged ? "\(from) now links to \(to)" : "\(from) links to \(to) already"
        }
    }
}
