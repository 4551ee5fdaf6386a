// `coffret export`: everything leaves, in formats that others read.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
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

    static let allVaults = OptionDescription.flag("all-vaults", "all vaults, each by itself in the folder PATH")

    static let description = CommandDescription(
        "export", group: .inOut, "Write everything out, unencrypted",
        discussion: [
            "Markdown: a folder of notes with their files, as import reads it. JSON: one file with every item, attachment and earlier version, from which coffret import makes the same vault again. Secrets are written in clear in both.",
            "One vault is written, the default or the one that --vault names. With --all-vaults PATH is a new folder, and in it each vault gets a folder or a file of its own, called as it is.",
        ],
        arguments: [path], options: [format, allVaults, unsent, CommonArguments.yes],
        examples: [
            CommandExample("coffret export ~/notes-out", "a folder of Markdown"),
            CommandExample("coffret export --format json everything.json", "one file with the whole history"),
            CommandExample("coffret export --format json out --all-vaults", "such a file for each vault"),
        ],
        run: run)

    /// A vault and where it goes.
    private struct Target {
        let session: VaultSession
        let path: String
        let only: Set<EntityID>?
    }

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        let isAll = context.arguments.isSet(allVaults)
        let isJSON = context.arguments.value(format).map { $0 == "json" } ?? (!isAll && path.hasSuffix(".json"))
        let isUnsent = context.arguments.isSet(unsent)
        guard !isUnsent || !isJSON else {
            throw CommandFailure(
                .usage, .inputInvalid, "--unsent writes a folder of Markdown, and no JSON",
                hint: "coffret export FOLDER --unsent")
        }
        guard !isAll || !isUnsent && !context.arguments.isSet(GlobalOptions.vault) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "--all-vaults excludes \(isUnsent ? "--unsent" : "--vault")")
        }
        try PathCheck.target(ofExport: path, isFile: isJSON && !isAll)
        let targets = try isAll ? targets(inFolder: path, isJSON: isJSON, context) : [oneTarget(path, context)]
        try confirm(targets, path, context)
        for target in targets { try target.session.requirePresenceForAll() }
        if isAll { try PosixFileSystem().makeDirectories(path) }
        // Files that are missing in one vault keep none of the others from being written.
        var failure: CommandFailure?
        for target in targets {
            if let found = try write(target, isJSON: isJSON, context) { failure = failure ?? found }
        }
        if let failure { throw failure }
    }

    private static func oneTarget(_ path: String, _ context: CommandContext) throws -> Target {
        let session = try VaultSession.open(context)
        let only = try context.arguments.isSet(unsent) ? unsentItems(session) : nil
        let count = try session.store.store.vaults.count
        if count > 1 {
            context.note(
                "Only \(name(of: session)) is written, one of \(count); --vault NAME names another one, --all-vaults all."
            )
        }
        return Target(session: session, path: path, only: only)
    }

    /// Every vault under its name, which holds no slash.
    private static func targets(
        inFolder folder: String, isJSON: Bool, _ context: CommandContext
    ) throws -> [Target] {
        var taken: Set<String> = []
        return try VaultSession.openEvery(context).map { session in
            var name = session.vault.name
            if name.hasPrefix(".") { name = "vault" + name }
            // Devices may have made vaults of one name; and some file systems hold names for equal that differ in case.
            if !taken.insert(name.lowercased()).inserted {
                name += " " + session.record.vaultID.hex.prefix(8)
                taken.insert(name.lowercased())
            }
            return Target(
                session: session, path: PathText.join(folder, isJSON ? name + ".json" : name), only: nil)
        }
    }

    private static func name(of session: VaultSession) -> String {
        "the vault \"\(TextWidth.displaySafe(session.vault.name))\""
    }

    private static func confirm(_ targets: [Target], _ path: String, _ context: CommandContext) throws {
        let items = try targets.flatMap { target in
            try target.session.vault.list(.everything).filter { target.only?.contains($0.id) ?? true }
        }
        let secrets = items.filter { $0.kind != .note }.count
        let what = targets.count == 1 ? name(of: targets[0].session) : "\(targets.count) vaults"
        try context.confirmDanger(
            "This writes \(NumberText.counted(items.count, "item")) of \(what) unencrypted to \(TextWidth.displaySafe(path)), "
                + "\(NumberText.grouped(secrets)) of them with secrets.",
            question: "Write them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    /// - Returns: what has to be said of attachments that are not there as they should be.
    private static func write(
        _ target: Target, isJSON: Bool, _ context: CommandContext
    ) throws -> CommandFailure? {
        let vault = target.session.vault
        let show = ImportCommand.stages(context, unit: "item")
        let files = SealedFileContentStore(try vault.contents())
        if isJSON {
            let report = try vault.exportEverything(
                to: target.path, files: files, time: context.nowMilliseconds, progress: show.update)
            show.reporter.end()
            try context.print(ImportCommand.json(report)) {
                context.isQuiet
                    ? ""
                    : "Exported \(NumberText.counted(report.items, "item")) with "
                        + "\(NumberText.counted(report.commits, "change")) of history and "
                        + "\(NumberText.counted(report.attachments, "attachment")), "
                        + "\(NumberText.bytes(Int(report.byteCount))), to \(TextWidth.displaySafe(target.path))."
                        + conflictText(report.conflicts)
            }
            return try failure(report.faults, target)
        }
        var options = MarkdownExportOptions()
        options.only = target.only
        let report = try vault.exportMarkdown(
            to: target.path, files: files, options: options, progress: show.update)
        show.reporter.end()
        try context.print(json(report, target.path)) { context.isQuiet ? "" : text(report, target.path) }
        return try failure(report.faults, target)
    }

    private static func failure(_ faults: [[UInt8]: AttachmentFault], _ target: Target) throws -> CommandFailure? {
        let faulty = try target.session.vault.attachments(with: faults)
        guard !faulty.isEmpty else { return nil }
        return FaultyFiles.failure(
            faulty, isSynced: target.session.record.kind == .synced, "left out; all else is written")
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
