// `coffret server`: the server that a person's devices meet at.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire
internal import Glibc

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
                "log", "Say whether the server's log of keys is in order",
                discussion: [
                    "The server signs one log of all links of all chains. Each sync that learns of a link reads the log, so that it shows you no chain that it does not show others.",
                    "Devices state the newest root to each other in what they write, so that two logs of one server are found.",
                    "With --follow it is read every ten seconds, and each change is a line, until it is not in order.",
                ], options: [check, follow], run: log),
            CommandDescription(
                "leave", "Forget the server on this device",
                discussion: ["What lies on the server stays there, and so does this device in the account."],
                options: [CommonArguments.yes], run: leave),
        ])

    private static func join(_ context: CommandContext) throws {
        // Before a passphrase is asked for.
        _ = try ServerAccess.introduction(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = ServerJoin()
        request.url = context.arguments.required(ServerAccess.address)
        request.fingerprint = context.arguments.value(ServerAccess.fingerprint)
        request.authorities = try context.arguments.value(ServerAccess.authorities).map(absolute)
        request.allowsPlain = context.arguments.isSet(ServerAccess.plain)
        request.invitation = context.arguments.value(invitation)
        let joined = try request.perform(on: session.desk)
        let value = JSONValue.fields([
            "url": .string(joined.url), "account": .string(joined.account),
            "fingerprint": joined.fingerprint.map { .string($0) } ?? .null,
        ])
        try context.confirmDone(value) {
            """
            Registered at \(TextWidth.displaySafe(joined.url)).

            Next:  coffret vault sync NAME   says which vaults your devices share
                   coffret device pair \(TextWidth.displaySafe(joined.url)) --account \(joined.accountName)
                                             on another device, which has no store yet
            """
        }
    }

    private static func absolute(_ path: String) throws -> String {
        try PathCheck.readable(path)
        return AgentLocation.canonical(path) ?? path
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

    static let check = OptionDescription.flag("check", "read the log now")
    static let follow = OptionDescription.flag("follow", "read the log again and again, and say how it grows")
    private static let followSeconds: UInt32 = 10

    private static func log(_ context: CommandContext) throws {
        var request = ServerLogRead()
        request.isAsked = context.arguments.isSet(check) ? true : nil
        let store = try CommandStore.open(context)
        if context.arguments.isSet(follow) { return try self.follow(context, store) }
        let read = try store.perform(request)
        try context.print(read.json) {
            guard let origin = read.origin else { return "No log was read yet: coffret server log --check reads it." }
            var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            table.add(["Log", TextWidth.displaySafe(origin)])
            table.add(["Entries", NumberText.grouped(read.size ?? 0)])
            table.add(["Root", read.root ?? ""])
            table.add(["Key", TextWidth.displaySafe(read.key ?? "")])
            if let time = read.checkedAt {
                table.add(["In order", context.relativeTime.moment(time.milliseconds)])
            }
            if let evidence = read.evidence { table.add(["Evidence", TextWidth.displaySafe(evidence)]) }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
        if let failure = read.failure { throw failure }
    }

    /// Reads the log until it is not in order, or cannot be read.
    private static func follow(_ context: CommandContext, _ store: CommandStore) throws {
        var request = ServerLogRead()
        request.isAsked = true
        var shown: (size: Int?, root: String?)?
        while true {
            let read = try store.perform(request)
            guard read.origin != nil || read.failure != nil else {
                return try context.print(read.json) { "This store has no server, or its server has no log." }
            }
            if let failure = read.failure {
                if let evidence = read.evidence {
                    try context.print(read.json) { "Evidence: \(TextWidth.displaySafe(evidence))" }
                }
                throw failure
            }
            if shown?.size != read.size || shown?.root != read.root {
                try context.print(read.json) {
                    "\(NumberText.grouped(read.size ?? 0)) entries, root \(read.root ?? "")"
                }
                shown = (read.size, read.root)
            }
            sleep(followSeconds)
        }
    }

    private static func pin(_ hex: String?) -> String? { hex.flatMap(ServerPin.parse)?.text }

    private static func leave(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = ServerLeave()
        request.isTrial = true
        let found = try request.perform(on: session.desk)
        try context.confirmDanger(
            "This device will no longer sync with \(TextWidth.displaySafe(found.url)).", question: "Forget it?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        request.isTrial = nil
        let left = try request.perform(on: session.desk)
        try context.confirmDone(.fields(["left": .string(left.url)])) {
            "Forgot \(TextWidth.displaySafe(left.url)). Everything is still here, on this device."
        }
    }
}
