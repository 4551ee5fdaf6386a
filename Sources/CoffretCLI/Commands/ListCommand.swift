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
        let sessions = try VaultSession.openAll(context)
        guard let session = sessions.first, sessions.count == 1 else { return try acrossVaults(sessions, context) }
        let order = context.arguments.value(sort).flatMap(ItemOrder.init(rawValue:)) ?? .modified
        let filter = try filter(context)
        let limit = context.arguments.number(CommonArguments.limit) ?? .max
        var isIndexDue = false
        if let moment = try context.pointInTime() {
            var items = try session.vault.view(at: moment).list(filter, order: order)[...]
            let totalCount = items.count
            items = items.prefix(limit)
            try show(session, context, totalCount: totalCount) { count in
                defer { items = items.dropFirst(count) }
                return Array(items.prefix(count))
            }
        } else {
            // Whoever waits for a list does not wait for an index: that is made after the list was shown.
            isIndexDue = try session.vault.isIndexFarOff()
            let listing = try session.vault.listing(filter, order: order, limit: limit, isReading: isIndexDue)
            try show(session, context, totalCount: listing.totalCount, next: listing.next)
        }
        if isIndexDue { try IndexProgress.makeIndex(of: session, context) }
    }

    /// How many items are read before the first are shown, and each time after that.
    private static let (firstCount, pieceCount) = (100, 1_000)

    /// Shows a list as it comes.
    private static func show(
        _ session: VaultSession, _ context: CommandContext, totalCount: Int, next: (Int) throws -> [ItemSummary]
    ) throws {
        var shownCount = 0
        func nextItems() throws -> [ItemSummary]? {
            let items = try next(shownCount == 0 ? firstCount : pieceCount)
            shownCount += items.count
            return items.isEmpty ? nil : items
        }
        if context.isJSON {
            try context.output.write(#"{"items":["#)
            var separator = ""
            while let items = try nextItems() {
                let values = items.map { JSONValue.summary($0).line }
                try context.output.write(separator + values.joined(separator: ","))
                try context.output.flush()
                separator = ","
            }
            return try context.output.line(#"],"total":\#(totalCount)}"#)
        }
        guard totalCount > 0 else {
            return try context.print(.null) { try emptyText(session, context) }
        }
        var table = ItemTable(context: context, session: session)
        var isEnded = false
        try context.show(pieces: {
            if let items = try nextItems() {
                return try table.lines(items.map { .init(item: $0) }).joined(separator: "\n")
            }
            guard !isEnded, shownCount < totalCount else { return nil }
            isEnded = true
            return "\(NumberText.grouped(shownCount)) of \(NumberText.counted(totalCount, "item"))"
        })
    }

    /// The items of several vaults in one list, each with its vault.
    private static func acrossVaults(_ sessions: [VaultSession], _ context: CommandContext) throws {
        let order = context.arguments.value(sort).flatMap(ItemOrder.init(rawValue:)) ?? .modified
        let filter = try filter(context)
        let moment = try context.pointInTime()
        var rows: [(session: VaultSession, item: ItemSummary)] = []
        for session in sessions {
            let items =
                try moment.map { try session.vault.view(at: $0).list(filter, order: order) }
                ?? session.vault.list(filter, order: order)
            rows += items.map { (session, $0) }
        }
        rows.sort { order.isBefore($0.item, $1.item) }
        let shown = rows.prefix(context.arguments.number(CommonArguments.limit) ?? .max)
        let value = JSONValue.fields([
            "items": .array(shown.map { SummaryMessage($0.item, vault: $0.session.vault.name).json }),
            "total": .integer(rows.count),
        ])
        try context.print(value) {
            guard !rows.isEmpty, let first = sessions.first else {
                return context.terminal.outputIsTerminal ? "Nothing like that in \(sessions.count) vaults." : ""
            }
            var table = ItemTable(context: context, session: first)
            var lines = try table.lines(
                shown.map { .init(item: $0.item, vault: $0.session) })
            if shown.count < rows.count {
                lines.append("\(NumberText.grouped(shown.count)) of \(NumberText.counted(rows.count, "item"))")
            }
            return lines.joined(separator: "\n")
        }
    }

    private static func filter(_ context: CommandContext) throws -> ItemFilter {
        var filter = context.arguments.isSet(all) ? ItemFilter.everything : ItemFilter()
        filter.tags = try context.tags(CommonArguments.tag)
        if let kind = context.arguments.value(CommonArguments.type).flatMap(ItemKind.init(name:)) {
            filter.kinds = [kind]
        }
        if context.arguments.isSet(pinned) { filter.isPinned = true }
        if context.arguments.isSet(archived) { filter.isArchived = true }
        if context.arguments.isSet(trash) {
            filter.isTrashed = true
            filter.isArchived = nil
        }
        return filter
    }

    /// On a terminal an empty list says so; a pipe gets nothing.
    private static func emptyText(_ session: VaultSession, _ context: CommandContext) throws -> String {
        guard context.terminal.outputIsTerminal else { return "" }
        let isNarrowed =
            context.arguments.isSet(CommonArguments.tag) || context.arguments.isSet(CommonArguments.type)
            || [pinned, archived, trash, CommonArguments.at].contains(where: context.arguments.isSet)
        return isNarrowed
            ? "Nothing like that."
            : try session.emptyWords + " coffret new writes a note, coffret import brings notes in."
    }
}
