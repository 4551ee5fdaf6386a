// `coffret ls`: items without searching.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ListCommand {
    static let pinned = OptionDescription.flag("pinned", "pinned items only")
    static let archived = OptionDescription.flag("archived", "archived items only")
    static let trash = OptionDescription.flag("trash", "what is in the trash")
    static let all = OptionDescription.flag("all", short: "a", "archived and trashed items too")
    static let sort = OptionDescription.value(
        "sort", "ORDER", .choice(ItemOrder.allCases.map(\.rawValue)), "by modified (latest first), created or title")

    static let description = CommandDescription(
        "ls", group: .find, "List items, latest first",
        options: [
            CommonArguments.tag, CommonArguments.type, pinned, archived, trash, all, sort, CommonArguments.limit,
            CommonArguments.at,
        ],
        examples: [
            CommandExample("coffret ls --tag garden", "what has the tag, or one below it"),
            CommandExample("coffret ls --at '2 weeks ago'", "the vault as it was"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try StoreSession.open(context, with: .passphrase)
        let limit = context.arguments.number(CommonArguments.limit) ?? .max
        let request = try request(store, context)
        if let pieces = try request.pieces(on: store.desk, limit: limit) {
            try show(pieces, store, context)
            return try makeIndex(pieces.listing, context)
        }
        let listing = try request.listed(on: store.desk, limit: limit)
        try context.print(ItemList.Answer(listing).json) {
            guard listing.totalCount > 0 else { return try emptyText(listing, store, context) }
            var table = ItemTable(context: context)
            var lines = try table.lines(listing)
            if listing.rows.count < listing.totalCount {
                let total = NumberText.counted(listing.totalCount, "item")
                lines.append("\(NumberText.grouped(listing.rows.count)) of \(total)")
            }
            return lines.joined(separator: "\n")
        }
        try makeIndex(listing, context)
    }

    /// Makes the index without which the list was read, so that nobody waited for it.
    private static func makeIndex(_ listing: ItemListing, _ context: CommandContext) throws {
        for vault in listing.withoutIndex { try IndexProgress.makeIndex(of: vault, context) }
    }

    /// How many items are read before the first are shown, and each time after that.
    private static let (firstCount, pieceCount) = (100, 1_000)

    /// Shows the list as it comes.
    private static func show(_ pieces: ItemList.Pieces, _ store: StoreSession, _ context: CommandContext) throws {
        let (totalCount, isOverSeveral) = (pieces.listing.totalCount, pieces.listing.isOverSeveral)
        var shownCount = 0
        func nextItems() throws -> [ListedItem]? {
            let items = try pieces.next(shownCount == 0 ? firstCount : pieceCount)
            shownCount += items.count
            return items.isEmpty ? nil : items
        }
        if context.isJSON {
            try context.output.write(#"{"items":["#)
            var separator = ""
            while let items = try nextItems() {
                let values = items.map { SummaryMessage($0.item, vault: isOverSeveral ? $0.vault.name : nil).json.line }
                try context.output.write(separator + values.joined(separator: ","))
                try context.output.flush()
                separator = ","
            }
            return try context.output.line(#"],"total":\#(totalCount)}"#)
        }
        guard totalCount > 0 else {
            return try context.print(.null) { try emptyText(pieces.listing, store, context) }
        }
        var table = ItemTable(context: context)
        var isEnded = false
        try context.show(pieces: {
            if let items = try nextItems() {
                return try table.lines(items, namesVaults: isOverSeveral).joined(separator: "\n")
            }
            guard !isEnded, shownCount < totalCount else { return nil }
            isEnded = true
            return "\(NumberText.grouped(shownCount)) of \(NumberText.counted(totalCount, "item"))"
        })
    }

    private static func request(_ store: StoreSession, _ context: CommandContext) throws -> ItemList {
        var request = ItemList()
        request.vault = store.namedVault
        request.tags = context.arguments.values(CommonArguments.tag)
        request.kind = context.arguments.value(CommonArguments.type)
        request.order = context.arguments.value(sort).flatMap(ItemList.Order.init(rawValue:))
        if context.arguments.isSet(all) { request.includesAll = true }
        if context.arguments.isSet(pinned) { request.isPinned = true }
        if context.arguments.isSet(archived) { request.isArchived = true }
        if context.arguments.isSet(trash) { request.isTrashed = true }
        (request.at, request.version) = try context.pointInMessage()
        return request
    }

    /// On a terminal an empty list says so; a pipe gets nothing.
    private static func emptyText(
        _ listing: ItemListing, _ store: StoreSession, _ context: CommandContext
    ) throws -> String {
        guard context.terminal.outputIsTerminal else { return "" }
        guard !listing.isOverSeveral, let vault = listing.vaults.first else {
            return "Nothing like that in \(listing.vaults.count) vaults."
        }
        let isNarrowed =
            context.arguments.isSet(CommonArguments.tag) || context.arguments.isSet(CommonArguments.type)
            || [pinned, archived, trash, CommonArguments.at].contains(where: context.arguments.isSet)
        return isNarrowed
            ? "Nothing like that."
            : try store.emptyWords(vault) + " coffret new writes a note, coffret import brings notes in."
    }
}
