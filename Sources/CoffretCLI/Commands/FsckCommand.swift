// `coffret fsck`: reads and verifies everything.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

enum FsckCommand {
    static let description = CommandDescription(
        "fsck", group: .store, "Verify everything in the store",
        discussion: [
            "Reads every file, checks every signature and every value, and computes every state anew, in all vaults or in the one that --vault names. Nothing is changed but a damaged search index, which is made again."
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        var failure: CommandFailure?
        for session in try VaultSession.openAll(context) {
            do {
                try check(session, context)
            } catch let found as CommandFailure where found.code == CLIErrorCode.storeDamaged.rawValue {
                // The other vaults are looked at as well; what was found here is told beside them.
                if let earlier = failure { try context.errors.line(earlier.message) }
                failure = found
            }
        }
        if let failure { throw failure }
    }

    private static func check(_ session: VaultSession, _ context: CommandContext) throws {
        let progress = context.progress()
        var phase: FsckProgress.Phase?
        let report = try session.vault.check(signers: session.store.store.signers()) { work in
            if work.phase != phase {
                progress.begin("Checking \(work.phase.rawValue)", unit: unit(of: work.phase))
                phase = work.phase
            }
            progress.update(done: work.doneCount, total: work.totalCount)
        }
        progress.end()
        let count = try session.store.store.vaults.count
        try context.print(json(report, session.vault.name)) {
            guard report.isClean else { return "" }
            return context.isQuiet ? "" : summary(report, ofVault: session.vault.name, count: count)
        }
        guard report.isClean else { throw damage(report, session.vault.name) }
    }

    private static func unit(of phase: FsckProgress.Phase) -> String {
        switch phase {
        case .files: "byte"
        case .commits: "change"
        case .trees: "state"
        case .attachments: "item"
        }
    }

    private static func summary(_ report: VaultCheck, ofVault name: String, count: Int) -> String {
        let storage = report.repository
        let vault = count == 1 ? "" : " in the vault \"\(TextWidth.displaySafe(name))\", one of \(count)"
        var lines = [
            "Everything is whole\(vault): \(NumberText.counted(storage.commitCount, "change")), "
                + "\(NumberText.counted(Int(storage.factCount), "fact")), "
                + "\(NumberText.counted(storage.reachableBlobCount, "object")), "
                + "\(NumberText.counted(report.attachmentCount, "attachment"))."
        ]
        if report.absentCount > 0 {
            lines.append(
                "\(NumberText.counted(report.absentCount, "file")) of attachments not on this device: coffret sync fetches them, "
                    + "those of locked notes coffret attach get."
            )
        }
        if storage.isHistoryPending {
            lines.append("Older history has not arrived yet, and was not checked: coffret sync fetches it.")
        }
        switch report.index {
        case .madeAnew: lines.append("The search index was damaged, and was made again.")
        case .damaged: lines.append("The search index is damaged; it is made again when there is room for it.")
        case .whole, nil: break
        }
        for removal in storage.removals {
            lines.append(
                "\(NumberText.counted(Int(removal.removedCommitCount), "earlier change")) removed by "
                    + "\(removal.commit.description.prefix(8)) (compact).")
        }
        return lines.joined(separator: "\n")
    }

    private static func allProblems(_ report: VaultCheck) -> [any CodedError] {
        report.repository.allProblems + report.attachmentProblems
    }

    private static func damage(_ report: VaultCheck, _ vault: String) -> CommandFailure {
        let problems = allProblems(report)
        var lines = problems.prefix(20).map { problem in
            "[\(problem.codeText)]" + (problem.placeText.map { "  \(TextWidth.displaySafe($0))" } ?? "")
        }
        if problems.count > 20 { lines.append("and \(NumberText.grouped(problems.count - 20)) more") }
        return CommandFailure(
            .damaged, .storeDamaged,
            "\(NumberText.counted(problems.count, "problem")) found in \"\(TextWidth.displaySafe(vault))\"; nothing was changed",
            details: Array(lines), hint: "copy the store folder away first; then coffret help check")
    }

    private static func json(_ report: VaultCheck, _ vault: String) -> JSONValue {
        let storage = report.repository
        return .fields([
            "event": .string("done"), "vault": .string(vault), "isClean": .bool(report.isClean),
            "commitCount": .integer(storage.commitCount),
            "signatureCount": .integer(storage.signatureCount), "factCount": .integer(storage.factCount),
            "objectCount": .integer(storage.reachableBlobCount), "attachmentCount": .integer(report.attachmentCount),
            "absentFileCount": .integer(report.absentCount),
            "isHistoryPending": .bool(storage.isHistoryPending),
            "searchIndex": report.index.map { .string($0.rawValue) },
            "removals": .array(
                storage.removals.map {
                    .fields([
                        "commit": .string($0.commit.description), "removedCommitCount": .integer($0.removedCommitCount),
                    ])
                }),
            "problems": .array(
                allProblems(report).map {
                    .fields(["code": .string($0.codeText), "place": $0.placeText.map { .string($0) }])
                }),
        ])
    }
}
