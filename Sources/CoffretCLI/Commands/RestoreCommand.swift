// `coffret restore`: out of the trash, or back to an earlier version.

internal import CoffretApp
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum RestoreCommand {
    static let description = CommandDescription(
        "restore", group: .time, "Bring an item back: from the trash, or as it was",
        discussion: ["The present version stays in the history, so this can be undone as well."],
        arguments: [CommonArguments.item], options: [CommonArguments.at],
        examples: [
            CommandExample("coffret restore tomatoes", "takes it out of the trash"),
            CommandExample("coffret restore tomatoes --at yesterday", "makes yesterday's version the present one"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let moment = try context.pointInTime()
        var request = ItemRestore()
        request.item = context.arguments.required(CommonArguments.item)
        (request.at, request.version) = try context.pointInMessage()
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        let answer = try store.perform(request)
        try context.confirmDone(answer.item.json) {
            let label = try store.label(answer.item.id)
            guard moment != nil else { return "\(label) is back from the trash" }
            guard answer.isChanged else { return "\(label) is as it was then: nothing was changed." }
            return "Restored \(label) as of \(context.relativeTime.moment(answer.restoredTime?.milliseconds ?? 0))"
        }
    }
}
