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

    /// Digits that a person must give at least where a number is shortened: those that are shown.
    private static let digitCountMin = 8

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

    /// Says that pairing is paused, and for how long, before anything is asked or sent.
    private static func checkPause(_ context: CommandContext) throws {
        let pause = try attempts(context).pause(now: SystemWallClock().now)
        guard pause > 0 else { return }
        var failure = FailureTranslation.failure(from: PairingError(.paused))
        failure.addWait(UInt32(clamping: pause / 1_000 + 1))
        throw failure
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
        try checkPause(context)
        let settings = try ServerAccess.settings(context)
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
        try store.remember(zoneHeads: account.zoneHeads, presents: account.presents, server: settings.address.url)
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
            let shown = DigitGroups.text(String(requester.relayID.prefix(digitCountMin)))
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
        try checkRequest(context)
        try checkPause(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let account = try session.desk.account()
        defer { account.connection.logOut() }
        let approver = try ApproverSession(
            invitation(context, account), account: account, attempts: attempts(context),
            random: SystemRandomSource(), clock: SystemWallClock())
        let dialogue = PairingDialogue(context)
        let sync = session.desk.sync(account)
        let added = try approver.run(
            dialogue, presents: { idle in try offerPresents(sync, context, idle) },
            zoneHeads: { try session.store.zoneHeads() })
        let name = try session.store.deviceName(added.deviceID.bytes) ?? added.name
        let value = JSONValue.fields([
            "event": .string("added"), "id": .string(added.deviceID.hex), "name": .string(name),
        ])
        try context.confirmDone(value) { "\"\(TextWidth.displaySafe(name))\" is one of your devices now." }
        if name != added.name {
            try context.output.flush()
            context.note(
                "Another device is called \"\(TextWidth.displaySafe(added.name))\" already. coffret device rename gives it another name."
            )
        }
    }

    /// Says before the passphrase is asked for what can be no device's number.
    private static func checkRequest(_ context: CommandContext) throws {
        guard let given = context.arguments.value(request) else { return }
        let digits = digits(given)
        if digits.utf8.count < digitCountMin, digits.allSatisfy(\.isHexDigit) {
            throw CommandFailure(
                .usage, .inputInvalid, "a number needs its first \(digitCountMin) digits at least",
                hint: "the new device shows it; coffret device approve alone names the waiting device")
        }
        guard !isBeginning(digits) else { return }
        try ApproverSession.check(given)
    }

    private static func digits(_ given: String) -> String { given.lowercased().filter { $0 != " " && $0 != "-" } }

    private static func isBeginning(_ digits: String) -> Bool {
        (digitCountMin..<32).contains(digits.utf8.count) && digits.allSatisfy(\.isHexDigit)
    }

    /// Puts down for the new device what lets it begin before a long history has come to it.
    private static func offerPresents(
        _ sync: AccountSync, _ context: CommandContext, _ idle: () throws -> Void
    ) throws -> [VaultID: [UInt8]] {
        let reporter = context.progress()
        defer { reporter.end() }
        var vault: String?
        var failure: (any Error)?
        let told = sync.offerPresents { name, done, total in
            if name != vault {
                vault = name
                reporter.begin("Preparing \"\(TextWidth.displaySafe(name))\" for the new device", unit: "byte")
            }
            reporter.update(done: done, total: total, byteCount: done)
            // The other side may have given up.
            do { try idle() } catch { failure = error }
            return failure == nil
        }
        if let failure { throw failure }
        return told
    }

    /// What the person gave, or who waits.
    private static func invitation(_ context: CommandContext, _ account: Account) throws -> String {
        let given = context.arguments.value(request)
        let digits = given.map(digits) ?? ""
        if let given, !isBeginning(digits) { return given }
        let waiting = try account.pairingRequests().filter { $0.relayID.hex.hasPrefix(digits) }
        guard let found = waiting.first else {
            throw CommandFailure(
                .notFound, .pairingNotFound,
                given == nil ? "no new device waits" : "no new device waits with that number",
                hint:
                    "coffret device pair URL --account \(try name(of: account)) on the new device; or type its whole number here"
            )
        }
        guard waiting.count == 1 else {
            throw CommandFailure(
                .ambiguous, .pairingAmbiguous, "several devices ask to join",
                details: waiting.map { "\($0.digits)  since \(context.relativeTime.moment($0.since))" },
                hint: "coffret device approve NUMBER, with the number that your new device shows")
        }
        if given == nil { try compare(found, context) }
        return found.relayID.hex
    }

    /// Nobody is joined whose number the person has not seen on his own new device.
    private static func compare(_ found: PairingRequest, _ context: CommandContext) throws {
        let what =
            "A device asks to join, since \(context.relativeTime.moment(found.since)), with the number \(found.digits)."
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "the number is to be compared, and nobody can be asked here",
                details: [what], hint: "coffret device approve NUMBER, with the number that your new device shows")
        }
        prompt.show(what + "\n")
        guard try prompt.confirm("Does your new device show that number?", isYesDefault: false) else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "not confirmed; nothing was sent",
                hint: "if you did not begin this yourself, leave it alone: it ends by itself in ten minutes")
        }
    }

    static func name(of account: Account) throws -> String {
        AccountName(try account.store.keyring.accountID()).text
    }

    /// A row of `coffret device ls`.
    static func json(_ request: JoinRequestMessage) -> JSONValue {
        .fields([
            "id": .string(request.id), "name": .string(""), "model": .string(""), "kind": .string("waiting"),
            "added": .null, "since": request.since.json, "revoked": .bool(false), "current": .bool(false),
        ])
    }
}
