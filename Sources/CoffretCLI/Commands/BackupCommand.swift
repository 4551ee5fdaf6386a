// `coffret backup`: a folder that holds the store as it was at several times, encrypted as the store is.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum BackupCommand {
    static let folder = ArgumentDescription.required("FOLDER", .directory, "the folder of the backups")
    static let recovery = OptionDescription.flag("recovery", "open the backup with a recovery key")
    static let from = OptionDescription.value(
        "from", "BACKUP", "this backup of the folder, by its name or the beginning of it; newest is the last one")
    static let all = OptionDescription.flag("all", "also what was verified before: disks decay")
    static let older = OptionDescription.value(
        "older-than", "WHEN", "made before then: '90 days', '2 years', 2024-01-01")

    static let description = CommandDescription(
        "backup", group: .store, "Write backups into a folder, verify them, and restore one",
        discussion: [
            "A folder of backups holds the whole store as it was at each of them, with history and attachments. A backup writes what changed since the one before it, and each one can be restored by itself. It opens with the passphrase or a recovery key of the time when it was made, and holds no key of this device: a machine on which it is restored becomes a new device."
        ],
        subcommands: [
            CommandDescription(
                "create", "Add a backup of the whole store to a folder", arguments: [folder],
                examples: [CommandExample("coffret backup create /media/usb/backups", "makes the folder at first")],
                run: create),
            CommandDescription("ls", "List the backups of a folder", arguments: [folder], run: list),
            CommandDescription(
                "restore", "Make a store from a backup", arguments: [folder],
                options: [from, recovery, PassphraseCommand.fresh, StoreAccess.effort],
                examples: [
                    CommandExample("coffret backup restore usb/backups", "the newest one, on a bare machine"),
                    CommandExample(
                        "coffret backup restore usb/backups --from 20261123 --store ~/old", "beside another store"),
                ],
                run: restore),
            CommandDescription(
                "verify", "Say whether the backups of a folder are whole",
                discussion: [
                    "What was verified before is read again only with --all. With --from or --recovery one backup is opened and read as a restore would."
                ],
                arguments: [folder], options: [all, from, recovery], run: verify),
            CommandDescription(
                "prune", "Remove old backups; the newest always stays", arguments: [folder],
                options: [older, CommonArguments.yes],
                examples: [CommandExample("coffret backup prune usb/backups --older-than '1 year'", "asks first")],
                run: prune),
            BackupSchedule.description,
        ])

    // MARK: Writing

    private static func create(_ context: CommandContext) throws {
        let path = context.arguments.required(folder)
        try checkTarget(path, context)
        var request = BackupCreate()
        let place = AgentLocation.canonical(path) ?? path
        request.name = PathText.name(of: place)
        let parent = try ForeignFile.open(PathText.parent(of: place))
        let store = try CommandStore.open(context)
        let progress = context.progress()
        progress.begin("Backing up", unit: "byte")
        let report = try store.perform(request, descriptors: [parent.number]) { step in
            progress.update(done: step.done, total: step.total, byteCount: step.byteCount)
        }
        progress.end()
        let folder = JSONValue.Member("folder", .string(path))
        try context.confirmDone(ImportCommand.event(report.json, folder)) {
            "Wrote \(report.backup): \(NumberText.counted(report.vaults.count, "vault")), "
                + "\(NumberText.bytes(report.byteCount)), of which \(NumberText.bytes(report.writtenByteCount)) were new."
        }
        if !report.faultyAttachments.isEmpty {
            throw FaultyFiles.failure(
                report.faultyAttachments, isSynced: false, "not whole in the backup; all else is")
        }
    }

    /// A folder of backups, an empty one, or one that will be made in a folder that is there.
    static func checkTarget(_ path: String, _ context: CommandContext) throws {
        try PathCheck.folder(of: path)
        let content = try BackupFolder.content(at: path, StoreAccess.environment(context))
        guard content == .otherFiles || content == .noFolder else { return }
        throw CommandFailure(
            .cannotCreate, .fileExists,
            "\(TextWidth.displaySafe(path)) is \(content == .noFolder ? "no folder" : "a folder with other files")",
            hint: "give the backups a folder of their own")
    }

    // MARK: Looking

    /// A folder of backups that is there.
    private static func open(_ context: CommandContext) throws -> BackupFolder {
        let path = context.arguments.required(folder)
        try PathCheck.readable(path)
        return try BackupFolder(at: path, environment: StoreAccess.environment(context))
    }

    private static func list(_ context: CommandContext) throws {
        let backups = try open(context).list()
        try context.print(
            .array(
                backups.map { backup in
                    .fields([
                        "backup": .string(backup.name.text), "time": .moment(backup.name.time),
                        "byteCount": .integer(backup.byteCount),
                    ])
                })
        ) {
            if backups.isEmpty { return "There is no backup here yet." }
            var table = TextTable([.init(role: .identifier), .init(), .init(role: .faint)])
            for backup in backups.reversed() {
                table.add([
                    MarkedText(backup.name.text), MarkedText(context.relativeTime.moment(backup.name.time)),
                    MarkedText(NumberText.bytes(backup.byteCount)),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style).joined(
                separator: "\n")
        }
    }

    /// The backup that `--from` names, or the newest one.
    private static func named(_ folder: BackupFolder, _ context: CommandContext) throws -> BackupName {
        let names = try folder.names()
        let wanted = context.arguments.value(from) ?? "newest"
        let found = wanted == "newest" ? names.last.map { [$0] } ?? [] : names.filter { $0.text.hasPrefix(wanted) }
        guard let name = found.last, found.count == 1 else {
            let words = TextWidth.displaySafe(wanted)
            throw CommandFailure(
                found.isEmpty ? .notFound : .ambiguous, .backupNotFound,
                names.isEmpty
                    ? "there is no backup in \(TextWidth.displaySafe(folder.path))"
                    : found.isEmpty ? "there is no backup \(words)" : "several backups begin with \(words)",
                hint: names.isEmpty ? nil : "coffret backup ls lists them")
        }
        return name
    }

    // MARK: Restoring and verifying

    private static func restore(_ context: CommandContext) throws {
        let target = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(target))",
                hint: "coffret backup restore FOLDER --store PATH makes another one beside it")
        }
        let folder = try open(context)
        let (backup, secret) = try StoreAccess.openBackup(
            named(folder, context), in: folder, with: manner(context), context)
        let passphrase = try newPassphrase(secret, context)
        let progress = context.progress()
        progress.begin("Restoring", unit: "byte")
        try backup.restore(
            to: target, passphrase: passphrase, parameters: StoreAccess.parameters(context),
            deviceName: StoreAccess.deviceName
        ) { done, total in progress.update(done: done, total: total, byteCount: done) }
        progress.end()
        let names = backup.vaultNames
        try context.confirmDone(
            .fields([
                "event": .string("done"), "store": .string(target), "vaults": .strings(names),
                "backup": .string(backup.name.text), "time": .moment(backup.time),
            ])
        ) {
            "Restored \(NumberText.counted(names.count, "vault")) of \(context.relativeTime.moment(backup.time)) to "
                + "\(TextWidth.displaySafe(target)). This is a new device."
        }
    }

    private static func manner(_ context: CommandContext) -> UnlockManner {
        context.arguments.isSet(recovery) ? .recoveryKey : .passphrase
    }

    /// The store is opened by the passphrase that opened the backup; after a recovery key, by a new one.
    private static func newPassphrase(_ secret: UnlockSecret, _ context: CommandContext) throws -> Passphrase {
        if case .passphrase(let passphrase) = secret, !context.arguments.isSet(PassphraseCommand.fresh) {
            return passphrase
        }
        return try PassphraseSource(context: context).fresh(
            from: PassphraseCommand.fresh, orChoosing: "New passphrase: ")
    }

    private static func verify(_ context: CommandContext) throws {
        let folder = try open(context)
        if try context.arguments.isSet(recovery) || context.arguments.isSet(from) || !StoreAccess.exists(context) {
            return try verifyAlone(folder, context)
        }
        var request = BackupVerify()
        request.readsAll = context.arguments.isSet(all) ? true : nil
        let opened = try ForeignFile.open(folder.path)
        let store = try CommandStore.open(context)
        let progress = context.progress()
        progress.begin("Verifying", unit: "byte")
        let report = try store.perform(request, descriptors: [opened.number]) { step in
            progress.update(done: step.done, total: step.total, byteCount: step.byteCount)
        }
        progress.end()
        let isWhole = JSONValue.Member("isWhole", .bool(report.damaged.isEmpty))
        try context.print(ImportCommand.event(report.json, isWhole)) { report.damaged.isEmpty ? words(report) : "" }
        guard report.damaged.isEmpty else { throw damage(report) }
    }

    private static func words(_ report: BackupVerify.Answer) -> String {
        let ownCount = report.backupCount - report.unreadable.count
        var text = "\(NumberText.counted(ownCount, "backup")) \(ownCount == 1 ? "is" : "are") whole; "
        text += report.readByteCount == 0 ? "nothing was new." : "\(NumberText.bytes(report.readByteCount)) were read."
        if !report.unreadable.isEmpty {
            text += "\n\(NumberText.counted(report.unreadable.count, "backup")) of other passphrases or recovery keys "
            text += "than today's: coffret backup verify --from NAME asks for the one of then."
        }
        return text
    }

    private static func damage(_ report: BackupVerify.Answer) -> CommandFailure {
        CommandFailure(
            .damaged, .backupsDamaged,
            "\(NumberText.counted(report.damaged.count, "backup")) cannot be restored whole",
            details: report.damaged,
            hint: "coffret backup create writes anew what is damaged, so the next one is whole")
    }

    /// One backup, opened by its own secret as a restore opens it.
    private static func verifyAlone(_ folder: BackupFolder, _ context: CommandContext) throws {
        let (backup, _) = try StoreAccess.openBackup(named(folder, context), in: folder, with: manner(context), context)
        let progress = context.progress()
        progress.begin("Verifying", unit: "byte")
        try backup.verify { done, total in progress.update(done: done, total: total, byteCount: done) }
        progress.end()
        let names = backup.vaultNames
        try context.print(
            .fields([
                "event": .string("done"), "isWhole": .bool(true), "backup": .string(backup.name.text),
                "vaults": .strings(names),
            ])
        ) { "The backup \(backup.name.text) is whole: \(NumberText.counted(names.count, "vault"))." }
    }

    // MARK: Removing

    private static func prune(_ context: CommandContext) throws {
        guard let text = context.arguments.value(older) else {
            throw CommandFailure(.usage, .momentInvalid, "say which backups may go", hint: "--older-than '1 year'")
        }
        let folder = try open(context)
        let time = try context.past(text)
        let found = try folder.prune(before: time, isTrial: true)
        guard !found.removed.isEmpty || found.byteCount > 0 else {
            return try context.confirmDone(json(found)) { "No backup is that old." }
        }
        let what =
            "\(NumberText.counted(found.removed.count, "backup")) of \(found.removed.count + found.kept.count) will be removed."
        try context.confirmDanger(
            what, question: "Remove them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let report = try folder.prune(before: time)
        try context.confirmDone(json(report)) {
            "Removed \(NumberText.counted(report.removed.count, "backup")), \(NumberText.bytes(report.byteCount)); "
                + "\(report.kept.count) \(report.kept.count == 1 ? "stays" : "stay")."
        }
    }

    private static func json(_ report: PruneReport) -> JSONValue {
        .fields([
            "event": .string("done"), "removed": .strings(report.removed.map(\.text)),
            "kept": .strings(report.kept.map(\.text)), "byteCount": .integer(report.byteCount),
        ])
    }
}
