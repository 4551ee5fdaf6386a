// `coffret server`: the server that a person's devices meet at.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

enum ServerCommand {
    static let invitation = OptionDescription.value(
        "invitation", "TEXT", "what the server's operator gave you, where registration needs it")

    static let description = CommandDescription(
        "server", group: .devices, "Say which server your devices meet at",
        discussion: [
            "The server keeps sealed data and cannot read it. Its key is remembered: another server in its place is refused."
        ],
        subcommands: [
            CommandDescription(
                "join", "Register this store at a server",
                discussion: [
                    "There is no password: the account is the list of your devices, and this device proves itself with its key."
                ],
                arguments: [ServerAccess.address], options: [invitation] + ServerAccess.options,
                run: join),
            CommandDescription(
                "status", "Say which server it is, and whether it answers", run: status),
            CommandDescription(
                "leave", "Forget the server on this device",
                discussion: ["What lies on the server stays there, and so does this device in the account."],
                options: [CommonArguments.yes], run: leave),
        ])

    private static func join(_ context: CommandContext) throws {
        // Before a passphrase is asked for.
        _ = try ServerAccess.serverAddress(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        if let record = try session.store.keyring.server() {
            throw CommandFailure(
                .alreadyExists, code: "account.already-joined",
                "this store is registered at \(TextWidth.displaySafe(record.url)) already",
                hint: "coffret server leave forgets that one")
        }
        let settings = try ServerAccess.settings(context)
        let account = try Account.join(
            session.store, settings: settings, invitation: Array((context.arguments.value(invitation) ?? "").utf8),
            random: SystemRandomSource(), clock: SystemWallClock())
        defer { account.connection.logOut() }
        let id = try session.store.keyring.accountID()
        let value = JSONValue.fields([
            "url": .string(settings.address.url), "account": .string(id.hex),
            "fingerprint": settings.pin.map { .string(Hex.encode($0.bytes)) } ?? .null,
        ])
        try context.confirmDone(value) {
            """
            Registered at \(TextWidth.displaySafe(settings.address.url)).

            Next:  coffret vault sync NAME   says which vaults your devices share
                   coffret device pair \(TextWidth.displaySafe(settings.address.url)) --account \(AccountName(id).text)
                                             on another device, which has no store yet
            """
        }
    }

    private static func status(_ context: CommandContext) throws {
        let server = try CommandStore.open(context).perform(ServerRead())
        guard let url = server.url else {
            try context.print(.fields(["url": .null])) {
                "This store has no server. coffret server join URL registers it at one."
            }
            return
        }
        try context.print(server.json) {
            var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            table.add(["Server", TextWidth.displaySafe(url)])
            table.add(["Fingerprint", pin(server.fingerprint) ?? "none: not over TLS"])
            if let shown = pin(server.shownFingerprint) { table.add(["Shown now", shown]) }
            table.add(["Account", "\(server.accountName ?? "")   its name for coffret device pair --account"])
            table.add(["", server.account ?? ""])
            table.add(["State", server.message ?? "answers; this device is registered"])
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func pin(_ hex: String?) -> String? { hex.flatMap(ServerPin.parse)?.text }

    private static func leave(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphraseAnew)
        guard let record = try session.store.keyring.server() else {
            throw CommandFailure(.notFound, code: "account.not-joined", "this store has no server")
        }
        try context.confirmDanger(
            "This device will no longer sync with \(TextWidth.displaySafe(record.url)).", question: "Forget it?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        try session.store.changeKeyring { keyring in try keyring.setServer(nil) }
        try context.confirmDone(.fields(["left": .string(record.url)])) {
            "Forgot \(TextWidth.displaySafe(record.url)). Everything is still here, on this device."
        }
    }
}
