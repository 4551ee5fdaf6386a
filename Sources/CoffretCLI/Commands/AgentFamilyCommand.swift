// `coffret agent`: the process that keeps stores unlocked.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

enum AgentFamilyCommand {
    static let idle = OptionDescription.value("idle", "TIME", "lock after this time without use (10m)")
    static let absolute = OptionDescription.value(
        "at-latest", "TIME", "lock this long after unlocking, even while used (12h)")

    static let sync = OptionDescription.value(
        "sync", "WHETHER", .choice(["on", "off"]), "whether the agent syncs the store while it is unlocked (on)")

    static let opens = OptionDescription.value(
        "opens", "WHEN", .choice(["first", "asked"]),
        "what opens the store for more than one command: the first passphrase that is typed, or coffret unlock (first)")

    static let description = CommandDescription(
        "agent", group: .store, "The process that keeps stores unlocked",
        discussion: [
            "The first passphrase that you type at a terminal starts it, and it keeps the store open as coffret unlock does. A passphrase from a file or a descriptor opens the store for one command.",
            "COFFRET_AGENT=off goes without an agent; then each command asks. COFFRET_AGENT=asked starts none but for coffret unlock.",
        ],
        subcommands: [
            CommandDescription("start", "Start the agent, if none runs", run: start),
            CommandDescription("stop", "Lock everything and end the agent", run: stop),
            CommandDescription("status", "Say whether an agent runs and what is unlocked", run: status),
            CommandDescription(
                "settings", "Show or change when a store locks by itself, and whether it syncs by itself",
                discussion: [
                    "Changing the times needs you: presence where PAM is set up for it (Docs/unlocking.md), else the PIN, else the passphrase. So nobody who finds the store unlocked can keep it so. They are kept outside the store, on this computer."
                ],
                options: [idle, absolute, sync, opens],
                examples: [
                    CommandExample("coffret agent settings --idle 5m", "locks after five minutes without use"),
                    CommandExample("coffret agent settings --sync off", "syncs when coffret sync is called only"),
                ],
                run: settings),
            AgentSessionsCommand.description,
            AgentLogCommand.description,
        ])

    private static func start(_ context: CommandContext) throws {
        let wasRunning = try AgentClient.connect(context.environment) != nil
        _ = try AgentStarter.connect(context)
        try context.confirmDone(.fields(["running": .bool(true), "started": .bool(!wasRunning)])) {
            wasRunning ? "The agent runs already." : "The agent runs. coffret unlock unlocks a store."
        }
    }

    private static func stop(_ context: CommandContext) throws {
        let client = try AgentClient.connect(context.environment)
        try client?.perform(.stop)
        // The agent closes the connection when it ends.
        _ = try? client?.connection.receive()
        try context.confirmDone(.fields(["running": .bool(false), "stopped": .bool(client != nil)])) {
            client == nil ? "No agent runs." : "Locked, and ended."
        }
    }

    private static func status(_ context: CommandContext) throws {
        let client = try AgentClient.connect(context.environment)
        let stores = try client?.status(of: nil) ?? []
        let value = JSONValue.fields([
            "running": .bool(client != nil),
            "stores": .array(
                stores.map {
                    AgentText.value(
                        $0, more: [("sync", SyncStatus.json(syncRecords(of: $0.store, context)?.agentState()))])
                }),
        ])
        try context.print(value) {
            guard client != nil else { return "No agent runs. coffret unlock starts one." }
            guard !stores.isEmpty else { return "The agent runs; nothing was unlocked yet." }
            return stores.map { store in
                let line = "\(TextWidth.displaySafe(store.store)): \(AgentText.line(store))"
                let state = syncRecords(of: store.store, context)?.agentState()
                guard let words = SyncStatus.words(state, nowMilliseconds: context.nowMilliseconds) else { return line }
                return line + "\n  sync: " + words
            }.joined(separator: "\n")
        }
    }

    static func syncRecords(of store: String, _ context: CommandContext) -> SyncRecords? {
        guard let environment = try? StoreAccess.environment(context),
            let summary = try? KeyringSummary.read(
                at: StoreLayout(store).keyringPath, fileSystem: environment.fileSystem)
        else { return nil }
        return SyncRecords(
            stateDirectory: environment.stateDirectory, storeID: summary.storeID, fileSystem: environment.fileSystem)
    }

    /// Changes whether the agent syncs, which takes no secret: whoever can call this can as well cut the network.
    private static func setSync(_ store: String, _ value: String, _ context: CommandContext) throws {
        try syncRecords(of: store, context)?.setOff(value == "off")
        context.note(
            value == "off"
                ? "The agent does not sync this store; coffret sync does."
                : "The agent syncs this store while it is unlocked.")
    }

    private static func settings(_ context: CommandContext) throws {
        let store = try UnlockCommand.existingStore(context)
        if let value = context.arguments.value(sync) {
            try setSync(store, value, context)
        }
        if let value = context.arguments.value(opens) {
            try syncRecords(of: store, context)?.setOpensWhenAsked(value == "asked")
            context.note(
                value == "asked"
                    ? "A passphrase opens this store for one command; coffret unlock for more."
                    : "The first passphrase that you type keeps this store open.")
        }
        let hasSaid = context.arguments.isSet(sync) || context.arguments.isSet(opens)
        if hasSaid, !context.arguments.isSet(idle), !context.arguments.isSet(absolute) { return }
        let (idle, absolute) = (
            try DurationText.seconds(of: idle, context), try DurationText.seconds(of: absolute, context)
        )
        let client = try AgentStarter.connect(context)
        if idle != nil || absolute != nil {
            try AgentUnlocking.confirm(client, store: store, context: context) { secret in
                .settings(secret, idleSeconds: idle, absoluteSeconds: absolute)
            }
        }
        guard let status = try client.status(of: store).first else {
            throw CommandFailure(
                .unavailable, .agentUnavailable, "the times are known once the store was unlocked",
                hint: "coffret unlock")
        }
        try context.print(AgentText.value(status)) { "The store locks \(AgentText.times(status))." }
    }
}
