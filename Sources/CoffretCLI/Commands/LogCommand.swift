// `coffret log`: everything that happened in the vault.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum LogCommand {
    static let description = CommandDescription(
        "log", group: .time, "List what happened in the vault, latest first",
        discussion: ["The digits at the end of a line name that state of the whole vault for --at."],
        options: [CommonArguments.limit], run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = LogRead()
        request.vault = store.namedVault
        request.limit =
            context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 50 : .max)
        let log = try store.perform(request)
        if store.namedVault == nil, case let count = try store.vaultCount, count > 1 {
            context.note(
                "This is the log of the vault \"\(TextWidth.displaySafe(log.vault))\", one of \(count); --vault NAME shows another one."
            )
        }
        let value = JSONValue.array(
            log.entries.map { entry in
                .fields([
                    "version": .string(entry.version), "time": entry.time.json, "instance": .string(entry.instance),
                    "itemCount": .integer(entry.itemCount), "hasMore": entry.hasMore.map { .bool($0) },
                    "items": .strings(entry.items), "titles": .strings(entry.titles),
                    "summary": .string(entry.summary),
                ])
            })
        try context.print(value) {
            var table = TextTable([
                .init(), .init(isFlexible: true, maximumWidth: 20), .init(isFlexible: true, minimumWidth: 20),
                .init(role: .identifier),
            ])
            for entry in log.entries {
                table.add([
                    context.relativeTime.moment(entry.time.milliseconds), TextWidth.displaySafe(entry.device),
                    entry.summary, String(entry.version.prefix(8)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }
}
