// `coffret export`: everything leaves, in formats that others read.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretImportExport
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

enum ExportCommand {
    static let path = ArgumentDescription.required("PATH", .directory, "a new folder, or a new file for JSON")
    static let format = OptionDescription.value(
        "format", "FORMAT", .choice(["markdown", "textbundle", "json", "bitwarden"]),
        "markdown or textbundle (a folder), json (one file with the whole history), or bitwarden (Bitwarden's JSON)")

    static let unsent = OptionDescription.flag(
        "unsent", "only items that were changed here since the server last had them, as Markdown")

    static let allVaults = OptionDescription.flag("all-vaults", "all vaults, each by itself in the folder PATH")

    static let description = CommandDescription(
        "export", group: .inOut, "Write everything out, unencrypted",
        discussion: [
            "Markdown: a folder of notes with their files, as import reads it. TextBundle: a folder of bundles, one for each note, which Bear and others read. JSON: one file with every item, attachment and earlier version, from which coffret import makes the same vault again. Bitwarden: one file that Bitwarden reads, without attachments and earlier versions. Secrets are written in clear in all of them.",
            "One vault is written, the default or the one that --vault names. With --all-vaults PATH is a new folder, and in it each vault gets a folder or a file of its own, called as it is.",
        ],
        arguments: [path], options: [format, allVaults, unsent, CommonArguments.yes],
        examples: [
            CommandExample("coffret export ~/notes-out", "a folder of Markdown"),
            CommandExample("coffret export --format textbundle ~/bundles", "a folder of TextBundles, as Bear reads"),
            CommandExample("coffret export --format json everything.json", "one file with the whole history"),
            CommandExample("coffret export --format json out --all-vaults", "such a file for each vault"),
        ],
        run: run)

    /// A vault and where it goes.
    private struct Target {
        let record: VaultRecord
        let vault: Vault
        let path: String
        let only: Set<EntityID>?
    }

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        let isAll = context.arguments.isSet(allVaults)
        let named = context.arguments.value(format).flatMap { ExportRun.Format(rawValue: $0) }
        let format = named ?? (!isAll && path.hasSuffix(".json") ? .json : .markdown)
        let isFile = format.isFile
        let isUnsent = context.arguments.isSet(unsent)
        guard !isUnsent || format == .markdown else {
            throw CommandFailure(
                .usage, .inputInvalid, "--unsent writes a folder of Markdown, and nothing else",
                hint: "coffret export FOLDER --unsent")
        }
        guard !isAll || !isUnsent && !context.arguments.isSet(GlobalOptions.vault) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "--all-vaults excludes \(isUnsent ? "--unsent" : "--vault")")
        }
        try PathCheck.target(ofExport: path, isFile: isFile && !isAll)
        let store = try StoreSession.open(context, with: .passphrase)
        var request = ExportRun()
        request.format = format
        request.onlyUnsent = isUnsent
        let targets = try isAll ? targets(inFolder: path, request, store) : [oneTarget(path, request, store)]
        try confirm(targets, path, context)
        for target in targets { try store.desk.requirePresence(forAllOf: target.vault) }
        if isAll { try PosixFileSystem().makeDirectories(path) }
        // Files that are missing in one vault keep none of the others from being written.
        var failure: CommandFailure?
        for target in targets {
            if let found = try write(target, request, store) { failure = failure ?? found }
        }
        if let failure { throw failure }
    }

    private static func oneTarget(_ path: String, _ request: ExportRun, _ store: StoreSession) throws -> Target {
        let record = try store.desk.record(store.namedVault)
        let only = try request.only(record, on: store.desk)
        let count = try store.store.vaults.count
        if count > 1 {
            store.context.note(
                "Only \(name(of: record)) is written, one of \(count); --vault NAME names another one, --all-vaults all."
            )
        }
        return Target(record: record, vault: try store.desk.vault(record), path: path, only: only)
    }

    /// Every vault under its name, which holds no slash.
    private static func targets(
        inFolder folder: String, _ request: ExportRun, _ store: StoreSession
    ) throws -> [Target] {
        var taken: Set<String> = []
        return try store.store.vaults.map { record in
            let vault = try store.desk.vault(record)
            var name = vault.name
            if name.hasPrefix(".") { name = "vault" + name }
            // Devices may have made vaults of one name; and some file systems hold names for equal that differ in case.
            if !taken.insert(name.lowercased()).inserted {
                name += " " + record.vaultID.hex.prefix(8)
                taken.insert(name.lowercased())
            }
            let path = PathText.join(folder, request.format.isFile ? name + ".json" : name)
            return Target(record: record, vault: vault, path: path, only: nil)
        }
    }

    private static func name(of record: VaultRecord) -> String { "the vault \"\(TextWidth.displaySafe(record.name))\"" }

    private static func confirm(_ targets: [Target], _ path: String, _ context: CommandContext) throws {
        let items = try targets.flatMap { target in
            try target.vault.list(.everything).filter { target.only?.contains($0.id) ?? true }
        }
        let secrets = items.filter { $0.kind != .note }.count
        let what = targets.count == 1 ? name(of: targets[0].record) : "\(targets.count) vaults"
        try context.confirmDanger(
            "This writes \(NumberText.counted(items.count, "item")) of \(what) unencrypted to \(TextWidth.displaySafe(path)), "
                + "\(NumberText.grouped(secrets)) of them with secrets.",
            question: "Write them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    /// - Returns: what has to be said of attachments that are not there as they should be.
    private static func write(
        _ target: Target, _ request: ExportRun, _ store: StoreSession
    ) throws -> CommandFailure? {
        let context = store.context
        let reporter = ImportCommand.stages(store, unit: "item")
        let outcome = try request.written(target.record, to: target.path, only: target.only, on: store.desk)
        reporter.end()
        if let report = outcome.everything {
            try context.print(ImportCommand.event(FullExportMessage(report).json)) {
                context.isQuiet
                    ? ""
                    : "Exported \(NumberText.counted(report.items, "item")) with "
                        + "\(NumberText.counted(report.commits, "change")) of history and "
                        + "\(NumberText.counted(report.attachments, "attachment")), "
                        + "\(NumberText.bytes(Int(report.byteCount))), to \(TextWidth.displaySafe(target.path))."
                        + conflictText(report.conflicts)
            }
        }
        if let report = outcome.items {
            let path = JSONValue.Member("path", .string(target.path))
            try context.print(ImportCommand.event(ExportMessage(report).json, path)) {
                context.isQuiet ? "" : text(report, target.path)
            }
        }
        guard !outcome.faulty.isEmpty else { return nil }
        return FaultyFiles.failure(
            outcome.faulty, isSynced: target.record.kind == .synced, "left out; all else is written")
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
}
