// `coffret pin`, `unpin`, `archive`, `unarchive`: four commands that set a flag on items.

internal import CoffretApp
internal import CoffretBase
internal import CoffretWire

enum FlagCommands {
    static let pin = command("pin", "Keep items at the top of lists", done: "Pinned", before: "Was pinned already") {
        $0.isPinned = true
    }
    static let unpin = command("unpin", "Let pinned items go", done: "Unpinned", before: "Was not pinned") {
        $0.isPinned = false
    }
    static let archive = command(
        "archive", "Put items aside, out of lists", done: "Archived", before: "Was archived already"
    ) { $0.isArchived = true }
    static let unarchive = command(
        "unarchive", "Bring archived items back", done: "Brought back", before: "Was not archived"
    ) { $0.isArchived = false }

    private static func command(
        _ name: String, _ summary: String, done: String, before: String,
        _ set: @escaping @Sendable (inout ItemFlag) -> Void
    ) -> CommandDescription {
        CommandDescription(
            name, group: .everyDay, summary, arguments: [CommonArguments.items],
            run: { context in
                let store = try CommandStore.open(context)
                var request = ItemFlag()
                (request.items, request.vault) = (context.arguments.values(CommonArguments.items), store.namedVault)
                set(&request)
                let answer = try store.perform(request)
                try context.confirmDone(.array(answer.items.map(\.json))) {
                    try answer.items.map { item in
                        let word = answer.changed.contains(item.id) ? done : "\(before):"
                        return "\(word) \(try store.label(item.id))"
                    }.joined(separator: "\n")
                }
            })
    }
}
