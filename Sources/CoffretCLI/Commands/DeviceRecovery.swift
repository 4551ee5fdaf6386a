// `coffret device recover`, and the sheets that it needs. The one thing to keep true: the sheet alone is enough, and what
// the server gives counts only if it leads to the account on the sheet.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTrust

enum DeviceRecovery {
    static let sheet = OptionDescription.value(
        "sheet", "FILE", .file, "read the sheet's 28 groups from this file instead of asking for them")
    static let revokeOthers = OptionDescription.flag(
        "revoke-others", "throw all other devices out: they were lost or stolen")

    static let description = CommandDescription(
        "recover", "Come back with a paper device alone, on a machine that has nothing",
        discussion: [
            "For a device without a store. Needs the sheet that coffret recovery add --paper gave, and the server. The passphrase that you choose is this device's own."
        ],
        arguments: [ServerAccess.address],
        options: [sheet, revokeOthers, DeviceCommand.name, StoreAccess.effort] + ServerAccess.options, staysHere: true,
        run: run)

    private static func run(_ context: CommandContext) throws {
        let path = try StoreAccess.path(context)
        guard try !StoreAccess.exists(context) else {
            throw CommandFailure(
                .alreadyExists, .storeExists, "there is already a store at \(TextWidth.displaySafe(path))",
                hint: "--store PATH makes another one elsewhere; coffret --recovery opens this one with the sheet")
        }
        let source = PassphraseSource(context: context)
        let paper = try PaperSheet.parse(readSheet(source, context))
        let settings = try ServerAccess.settings(context)
        let passphrase =
            source.isUnattended
            ? try source.current() : try source.chooseNew("Choose a passphrase for this device: ")
        let recovery = try PaperRecovery(
            paper, settings: settings, random: SystemRandomSource(), clock: SystemWallClock())
        defer { recovery.logOut() }
        let joined = try recovery.join(
            named: context.arguments.value(DeviceCommand.name) ?? StoreAccess.deviceName, model: "Linux")
        let store = try context.timings.measure("key-derivation") {
            try Store.join(
                joined, server: recovery.serverRecord(settings), at: path, passphrase: passphrase,
                parameters: StoreAccess.parameters(context), environment: StoreAccess.environment(context))
        }
        let session = StoreSession(store: store, context: context)
        let account = try ServerAccess.account(session)
        defer { account.connection.logOut() }
        // What the others have sent counts, so it has to be here before they are thrown out.
        var isComplete = DeviceCommand.eachSynced(account, session, context, "coffret sync tries again")
        if context.arguments.isSet(revokeOthers) {
            try recovery.revokeOthers(keeping: try store.keyring.deviceID())
            try account.follow()
            try account.renewKeys()
            let isCut = DeviceCommand.eachSynced(account, session, context, "coffret sync makes it whole")
            isComplete = isCut && isComplete
        }
        let vaults = try store.vaults.map(\.name)
        let value = JSONValue.fields([
            "store": .string(path), "account": .string(paper.accountID.hex), "vaults": .strings(vaults),
            "complete": .bool(isComplete),
        ])
        try context.confirmDone(value) {
            let names = vaults.map { "\"\(TextWidth.displaySafe($0))\"" }.joined(separator: ", ")
            return "The account is back on this device"
                + (vaults.isEmpty ? "; no vault of it is synced." : ", with \(names).")
                + "\n\nNext:  coffret device ls   shows which devices belong to it"
        }
    }

    private static func readSheet(_ source: PassphraseSource, _ context: CommandContext) throws -> String {
        if let path = context.arguments.value(sheet) {
            let secret = try source.read(file: path)
            // EXPOSE: a sheet is read as text.
            return unsafe secret.withUnsafeBytes { bytes in unsafe String(decoding: bytes, as: UTF8.self) }
        }
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "the sheet is typed at a terminal, and there is none here",
                hint: "--sheet FILE reads it from a file")
        }
        var text = ""
        for part in ["The sheet's key (14 groups):", "The sheet's account (14 groups):"] {
            prompt.show(part + "\n")
            guard let line = try prompt.askLine("") else { throw CommandFailure(.cancelled, .cancelled, "cancelled") }
            if context.terminal.canMoveCursor { prompt.show("\u{1B}[1A\u{1B}[2K") }
            text += line + " "
        }
        return text
    }

    // MARK: Sheets

    /// Makes a paper device: shown and confirmed first, and then put into the account.
    static func addPaper(_ context: CommandContext, _ session: StoreSession, named name: String, isUnconfirmed: Bool)
        throws
    {
        let account = try ServerAccess.account(session)
        defer { account.connection.logOut() }
        DeviceCommand.report(try account.follow(), context, session)
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

    /// A paper device falls seven days after this device said so, and not before.
    static func revokePaper(
        _ id: UniqueID, _ name: String, _ account: Account, _ context: CommandContext
    ) throws {
        let isRevoked = try account.revokePaper(id, at: SystemWallClock().now)
        let value = JSONValue.fields([(isRevoked ? "revoked" : "announced"): .string(id.hex)])
        try context.confirmDone(value) {
            isRevoked
                ? "Revoked the paper device \"\(name)\"; its sheet opens nothing any more but old copies."
                : "Your devices are told that the paper device \"\(name)\" will be revoked. Run this again on this device in seven days."
        }
    }
}
