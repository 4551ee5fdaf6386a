// `coffret diff`: what is different between two versions of an item.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

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
        let (start, end) = try (
            context.arguments.value(from).map(context.pointInTime), context.arguments.value(to).map(context.pointInTime)
        )
        let session = try VaultSession.open(context)
        let vault = session.vault
        let id = try vault.resolve(context.arguments.required(CommonArguments.item))
        let old: BlobName
        if let start {
            old = try vault.commit(at: start).name
        } else {
            let versions = try vault.history(of: id, limit: 2)
            guard versions.count == 2 else {
                throw CommandFailure(
                    .notFound, .versionNotFound, "there is only one version of this item so far")
            }
            old = versions[1].commit
        }
        let new = try end.map { try vault.commit(at: $0).name }
        // Both versions are opened: a locked note's old passphrase may be another one.
        for version in [old, new] {
            let view = try version.map { try vault.view(at: $0) } ?? vault.present
            if let item = try view.item(id) { _ = try session.readable(item) }
        }
        let (change, text) = try vault.difference(of: id, from: old, to: new)
        let value = JSONValue.fields([
            "id": .string(id.uuid.hex), "from": .string(old.description), "to": new.map { .string($0.description) },
            "summary": .string(change.summary), "hunks": .array(text.hunks.map(json)),
        ])
        try context.print(value) { lines(change, text, context.terminal.style).joined(separator: "\n") }
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

    private static func json(_ hunk: UnifiedDifference.Hunk) -> JSONValue {
        .fields([
            "oldStart": .integer(hunk.oldRange.lowerBound), "newStart": .integer(hunk.newRange.lowerBound),
            "lines": .array(
                hunk.lines.map { .fields(["mark": .string($0.mark.rawValue), "text": .string($0.text)]) }),
        ])
    }
}
