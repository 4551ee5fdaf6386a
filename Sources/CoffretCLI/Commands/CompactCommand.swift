// `coffret compact`: less disk, and less history if that is wanted.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum CompactCommand {
    static let drop = OptionDescription.value(
        "drop-history-older-than", "WHEN", "also forget versions replaced before then: '2 years', 2024-01-01")

    static let description = CommandDescription(
        "compact", group: .store, "Pack the store more tightly, and drop old history if you say so",
        discussion: [
            "What is there now always stays. Dropped history cannot be brought back; a signed record says what was dropped."
        ],
        options: [drop, CommonArguments.yes],
        examples: [
            CommandExample("coffret compact", "drops nothing"),
            CommandExample("coffret compact --drop-history-older-than '2 years'", "asks first, in numbers"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let cut = try context.arguments.value(drop).map(context.past)
        let store = try CommandStore.open(context)
        var request = VaultCompact()
        (request.vault, request.dropsBefore) = (store.namedVault, cut.map { WireMoment($0) })
        if let cut { try confirm(cut, request, store, context) }
        let report = try store.perform(request)
        try context.confirmDone(json(report)) { text(report) }
    }

    private static func confirm(
        _ cut: Milliseconds, _ request: VaultCompact, _ store: CommandStore, _ context: CommandContext
    ) throws {
        var request = request
        request.isTrial = true
        let found = try store.perform(request)
        guard found.removedCount > 0 else { return }
        let behindCount = found.behindCount ?? 0
        let others =
            behindCount == 0
            ? ""
            : " \(NumberText.counted(behindCount, "other device")) may not have everything yet: coffret sync there first, and here."
        let what =
            "This drops \(NumberText.counted(found.removedCount, "change")) of "
            + "\(NumberText.grouped(found.removedCount + found.keptCount)), all before "
            + "\(context.relativeTime.moment(cut)). Nothing of what is there now is lost. It cannot be undone."
            + others
        try context.confirmDanger(
            what, question: "Drop them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    private static func text(_ report: VaultCompact.Answer) -> String {
        let freed =
            (report.byteCountBefore ?? 0) - (report.byteCountAfter ?? 0) + (report.removedFileByteCount ?? 0)
        var text = freed > 0 ? "Freed \(NumberText.bytes(freed))." : "There was nothing to free."
        if report.removedCount > 0 {
            text +=
                " Dropped \(NumberText.counted(report.removedCount, "change")); "
                + "\(NumberText.grouped(report.keptCount)) stay."
        }
        return text
    }

    private static func json(_ report: VaultCompact.Answer) -> JSONValue {
        .fields([
            "keptCommitCount": .integer(report.keptCount),
            "removedCommitCount": .integer(report.removedCount),
            "compactionCommit": report.commit.map { .string($0) },
            "byteCountBefore": .integer(report.byteCountBefore ?? 0),
            "removedFileCount": .integer(report.removedFileCount ?? 0),
            "byteCountAfter": .integer(report.byteCountAfter ?? 0),
        ])
    }
}
