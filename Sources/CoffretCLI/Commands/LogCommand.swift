// `coffret log`: everything that happened in the vault.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

enum LogCommand {
    static let description = CommandDescription(
        "log", group: .time, "List what happened in the vault, latest first",
        discussion: ["The digits at the end of a line name that state of the whole vault for --at."],
        options: [CommonArguments.limit], run: run)

    static func run(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 50 : .max)
        let entries = try session.vault.log(limit: limit)
        let present = try session.vault.present
        let count = try session.store.store.vaults.count
        if count > 1, session.store.namedVault == nil {
            context.note(
                "This is the log of the vault \"\(TextWidth.displaySafe(session.vault.name))\", one of \(count); --vault NAME shows another one."
            )
        }
        let value = JSONValue.array(
            entries.map { entry in
                .fields([
                    "version": .string(entry.commit.description), "time": .moment(entry.time),
                    "instance": .string(entry.instance.hex), "itemCount": .integer(entry.itemCount),
                    "hasMore": entry.hasMore ? .bool(true) : nil,
                    "items": .strings(entry.items.map(\.uuid.hex)),
                    "titles": .strings((try? titles(of: entry.items, present)) ?? []),
                    "summary": .string((try? what(entry, present, session.vault)) ?? ""),
                ])
            })
        try context.print(value) {
            var table = TextTable([
                .init(), .init(isFlexible: true, maximumWidth: 20), .init(isFlexible: true, minimumWidth: 20),
                .init(role: .identifier),
            ])
            for entry in entries {
                table.add([
                    context.relativeTime.moment(entry.time),
                    TextWidth.displaySafe(session.store.deviceName(ofCommit: entry.commit, in: session.vault)),
                    try what(entry, present, session.vault), String(entry.commit.description.prefix(8)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func titles(of items: [EntityID], _ present: VaultView) throws -> [String] {
        try items.map { id in
            try present.item(id).map { "\"\(TextWidth.displaySafe($0.title))\"" } ?? "an item that is gone"
        }
    }

    /// The first items that a commit touched, by their titles of now, and what it did to them.
    private static func what(_ entry: LogEntry, _ present: VaultView, _ vault: Vault) throws -> String {
        guard entry.itemCount > 0 else { return "(the vault itself)" }
        let shown = Array(entry.items.prefix(2))
        let titles = try titles(of: shown, present)
        // A merge may only have taken over what another line says of itself.
        let changes = try shown.map { try vault.change(of: $0, in: entry.commit).summary }.map {
            $0.isEmpty ? "merged" : $0
        }
        let rest = entry.itemCount - titles.count
        let more = rest > 0 ? " and \(entry.hasMore ? "over " : "")\(NumberText.grouped(rest)) more" : ""
        if Set(changes).count == 1 {
            return "\(titles.joined(separator: ", "))\(more): \(TextWidth.displaySafe(changes[0]))"
        }
        return zip(titles, changes).map { "\($0): \(TextWidth.displaySafe($1))" }.joined(separator: "; ") + more
    }
}
