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
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        let difference = try store.perform(request)
        try context.print(difference.json) { lines(difference, context.terminal.style).joined(separator: "\n") }
    }

    private static func lines(_ difference: ItemCompare.Answer, _ style: TextStyler) -> [String] {
        guard !difference.summary.isEmpty else { return ["Nothing changed."] }
        var lines: [String] = []
        if let old = difference.oldTitle, let new = difference.newTitle {
            lines.append(style.apply(.removed, "- title: \(TextWidth.displaySafe(old))"))
            lines.append(style.apply(.added, "+ title: \(TextWidth.displaySafe(new))"))
        }
        let others = [
            difference.addedTags.map { "tag +\($0)" }, difference.removedTags.map { "tag −\($0)" },
            difference.fields.map { "\($0.label) \($0.change)" },
            difference.flags.map { $0.isSet ? $0.name : "no longer \($0.name)" },
            difference.addedAttachments.map { "file +\($0)" }, difference.removedAttachments.map { "file −\($0)" },
        ].flatMap { $0 }
        lines += others.map { TextWidth.displaySafe($0) }
        for hunk in difference.hunks {
            lines.append(style.apply(.faint, hunk.head))
            for line in hunk.lines {
                let shown = TextWidth.displaySafe(line.text)
                switch UnifiedDifference.Mark(rawValue: line.mark) {
                case .removed: lines.append(style.apply(.removed, "-" + shown))
                case .added: lines.append(style.apply(.added, "+" + shown))
                case .kept, nil: lines.append(" " + shown)
                }
                if line.lacksLineEnd == true { lines.append("\\ No newline at end of file") }
            }
        }
        return lines
    }
}

extension HunkMessage {
    fileprivate var head: String {
        let newCount = lines.count { $0.mark != UnifiedDifference.Mark.removed.rawValue }
        let oldCount = lines.count { $0.mark != UnifiedDifference.Mark.added.rawValue }
        return UnifiedDifference.head(oldStart..<oldStart + oldCount, newStart..<newStart + newCount)
    }
}
