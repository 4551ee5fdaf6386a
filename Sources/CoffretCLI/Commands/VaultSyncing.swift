// Which vaults are synced, and where their files lie.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

/// `coffret vault sync` and `coffret vault unsync`.
enum VaultSyncing {
    static let deletion = OptionDescription.flag(
        "delete-from-server", "delete what the server has of it, files included; nothing on your devices")

    static func begin(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let store = try CommandStore.open(context)
        var request = VaultSyncBegin()
        request.vault = context.arguments.required(VaultCommand.vault)
        let progress = SyncProgressReporter(context)
        defer { progress.end() }
        let result = try store.perform(request, progress: progress.take)
        progress.end()
        try context.confirmDone(result.json) {
            "\"\(TextWidth.displaySafe(result.name))\" is on the server now (\(result.words)).\n\n"
                + "Next:  coffret sync   here and on your other devices"
        }
        guard let problem = result.failure else { return }
        for words in result.waitingFiles.words { context.warn(words) }
        throw problem
    }

    static func files(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = VaultEdit()
        request.vault = context.arguments.required(VaultCommand.vault)
        request.files = context.arguments.value(VaultCommand.files).flatMap(VaultEdit.Files.init(rawValue:))
        let vault = try store.perform(request)
        guard let files = vault.files else { throw CommandFailure.notSynced(vault.name) }
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
        let store = try CommandStore.open(context)
        var request = VaultSyncEnd()
        (request.vault, request.isTrial) = (context.arguments.required(VaultCommand.vault), true)
        let found = try store.perform(request)
        let (name, deletes) = (TextWidth.displaySafe(found.name), context.arguments.isSet(deletion))
        if deletes {
            try context.confirmDanger(
                "This deletes \"\(name)\" from the server, with its history and files. What is on your devices stays.",
                question: "Delete it there?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        (request.vault, request.deletesFromServer, request.isTrial) = (found.id, deletes, nil)
        let ended = try store.perform(request)
        try context.confirmDone(ended.json) {
            "This device no longer syncs \"\(name)\". "
                + (deletes
                    ? "The server shows nothing of it any more, and forgets it after 30 days; what is on your devices stays."
                    : "What lies on the server and on your other devices stays.")
        }
    }
}
