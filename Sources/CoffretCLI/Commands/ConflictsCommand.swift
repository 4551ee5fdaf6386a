// `coffret conflicts`: what devices wrote at the same time, and settling it.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

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
        let session = try VaultSession.open(context)
        let items = try session.vault.conflictedItems()
        let value = JSONValue.array(
            items.map {
                .fields([
                    "id": .string($0.id.uuid.hex), "title": .string($0.title),
                    "conflicts": .strings($0.conflicts.map(\.attribute)),
                ])
            })
        try context.print(value) {
            guard !items.isEmpty else { return context.terminal.outputIsTerminal ? "There are no conflicts." : "" }
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true, role: .title), .init(isFlexible: true, role: .faint),
            ])
            let ids = try session.shortIDs(items.map(\.id))
            for item in items {
                table.add([
                    ids[item.id] ?? item.id.uuid.hex, TextWidth.displaySafe(item.title),
                    TextWidth.displaySafe(Suggestion.list(Set(item.conflicts.map { label($0, item) }).sorted())),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func show(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let item = try session.readable(session.vault.item(id))
        let reveals = context.arguments.isSet(reveal)
        let value = JSONValue.fields([
            "id": .string(id.uuid.hex), "title": .string(item.title),
            "conflicts": .array(
                item.conflicts.enumerated().map { index, conflict in
                    .fields([
                        "number": .integer(index + 1), "attribute": .string(conflict.attribute),
                        "shown": hidden(conflict, item, reveals) ? nil : text(shown(conflict, item)),
                        "other": hidden(conflict, item, reveals) ? nil : text(conflict.otherText),
                    ])
                }),
        ])
        try context.print(value) {
            let name = context.label(item, try session.shortID(id))
            guard !item.conflicts.isEmpty else { return "\(name) has no conflicts." }
            var lines = [name]
            for (index, conflict) in item.conflicts.enumerated() {
                lines += [""] + part(index, conflict, item, reveals: reveals)
            }
            return lines.joined(separator: "\n")
        }
    }

    /// A text as a difference from what is shown; any other value as it is.
    private static func part(_ index: Int, _ conflict: ItemConflict, _ item: Item, reveals: Bool) -> [String] {
        let head = "\(index + 1)  \(TextWidth.displaySafe(label(conflict, item)))"
        guard !hidden(conflict, item, reveals) else { return ["\(head): \(ItemText.mask)"] }
        let other = conflict.otherText ?? "?"
        guard conflict.attribute == ItemAttribute.text.name else {
            return [
                "\(head): \(TextWidth.displaySafe(other))",
                "   shown now: \(TextWidth.displaySafe(shown(conflict, item) ?? "nothing"))",
            ]
        }
        let difference = UnifiedDifference(LineDifference(from: item.text, to: other))
        return ["\(head), against what is shown now:"]
            + difference.hunks.flatMap { hunk in
                ["   " + hunk.head] + hunk.lines.map { "   \(sign($0.mark))\(TextWidth.displaySafe($0.text))" }
            }
    }

    private static func text(_ value: String?) -> JSONValue? { value.map { JSONValue.string($0) } }

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
        let session = try VaultSession.open(context)
        let id = try session.vault.resolve(context.arguments.required(CommonArguments.item))
        let before = try session.vault.item(id)
        let attribute = try context.arguments.value(field).map { try self.attribute($0, before) }
        if let number, number > before.conflicts.count {
            let title = TextWidth.displaySafe(before.title)
            let count = before.conflicts.count
            throw CommandFailure(
                .usage, .inputInvalid,
                count == 0
                    ? "\"\(title)\" has no conflicts, so there is no other value to take"
                    : "\"\(title)\" has \(NumberText.counted(count, "other value")) to take, and none with the number \(number)",
                hint: count == 0
                    ? "coffret conflicts ls lists what conflicts"
                    : "coffret conflicts show \(try session.shortID(id)) numbers them; without --take what is shown now stays"
            )
        }
        let choice = number.map { ConflictChoice.other($0 - 1) } ?? (keepsAll ? .all : .shown)
        let count = try session.writing { vault in
            try vault.settleConflicts(of: id, attribute: attribute, choice: choice)
        }
        let item = try session.vault.item(id)
        try context.confirmDone(.fields(["settledCount": .integer(count), "item": .item(item, revealsSecrets: false)]))
        {
            let label = context.label(item, try session.shortID(id))
            guard count > 0 else { return "\(label) has no conflicts." }
            let left = item.conflicts.isEmpty ? "" : " (\(NumberText.counted(item.conflicts.count, "conflict")) left)"
            return "Settled \(label)\(left)"
        }
    }

    private static func attribute(_ name: String, _ item: Item) throws -> String {
        if let exact = item.conflicts.first(where: { $0.attribute == name || label($0, item) == name }) {
            return exact.attribute
        }
        return try ItemAttribute.fieldPrefix + item.field(named: name).key.name
    }

    private static func label(_ conflict: ItemConflict, _ item: Item) -> String {
        guard conflict.attribute.hasPrefix(ItemAttribute.fieldPrefix) else { return conflict.attribute }
        let key = String(conflict.attribute.dropFirst(ItemAttribute.fieldPrefix.count))
        return item.fields.first { $0.key.name == key }?.label ?? key
    }

    private static func shown(_ conflict: ItemConflict, _ item: Item) -> String? {
        switch conflict.attribute {
        case ItemAttribute.text.name: return item.text
        case ItemAttribute.title.name: return item.givenTitle
        case ItemAttribute.path.name: return item.path
        default:
            let key = String(conflict.attribute.dropFirst(ItemAttribute.fieldPrefix.count))
            return item.fields.first { $0.key.name == key }?.value
        }
    }

    private static func hidden(_ conflict: ItemConflict, _ item: Item, _ reveals: Bool) -> Bool {
        guard !reveals, conflict.attribute.hasPrefix(ItemAttribute.fieldPrefix) else { return false }
        let key = String(conflict.attribute.dropFirst(ItemAttribute.fieldPrefix.count))
        return item.fields.first { $0.key.name == key }?.kind.isSecret ?? true
    }
}
