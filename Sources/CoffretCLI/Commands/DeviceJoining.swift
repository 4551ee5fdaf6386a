// `coffret device pair` and `approve`: how one more device joins. The one thing to keep true: whoever asks to join is
// a number and nothing else, until the person has compared it.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

enum DeviceJoining {
    static let request = ArgumentDescription.optional(
        "PAIRING", "what the new device shows: its number or the beginning of it, or the text of its QR code")
    static let scanned = OptionDescription.flag("qr", "show a QR code to be scanned, instead of codes to be typed")
    static let account = OptionDescription.value(
        "account", "NAME", "tell the devices of this account: coffret server status on one of them shows its name")

    static let pairing = CommandDescription(
        "pair", "Make this device one of yours",
        discussion: [
            "For a device without a store. Shows a number to compare or to type on one of your devices, then two codes go from screen to screen, so that nobody in between can join in.",
            "With --account your other devices show that a new one asks to join, and coffret device approve there needs no number to be typed.",
        ],
        arguments: [ServerAccess.address],
        options: [account, DeviceCommand.name, scanned, StoreAccess.effort] + ServerAccess.options,
        run: pair)

    static let approval = CommandDescription(
        "approve", "Let a new device in",
        discussion: [
            "Without PAIRING it is the device that waits for your account; compare its number first. coffret device ls lists waiting devices. Anyone who knows your account's name can ask: ignore a request that you did not begin."
        ],
        arguments: [request], run: approve)

    private static func attempts(_ context: CommandContext) throws -> PairingAttemptsFile {
        let environment = try StoreAccess.environment(context)
        return PairingAttemptsFile(stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem)
    }

    // MARK: The new device

    private static func pair(_ context: CommandContext) throws {
        let path = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(path))",
                hint: "a device is paired before it has a store; --store PATH makes another one elsewhere")
        }
        let named = try context.arguments.value(account).map { (text) throws -> AccountName in
            guard let name = AccountName(text) else {
                throw CommandFailure(
                    .usage, .inputInvalid, "that is not the name of an account: it has four groups of four digits",
                    hint: "coffret server status shows it, on one of your devices")
            }
            return name
        }
        try attempts(context).checkPause(now: SystemWallClock().now)
        let settings = try ServerAccess.introduction(context).settings(askedOf: TerminalPerson(context))
        let source = PassphraseSource(context: context)
        let passphrase =
            source.isUnattended
            ? try source.current() : try source.chooseNew("Choose a passphrase for this device: ")
        let dialogue = PairingDialogue(context)
        let wantedName = context.arguments.value(DeviceCommand.name) ?? StoreAccess.deviceName
        let requester = try RequesterSession(
            name: wantedName, model: "Linux",
            account: named, isScanned: context.arguments.isSet(scanned), settings: settings,
            attempts: attempts(context), random: SystemRandomSource(), clock: SystemWallClock())
        try invite(requester, isTold: named != nil, dialogue, context)
        let account = try requester.run(dialogue)
        let store = try context.deriving {
            try Store.join(
                account, server: requester.serverRecord(settings, account), at: path, passphrase: passphrase,
                parameters: StoreAccess.parameters(context), environment: StoreAccess.environment(context))
        }
        // The first sync must show what the other device has seen (R7).
        try store.keep(pairingWords: account.words, server: settings.address.url)
        requester.finish()
        let vaults = try store.vaults.map(\.name)
        let name = try store.deviceName(store.keyring.deviceID().bytes)
        let value = JSONValue.fields([
            "event": .string("paired"), "store": .string(path),
            "account": .string(try store.keyring.accountID().hex), "vaults": .array(vaults.map { .string($0) }),
            "name": name.map { .string($0) } ?? .null,
        ])
        try context.confirmDone(value) {
            let called = remark(onName: name ?? wantedName, wanted: wantedName)
            guard !vaults.isEmpty else {
                return
                    "This device is one of yours now. No vault is synced yet: coffret vault new NAME makes a local one."
                    + called
            }
            let names = vaults.map { "\"\(TextWidth.displaySafe($0))\"" }.joined(separator: ", ")
            return
                "This device is one of yours now, with \(names).\(called)\n\nNext:  coffret sync   brings what is in it"
        }
    }

    /// What a new device says of itself if it could not have the name that it was to have.
    static func remark(onName name: String, wanted: String) -> String {
        guard name != wanted else { return "" }
        return
            "\nAnother one had the name \"\(TextWidth.displaySafe(wanted))\", so this is \"\(TextWidth.displaySafe(name))\"."
    }

    /// Says what is to be done on the other device.
    private static func invite(
        _ requester: RequesterSession, isTold: Bool, _ dialogue: PairingDialogue, _ context: CommandContext
    ) throws {
        let text = requester.invitationText
        let isScanned = context.arguments.isSet(scanned)
        var words = "On one of your devices:\n\n    coffret device approve \(text)"
        if isTold, !isScanned {
            let shown = DigitGroups.text(String(requester.relayID.prefix(PairingRequest.shownDigitCount)))
            words = """
                Your devices are told that this one asks to join. On one of them:

                    coffret device approve

                It names the number \(shown), or you type it whole:

                    coffret device approve \(text)
                """
        }
        try dialogue.say(words, json: ["event": .string("waiting"), "pairing": .string(text)])
        guard isScanned, !context.isJSON else { return }
        let code = QRCode.linesToShow(text, isColored: context.terminal.style.isColored).map { "  " + $0 }
        try dialogue.say(
            "\nwith this text, which a scanner reads from here:\n\n" + code.joined(separator: "\n")
                + "\n\nIt is good once and for ten minutes. Waiting for the other device; Ctrl-C ends it.", json: [:])
    }

    // MARK: The trusted device

    private static func approve(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        var approval = DeviceApprove()
        approval.pairing = context.arguments.value(request)
        try approval.check()
        try attempts(context).checkPause(now: SystemWallClock().now)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let reporter = context.progress()
        var stage: String?
        session.desk.work.report = { step in
            if step.stage != stage {
                stage = step.stage
                reporter.begin(step.stage ?? "", unit: "byte")
            }
            reporter.update(done: step.done, total: step.total, byteCount: step.byteCount)
        }
        let added = try approval.perform(on: session.desk)
        reporter.end()
        let value = JSONValue.fields([
            "event": .string("added"), "id": .string(added.id), "name": .string(added.name),
        ])
        try context.confirmDone(value) { "\"\(TextWidth.displaySafe(added.name))\" is one of your devices now." }
        if let wanted = added.wantedName {
            try context.output.flush()
            context.note(
                "Another device is called \"\(TextWidth.displaySafe(wanted))\" already. coffret device rename gives it another name."
            )
        }
    }

    /// A row of `coffret device ls`.
    static func json(_ request: JoinRequestMessage) -> JSONValue {
        .fields([
            "id": .string(request.id), "name": .string(""), "model": .string(""), "kind": .string("waiting"),
            "added": .null, "since": request.since.json, "revoked": .bool(false), "current": .bool(false),
        ])
    }
}
