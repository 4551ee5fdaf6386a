// `coffret history`: the versions of an item.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

enum HistoryCommand {
    static let description = CommandDescription(
        "history", group: .time, "List the versions of an item, latest first",
        discussion: ["The digits at the end of a line name the version for --at."],
        arguments: [CommonArguments.item], options: [CommonArguments.limit], run: run)

    static func run(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let versions = try session.vault.history(of: id, limit: context.arguments.number(CommonArguments.limit) ?? .max)
        let value = JSONValue.fields([
            "id": .string(id.uuid.hex), "versions": .array(versions.map { json($0, session) }),
        ])
        try context.print(value) {
            var table = TextTable([
                .init(role: .faint), .init(), .init(isFlexible: true, maximumWidth: 20),
                .init(isFlexible: true, minimumWidth: 20), .init(role: .identifier),
            ])
            for version in versions {
                table.add([
                    version.change.isCreation ? "○" : "●", context.relativeTime.moment(version.time),
                    TextWidth.displaySafe(session.deviceName(ofCommit: version.commit)),
                    TextWidth.displaySafe(version.change.summary), String(version.commit.description.prefix(8)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func json(_ version: ItemVersion, _ session: VaultSession) -> JSONValue {
        let change = version.change
        return .fields([
            "version": .string(version.commit.description), "time": .moment(version.time),
            "instance": .string(version.instance.hex), "summary": .string(change.summary),
            "isCreation": .bool(change.isCreation), "isDeletion": .bool(change.isDeletion),
            "addedLineCount": .integer(change.addedLineCount), "removedLineCount": .integer(change.removedLineCount),
            "addedTags": .strings(change.addedTags.map(\.path)),
            "removedTags": .strings(change.removedTags.map(\.path)),
            "changedFields": .strings(change.fields.map(\.key.name)),
            "addedAttachments": .strings(change.addedAttachments),
            "removedAttachments": .strings(change.removedAttachments),
        ])
    }
}
