// `coffret fsck`: reads and verifies everything.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum FsckCommand {
    static let description = CommandDescription(
        "fsck", group: .store, "Verify everything in the store",
        discussion: [
            "Reads every file, checks every signature and every value, and computes every state anew, in all vaults or in the one that --vault names. Nothing is changed but a damaged search index, which is made again."
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let progress = context.progress()
        var phase: FsckProgress.Phase?
        var request = VaultVerify()
        request.vault = store.namedVault
        let answer = try store.perform(request) { work in
            let current = work.stage.flatMap(FsckProgress.Phase.init)
            if let current, current != phase {
                progress.begin("Checking \(current.rawValue)", unit: unit(of: current))
                phase = current
            }
            progress.update(done: work.done, total: work.total ?? work.done)
        }
        progress.end()
        let count = try store.namedVault == nil ? answer.vaults.count : store.perform(VaultList()).vaults.count
        var failure: CommandFailure?
        for report in answer.vaults {
            try context.print(json(report)) {
                guard report.isClean, !context.isQuiet else { return "" }
                return summary(report, count: count)
            }
            guard !report.isClean else { continue }
            // What was found in one vault is told beside the others.
            if let earlier = failure { try context.errors.line(earlier.message) }
            failure = damage(report)
        }
        if let failure { throw failure }
    }

    private static func unit(of phase: FsckProgress.Phase) -> String {
        switch phase {
        case .files: "byte"
        case .entries: "change"
        case .trees: "state"
        case .attachments: "item"
        }
    }

    private static func summary(_ report: VaultReportMessage, count: Int) -> String {
        let vault = count == 1 ? "" : " in the vault \"\(TextWidth.displaySafe(report.name))\", one of \(count)"
        var lines = [
            "Everything is whole\(vault): \(NumberText.counted(report.changeCount, "change")), "
                + "\(NumberText.counted(report.factCount, "fact")), "
                + "\(NumberText.counted(report.objectCount, "object")), "
                + "\(NumberText.counted(report.attachmentCount, "attachment"))."
        ]
        if report.absentCount > 0 {
            lines.append(
                "\(NumberText.counted(report.absentCount, "file")) of attachments not on this device: coffret sync fetches them, "
                    + "those of locked notes coffret attach get."
            )
        }
        if report.isHistoryPending {
            lines.append("Older history has not arrived yet, and was not checked: coffret sync fetches it.")
        }
        switch report.index.flatMap(IndexCheck.init) {
        case .madeAnew: lines.append("The search index was damaged, and was made again.")
        case .damaged: lines.append("The search index is damaged; it is made again when there is room for it.")
        case .whole, nil: break
        }
        for removal in report.removals {
            lines.append(
                "\(NumberText.counted(removal.removedCount, "earlier change")) removed by "
                    + "\(removal.commit.prefix(8)) (compact).")
        }
        return lines.joined(separator: "\n")
    }

    private static func damage(_ report: VaultReportMessage) -> CommandFailure {
        var lines = report.problems.prefix(20).map { problem in
            "[\(problem.code)]" + (problem.place.map { "  \(TextWidth.displaySafe($0))" } ?? "")
        }
        if report.problemCount > 20 { lines.append("and \(NumberText.grouped(report.problemCount - 20)) more") }
        return CommandFailure(
            .damaged, .storeDamaged,
            "\(NumberText.counted(report.problemCount, "problem")) found in \"\(TextWidth.displaySafe(report.name))\"; nothing was changed",
            details: Array(lines), hint: "copy the store folder away first; then coffret help check")
    }

    private static func json(_ report: VaultReportMessage) -> JSONValue {
        .fields([
            "event": .string("done"), "vault": .string(report.name), "isClean": .bool(report.isClean),
            "commitCount": .integer(report.changeCount),
            "signatureCount": .integer(report.signatureCount), "factCount": .integer(report.factCount),
            "objectCount": .integer(report.objectCount), "attachmentCount": .integer(report.attachmentCount),
            "absentFileCount": .integer(report.absentCount),
            "isHistoryPending": .bool(report.isHistoryPending),
            "searchIndex": report.index.map { .string($0) },
            "removals": .array(
                report.removals.map {
                    .fields([
                        "commit": .string($0.commit), "removedCommitCount": .integer($0.removedCount),
                    ])
                }),
            "problems": .array(
                report.problems.map { .fields(["code": .string($0.code), "place": $0.place.map { .string($0) }]) }),
        ])
    }
}
