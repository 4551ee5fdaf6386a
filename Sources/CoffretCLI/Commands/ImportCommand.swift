// `coffret import`: folders, archives and files of other programs come in.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretImportExport
internal import CoffretMessages
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
    static let identity = OptionDescription.value(
        "identity", "FILE", .file, repeats: true, "a file of keys that opens a file of age")
    static let bearConstants = OptionDescription.value(
        "bear-constants", "FILE", .file, "the two constants of Bear's encryption, a line each")

    static let description = CommandDescription(
        "import", group: .inOut, "Bring in a folder of notes, or what another program exported",
        discussion: [
            "An import is one step: if it fails, nothing was changed. A second time it brings in only what is new or has changed, and never overwrites what you changed here. The source is not touched.",
            "Formats: Markdown (a folder, a tar or zip archive, or one file; vaults of Obsidian and Logseq are such folders), tables (CSV) of browsers and password managers, Coffret's own list of items, its full export, and \(programs). Backups of other programs are recognised and refused by name; until coffret reads them, export Markdown or CSV there.",
            "The content tells the format. A protected export asks for its password. What has no place in an item becomes a field of its name, and the report says so; nothing is left out without a word.",
        ],
        arguments: [path], options: [format, dryRun, report, password, keyFile, identity, bearConstants],
        examples: [
            CommandExample("coffret import ~/Notes", "a folder of Markdown, with its files and links"),
            CommandExample("coffret import notes.tar.gz", "the same from an archive"),
            CommandExample("coffret import passwords.csv", "what a browser or password manager exported"),
            CommandExample("coffret import vault.kdbx --key-file vault.keyx", "a protected export, with its key file"),
            CommandExample("coffret import everything.json", "what coffret export --format json wrote"),
            CommandExample("coffret import everything.json.age", "the same, opened by age"),
        ],
        run: run)

    /// "a Bitwarden export, a KeePass database and …".
    private static let programs: String = {
        let titles = ImporterRegistry.foreignTitles
        return titles.dropLast().joined(separator: ", ") + (titles.count > 1 ? " and " : "") + (titles.last ?? "")
    }()

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        var request = ImportRun()
        request.format = context.arguments.value(format)
        (request.isDryRun, request.listsItems) = (context.arguments.isSet(dryRun), context.arguments.isSet(Self.report))
        // A wrong path is told before the passphrase is asked for.
        var source = OwnedDescriptor(try openSourceDescriptor(atPath: path))
        let isSealed = AgeProgram.isSealed(source)
        if isSealed {
            source = try AgeProgram(context).opened(source, identities: context.arguments.values(identity))
        }
        let isFull = request.format == nil && Vault.isFullExport(atPath: "/proc/self/fd/\(source.number)")
        guard isFull || !isSealed else {
            throw ImportExportError(
                .sourceUnsupported, subject: "\(TextWidth.displaySafe(path)) is no export of coffret within age")
        }
        if isFull, request.isDryRun == true {
            throw CommandFailure(
                .usage, code: UsageError.Code.conflict.rawValue,
                "a full export comes in whole; --dry-run does not apply")
        }
        let keys = try [keyFile, bearConstants].map { try context.arguments.value($0).map { try KeyFile($0) } }
        (request.bringsKeyFile, request.bringsConstants) = (keys[0] != nil, keys[1] != nil)
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        let reporter = ProgressStages(context, unit: isFull ? "change" : "file")
        // Until the result is shown: whoever stops it hears whether it was done.
        let interruption = Interruption()
        let answer = try stoppable {
            try store.perform(
                request, descriptors: [source.number] + keys.compactMap { $0?.file.number }, progress: reporter.show,
                isCancelled: { interruption.isWanted })
        }
        reporter.end()
        if let report = answer.items {
            try context.print(event(report.json)) { text(report, context) }
        }
        if let report = answer.everything {
            try context.print(event(report.json)) { context.isQuiet ? "" : text(report) }
        }
        try context.output.flush()
        withExtendedLifetime((interruption, keys)) {}
        // An optimised build would close it before the request takes its number along.
        withExtendedLifetime(source) {}
    }

    /// A file that opens the source, which the session reads.
    private final class KeyFile {
        let file: OwnedDescriptor

        init(_ path: String) throws { file = try ForeignFile.open(path) }
    }

    /// Says of an import that was stopped that nothing came in.
    private static func stoppable<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch  where FailureCode.of(error) == OperationError.Code.cancelled.rawValue {
            throw ImportExportError(.stopped)
        }
    }

    /// The last line of a long work for programs.
    static func event(_ report: JSONValue, _ more: JSONValue.Member...) -> JSONValue {
        guard case .object(let members) = report else { return report }
        return .object([JSONValue.Member("event", .string("done"))] + more + members)
    }

    private static func text(_ report: FullExportMessage) -> String {
        "Imported \(NumberText.counted(report.items, "item")) with "
            + "\(NumberText.counted(report.commits, "change")) of history and "
            + "\(NumberText.counted(report.attachments, "attachment"))."
    }

    private static func text(_ report: ImportMessage, _ context: CommandContext) -> String {
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
            lines.append(summary(report))
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
            lines += report.perItem.filter { !$0.raw.isEmpty }.map { item in
                "  \(TextWidth.displaySafe(item.name)): \(NumberText.counted(item.mapped, "value")) with a place, "
                    + "kept raw: \(TextWidth.displaySafe(item.raw.joined(separator: ", ")))"
            }
            lines += report.warnings.map { "  " + TextWidth.displaySafe($0) }
            lines += report.rawFields.map { field in
                let place = TextWidth.displaySafe(field.example)
                let others = field.count > 1 ? " and \(NumberText.counted(field.count - 1, "other"))" : ""
                return "  kept as a raw field: \(TextWidth.displaySafe(field.label)) (\(place)\(others))"
            }
        } else if report.warningCount > 0 {
            let isOne = report.warningCount == 1
            lines.append(
                "\(NumberText.counted(report.warningCount, "remark")): --report \(isOne ? "shows it" : "lists them").")
        }
        return lines.joined(separator: "\n")
    }

    /// `Imported 7,425 items, 212 attachments, 88 tags.`, and in a second line what became of their values.
    private static func summary(_ report: ImportMessage) -> String {
        var parts = [NumberText.counted(report.imported, "item")]
        if report.attachments > 0 { parts.append(NumberText.counted(report.attachments, "attachment")) }
        if report.tags > 0 { parts.append(NumberText.counted(report.tags, "tag")) }
        var text = "\(report.isDryRun ? "Would import" : "Imported") \(parts.joined(separator: ", "))."
        if report.updated > 0 { text += "  Updated: \(NumberText.grouped(report.updated))." }
        if report.unchanged > 0 { text += "  Already here: \(NumberText.grouped(report.unchanged))." }
        text += "\nValues with a place: \(NumberText.grouped(report.mapped))."
        if report.keptAsRaw > 0 { text += "  Kept as raw fields: \(NumberText.grouped(report.keptAsRaw))." }
        return text + "  Dropped: \(NumberText.grouped(report.dropped))."
    }
}

extension ImportMessage {
    /// Whether the vault is as it was.
    fileprivate var isNothingNew: Bool { imported + updated + conflicts + attachments == 0 }
}
