// `coffret compact`: less disk, and less history if that is wanted.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal

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
        let cut = try context.arguments.value(drop).map { text in
            // "2 years" and "2 years ago" are the same here.
            try context.moment(
                MomentParser(nowMilliseconds: context.nowMilliseconds).parse(text + " ago") == nil
                    ? text : text + " ago")
        }
        let session = try VaultSession.open(context)
        if let cut { try confirm(cut, session, context) }
        let report = try session.writing { vault in try vault.compact(dropHistoryOlderThan: cut) }
        try context.confirmDone(json(report)) { text(report) }
    }

    private static func confirm(_ cut: Milliseconds, _ session: VaultSession, _ context: CommandContext) throws {
        let entries = try session.vault.log()
        let old = entries.filter { $0.time < cut }.count
        guard old > 0 else { return }
        // What others write meanwhile stands on what goes here.
        let behindCount = try session.store.store.standing(of: session.vault).peers.count { !$0.hasEverything }
        let others =
            behindCount == 0
            ? ""
            : " \(NumberText.counted(behindCount, "other device")) may not have everything yet: coffret sync there first, and here."
        let what =
            "This drops \(NumberText.counted(old, "change")) of \(NumberText.grouped(entries.count)), all before "
            + "\(context.relativeTime.moment(cut)). Nothing of what is there now is lost. It cannot be undone."
            + others
        try context.confirmDanger(
            what, question: "Drop them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    private static func text(_ report: VaultCompaction) -> String {
        let blobs = report.repository.blobs
        let freed = blobs.byteCountBefore - blobs.byteCountAfter + report.removedFileByteCount
        var text = freed > 0 ? "Freed \(NumberText.bytes(freed))." : "There was nothing to free."
        if report.repository.removedCommitCount > 0 {
            text +=
                " Dropped \(NumberText.counted(report.repository.removedCommitCount, "change")); "
                + "\(NumberText.grouped(report.repository.keptCommitCount)) stay."
        }
        return text
    }

    private static func json(_ report: VaultCompaction) -> JSONValue {
        .fields([
            "keptCommitCount": .integer(report.repository.keptCommitCount),
            "removedCommitCount": .integer(report.repository.removedCommitCount),
            "compactionCommit": report.repository.compactionCommit.map { .string($0.description) },
            "byteCountBefore": .integer(report.repository.blobs.byteCountBefore),
            "removedFileCount": .integer(report.removedFileCount),
            "byteCountAfter": .integer(report.repository.blobs.byteCountAfter),
        ])
    }
}
