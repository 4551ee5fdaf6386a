// `coffret conflicts`: what devices wrote at the same time, and settling it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum ConflictsCommand {
    static let take = OptionDescription.value(
        "take", "N", .number(1...1_000), "take the value with this number in coffret conflicts show")
    static let both = OptionDescription.flag("both", "of texts keep all, one below the other")
    static let field = OptionDescription.value(
        "field", "NAME", .stored("fields"), "settle this one only: text, title, a field's name")
    static let reveal = OptionDescription.flag("reveal", "show secrets")

    static let description = CommandDescription(
        "conflicts", group: .find, "What two devices wrote at the same time, and settling it",
        discussion: [
            "Changes of different notes, fields and lines never get in each other's way. Where two devices wrote the "
                + "same place, both values stay until you settle it; what you do not keep is still in the history."
        ],
        subcommands: [
            CommandDescription("ls", "List the items with conflicts", run: list),
            CommandDescription(
                "show", "Show the values of an item that contradict each other", arguments: [CommonArguments.item],
                options: [reveal], run: show),
            CommandDescription(
                "resolve", "Settle the conflicts of an item: keep what is shown, unless you say otherwise",
                arguments: [CommonArguments.item], options: [take, both, field],
                examples: [
                    CommandExample("coffret conflicts resolve tomatoes", "keeps what coffret show shows"),
                    CommandExample("coffret conflicts resolve tomatoes --take 1", "takes the first other value"),
                ],
                run: resolve),
        ], run: list)

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ConflictList()
        request.vault = store.namedVault
        request.givesShortIDs = context.isJSON ? nil : true
        let items = try store.perform(request).items
        try context.print(.array(items.map(\.json))) {
            guard !items.isEmpty else { return context.terminal.outputIsTerminal ? "There are no conflicts." : "" }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true, role: .title), .init(isFlexible: true, role: .faint),
                .init(role: .faint),
            ])
            for item in items {
                table.add([
                    item.shortID ?? item.id, TextWidth.displaySafe(item.title),
                    TextWidth.displaySafe(Suggestion.list(item.labels ?? item.conflicts)),
                    item.vault.map { TextWidth.displaySafe($0) } ?? "",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func show(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ConflictRead()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.revealsSecrets = context.arguments.isSet(reveal)
        let answer = try store.perform(request)
        try context.print(answer.json) {
            let name = try store.label(answer.id)
            guard !answer.conflicts.isEmpty else { return "\(name) has no conflicts." }
            let reveals = request.revealsSecrets == true
            return ([name] + answer.conflicts.flatMap { [""] + part($0, context, reveals: reveals) })
                .joined(separator: "\n")
        }
    }

    /// A text as a difference from what is shown; any other value as it is.
    private static func part(_ conflict: ConflictMessage, _ context: CommandContext, reveals: Bool) -> [String] {
        var head = "\(conflict.number)  \(TextWidth.displaySafe(conflict.label))"
        if let device = conflict.device, let time = conflict.time {
            head += " by \(TextWidth.displaySafe(device)), \(context.relativeTime.moment(time.milliseconds))"
        }
        guard reveals || !conflict.isSecret else { return ["\(head): \(ItemText.mask)"] }
        let other = conflict.other ?? "?"
        guard conflict.attribute == ItemAttribute.text.name else {
            return [
                "\(head): \(TextWidth.displaySafe(other))",
                "   shown now: \(TextWidth.displaySafe(conflict.shown ?? "nothing"))",
            ]
        }
        let difference = UnifiedDifference(LineDifference(from: conflict.shown ?? "", to: other))
        return ["\(head), against what is shown now:"]
            + difference.hunks.flatMap { hunk in
                ["   " + hunk.head] + hunk.lines.map { "   \(sign($0.mark))\(TextWidth.displaySafe($0.text))" }
            }
    }

    private static func sign(_ mark: UnifiedDifference.Mark) -> String {
        switch mark {
        case .kept: " "
        case .removed: "-"
        case .added: "+"
        }
    }

    private static func resolve(_ context: CommandContext) throws {
        let number = context.arguments.number(take)
        let keepsAll = context.arguments.isSet(both)
        if number != nil && keepsAll {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue, "--take and --both exclude each other")
        }
        let store = try CommandStore.open(context)
        var request = ConflictSettle()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        (request.number, request.attribute) = (number, context.arguments.value(field))
        request.keepsAll = keepsAll
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            let label = try store.label(answer.item.id)
            guard answer.settledCount > 0 else { return "\(label) has no conflicts." }
            let count = answer.item.conflicts?.count ?? 0
            return "Settled \(label)" + (count == 0 ? "" : " (\(NumberText.counted(count, "conflict")) left)")
        }
    }
}
