// `coffret agent`: the process that keeps stores unlocked.

internal import CoffretBase
internal import CoffretNet
internal import CoffretWire

enum AgentFamilyCommand {
    static let idle = OptionDescription.value("idle", "TIME", "lock after this time without use (10m)")
    static let absolute = OptionDescription.value(
        "at-latest", "TIME", "lock this long after unlocking, whatever happens (12h)")

    static let description = CommandDescription(
        "agent", group: .store, "The process that keeps stores unlocked",
        discussion: [
            "coffret works without an agent, but then asks for the passphrase at each command. COFFRET_AGENT=off goes without it."
        ],
        subcommands: [
            CommandDescription("start", "Start the agent, if none runs", run: start),
            CommandDescription("stop", "Lock everything and end the agent", run: stop),
            CommandDescription("status", "Say whether an agent runs and what is unlocked", run: status),
            CommandDescription(
                "settings", "Show or change when a store locks by itself",
                discussion: [
                    "Changing the times needs the passphrase, so that nobody who finds the store unlocked can keep it so. They are kept outside the store, on this computer."
                ],
                options: [idle, absolute],
                examples: [CommandExample("coffret agent settings --idle 5m", "locks after five minutes without use")],
                run: settings),
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
            "running": .bool(client != nil), "stores": .array(stores.map { AgentText.value($0) }),
        ])
        try context.print(value) {
            guard client != nil else { return "No agent runs. coffret unlock starts one." }
            guard !stores.isEmpty else { return "The agent runs; nothing was unlocked yet." }
            return stores.map { "\(TextWidth.displaySafe($0.store)): \(AgentText.line($0))" }.joined(separator: "\n")
        }
    }

    private static func settings(_ context: CommandContext) throws {
        let store = try UnlockCommand.existingStore(context)
        let (idle, absolute) = (
            try DurationText.seconds(of: idle, context), try DurationText.seconds(of: absolute, context)
        )
        let client = try AgentStarter.connect(context)
        if idle != nil || absolute != nil {
            var secret = try AgentUnlocking.secret(store: store, context, .passphraseAnew)
            defer { secret.bytes.zero() }
            try client.perform(.settings(secret, idleSeconds: idle, absoluteSeconds: absolute))
        }
        guard let status = try client.status(of: store).first else {
            throw CommandFailure(
                .unavailable, .agentUnavailable, "the times are known once the store was unlocked",
                hint: "coffret unlock")
        }
        try context.print(AgentText.value(status)) { "The store locks \(AgentText.times(status))." }
    }
}
