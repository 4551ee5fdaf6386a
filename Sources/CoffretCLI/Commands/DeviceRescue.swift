// `coffret device rescue`: what a revoked device wrote and nobody believed. The one thing to keep true: without a word
// of the person nothing of it enters the vault.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal

enum DeviceRescue {
    static let take = OptionDescription.flag("take", "write it into the vault as your own changes")
    static let drop = OptionDescription.flag("drop", "forget it; coffret compact then removes it for good")

    static let description = CommandDescription(
        "rescue", "Show what a revoked device wrote that does not count, and take it if you want",
        discussion: [
            "A device that you lost may have honest changes that came too late, and a thief's. Nothing of it is in your vaults unless you take it. Look at it first: a title is only what the device says."
        ],
        options: [take, drop, CommonArguments.yes], staysHere: true, run: run)

    private static func run(_ context: CommandContext) throws {
        let (takes, drops) = (context.arguments.isSet(take), context.arguments.isSet(drop))
        guard !(takes && drops) else {
            throw CommandFailure(.usage, .inputInvalid, "--take and --drop are not for one call")
        }
        let session = try StoreSession.open(context, with: takes || drops ? .passphraseAnew : .passphrase)
        var found: [(record: VaultRecord, items: [SetAsideItem])] = []
        for record in try vaults(session) {
            let items = try session.store.setAsideItems(in: record)
            if !items.isEmpty || drops { found.append((record, items)) }
        }
        guard takes || drops else { return try show(found, context, session) }
        let count = found.reduce(0) { $0 + $1.items.count }
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
        var changeCount = 0
        for (record, _) in found {
            changeCount += try session.store.settleSetAside(in: record, isTaken: takes, clock: SystemWallClock())
        }
        try context.confirmDone(.fields(["items": .integer(count), "changes": .integer(changeCount)])) {
            guard takes else { return "Forgotten." }
            return "Took \(NumberText.counted(count, "item")). Your other devices get them with the next coffret sync."
        }
    }

    private static func vaults(_ session: StoreSession) throws -> [VaultRecord] {
        if let wanted = session.namedVault { return [try session.store.vaultRecord(wanted)] }
        return try session.store.vaults.filter { $0.kind == .synced }
    }

    private static func show(
        _ found: [(record: VaultRecord, items: [SetAsideItem])], _ context: CommandContext, _ session: StoreSession
    ) throws {
        let value = JSONValue.array(
            found.flatMap { record, items in
                items.map { item in
                    .fields([
                        "vault": .string(record.name), "id": .string(item.entity.uuid.hex),
                        "title": item.title.map { .string($0) } ?? .null,
                        "device": .string(session.deviceName(item.deviceID)), "time": .moment(item.time),
                    ])
                }
            })
        try context.print(value) {
            guard !found.isEmpty else { return "There is nothing that a revoked device wrote and that does not count." }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for (record, items) in found {
                for item in items {
                    table.add([
                        String(item.entity.uuid.hex.prefix(8)), TextWidth.displaySafe(item.title ?? "?"),
                        TextWidth.displaySafe(record.name),
                        "by \(TextWidth.displaySafe(session.deviceName(item.deviceID))), \(context.relativeTime.moment(item.time))",
                    ])
                }
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }
}
