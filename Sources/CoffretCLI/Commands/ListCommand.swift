// `coffret ls`: items without searching.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum ListCommand {
    private static let flags: KeyValuePairs<Flag, OptionDescription> = [
        .pinned: .flag("pinned", "pinned items only"), .archived: .flag("archived", "archived items only"),
        .trashed: .flag("trash", "what is in the trash"),
    ]
    static let all = OptionDescription.flag("all", short: "a", "archived and trashed items too")
    static let sort = OptionDescription.value(
        "sort", "ORDER", .choice(ItemOrder.allCases.map(\.rawValue)), "by modified (latest first), created or title")

    static let description = CommandDescription(
        "ls", group: .find, "List items, latest first",
        options: [CommonArguments.tag, CommonArguments.type] + flags.map(\.value)
            + [all, sort, CommonArguments.limit, CommonArguments.at],
        examples: [
            CommandExample("coffret ls --tag garden", "what has the tag, or one below it"),
            CommandExample("coffret ls --vault all", "all vaults, whichever COFFRET_VAULT names"),
            CommandExample("coffret ls --at '2 weeks ago'", "the vault as it was"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let request = try request(store, context)
        try show(store.parts(of: request), request, store, context)
        try store.catchUp()
    }

    /// Shows the list as it comes.
    private static func show(
        _ next: @escaping () throws -> ItemList.Answer?, _ request: ItemList, _ store: CommandStore,
        _ context: CommandContext
    ) throws {
        var (shownCount, totalCount) = (0, 0)
        func nextItems() throws -> [SummaryMessage]? {
            while let part = try next() {
                totalCount = part.total
                shownCount += part.items.count
                if !part.items.isEmpty { return part.items }
            }
            return nil
        }
        if context.isJSON {
            try context.output.write(#"{"items":["#)
            var separator = ""
            while let items = try nextItems() {
                try context.output.write(separator + items.map(\.json.line).joined(separator: ","))
                try context.output.flush()
                separator = ","
            }
            return try context.output.line(#"],"total":\#(totalCount)}"#)
        }
        var waiting = try nextItems()
        guard waiting != nil else { return try context.print(.null) { try emptyText(request, store, context) } }
        var table = ItemTable(context: context)
        var isEnded = false
        try context.show(pieces: {
            if let items = try waiting.take() ?? nextItems() { return table.lines(items).joined(separator: "\n") }
            guard !isEnded, shownCount < totalCount else { return nil }
            isEnded = true
            return "\(NumberText.grouped(shownCount)) of \(NumberText.counted(totalCount, "item"))"
        })
    }

    private static func request(_ store: CommandStore, _ context: CommandContext) throws -> ItemList {
        var request = ItemList()
        request.vault = store.listedVault
        request.tags = context.arguments.values(CommonArguments.tag)
        request.kind = context.arguments.value(CommonArguments.type)
        request.order = context.arguments.value(sort).flatMap(ItemList.Order.init(rawValue:))
        if context.arguments.isSet(all) { request.includesAll = true }
        for (flag, option) in flags where context.arguments.isSet(option) { request.flags[flag] = true }
        (request.at, request.version) = try context.pointInMessage()
        request.limit = context.arguments.number(CommonArguments.limit) ?? .max
        request.givesShortIDs = context.isJSON ? nil : true
        return request
    }

    /// On a terminal an empty list says so; a pipe gets nothing.
    private static func emptyText(
        _ request: ItemList, _ store: CommandStore, _ context: CommandContext
    ) throws -> String {
        guard context.terminal.outputIsTerminal else { return "" }
        let vaults = try store.perform(VaultList()).vaults
        guard vaults.count == 1 || request.vault != nil else { return "Nothing like that in \(vaults.count) vaults." }
        let isNarrowed =
            context.arguments.isSet(CommonArguments.tag) || context.arguments.isSet(CommonArguments.type)
            || context.arguments.isSet(CommonArguments.at)
            || flags.map(\.value).contains(where: context.arguments.isSet)
        let vault = vaults.first { request.vault == nil || [$0.id, $0.name].contains(request.vault) }?.id
        return isNarrowed
            ? "Nothing like that."
            : try store.emptyWords(vault) + " coffret new writes a note, coffret import brings notes in."
    }
}
