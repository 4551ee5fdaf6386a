// `coffret vault`: several vaults in one store.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

enum VaultCommand {
    static let name = ArgumentDescription.required("NAME", "the vault's name")
    static let vault = ArgumentDescription.required("VAULT", .stored("vaults"), "the vault's name or id")

    static let files = ArgumentDescription.optional(
        "FILES", .choice(["all", "asked"]), "all or asked; without it the setting is said")

    static let description = CommandDescription(
        "vault", group: .store, "List vaults, make, rename, remove and sync them",
        discussion: ["Vaults have keys of their own and are opened by the same passphrase."],
        subcommands: [
            CommandDescription("ls", "List the vaults of the store", run: list),
            CommandDescription("new", "Make a vault", arguments: [name], run: create),
            CommandDescription(
                "default", "Choose the vault that is meant where none is named, on this device",
                discussion: [
                    "Without a choice it is the first one. New items go there; ls, search and fsck look at all vaults, and an item is found in whichever holds it. --vault and COFFRET_VAULT name another one."
                ],
                arguments: [vault], run: setDefault),
            CommandDescription(
                "rm", "Remove a vault with everything in it",
                discussion: [
                    "Its keys and files go for good; only a backup from before has them. One that syncs is taken off the server first: coffret vault unsync."
                ],
                arguments: [vault], options: [CommonArguments.yes], run: remove),
            CommandDescription("rename", "Give a vault another name", arguments: [vault, name], run: rename),
            CommandDescription(
                "sync", "Put a vault on the server, for all your devices",
                discussion: [
                    "It is sealed before it leaves; your other devices get its keys through the server, sealed to each of them."
                ],
                arguments: [vault], run: VaultSyncing.begin),
            CommandDescription(
                "files", "Say whether attached files come to this device by themselves",
                discussion: [
                    "all, which it is at first: while the store is unlocked the agent fetches them, behind everything else. asked: they stay at the server until coffret sync or coffret attach get; for a line that costs, or a small disk. It is about this device only."
                ],
                arguments: [vault, files], run: VaultSyncing.files),
            CommandDescription(
                "unsync", "Keep a vault on this device only from now on",
                discussion: [
                    "What lies on the server and on your other devices stays, unless --delete-from-server is given. Run it on the other devices too: one that still syncs finds the server's place empty and says so."
                ],
                arguments: [vault], options: [VaultSyncing.deletion, CommonArguments.yes],
                run: VaultSyncing.end),
        ])

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let vaults = try store.perform(VaultList()).vaults
        try context.print(.array(vaults.map(\.json))) {
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for vault in vaults {
                table.add([
                    String(vault.id.prefix(8)), TextWidth.displaySafe(vault.name), vault.isSynced ? "synced" : "",
                    vaults.count > 1 && vault.isDefault ? "default" : "",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func create(_ context: CommandContext) throws {
        var request = VaultCreate()
        request.name = context.arguments.required(name)
        try Store.checkName(request.name)
        let store = try CommandStore.open(context)
        let made = try store.perform(request)
        try context.confirmDone(made.json) {
            "Vault \"\(TextWidth.displaySafe(made.name))\" is ready. Use it with --vault, or make it the default: coffret vault default \(made.id.prefix(8))"
        }
    }

    private static func setDefault(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = VaultEdit()
        (request.vault, request.isDefault) = (context.arguments.required(vault), true)
        let chosen = try store.perform(request)
        try context.confirmDone(.fields(["default": .string(chosen.name)])) {
            "\"\(TextWidth.displaySafe(chosen.name))\" is meant from now on where no vault is named, on this device."
        }
    }

    private static func remove(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = VaultRemove()
        request.vault = context.arguments.required(vault)
        request.isTrial = true
        let found = try store.perform(request)
        let (name, itemCount) = (TextWidth.displaySafe(found.name ?? ""), found.itemCount)
        let changeCount = found.changeCount ?? 0
        try context.confirmDanger(
            "This removes the vault \"\(name)\" for good: \(NumberText.counted(itemCount, "item")) and "
                + "\(NumberText.counted(changeCount, "change")) of history.",
            question: "Remove it?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        (request.vault, request.itemCount, request.isTrial) = (found.removed, itemCount, nil)
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            "Removed the vault \"\(name)\" with \(NumberText.counted(itemCount, "item"))."
        }
    }

    private static func rename(_ context: CommandContext) throws {
        var request = VaultEdit()
        let wanted = context.arguments.required(name)
        try Store.checkName(wanted)
        let store = try CommandStore.open(context)
        (request.vault, request.newName) = (context.arguments.required(vault), wanted)
        var renamed = try store.perform(request)
        let formerName = renamed.formerName.take() ?? wanted
        try context.confirmDone(renamed.json) {
            "\"\(TextWidth.displaySafe(formerName))\" is called \"\(TextWidth.displaySafe(wanted))\" now."
        }
    }
}
