// `coffret device recover`, and the sheets that it needs. The one thing to keep true: the sheet alone is enough, and what
// the server gives counts only if it leads to the account on the sheet.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust

enum DeviceRecovery {
    static let sheet = OptionDescription.value(
        "sheet", "FILE", .file, "read the sheet's 28 groups from this file instead of asking for them")
    static let revokeOthers = OptionDescription.flag(
        "revoke-others", "throw all other devices out: they were lost or stolen")

    static let withContacts = OptionDescription.flag(
        "with-contacts", "come back with the help of your recovery contacts, in place of a sheet")

    static let description = CommandDescription(
        "recover", "Come back with a paper device alone, or with recovery contacts, on a machine that has nothing",
        discussion: [
            "For a device without a store. Needs the sheet that coffret recovery add --paper gave, and the server. The passphrase that you choose is this device's own.",
            "With --with-contacts, people whom you made recovery contacts help instead. The first one whom you meet records your wish; after the waiting time run the same command again, and each gives a share. All other devices are thrown out then, as far as paper does not outrank that.",
        ],
        arguments: [ServerAccess.address],
        options: [sheet, withContacts, revokeOthers, DeviceCommand.name, StoreAccess.effort] + ServerAccess.options,
        run: run)

    private static func run(_ context: CommandContext) throws {
        let path = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(path))",
                hint:
                    "--store PATH makes another one elsewhere; coffret unlock --recovery opens this one with the sheet")
        }
        let source = PassphraseSource(context: context)
        let isHelped = context.arguments.isSet(withContacts)
        guard !isHelped || context.arguments.value(sheet) == nil else {
            throw CommandFailure(.usage, .inputInvalid, "a sheet needs no contacts: --sheet, or --with-contacts")
        }
        let given = isHelped ? nil : try readSheet(source, context)
        let settings = try ServerAccess.introduction(context).settings(askedOf: TerminalPerson(context))
        let contacts = isHelped ? try DeviceContactRecovery(context, settings) : nil
        guard let paper = try given ?? contacts?.sheet() else { return }
        let passphrase =
            source.isUnattended
            ? try source.current() : try source.chooseNew("Choose a passphrase for this device: ")
        let recovery = try PaperRecovery(
            paper, settings: settings, random: SystemRandomSource(), clock: SystemWallClock())
        defer { recovery.logOut() }
        let wantedName = context.arguments.value(DeviceCommand.name) ?? StoreAccess.deviceName
        let joined = try recovery.join(named: wantedName, model: "Linux")
        let store = try context.deriving {
            try Store.join(
                joined, server: recovery.serverRecord(settings), at: path, passphrase: passphrase,
                parameters: StoreAccess.parameters(context), environment: StoreAccess.environment(context))
        }
        let session = StoreSession(store: store, context: context)
        let account = try session.desk.account()
        defer { account.connection.logOut() }
        // What the others have sent counts, so it has to be here before they are thrown out.
        var problem = try session.desk.syncEach(account, "coffret sync tries again").problem
        var revoked: [UniqueID] = []
        if isHelped || context.arguments.isSet(revokeOthers) {
            let isOpen = try throwOthersOut(
                recovery, account, session, context, isLast: isHelped, &revoked)
            problem = problem ?? isOpen
        }
        contacts?.finish()
        let vaults = try store.vaults.map(\.name)
        let name = try store.deviceName(store.keyring.deviceID().bytes) ?? wantedName
        let value = JSONValue.fields([
            "name": .string(name), "store": .string(path), "account": .string(paper.accountID.hex),
            "vaults": .strings(vaults),
            "revoked": .array(revoked.map { .string($0.hex) }), "complete": .bool(problem == nil),
        ])
        try context.confirmDone(value) {
            let names = vaults.map { "\"\(TextWidth.displaySafe($0))\"" }.joined(separator: ", ")
            return "The account is back on this device"
                + (vaults.isEmpty ? "; no vault of it is synced." : ", with \(names).")
                + (revoked.isEmpty ? "" : " Thrown out: \(NumberText.counted(revoked.count, "device")).")
                + DeviceJoining.remark(onName: name, wanted: wantedName)
                + (isHelped ? "\nIts recovery contacts are used up: coffret recovery contacts rm, then add." : "")
                + "\n\nNext:  coffret device ls   shows which devices belong to it"
        }
        try DeviceCommand.end(with: problem)
    }

    /// Revokes all other devices, and gives the vaults new keys.
    ///
    /// - Parameters:
    ///   - isLast: the paper device takes itself out, too.
    ///   - revoked: becomes who was thrown out.
    /// - Returns: what went wrong in a vault, told already.
    private static func throwOthersOut(
        _ recovery: PaperRecovery, _ account: Account, _ session: StoreSession, _ context: CommandContext,
        isLast: Bool, _ revoked: inout [UniqueID]
    ) throws -> CommandFailure? {
        let revocation: PaperRecovery.Revocation
        do {
            revocation = try recovery.revokeOthers(keeping: try session.store.keyring.deviceID())
            if isLast { try recovery.revokeItself() }
        } catch {
            // The store is there by now, so this command will not run again.
            var failure = FailureTranslation.failure(from: error)
            failure.message =
                "the account is back on this device, but the others are not revoked: " + failure.message
            failure.hint = "coffret device ls, then coffret device revoke NAME for each of them"
            throw failure
        }
        revoked = revocation.revoked
        if !revocation.keptPapers.isEmpty {
            context.note(
                "\(NumberText.counted(revocation.keptPapers.count, "paper device")) that this sheet may not revoke "
                    + "\(revocation.keptPapers.count == 1 ? "stays" : "stay"): coffret device ls, then coffret device revoke NAME"
            )
        }
        guard isLast || !revocation.revoked.isEmpty else { return nil }
        do {
            try account.follow()
        } catch {
            var failure = FailureTranslation.failure(from: error)
            failure.message =
                "the other devices are revoked, but the vaults have no new keys yet: " + failure.message
            failure.hint = "coffret sync on this device makes it whole"
            throw failure
        }
        return try session.desk.syncEach(account, "coffret sync makes it whole").problem
    }

    private static func readSheet(_ source: PassphraseSource, _ context: CommandContext) throws -> PaperSheet {
        if let path = context.arguments.value(sheet) {
            let secret = try source.read(file: path, holding: "sheet", isWhole: true)
            // EXPOSE: a sheet is read as text.
            let text = unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
            if let key = try? RecoveryKey.parse(text) { _ = try paperKey(key) }
            return try PaperSheet.parse(text)
        }
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "the sheet is typed at a terminal, and there is none here",
                hint: "--sheet FILE reads it from a file")
        }
        let sheet = SheetPrompt(context: context, prompt: prompt)
        let key = try sheet.ask("The sheet's key: its 14 groups, as they stand there") { text in
            // Whoever copied the whole sheet need not take it apart.
            if let whole = try? PaperSheet.parse(text) { return (key: whole.key, whole: Optional(whole)) }
            return (key: try paperKey(RecoveryKey.parse(text)), whole: nil)
        }
        return try key.whole
            ?? sheet.ask("The sheet's account: its 14 groups") { try PaperSheet.parse(key.key.text() + $0) }
    }

    private static func paperKey(_ key: RecoveryKey) throws -> RecoveryKey {
        guard key.kind == .paper else {
            throw CommandFailure(
                .badInput, code: KeyError.Code.recoveryKeyUnsupported.rawValue,
                "this is the recovery key of one store, and not the sheet of a paper device",
                hint: "it opens that store: coffret passphrase --recovery, where the store is")
        }
        return key
    }

    // MARK: Sheets

    /// Makes a paper device: shown and confirmed first, and then put into the account.
    static func addPaper(_ context: CommandContext, _ session: StoreSession, named name: String, isUnconfirmed: Bool)
        throws
    {
        let account = try session.desk.account()
        defer { account.connection.logOut() }
        try session.desk.follow(account)
        let name = try session.store.keyring.freeDeviceName(name)
        let key = RecoveryKey.generate(.paper, from: SystemRandomSource())
        let paper = PaperSheet(key: key, accountID: try session.store.keyring.accountID())
        if !isUnconfirmed {
            guard let prompt = context.prompt() else {
                throw CommandFailure(
                    .unavailable, .terminalNeeded, "the sheet is shown on a terminal, and there is none here",
                    hint: "coffret recovery add --paper --print-only prints it to standard output")
            }
            try RecoveryCeremony(context: context, prompt: prompt).confirm(
                paper, server: account.connection.settings.address.url)
        }
        let device = PaperDevice(key)
        try account.add(device, named: name, at: SystemWallClock().now)
        try session.store.changeKeyring { keyring in try keyring.admitPaper(device.deviceID) }
        guard isUnconfirmed else {
            return try context.confirmDone(.fields(["id": .string(device.deviceID.hex), "name": .string(name)])) {
                "\"\(TextWidth.displaySafe(name))\" is one of your devices now. With its sheet and the server you come back from nothing."
            }
        }
        let value = JSONValue.fields([
            "id": .string(device.deviceID.hex), "name": .string(name), "sheet": .string(paper.text()),
        ])
        try context.print(value) { paper.text() }
    }
}
