// `coffret pin`, `unpin`, `archive`, `unarchive`: four commands that set a flag on items.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage

enum FlagCommands {
    static let pin = command(
        "pin", "Keep items at the top of lists", done: "Pinned", before: "Was pinned already"
    ) { batch, id throws(CoreError) in try batch.setPinned(id, true) }
    static let unpin = command(
        "unpin", "Let pinned items go", done: "Unpinned", before: "Was not pinned"
    ) { batch, id throws(CoreError) in try batch.setPinned(id, false) }
    static let archive = command(
        "archive", "Put items aside, out of lists", done: "Archived", before: "Was archived already"
    ) { batch, id throws(CoreError) in try batch.setArchived(id, true) }
    static let unarchive = command(
        "unarchive", "Bring archived items back", done: "Brought back", before: "Was not archived"
    ) { batch, id throws(CoreError) in try batch.setArchived(id, false) }

    private static func command(
        _ name: String, _ summary: String, done: String, before: String,
        _ change: @escaping @Sendable (VaultBatch, EntityID) throws(CoreError) -> Void
    ) -> CommandDescription {
        CommandDescription(
            name, group: .everyDay, summary, arguments: [CommonArguments.items],
            run: { context in
                let session = try VaultSession.open(context)
                let ids = try context.arguments.values(CommonArguments.items).map(session.vault.resolve)
                let old = try session.writing { vault in
                    let old = try ids.map(vault.item)
                    try vault.batch { (batch) throws(CoreError) in
                        for id in ids { try change(batch, id) }
                    }
                    return old
                }
                let items = try ids.map(session.vault.item)
                try context.confirmDone(.array(items.map { .item($0, revealsSecrets: false) })) {
                    try zip(old, items).map { old, item in
                        "\(old == item ? "\(before):" : done) \(context.label(item, try session.shortID(item.id)))"
                    }.joined(separator: "\n")
                }
            })
    }
}
