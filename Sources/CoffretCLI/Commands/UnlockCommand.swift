// `coffret unlock` and `coffret lock`: the agent keeps the store open, or does not.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum UnlockCommand {
    static let time = OptionDescription.value(
        "for", "TIME", "stay unlocked this long, used or not: 90s, 15m, 2h (at most 7d)")
    static let pin = OptionDescription.flag("pin", "use a PIN that coffret key add has set")
    static let withoutPIN = OptionDescription.flag("no-pin", "use a key without a PIN, in the TPM or the keyring")
    static let recovery = OptionDescription.flag("recovery", "use a recovery key instead of the passphrase")

    static let description = CommandDescription(
        "unlock", group: .store, "Ask for the passphrase once, and keep the store unlocked",
        discussion: [
            "The agent keeps the store unlocked and runs your commands; it is started if none runs. It locks after a time without use, after a longer time in any case, when the screen is locked, and before the computer sleeps. coffret agent settings shows and changes the times."
        ],
        options: [time, pin, withoutPIN, recovery, KeyCommand.profile, KeyCommand.pinFile],
        examples: [
            CommandExample("coffret unlock", "asks once; further commands do not ask"),
            CommandExample("coffret unlock --for 15m", "locks in 15 minutes"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let store = try existingStore(context)
        let seconds = try DurationText.seconds(of: time, context)
        let isRemembered = try Store.isRemembered(at: store, environment: StoreAccess.environment(context))
        if !isRemembered { StoreSession.warnOfMissingMarker(context) }
        let client = try AgentStarter.connect(context)
        let before = try client.status(of: store).first
        if before?.isUnlocked != true || seconds != nil {
            try AgentUnlocking.unlock(
                client, store: store, context: context,
                manner: manner(context), seconds: seconds)
        }
        guard let status = try client.status(of: store).first, status.isUnlocked else {
            throw AgentRefused(code: AgentErrorCode.commandLocked.rawValue)
        }
        try context.confirmDone(AgentText.value(status)) {
            let already = before?.isUnlocked == true && seconds == nil ? "Already unlocked" : "Unlocked"
            return "\(already). It locks \(AgentText.times(status))."
        }
    }

    private static func manner(_ context: CommandContext) -> UnlockManner {
        if context.arguments.isSet(recovery) { return .recoveryKey }
        if context.arguments.isSet(pin) || context.arguments.isSet(KeyCommand.pinFile) { return .pin }
        return context.arguments.isSet(withoutPIN) ? .keyStore : .passphraseAnew
    }

    /// The store as the agent knows it.
    static func existingStore(_ context: CommandContext) throws -> String {
        let path = try StoreAccess.path(context)
        guard try StoreAccess.exists(context), let store = AgentLocation.canonical(path) else {
            throw CommandFailure(
                .noStore, .storeMissing, "there is no store at \(TextWidth.displaySafe(path))",
                hint: "coffret init makes one; --store names another place")
        }
        return store
    }
}

enum LockCommand {
    static let description = CommandDescription(
        "lock", group: .store, "Lock: forget all keys now",
        discussion: [
            "Locks every store that the agent keeps unlocked, or the one that --store names. Commands that are under way are ended; what they acknowledged is saved."
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let store = context.arguments.isSet(GlobalOptions.store) ? try UnlockCommand.existingStore(context) : nil
        let client = try AgentClient.connect(context.environment)
        try client?.perform(.lock(store: store))
        try context.confirmDone(.fields(["locked": .bool(true), "agent": .bool(client != nil)])) {
            client == nil ? "Nothing is unlocked: no agent runs." : "Locked."
        }
    }
}

/// What is said of the agent and its stores.
enum AgentText {
    static func value(_ status: AgentStoreStatus, more: [(String, JSONValue)] = []) -> JSONValue {
        .object(members(status) + more.map { JSONValue.Member($0.0, $0.1) })
    }

    private static func members(_ status: AgentStoreStatus) -> [JSONValue.Member] {
        let value = JSONValue.fields([
            "store": .string(status.store), "unlocked": .bool(status.isUnlocked),
            "reason": status.isUnlocked ? nil : .string(status.lockReason),
            "secondsLeft": status.secondsLeft.map { .integer(Int($0)) },
            "idleSeconds": .integer(Int(status.idleSeconds)), "absoluteSeconds": .integer(Int(status.absoluteSeconds)),
        ])
        guard case .object(let members) = value else { return [] }
        return members
    }

    /// `after 10 min without use, at the latest 12 h after unlocking`.
    static func times(_ status: AgentStoreStatus) -> String {
        let absolute = DurationText.words(status.absoluteSeconds)
        if status.idleSeconds >= status.absoluteSeconds { return "in \(absolute)" }
        return
            "after \(DurationText.words(status.idleSeconds)) without use, and \(absolute) after unlocking at the latest"
    }

    /// One line on a store's state.
    static func line(_ status: AgentStoreStatus) -> String {
        if status.isUnlocked {
            let condition = status.idleSeconds >= status.absoluteSeconds ? "" : " if nothing happens"
            return "unlocked; locks in \(DurationText.words(status.secondsLeft ?? 0))\(condition)"
        }
        return "locked\(reason(status.lockReason))"
    }

    /// Why, for the reasons that the agent gives; nothing for one that this version does not know.
    static func reason(_ word: String) -> String {
        switch word {
        case "idle": " (it was not used for a while)"
        case "absolute": " (its time was up)"
        case "screen-locked": " (the screen was locked)"
        case "sleep": " (the computer went to sleep)"
        case "command": " (you locked it)"
        case "keys-changed": " (its keys were changed)"
        case "clock-went-back": " (the clock was tampered with)"
        case tpmGone: " (the TPM did not give its keys back)"
        default: ""
        }
    }

    /// Nothing that a person did, and so said by the next command.
    static let tpmGone = "tpm-gone"
}
