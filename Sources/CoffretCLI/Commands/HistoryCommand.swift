// `coffret history`: the versions of an item.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum HistoryCommand {
    static let description = CommandDescription(
        "history", group: .time, "List the versions of an item, latest first",
        discussion: ["The digits at the end of a line name the version for --at."],
        arguments: [CommonArguments.item], options: [CommonArguments.limit], run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ItemHistory()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.limit = context.arguments.number(CommonArguments.limit)
        request.namesDevices = context.isJSON ? nil : true
        let answer = try store.perform(request)
        try context.print(answer.json) {
            var table = TextTable([
                .init(role: .faint), .init(), .init(isFlexible: true, maximumWidth: 20),
                .init(isFlexible: true, minimumWidth: 20), .init(role: .identifier),
            ])
            for version in answer.versions {
                table.add([
                    version.isCreation ? "○" : "●", context.relativeTime.moment(version.time.milliseconds),
                    TextWidth.displaySafe(version.device ?? ""),
                    TextWidth.displaySafe(version.summary), String(version.version.prefix(8)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }
}
