// `coffret export`: everything leaves, in formats that others read.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWire

enum ExportCommand {
    static let path = ArgumentDescription.required("PATH", .directory, "a new folder, or a new file for JSON")
    static let format = OptionDescription.value(
        "format", "FORMAT", .choice(ExportRun.Format.allCases.map(\.rawValue) + [age]),
        "a folder: markdown, textbundle, html; one file: json (with the whole history), age (the same, encrypted), "
            + "textpack, bitwarden, csv, kdbx (KeePass)"
    )
    static let recipient = OptionDescription.value(
        "recipient", "KEY", repeats: true, "a public key of age or SSH that can open the encrypted file")
    static let recipientsFile = OptionDescription.value(
        "recipients-file", "FILE", .file, repeats: true, "a file of such keys")
    /// JSON within a file that age makes.
    private static let age = "age"
    static let password = OptionDescription.value(
        "target-password-fd", "N", .number(0...1_048_575),
        "read the password of the new KeePass database from an open file descriptor")

    static let unsent = OptionDescription.flag(
        "unsent", "only items that were changed here since the server last had them, as Markdown")

    static let allVaults = OptionDescription.flag("all-vaults", "all vaults, each by itself in the folder PATH")

    static let description = CommandDescription(
        "export", group: .inOut, "Write everything out, for other programs",
        discussion: [
            "Markdown: a folder of notes with their files, as import reads it. TextBundle: a folder of bundles, one for each note, which Bear and others read; textpack: the same in one zip file. JSON: one file with every item, attachment and earlier version, from which coffret import makes the same vault again. HTML: a folder of pages that a browser shows without a network. Bitwarden, CSV: one file that password managers read, without attachments and earlier versions. KeePass: a database with attachments, under a password of its own. age: the JSON file, encrypted by the program age on its way, for the keys that are named or under a passphrase that age asks for. Secrets are written in clear in all but the last two.",
            "One vault is written, the default or the one that --vault names. With --all-vaults PATH is a new folder, and in it each vault gets a folder or a file of its own, called as it is.",
        ],
        arguments: [path],
        options: [format, allVaults, unsent, password, recipient, recipientsFile, CommonArguments.yes],
        examples: [
            CommandExample("coffret export ~/notes-out", "a folder of Markdown"),
            CommandExample("coffret export --format textbundle ~/bundles", "a folder of TextBundles, as Bear reads"),
            CommandExample("coffret export --format json everything.json", "one file with the whole history"),
            CommandExample("coffret export everything.json.age", "the same, encrypted by age under a passphrase"),
            CommandExample("coffret export --format kdbx passwords.kdbx", "a KeePass database, under a new password"),
            CommandExample("coffret export --format json out --all-vaults", "such a file for each vault"),
        ],
        run: run)

    /// A vault and where it goes.
    private struct Target {
        let path: String
        let trial: ExportTrialMessage
    }

    static func run(_ context: CommandContext) throws {
        let path = context.arguments.required(path)
        let isAll = context.arguments.isSet(allVaults)
        let named = context.arguments.value(format)
        let sealing = try sealing(named, isAll ? nil : path, context)
        let byName =
            isAll
            ? nil : [ExportRun.Format.json, .csv, .kdbx, .textpack].first { path.hasSuffix($0.fileExtension ?? "") }
        let format = sealing == nil ? named.flatMap { ExportRun.Format(rawValue: $0) } ?? byName ?? .markdown : .json
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
        try PathCheck.target(ofExport: path, isFile: format.isFile && !isAll)
        let store = try CommandStore.open(context)
        var request = ExportRun()
        (request.format, request.onlyUnsent) = (format, isUnsent)
        let suffix = (format.fileExtension ?? "") + (sealing == nil ? "" : AgeProgram.fileExtension)
        let targets = try isAll ? targets(inFolder: path, suffix, request, store) : [oneTarget(path, request, store)]
        if format != .kdbx, sealing == nil { try confirm(targets, path, context) }
        if isAll { try PosixFileSystem().makeDirectories(path) }
        // Files that are missing in one vault keep none of the others from being written. Where somebody has to be there, the
        // first of these vaults asks.
        var failure: CommandFailure?
        let new = try format == .kdbx ? newPassword(context) : nil
        for target in targets.filter(\.trial.hasHidden) + targets.filter({ !$0.trial.hasHidden }) {
            if let found = try write(target, request, new, sealing, store) { failure = failure ?? found }
        }
        if let failure { throw failure }
    }

