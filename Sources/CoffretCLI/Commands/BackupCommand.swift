// `coffret backup`: one file with everything, encrypted as the store is.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum BackupCommand {
    static let file = ArgumentDescription.required("FILE", .file, "the backup file")
    static let recovery = OptionDescription.flag("recovery", "open the backup with a recovery key")

    static let description = CommandDescription(
        "backup", group: .store, "Write a backup, verify it, and restore it",
        discussion: [
            "A backup is one file that opens with the passphrase or a recovery key of the time when it was made. It holds no key of this device: a machine on which it is restored becomes a new device."
        ],
        subcommands: [
            CommandDescription("create", "Write a backup of the whole store", arguments: [file], run: create),
            CommandDescription(
                "restore", "Make a store from a backup", arguments: [file],
                options: [recovery, PassphraseCommand.fresh, StoreAccess.effort],
                examples: [
                    CommandExample("coffret backup restore usb/coffret.backup", "on a bare machine"),
                    CommandExample("coffret backup restore usb/coffret.backup --store ~/old", "beside another store"),
                ],
                run: restore),
            CommandDescription(
                "verify", "Say whether a backup is whole", arguments: [file], options: [recovery], run: verify),
        ])

    private static func create(_ context: CommandContext) throws {
        let path = context.arguments.required(file)
        guard unsafe access(path, F_OK) != 0 else {
            throw CommandFailure(
                .cannotCreate, .fileExists, "\(TextWidth.displaySafe(path)) is already there",
                hint: "choose another name; backups are never replaced")
        }
        try PathCheck.folder(of: path)
        var request = BackupCreate()
        request.name = PathText.name(of: path)
        let folder = try ForeignFile.open(PathText.parent(of: path))
        let store = try CommandStore.open(context)
        let progress = context.progress()
        progress.begin("Backing up", unit: "byte")
        let report = try store.perform(request, descriptors: [folder.number]) { step in
            progress.update(done: step.done, total: step.total, byteCount: step.byteCount)
        }
        progress.end()
        let file = JSONValue.Member("file", .string(path))
        try context.confirmDone(ImportCommand.event(report.json, file)) {
            "Wrote \(TextWidth.displaySafe(path)): \(NumberText.counted(report.vaults.count, "vault")), "
                + "\(NumberText.bytes(report.byteCount))."
        }
        if !report.faultyAttachments.isEmpty {
            throw FaultyFiles.failure(
                report.faultyAttachments, isSynced: false, "not whole in the backup; all else is")
        }
    }

    private static func restore(_ context: CommandContext) throws {
        let path = context.arguments.required(file)
        let target = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(target))",
                hint: "coffret backup restore FILE --store PATH makes another one beside it")
        }
        let usesRecovery = context.arguments.isSet(recovery)
        let (backup, secret) = try StoreAccess.openBackup(
            path, with: usesRecovery ? .recoveryKey : .passphrase, context)
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
            .fields(["event": .string("done"), "store": .string(target), "vaults": .strings(names)])
        ) {
            "Restored \(NumberText.counted(names.count, "vault")) to \(TextWidth.displaySafe(target)). This is a new device."
        }
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
        let path = context.arguments.required(file)
        let manner: UnlockManner = context.arguments.isSet(recovery) ? .recoveryKey : .passphrase
        let (backup, _) = try StoreAccess.openBackup(path, with: manner, context)
        let progress = context.progress()
        progress.begin("Verifying", unit: "byte")
        try backup.verify { done, total in progress.update(done: done, total: total, byteCount: done) }
        progress.end()
        let names = backup.vaultNames
        try context.print(.fields(["event": .string("done"), "isWhole": .bool(true), "vaults": .strings(names)])) {
            "The backup is whole: \(NumberText.counted(names.count, "vault"))."
        }
    }
}
