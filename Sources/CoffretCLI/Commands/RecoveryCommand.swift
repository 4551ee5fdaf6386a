// `coffret recovery`: keys on paper that open the store when the passphrase is lost.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

enum RecoveryCommand {
    static let name = OptionDescription.value("name", "NAME", "what to call it, such as where the paper is")
    static let key = ArgumentDescription.required("KEY", "the name or the id of a recovery key")
    static let sheet = ArgumentDescription.required("SHEET", "the name of the paper device, or the beginning of its id")
    static let unconfirmed = OptionDescription.flag(
        "print-only", "print the key to standard output and do not ask for it back")

    static let paper = OptionDescription.flag(
        "paper", "a paper device: for all your devices, and for coming back at the server without any")

    static let description = CommandDescription(
        "recovery", group: .store, "Keep a way back in: recovery keys, and contacts who help",
        subcommands: [
            CommandDescription(
                "add", "Make a recovery key, and check that you have it",
                discussion: [
                    "Shows it as text and as QR code, and asks for two of its groups.",
                    "With --paper it is a device of its own on paper: it opens the stores of all your devices, and with it and the server alone you come back when all of them are lost (coffret device recover).",
                ],
                options: [name, unconfirmed, paper], run: add),
            CommandDescription("ls", "List the recovery keys", run: list),
            CommandDescription(
                "accept", "Let the sheet of another device of yours open this store",
                discussion: [
                    "A sheet that another device made is one of your devices, and opens this store only once you say so here."
                ],
                arguments: [sheet], options: [CommonArguments.yes], run: accept),
            CommandDescription(
                "revoke", "Make a recovery key useless for this store",
                discussion: ["Backups from before can still be opened with it."],
                arguments: [key], options: [CommonArguments.yes], run: revoke),
            CommandDescription("test", "Say whether a recovery key opens the store", run: test),
            RecoveryContacts.description, RecoveryContacts.help,
        ])

    private static func add(_ context: CommandContext) throws {
        let isPaper = context.arguments.isSet(paper)
        if isPaper { try ServerAccess.checkJoined(context) }
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let label =
            try context.arguments.value(name)
            ?? "\(isPaper ? "paper device" : "recovery key") \(session.recoveryKeys.count + 1)"
        if isPaper {
            return try DeviceRecovery.addPaper(
                context, session, named: label, isUnconfirmed: context.arguments.isSet(unconfirmed))
        }
        if context.arguments.isSet(unconfirmed) {
            let (key, id) = try session.addRecoveryKey(named: label)
            try AgentFamilyCommand.syncRecords(of: StoreAccess.path(context), context)?.setOnlyPrinted(id.hex)
            let value = JSONValue.fields([
                "id": .string(id.hex), "name": .string(label), "key": .string(key.text()),
            ])
            try context.print(value, isVerbatim: true) { key.text() }
            return
        }
        guard let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "the recovery key is shown on a terminal, and there is none here",
                hint: "coffret recovery add --print-only prints it to standard output")
        }
        try RecoveryCeremony(context: context, prompt: prompt).run(session, named: label)
    }

    private static func list(_ context: CommandContext) throws {
        let keys = try CommandStore.open(context).perform(RecoveryList()).keys
        try context.print(.array(keys.map(\.json))) {
            guard !keys.isEmpty else { return "There is no recovery key. coffret recovery add makes one." }
            var table = TextTable([.init(role: .identifier), .init(isFlexible: true), .init(role: .faint)])
            for key in keys {
                var words = "does not open this store: coffret recovery accept"
                if key.isAccepted, let created = key.created {
                    words =
                        "made \(context.relativeTime.moment(created.milliseconds))"
                        + (key.isConfirmed == false ? ", printed and never asked back" : "")
                }
                table.add([
                    String(key.id.prefix(8)), key.name.isEmpty ? "?" : TextWidth.displaySafe(key.name), words,
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func revoke(_ context: CommandContext) throws {
        let wanted = context.arguments.required(key)
        // Names are sealed; that there is none at all everybody can see.
        if let summary = try PathCheck.keyring(context), !summary.slots.contains(where: { $0.kind == .recovery }) {
            throw missing(wanted)
        }
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let all = try session.recoveryKeys
        let keys = all.filter { $0.name == wanted || wanted.count >= 4 && $0.slotID.hex.hasPrefix(wanted) }
        guard let found = keys.first else { throw missing(wanted) }
        guard keys.count == 1 else {
            throw CommandFailure(
                .ambiguous, .slotAmbiguous,
                "\(keys.count) recovery keys are called \"\(TextWidth.displaySafe(wanted))\"",
                details: keys.map { "\($0.slotID.hex.prefix(8))  made \(context.relativeTime.moment($0.created))" },
                hint: "use the id")
        }
        guard try session.store.keyring.paperDevice(ofSlot: found.slotID) == nil else {
            throw CommandFailure(
                .usage, .slotIsPaper, "\"\(TextWidth.displaySafe(found.name))\" is a paper device of your account",
                hint:
                    "coffret device revoke NAME takes it out of the account and of all stores, seven days after your devices were told"
            )
        }
        let rest = all.count - 1
        let left =
            rest == 0
            ? "None is left then: only the passphrase opens the store."
            : "\(NumberText.counted(rest, "recovery key")) will be left."
        try context.confirmDanger(
            "This makes the recovery key \"\(TextWidth.displaySafe(found.name))\" useless. \(left)",
            question: "Revoke it?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        try session.removeSlot(found.slotID)
        try context.confirmDone(.fields(["revoked": .string(found.slotID.hex), "left": .integer(rest)])) {
            "Revoked \"\(TextWidth.displaySafe(found.name))\". Backups from before can still be opened with it."
        }
    }

    private static func accept(_ context: CommandContext) throws {
        let wanted = context.arguments.required(sheet)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let keyring = session.store.keyring
        let found = try keyring.paperAwaitingConsent().filter { device in
            if wanted.utf8.count >= 4, device.id.hex.hasPrefix(wanted.lowercased()) { return true }
            return try keyring.details(of: device)?.name == wanted
        }
        guard let device = found.first, found.count == 1 else {
            throw CommandFailure(
                found.isEmpty ? .notFound : .ambiguous, found.isEmpty ? .deviceNotFound : .deviceAmbiguous,
                "\(found.count) sheets called \"\(TextWidth.displaySafe(wanted))\" wait for your word",
                hint: found.isEmpty ? "coffret sync brings what is new; coffret recovery ls lists them" : "use the id")
        }
        let name = session.desk.label(device)
        let by = try keyring.deviceChain().bringer(of: device).map {
            ", which \(session.desk.label($0)) added,"
        }
        try context.confirmDanger(
            "The sheet of \(name)\(by ?? "") will open this store, and backups of it, without the passphrase.",
            question: "Let it?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        try session.store.readKeyringAgain()
        try session.store.changeKeyring { keyring in try keyring.admitPaper(device.id) }
        try context.confirmDone(.fields(["accepted": .string(device.id.hex)])) {
            "The sheet of \(name) opens this store now."
        }
    }

    private static func missing(_ wanted: String) -> CommandFailure {
        CommandFailure(
            .notFound, .slotNotFound, "there is no recovery key \"\(TextWidth.displaySafe(wanted))\"",
            hint: "coffret recovery ls lists them")
    }

    private static func test(_ context: CommandContext) throws {
        _ = try StoreSession.open(context, with: .recoveryKey)
        try context.print(.fields(["opens": .bool(true)])) { "This recovery key opens the store." }
    }
}
