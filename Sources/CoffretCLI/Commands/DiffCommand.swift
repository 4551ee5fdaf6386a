// `coffret diff`: what is different between two versions of an item.

internal import CoffretApp
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum DiffCommand {
    static let from = ArgumentDescription.optional("FROM", "a moment or version (the one before the latest)")
    static let to = ArgumentDescription.optional("TO", "a moment or version (now)")

    static let description = CommandDescription(
        "diff", group: .time, "Show what changed in an item",
        arguments: [CommonArguments.item, from, to],
        examples: [
            CommandExample("coffret diff tomatoes", "the latest change"),
            CommandExample("coffret diff tomatoes yesterday", "everything since then"),
            CommandExample("coffret diff tomatoes '3 May' '10 May'", "between two moments"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        var request = ItemCompare()
        request.item = context.arguments.required(CommonArguments.item)
        (request.at, request.version) = try context.pointInMessage(context.arguments.value(from))
        (request.newAt, request.newVersion) = try context.pointInMessage(context.arguments.value(to))
        let store = try StoreSession.open(context, with: .passphrase)
        request.vault = store.namedVault
        let compared = try request.compared(on: store.desk)
        try context.print(ItemCompare.Answer(compared).json) {
            lines(compared.change, compared.text, context.terminal.style).joined(separator: "\n")
        }
    }

    private static func lines(_ change: ItemChange, _ text: UnifiedDifference, _ style: TextStyler) -> [String] {
        guard !change.isEmpty else { return ["Nothing changed."] }
        var lines: [String] = []
        if let title = change.title {
            lines.append(style.apply(.removed, "- title: \(TextWidth.displaySafe(title.old))"))
            lines.append(style.apply(.added, "+ title: \(TextWidth.displaySafe(title.new))"))
        }
        let others = [
            change.addedTags.map { "tag +\($0.path)" }, change.removedTags.map { "tag −\($0.path)" },
            change.fields.map { "\($0.label) \($0.verb.rawValue)" },
            change.flags.map { $0.isSet ? $0.name : "no longer \($0.name)" },
            change.addedAttachments.map { "file +\($0)" }, change.removedAttachments.map { "file −\($0)" },
        ].flatMap { $0 }
        lines += others.map { TextWidth.displaySafe($0) }
        for hunk in text.hunks {
            lines.append(style.apply(.faint, hunk.head))
            for line in hunk.lines {
                let shown = TextWidth.displaySafe(line.text)
                switch line.mark {
                case .kept: lines.append(" " + shown)
                case .removed: lines.append(style.apply(.removed, "-" + shown))
                case .added: lines.append(style.apply(.added, "+" + shown))
                }
                if !line.hasLineFeed { lines.append("\\ No newline at end of file") }
            }
        }
        return lines
    }
}
