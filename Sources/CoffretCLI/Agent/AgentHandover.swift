// The agent, for a command that needs its store. The one thing to keep true: a person is asked once for what opens the store,
// and the agent has it open from then on.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum AgentHandover {
    /// A session of this command with its store, if an agent runs and has, or gets, the store open.
    ///
    /// - Returns: nil when the command has to open the store by itself.
    /// - Throws: what the agent refused.
    static func session(_ context: CommandContext, store path: String) throws -> SessionClient? {
        // Whoever gives the passphrase for this command wants no agent.
        guard !context.arguments.isSet(GlobalOptions.passphraseDescriptor),
            let store = AgentLocation.canonical(path),
            let client = try AgentClient.connect(context.environment) ?? AgentStarter.forTyping(context)
        else { return nil }
        do {
            return try session(context, client, store)
        } catch let refused as AgentRefused where refused.code == WireError.Code.unsupported.rawValue {
            guard try client.endsWithoutLoss() else { throw olderAgent() }
            return try AgentStarter.forTyping(context).flatMap { try session(context, $0, store) }
        }
    }

    private static func session(
        _ context: CommandContext, _ client: AgentClient, _ store: String
    ) throws -> SessionClient? {
        let terminal = context.prompt()
        let open = {
            try SessionClient.open(context.environment, over: client, store: store, terminal: terminal?.descriptor)
        }
        let (session, reason) = try open()
        if let session { return session }
        if reason == AgentText.tpmGone { context.warn("the store is locked\(AgentText.reason(AgentText.tpmGone))") }
        // Locked: with a passphrase from a file the command opens the store by itself; a person is asked once.
        guard !PassphraseSource(context: context).isUnattended else { return nil }
        do {
            try AgentUnlocking.unlock(client, store: store, context: context, seconds: nil)
            try noteUnlocked(client, store, context)
        } catch let refused as AgentRefused where refused.code == AgentErrorCode.pinentryMissing.rawValue {
            return nil
        }
        return try open().session
    }

    /// The agent was started by a coffret that knew less.
    static func olderAgent() -> CommandFailure {
        CommandFailure(
            .unavailable, .agentOlder, "the agent that runs is older than this coffret, and cannot do this",
            hint: "coffret agent stop locks all stores and ends it; the next command starts another one")
    }

    /// Says that the store stays open, for how long, and how it is closed.
    static func noteUnlocked(_ client: AgentClient, _ store: String, _ context: CommandContext) throws {
        guard let status = try client.status(of: store).first, status.isUnlocked else { return }
        context.note(
            "The store stays unlocked for now; coffret lock locks it.\nIt locks by itself \(AgentText.times(status)).")
    }
}

enum AgentUnlocking {
    /// Asks for the secret and lets the agent unlock the store.
    ///
    /// - Parameter seconds: for how long; nil as the settings say.
    static func unlock(
        _ client: AgentClient, store: String, context: CommandContext, manner: UnlockManner = .passphrase,
        seconds: UInt64?
    ) throws {
        var secret = try secret(store: store, context, manner)
        defer { secret.bytes.zero() }
        do {
            // A person at a pinentry may take longer, and ends it by Ctrl-C.
            guard secret.kind != .asked else { return try client.perform(.unlock(secret, seconds: seconds)) }
            try context.deriving { try client.perform(.unlock(secret, seconds: seconds)) }
        } catch let refused as AgentRefused where refused.code != AgentErrorCode.pinentryMissing.rawValue {
            throw WrongSecret.explained(FailureTranslation.failure(from: refused), manner, store: store, context)
        }
    }

    /// Unlocks a store whose passphrase was just chosen.
    static func unlock(
        _ client: AgentClient, store: String, context: CommandContext, chosen: borrowing SecretBytes
    ) throws {
        // EXPOSE: into the message to the agent, which is zeroed once it is sent.
        let bytes = unsafe chosen.withUnsafeBytes { unsafe Array($0) }
        var secret = AgentSecret(
            store: store, kind: .passphrase, bytes: bytes, environment: context.environment.travelling)
        defer { secret.bytes.zero() }
        try context.deriving { try client.perform(.unlock(secret, seconds: nil)) }
    }

    /// Has the agent do what only the person may decide: it asks for presence if that is set up and the store is
    /// unlocked, else for the PIN of the profile, else for the passphrase. A passphrase that a script gives is as good.
    static func confirm(
        _ client: AgentClient, store: String, context: CommandContext, _ request: (AgentSecret) -> AgentRequest
    ) throws {
        let source = PassphraseSource(context: context)
        if !source.isUnattended, try client.status(of: store).first?.isUnlocked == true {
            let terminal = context.prompt()
            let state = terminal?.state
            defer { if let terminal, let state { terminal.restore(state) } }
            let presence = AgentSecret(
                store: store, kind: .presence, bytes: [], environment: context.environment.travelling)
            do {
                return try client.perform(request(presence), terminal: terminal?.descriptor)
            } catch let refused as AgentRefused where presenceIsElsewhere.contains(refused.code) {}
        }
        let summary = try? KeyringSummary.read(at: StoreLayout(store).keyringPath, fileSystem: PosixFileSystem())
        let profile = KeyCommand.profileName(context)
        let hasPIN =
            summary?.slots.contains { $0.kind.isKeyStore && $0.hasPIN && $0.terms?.profile == profile } ?? false
        let manner = hasPIN && !source.isUnattended && context.prompt() != nil ? UnlockManner.pin : .passphraseAnew
        var secret = try secret(store: store, context, manner)
        defer { secret.bytes.zero() }
        try client.perform(request(secret))
    }

    /// Refusals after which another way is asked for.
    private static let presenceIsElsewhere: Set<String> = [
        KeyStoreError.Code.presenceNotSetUp.rawValue, KeyStoreError.Code.presenceUnavailable.rawValue,
        KeyError.Code.presenceRequired.rawValue, AgentErrorCode.storeLocked.rawValue,
    ]

    /// The secret from a descriptor, a file or the person; without a terminal the agent asks.
    static func secret(
        store: String, _ context: CommandContext, _ manner: UnlockManner
    ) throws -> AgentSecret {
        let source = PassphraseSource(context: context)
        var environment = context.environment.travelling
        if manner == .pin || manner == .keyStore {
            environment[ProcessEnvironment.Variable.profile.rawValue] = KeyCommand.profileName(context)
            let bytes = try manner == .keyStore ? [] : source.pin()
            return AgentSecret(store: store, kind: .pin, bytes: bytes, environment: environment)
        }
        // A pause is told before anybody types; the agent judges a secret from a script by its own count.
        if !source.isUnattended { try StoreAccess.checkAttempts(store, StoreAccess.environment(context)) }
        if case .recoveryKey = manner {
            return AgentSecret(
                store: store, kind: .recoveryKey, bytes: Array(try source.recoveryKey().text().utf8),
                environment: environment)
        }
        guard source.isUnattended || context.prompt() != nil else {
            return AgentSecret(store: store, kind: .asked, bytes: [], environment: environment)
        }
        let typed = try source.typed("Passphrase: ")
        guard typed.byteCount > 0 else {
            throw CommandFailure(.badInput, .passphraseEmpty, "the passphrase is empty")
        }
        // EXPOSE: into the message to the agent, which is zeroed once it is sent.
        let bytes = unsafe typed.withUnsafeBytes { unsafe Array($0) }
        return AgentSecret(store: store, kind: .passphrase, bytes: bytes, environment: environment)
    }
}
