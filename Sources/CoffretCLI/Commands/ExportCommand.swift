// `coffret export`: everything leaves, in formats that others read.

internal import CoffretBase
internal import CoffretCore
internal import CoffretImportExport
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal

enum ExportCommand {
    static let path = ArgumentDescription.required("PATH", .directory, "a new folder, or a new file for JSON")
    static let format = OptionDescription.value(
        "format", "FORMAT", .choice(["markdown", "json"]),
        "markdown (a folder) or json (one file with the whole history)")

    static let unsent = OptionDescription.flag(
        "unsent", "only items that were changed here since the server last had them, as Markdown")

    static let description = CommandDescription(
        "export", group: .inOut, "Write everything out, unencrypted",
        discussion: [
            "Markdown: a folder of notes with their files, as import reads it. One vault is written, the default or the one that --vault names. JSON: one file with every item, attachment and earlier version, from which coffret import makes the same vault again. Secrets are written in clear in both."
        ],
        arguments: [path], options: [format, unsent, CommonArguments.yes],
        examples: [
            CommandExample("coffret export ~/notes-out", "a folder of Markdown"),
            CommandExample("coffret export --format json everything.json", "one file with the whole history"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        let isJSON = context.arguments.value(format).map { $0 == "json" } ?? path.hasSuffix(".json")
        let isUnsent = context.arguments.isSet(unsent)
        guard !isUnsent || !isJSON else {
            throw CommandFailure(
                .usage, .inputInvalid, "--unsent writes a folder of Markdown, and no JSON",
                hint: "coffret export FOLDER --unsent")
        }
        try PathCheck.target(ofExport: path, isFile: isJSON)
        let session = try VaultSession.open(context)
        let only = try isUnsent ? unsentItems(session) : nil
        let items = try session.vault.list(.everything).filter { only?.contains($0.id) ?? true }
        let secrets = items.filter { $0.kind != .note }.count
        let vaultCount = try session.store.store.vaults.count
        let vault = "the vault \"\(TextWidth.displaySafe(session.vault.name))\""
        if vaultCount > 1 {
            context.note("Only \(vault) is written, one of \(vaultCount); --vault NAME names another one.")
        }
        try context.confirmDanger(
            "This writes \(NumberText.counted(items.count, "item")) of \(vault) unencrypted to \(TextWidth.displaySafe(path)), "
                + "\(NumberText.grouped(secrets)) of them with secrets.",
            question: "Write them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        try session.requirePresenceForAll()
        let show = ImportCommand.stages(context, unit: "item")
        let files = SealedFileContentStore(try session.vault.contents())
        let faulty = try session.vault.faultyAttachments(reads: true)
        let isSynced = try session.store.store.vaultRecord(session.store.wantedVault).kind == .synced
        if isJSON {
            let report = try session.vault.exportEverything(
                to: path, files: files, time: context.nowMilliseconds, progress: show.update)
            show.reporter.end()
            try context.print(ImportCommand.json(report)) {
                context.isQuiet
                    ? ""
                    : "Exported \(NumberText.counted(report.items, "item")) with "
                        + "\(NumberText.counted(report.commits, "change")) of history and "
                        + "\(NumberText.counted(report.attachments, "attachment")), "
                        + "\(NumberText.bytes(Int(report.byteCount))), to \(TextWidth.displaySafe(path))."
                        + conflictText(report.conflicts)
            }
            if !faulty.isEmpty {
                throw FaultyFiles.failure(faulty, isSynced: isSynced, "left out; all else is written")
            }
            return
        }
        var options = MarkdownExportOptions()
        options.only = only
        let report = try session.vault.exportMarkdown(
            to: path, files: files, options: options, progress: show.update)
        show.reporter.end()
        try context.print(json(report, path)) { context.isQuiet ? "" : text(report, path) }
        if !faulty.isEmpty { throw FaultyFiles.failure(faulty, isSynced: isSynced, "left out; all else is written") }
    }

    /// What this device never sent, for another one that takes it in as an import.
    private static func unsentItems(_ session: VaultSession) throws -> Set<EntityID> {
        let record = try session.store.store.vaultRecord(session.store.wantedVault)
        guard record.kind == .synced else { throw SyncCommand.notSynced(record) }
        guard let items = try VaultSyncer.unsentItems(of: session.vault) else {
            throw CommandFailure(
                .notFound, code: StorageError.Code.historyCompacted.rawValue,
                "what the server last had is not known on this device", hint: "coffret export FOLDER writes everything")
        }
        return items
    }

    private static func conflictText(_ count: Int) -> String {
        guard count > 0 else { return "" }
        return
            "\n\(NumberText.counted(count, "item")) with conflicts: what is shown now is in the file as such, the rest in its "
            + "history. coffret conflicts ls"
    }

    private static func text(_ report: ExportReport, _ path: String) -> String {
        var parts = [NumberText.counted(report.notes, "note")]
        if report.otherItems > 0 { parts.append(NumberText.counted(report.otherItems, "other item")) }
        if report.attachments > 0 { parts.append(NumberText.counted(report.attachments, "attachment")) }
        let size = NumberText.bytes(Int(report.byteCount))
        var lines = ["Exported \(parts.joined(separator: ", ")), \(size), to \(TextWidth.displaySafe(path))."]
        if report.trashed > 0 {
            lines.append("\(NumberText.counted(report.trashed, "item")) in the trash stayed behind.")
        }
        if report.locked > 0 {
            lines.append(
                "\(NumberText.counted(report.locked, "locked note")) stayed behind; coffret note unlock --for-good takes a lock off."
            )
        }
        return (lines + report.warnings.map { TextWidth.displaySafe($0) }).joined(separator: "\n")
    }

    private static func json(_ report: ExportReport, _ path: String) -> JSONValue {
        .fields([
            "event": .string("done"), "path": .string(path), "notes": .integer(report.notes),
            "identical": .integer(report.identical), "otherItems": .integer(report.otherItems),
            "attachments": .integer(report.attachments), "locked": .integer(report.locked),
            "trashed": .integer(report.trashed),
            "byteCount": .integer(report.byteCount), "warnings": .strings(report.warnings),
        ])
    }
}
