// `coffret device rescue`: what a revoked device wrote and nobody believed. The one thing to keep true: without a word
// of the person nothing of it enters the vault.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum DeviceRescue {
    static let take = OptionDescription.flag("take", "write it into the vault as your own changes")
    static let drop = OptionDescription.flag("drop", "forget it; coffret compact then removes it for good")

    static let description = CommandDescription(
        "rescue", "Show what a revoked device wrote that does not count, and take it if you want",
        discussion: [
            "A device that you lost may have honest changes that came too late, and a thief's. Nothing of it is in your vaults unless you take it. Look at it first: a title is only what the device says."
        ],
        options: [take, drop, CommonArguments.yes], run: run)

    private static func run(_ context: CommandContext) throws { try run(context, vault: nil) }

    /// - Parameter vault: the one that is meant; nil: the one that `--vault` names, or all.
    static func run(_ context: CommandContext, vault: String?) throws {
        let (takes, drops) = (context.arguments.isSet(take), context.arguments.isSet(drop))
        guard !(takes && drops) else {
            throw CommandFailure(.usage, .inputInvalid, "--take and --drop are not for one call")
        }
        guard takes || drops else { return try show(context, vault) }
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var list = RescueList()
        list.vault = vault ?? session.namedVault
        let count = try list.perform(on: session.desk).items.count
        if takes, count > 0 {
            try context.confirmDanger(
                "\(NumberText.counted(count, "item")) will be as a device has them that you revoked.",
                question: "Take them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        if drops, count > 0 {
            try context.confirmDanger(
                "Changes of \(NumberText.counted(count, "item")) by a revoked device will be forgotten on this device.",
                question: "Forget them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        var request = RescueSettle()
        (request.vault, request.isTaken, request.itemCount) = (list.vault, takes, count)
        let settled = try request.perform(on: session.desk)
        try context.confirmDone(settled.json) {
            guard takes else { return "Forgotten." }
            return "Took \(NumberText.counted(count, "item")). Your other devices get them with the next coffret sync."
        }
    }

    private static func show(_ context: CommandContext, _ vault: String?) throws {
        let store = try CommandStore.open(context)
        var request = RescueList()
        request.vault = vault ?? store.namedVault
        let items = try store.perform(request).items
        try context.print(.array(items.map(\.json))) {
            guard !items.isEmpty else { return "There is nothing that a revoked device wrote and that does not count." }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for item in items {
                let time = context.relativeTime.moment(item.time.milliseconds)
                table.add([
                    String(item.id.prefix(8)), TextWidth.displaySafe(item.title ?? "?"),
                    TextWidth.displaySafe(item.vault), "by \(TextWidth.displaySafe(item.device)), \(time)",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }
}
