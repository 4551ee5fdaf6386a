// Which vaults are synced, and where their files lie. The one thing to keep true: the server is asked first, so that
// what breaks off can be repeated.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

/// `coffret vault sync` and `coffret vault unsync`.
enum VaultSyncing {
    static let deletion = OptionDescription.flag(
        "delete-from-server", "delete what the server has of it, files included; nothing on your devices")

    static func begin(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphrase)
        var record = try session.store.vaultRecord(context.arguments.required(VaultCommand.vault))
        let sync = AccountSync(
            try ServerAccess.account(session), records: try SyncStatus.records(session), random: SystemRandomSource(),
            clock: SystemWallClock())
        let account = sync.account
        defer { account.connection.logOut() }
        DeviceCommand.report(try account.follow(), context, session)
        try account.makeZone(for: record)
        let (id, wasSynced) = (record.vaultID, record.kind == .synced)
        if !wasSynced {
            try session.store.changeKeyring { (keyring) throws(KeyError) in try keyring.setVaultKind(id, .synced) }
            record = try session.store.vaultRecord(id.hex)
        }
        // Keys before content, and again when this is repeated: an attempt that broke off is made whole.
        try account.sendKeys()
        let progress = SyncProgressReporter(context)
        defer { progress.end() }
        let report = try sync.sync(record, SyncEngine.Options()) { progress.update($0, of: record.name) }
        sync.note(record, nil)
        let members = [
            JSONValue.Member("vault", .string(record.name)), JSONValue.Member("id", .string(record.vaultID.hex)),
        ]
        try context.confirmDone(.object(members + SyncCommand.json(report))) {
            let name = TextWidth.displaySafe(record.name)
            return "\"\(name)\" is on the server now (\(SyncCommand.words(report))).\n\n"
                + "Next:  coffret sync   here and on your other devices"
        }
        guard let problem = report.waitingProblem else { return }
        for words in WaitingFileText.words(report.waitingFiles, of: record, session) { context.warn(words) }
        throw problem
    }

    static func files(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        var request = VaultEdit()
        request.vault = context.arguments.required(VaultCommand.vault)
        request.files = context.arguments.value(VaultCommand.files).flatMap(VaultEdit.Files.init(rawValue:))
        let vault = try request.perform(on: session.desk)
        guard let files = vault.files else {
            throw CommandFailure.notSynced(try session.store.vaultRecord(vault.id))
        }
        let value = JSONValue.fields([
            "vault": .string(vault.name), "id": .string(vault.id), "files": .string(files.rawValue),
        ])
        try context.print(value) {
            files == .asked
                ? "Files of \"\(TextWidth.displaySafe(vault.name))\" come when you ask for them: coffret sync, coffret attach get."
                : "Files of \"\(TextWidth.displaySafe(vault.name))\" come to this device by themselves."
        }
    }

    static func end(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        let record = try session.store.vaultRecord(context.arguments.required(VaultCommand.vault))
        guard record.kind == .synced else { throw CommandFailure.notSynced(record) }
        let (id, name) = (record.vaultID, TextWidth.displaySafe(record.name))
        let deletes = context.arguments.isSet(deletion)
        if deletes {
            try context.confirmDanger(
                "This deletes \"\(name)\" from the server, with its history and files. What is on your devices stays.",
                question: "Delete it there?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
            let account = try ServerAccess.account(session)
            defer { account.connection.logOut() }
            // The server first: if this breaks off, the vault is still synced, and it can be repeated.
            try account.deleteZone(of: record)
            try session.store.forgetZone(of: record)
        }
        try session.store.changeKeyring { (keyring) throws(KeyError) in try keyring.setVaultKind(id, .local) }
        let value = JSONValue.fields([
            "vault": .string(record.name), "id": .string(id.hex), "isDeletedFromServer": .bool(deletes),
        ])
        try context.confirmDone(value) {
            "This device no longer syncs \"\(name)\". "
                + (deletes
                    ? "The server shows nothing of it any more, and forgets it after 30 days; what is on your devices stays."
                    : "What lies on the server and on your other devices stays.")
        }
    }
}
