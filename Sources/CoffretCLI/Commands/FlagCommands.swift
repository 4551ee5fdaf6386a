// `coffret pin`, `unpin`, `archive`, `unarchive`: commands that set a flag on items, or take it off.

internal import CoffretApp
internal import CoffretBase
internal import CoffretWire

enum FlagCommands {
    static let all = [
        command(.pinned, true, "pin", "Keep items at the top of lists", done: "Pinned", before: "Was pinned already"),
        command(.pinned, false, "unpin", "Let pinned items go", done: "Unpinned", before: "Was not pinned"),
        command(
            .archived, true, "archive", "Put items aside, out of lists", done: "Archived",
            before: "Was archived already"),
        command(
            .archived, false, "unarchive", "Bring archived items back", done: "Brought back",
            before: "Was not archived"),
    ]

    private static func command(
        _ flag: Flag, _ isSet: Bool, _ name: String, _ summary: String, done: String, before: String
    ) -> CommandDescription {
        CommandDescription(
            name, group: .everyDay, summary, arguments: [CommonArguments.items],
            run: { context in
                let store = try CommandStore.open(context)
                var request = ItemFlag()
                (request.items, request.vault) = (context.arguments.values(CommonArguments.items), store.namedVault)
                request.flags[flag] = isSet
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
