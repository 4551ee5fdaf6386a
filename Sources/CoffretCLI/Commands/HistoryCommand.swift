// `coffret history`: the versions of an item.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum HistoryCommand {
    static let description = CommandDescription(
        "history", group: .time, "List the versions of an item, latest first",
        discussion: ["The digits at the end of a line name the version for --at."],
        arguments: [CommonArguments.item], options: [CommonArguments.limit], run: run)

    static func run(_ context: CommandContext) throws {
        let store = try StoreSession.open(context, with: .passphrase)
        var request = ItemHistory()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.limit = context.arguments.number(CommonArguments.limit)
        let (id, versions, vault) = try request.listed(on: store.desk)
        try context.print(ItemHistory.Answer(id, versions).json) {
            var table = TextTable([
                .init(role: .faint), .init(), .init(isFlexible: true, maximumWidth: 20),
                .init(isFlexible: true, minimumWidth: 20), .init(role: .identifier),
            ])
            for version in versions {
                table.add([
                    version.change.isCreation ? "○" : "●", context.relativeTime.moment(version.time),
                    TextWidth.displaySafe(store.deviceName(ofCommit: version.commit, in: vault)),
                    TextWidth.displaySafe(version.change.summary), String(version.commit.description.prefix(8)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }
}
