// `coffret tag`: tags of the vault and of items.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum TagCommand {
    static let tag = ArgumentDescription.required("TAG", repeats: true, "tags, with or without #")
    static let oldTag = ArgumentDescription.required("OLD", .stored("tags"), "the tag as it is")
    static let newTag = ArgumentDescription.required("NEW", "the tag as it shall be")

    static let description = CommandDescription(
        "tag", group: .find, "List tags, and give or take them",
        discussion: [
            "Tags are nested with slashes: garden/beds lies in garden. A tag that stands in a text is renamed there; one that is taken away stays there as a word, without its #."
        ],
        subcommands: [
            CommandDescription("ls", "List all tags and how many items have them", run: list),
            CommandDescription("add", "Give an item tags", arguments: [CommonArguments.item, tag], run: add),
            CommandDescription("rm", "Take tags from an item", arguments: [CommonArguments.item, tag], run: remove),
            CommandDescription(
                "rename", "Rename a tag and everything below it, in all items", arguments: [oldTag, newTag],
                examples: [CommandExample("coffret tag rename garden yard", "garden/beds becomes yard/beds")],
                run: rename),
        ])

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = TagList()
        request.vault = store.namedVault
        let tags = try store.perform(request).tags
        try context.print(.array(tags.map(\.json))) {
            guard !tags.isEmpty else { return context.terminal.outputIsTerminal ? "There are no tags yet." : "" }
            var table = TextTable([.init(isFlexible: true, role: .tag), .init(alignsRight: true)])
            for tag in tags { table.add(["#" + TextWidth.displaySafe(tag.tag), NumberText.grouped(tag.count)]) }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func add(_ context: CommandContext) throws {
        try change(context) { $0.add = $1 }
    }

    private static func remove(_ context: CommandContext) throws {
        try change(context) { $0.remove = $1 }
    }

    private static func change(_ context: CommandContext, _ fill: (inout TagChange, [String]) -> Void) throws {
        let tags = try context.arguments.values(tag).map { try TagPath(wanted: $0).path }
        let store = try CommandStore.open(context)
        var request = TagChange()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        fill(&request, tags)
        let answer = try store.perform(request)
        try context.confirmDone(answer.item.json) {
            "Saved \(try store.label(answer.item.id))"
                + (answer.isTextChanged ? "\nIts text was changed where the tag stood." : "")
        }
    }

    private static func rename(_ context: CommandContext) throws {
        var request = TagRename()
        (request.tag, request.newTag) = try (
            TagPath(wanted: context.arguments.required(oldTag)).path,
            TagPath(wanted: context.arguments.required(newTag)).path
        )
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            let (before, after) = (TextWidth.displaySafe(request.tag), TextWidth.displaySafe(request.newTag))
            let texts = NumberText.counted(answer.textCount, "text")
            return "#\(before) is #\(after) now, in \(NumberText.counted(answer.itemCount, "item"))."
                + (answer.textCount == 0 ? "" : " It stood in \(texts), and was changed there.")
        }
    }
}