    /// How files are encrypted.
    private struct Sealing {
        let program: AgeProgram
        /// Arguments of age; empty for a passphrase.
        let recipients: [String]
    }

    /// - Parameter path: of the file, whose name may say it; nil for a folder of files.
    /// - Returns: nil for an export that age has no part in.
    private static func sealing(
        _ format: String?, _ path: String?, _ context: CommandContext
    ) throws -> Sealing? {
        let recipients =
            context.arguments.values(recipient).flatMap { ["--recipient", $0] }
            + context.arguments.values(recipientsFile).flatMap { ["--recipients-file", $0] }
        guard format == age || format == nil && path?.hasSuffix(AgeProgram.fileExtension) == true else {
            guard recipients.isEmpty else {
                throw CommandFailure(
                    .usage, code: UsageError.Code.conflict.rawValue, "only an encrypted file has recipients",
                    hint: "coffret export FILE.age --recipient KEY")
            }
            return nil
        }
        for file in context.arguments.values(recipientsFile) { try PathCheck.readable(file) }
        let program = try AgeProgram(context)
        guard !recipients.isEmpty || context.prompt() != nil else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "age asks for a passphrase, and there is no terminal",
                hint: "coffret export FILE.age --recipient KEY")
        }
        return Sealing(program: program, recipients: recipients)
    }

    /// The password of databases that are to be written.
    private final class NewPassword {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    private static func newPassword(_ context: CommandContext) throws -> NewPassword {
        try NewPassword(
            PassphraseSource(context: context).freshTyped(
                from: password, orChoosing: "Password of the new database: "))
    }

    private static func trial(
        _ vault: String?, _ request: ExportRun, _ store: CommandStore
    ) throws -> ExportTrialMessage {
        var request = request
        (request.vault, request.isTrial) = (vault, true)
        guard let trial = try store.perform(request).trial else { throw WireError(.malformed, place: "trial") }
        return trial
    }

    private static func oneTarget(_ path: String, _ request: ExportRun, _ store: CommandStore) throws -> Target {
        let target = Target(path: path, trial: try trial(store.namedVault, request, store))
        let count = try store.vaultCount
        if count > 1 {
            store.context.note(
                "Only \(name(of: target)) is written, one of \(count); --vault NAME names another one, --all-vaults all."
            )
        }
        return target
    }

    /// Every vault under its name, which holds no slash.
    private static func targets(
        inFolder folder: String, _ suffix: String, _ request: ExportRun, _ store: CommandStore
    ) throws -> [Target] {
        var taken: Set<String> = []
        return try store.perform(VaultList()).vaults.map { vault in
            let trial = try trial(vault.id, request, store)
            var name = trial.name
            if name.hasPrefix(".") { name = "vault" + name }
            // Devices may have made vaults of one name; and some file systems hold names for equal that differ in case.
            if !taken.insert(name.lowercased()).inserted {
                name += " " + trial.vault.prefix(8)
                taken.insert(name.lowercased())
            }
            return Target(path: PathText.join(folder, name + suffix), trial: trial)
        }
    }

    private static func name(of target: Target) -> String {
        "the vault \"\(TextWidth.displaySafe(target.trial.name))\""
    }

    private static func confirm(_ targets: [Target], _ path: String, _ context: CommandContext) throws {
        let (items, secrets) = targets.reduce((0, 0)) { sums, target in
            (sums.0 + target.trial.itemCount, sums.1 + target.trial.secretCount)
        }
        let what = targets.count == 1 ? name(of: targets[0]) : "\(targets.count) vaults"
        try context.confirmDanger(
            "This writes \(NumberText.counted(items, "item")) of \(what) unencrypted to \(TextWidth.displaySafe(path)), "
                + "\(NumberText.grouped(secrets)) of them with secrets.",
            question: "Write them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    /// - Returns: what has to be said of attachments that are not there as they should be.
    private static func write(
        _ target: Target, _ request: ExportRun, _ new: NewPassword?, _ sealing: Sealing?, _ store: CommandStore
    ) throws -> CommandFailure? {
        let context = store.context
        let reporter = ProgressStages(context, unit: "item")
        var request = request
        request.vault = target.trial.vault
        let answer: ExportRun.Answer
        if let sealing {
            request.bringsStream = true
            // The bar would stand in the line in which age asks.
            let isAsking = sealing.recipients.isEmpty
            answer = try sealing.program.sealing(into: target.path, recipients: sealing.recipients) { pipe in
                try store.perform(request, descriptors: [pipe.descriptor]) { step in
                    pipe.start()
                    if !isAsking { reporter.show(step) }
                }
            }
        } else {
            answer = try written(target, request, new, store, reporter)
        }
        reporter.end()
        if let report = answer.everything {
            try context.print(ImportCommand.event(report.json)) {
                context.isQuiet
                    ? ""
                    : "Exported \(NumberText.counted(report.items, "item")) with "
                        + "\(NumberText.counted(report.commits, "change")) of history and "
                        + "\(NumberText.counted(report.attachments, "attachment")), "
                        + "\(NumberText.bytes(report.byteCount)), to \(TextWidth.displaySafe(target.path))."
                        + conflictText(report.conflicts)
            }
        }
        if let report = answer.items {
            let path = JSONValue.Member("path", .string(target.path))
            try context.print(ImportCommand.event(report.json, path)) {
                context.isQuiet ? "" : text(report, target.path)
            }
        }
        if !answer.unreadable.isEmpty {
            return UnreadableValues.failure(
                answer.unreadable, "left out; all else is written",
                also: FaultyFiles.lines(answer.faulty, isSynced: target.trial.isSynced))
        }
        guard !answer.faulty.isEmpty else { return nil }
        return FaultyFiles.failure(
            answer.faulty, isSynced: target.trial.isSynced, "left out; all else is written")
    }

    /// Writes a folder or file in the folder where it belongs.
    private static func written(
        _ target: Target, _ request: ExportRun, _ new: NewPassword?, _ store: CommandStore, _ reporter: ProgressStages
    ) throws -> ExportRun.Answer {
        var request = request
        // A folder that is there may be named by a path that ends with no name, such as a point.
        let path = AgentLocation.canonical(target.path) ?? target.path
        request.name = PathText.name(of: path)
        let folder = try ForeignFile.open(PathText.parent(of: path))
        guard let new else { return try store.perform(request, descriptors: [folder.number], progress: reporter.show) }
        let source = try ChildProcess.secretPipe(holding: new.secret)
        request.bringsPassword = true
        // An optimised build would close it before the request takes its number along.
        return try withExtendedLifetime(source) {
            try store.perform(request, descriptors: [folder.number, source.number], progress: reporter.show)
        }
    }

    private static func conflictText(_ count: Int) -> String {
        guard count > 0 else { return "" }
        return
            "\n\(NumberText.counted(count, "item")) with conflicts: what is shown now is in the file as such, the rest in its "
            + "history. coffret conflicts ls"
    }

    private static func text(_ report: ExportMessage, _ path: String) -> String {
        var parts = [NumberText.counted(report.notes, "note")]
        if report.otherItems > 0 { parts.append(NumberText.counted(report.otherItems, "other item")) }
        if report.attachments > 0 { parts.append(NumberText.counted(report.attachments, "attachment")) }
        let size = NumberText.bytes(report.byteCount)
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
