// `coffret import`: folders, archives and files of other programs come in.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretImportExport
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum ImportCommand {
    static let path = ArgumentDescription.required("PATH", .file, "a folder, a tar or zip archive, or a file")
    static let format = OptionDescription.value(
        "format", "FORMAT", .choice(ImporterRegistry.all.map(\.name)), "do not guess the format")
    static let dryRun = OptionDescription.flag("dry-run", "say what would come in, and change nothing")
    static let report = OptionDescription.flag(
        "report", "list what came in differently or not at all, and with --json each item")
    static let password = OptionDescription.value(
        "source-password-fd", "N", .number(0...1_048_575),
        "read the password of a protected export from an open file descriptor")
    static let keyFile = OptionDescription.value("key-file", "FILE", .file, "the key file of a KeePass database")
    static let bearConstants = OptionDescription.value(
        "bear-constants", "FILE", .file, "the two constants of Bear's encryption, a line each")

    static let description = CommandDescription(
        "import", group: .inOut, "Bring in a folder of notes, or what another program exported",
        discussion: [
            "An import is one step: if it fails, nothing was changed. A second time it brings in only what is new or has changed, and never overwrites what you changed here. The source is not touched.",
            "Formats: Markdown (a folder, a tar or zip archive, or one file; vaults of Obsidian and Logseq are such folders), tables (CSV) of browsers and password managers, Coffret's own list of items, its full export, and \(programs). Backups of other programs are recognised and refused by name; until coffret reads them, export Markdown or CSV there.",
            "The content tells the format. A protected export asks for its password. What has no place in an item becomes a field of its name, and the report says so; nothing is left out without a word.",
        ],
        arguments: [path], options: [format, dryRun, report, password, keyFile, bearConstants],
        examples: [
            CommandExample("coffret import ~/Notes", "a folder of Markdown, with its files and links"),
            CommandExample("coffret import notes.tar.gz", "the same from an archive"),
            CommandExample("coffret import passwords.csv", "what a browser or password manager exported"),
            CommandExample("coffret import vault.kdbx --key-file vault.keyx", "a protected export, with its key file"),
            CommandExample("coffret import everything.json", "what coffret export --format json wrote"),
        ],
        run: run)

    /// "a Bitwarden export, a KeePass database and …".
    private static let programs: String = {
        let titles = ImporterRegistry.foreignTitles
        return titles.dropLast().joined(separator: ", ") + (titles.count > 1 ? " and " : "") + (titles.last ?? "")
    }()

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        let isFull = context.arguments.value(format) == nil && Vault.isFullExport(atPath: path)
        if isFull {
            try importEverything(path, context)
            return
        }
        // Opened first: a wrong path is told before the passphrase is asked for.
        let source = try openImportSource(atPath: path)
        let chosen = context.arguments.value(format).flatMap(ImporterRegistry.named)
        // The files are read while the key is derived; a protected export is opened before the store.
        let importer = try begun(chosen ?? ImporterRegistry.detect(source), on: source, context)
        let store = try StoreSession.open(context, with: .passphrase)
        var request = ImportRun()
        (request.vault, request.isDryRun) = (store.namedVault, context.arguments.isSet(dryRun))
        request.listsItems = context.arguments.isSet(Self.report)
        let reporter = stages(store, unit: "file")
        // Until the result is shown: whoever stops it hears whether it was done.
        let interruption = Interruption()
        store.desk.work.isCancelled = { interruption.isWanted }
        let (report, vault) = try request.imported(source, with: importer, on: store.desk)
        let isDryRun = request.isDryRun == true
        if !isDryRun, !report.isNothingNew { try index(vault, reporter, context) }
        reporter.end()
        try context.print(event(request.message(of: report).json)) {
            text(report, isDryRun: isDryRun, context)
        }
        try context.output.flush()
        withExtendedLifetime(interruption) {}
    }

    /// The importer with the secrets that the export wants.
    private static func begun(
        _ importer: any Importer, on source: any ImportSource, _ context: CommandContext
    ) throws -> any Importer {
        let file = try context.arguments.value(keyFile).map { try ForeignFile.read($0) }
        var failure: (any Error)?
        let keys = SourceKeys(keyFile: file) { question throws(ImportExportError) in
            do {
                return try PassphraseSource(context: context).ofSource(
                    from: password, TextWidth.displaySafe(question))
            } catch {
                failure = error
                throw ImportExportError(.passwordNeeded)
            }
        }
        keys.constants = try context.arguments.value(bearConstants).map { try ForeignFile.read($0) }
        keys.decryptOpenPGP = { ciphertext throws(ImportExportError) in
            try OpenPGPProgram(context: context).decrypted(ciphertext)
        }
        do {
            return try importer.begun(on: source, keys: keys)
        } catch {
            throw failure ?? error
        }
    }

    /// The last line of a long work for programs.
    static func event(_ report: JSONValue, _ more: JSONValue.Member...) -> JSONValue {
        guard case .object(let members) = report else { return report }
        return .object([JSONValue.Member("event", .string("done"))] + more + members)
    }

    /// Shows the stages of an import or export as they come.
    static func stages(_ store: StoreSession, unit: String) -> ProgressReporter {
        let reporter = store.context.progress()
        var stage: String?
        store.desk.work.report = { work in
            if work.stage != stage {
                reporter.begin(work.stage.flatMap(WorkProgress.Stage.init).map(name) ?? "", unit: unit)
                stage = work.stage
            }
            reporter.update(done: work.done, total: work.total ?? work.done, byteCount: work.byteCount ?? 0)
        }
        return reporter
    }

    /// Makes what came in searchable, so that the first search need not.
    private static func index(_ vault: Vault, _ reporter: ProgressReporter, _ context: CommandContext) throws {
        reporter.begin("Indexing", unit: "item")
        vault.observeIndex(progress: { reporter.update(done: $0, total: $1) })
        try IndexProgress.makeIndex(of: vault, context)
    }

    /// Brings back what `coffret export --format json` wrote, with its whole history, into an empty vault.
    private static func importEverything(_ path: String, _ context: CommandContext) throws {
        guard !context.arguments.isSet(dryRun) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "a full export comes in whole; --dry-run does not apply")
        }
        let store = try StoreSession.open(context, with: .passphrase)
        var request = ImportRun()
        request.vault = store.namedVault
        let reporter = stages(store, unit: "change")
        let (result, vault) = try request.importedEverything(fromPath: path, on: store.desk)
        try index(vault, reporter, context)
        reporter.end()
        try context.print(event(FullExportMessage(result).json)) {
            context.isQuiet
                ? ""
                : "Imported \(NumberText.counted(result.items, "item")) with "
                    + "\(NumberText.counted(result.commits, "change")) of history and "
                    + "\(NumberText.counted(result.attachments, "attachment"))."
        }
    }

    static func name(of stage: WorkProgress.Stage) -> String {
        switch stage {
        case .listing: "Listing"
        case .reading: "Reading"
        case .attaching: "Attaching"
        case .saving: "Saving"
        case .writing: "Writing"
        case .verifying: "Verifying"
        }
    }

    private static func text(_ report: ImportReport, isDryRun: Bool, _ context: CommandContext) -> String {
        if context.isQuiet { return "" }
        var lines: [String] = []
        if report.isNothingNew {
            lines.append(
                report.unchanged == 0
                    ? "Nothing to import was found there."
                    : report.unchanged == 1
                        ? "Nothing new: the one item is already here."
                        : "Nothing new: all \(NumberText.counted(report.unchanged, "item")) are already here.")
        } else {
            lines.append(summary(report, isDryRun: isDryRun))
        }
        if report.conflicts > 0 {
            lines.append(
                "\(NumberText.counted(report.conflicts, "item")) changed both here and there: yours stayed, the other came in beside it."
            )
        }
        if report.missing > 0 {
            lines.append(
                "\(NumberText.counted(report.missing, "item")) of an earlier import \(report.missing == 1 ? "is" : "are") not there any more and \(report.missing == 1 ? "stays" : "stay") here."
            )
        }
        if report.danglingLinks > 0 {
            lines.append("\(NumberText.counted(report.danglingLinks, "link")) without a target in what was read.")
        }
        if report.hidden > 0 {
            lines.append(
                "Left out by rule: \(NumberText.counted(report.hidden, "hidden file or folder", "hidden files and folders"))."
            )
        }
        if context.arguments.isSet(Self.report) {
            lines.append("Read as: \(report.format)")
            lines += report.items.filter { !$0.raw.isEmpty }.map { item in
                "  \(TextWidth.displaySafe(item.name)): \(NumberText.counted(item.mapped, "value")) with a place, "
                    + "kept raw: \(TextWidth.displaySafe(item.raw.joined(separator: ", ")))"
            }
            lines += report.warnings.map { "  " + TextWidth.displaySafe($0) }
            lines += ImportRun().message(of: report).rawFields.map { field in
                let place = TextWidth.displaySafe(field.example)
                let others = field.count > 1 ? " and \(NumberText.counted(field.count - 1, "other"))" : ""
                return "  kept as a raw field: \(TextWidth.displaySafe(field.label)) (\(place)\(others))"
            }
        } else if report.warningCount > 0 {
            lines.append("\(NumberText.counted(report.warningCount, "remark")): --report lists them.")
        }
        return lines.joined(separator: "\n")
    }

    /// `Imported 7,425 notes, 212 attachments, 88 tags.  Kept as raw fields: 14 (see --report).  Dropped: 0.`
    private static func summary(_ report: ImportReport, isDryRun: Bool) -> String {
        var parts = [NumberText.counted(report.imported, "item")]
        if report.attachments > 0 { parts.append(NumberText.counted(report.attachments, "attachment")) }
        if report.tags > 0 { parts.append(NumberText.counted(report.tags, "tag")) }
        var text = "\(isDryRun ? "Would import" : "Imported") \(parts.joined(separator: ", "))."
        if report.updated > 0 { text += "  Updated: \(NumberText.grouped(report.updated))." }
        if report.unchanged > 0 { text += "  Already here: \(NumberText.grouped(report.unchanged))." }
        text += "  Values with a place: \(NumberText.grouped(report.mapped))."
        if report.keptAsRaw > 0 { text += "  Kept as raw fields: \(NumberText.grouped(report.keptAsRaw))." }
        return text + "  Dropped: \(NumberText.grouped(report.dropped))."
    }
}
