// A store as a command asks it. Invariant: a command that asks by operations means the same wherever they are performed; this
// process holds a key of the store only where no agent has it open.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// The store of one command: in a session of the agent, or opened in this process.
final class CommandStore {
    private enum Place {
        case session(SessionClient, store: String)
        case here(StoreSession)
    }

    let context: CommandContext
    private let place: Place
    private let person: TerminalPerson
    private var indexReporter: ProgressReporter?

    private init(_ context: CommandContext, _ place: Place) {
        self.context = context
        self.place = place
        person = TerminalPerson(context)
        rest()
    }

    /// Opens the store that the command line means: in the agent if one runs and has, or gets, the store open.
    static func open(_ context: CommandContext) throws -> CommandStore {
        let path = try StoreAccess.requireStore(context).path
        if let session = try AgentHandover.session(context, store: path) {
            return CommandStore(context, .session(session, store: path))
        }
        return CommandStore(context, .here(try StoreSession.open(context, with: .passphrase)))
    }

    /// The store in a session with the rights of a token. It has to be unlocked: nobody is asked.
    static func open(_ context: CommandContext, token: String) throws -> CommandStore {
        let named = try StoreAccess.path(context)
        // A program in a container does not see the store.
        let path = AgentLocation.canonical(named) ?? named
        guard let session = try SessionClient.open(context.environment, store: path, token: token) else {
            throw CommandFailure(
                .locked, .agentUnavailable, "no agent runs, and a token opens no store",
                hint: "coffret unlock starts one")
        }
        return CommandStore(context, .session(session, store: path))
    }

    /// The store in a session of the agent that is no use of it; nil if none runs or the store is locked.
    static func look(_ context: CommandContext) throws -> CommandStore? {
        guard let path = AgentLocation.canonical(try StoreAccess.path(context)),
            let client = try AgentClient.connect(context.environment),
            let session = try SessionClient.open(
                context.environment, over: client, store: path, isUse: false
            ).session
        else { return nil }
        return CommandStore(context, .session(session, store: path))
    }

    /// Whether an agent has the store open.
    var isInAgent: Bool { if case .session = place { true } else { false } }

    /// Can be read once the session has ended by itself; -1 for a store of this process, which nobody else locks.
    var descriptor: Int32 { if case .session(let client, _) = place { client.descriptor } else { -1 } }

    /// Makes sure that the agent has the store open still.
    ///
    /// - Throws: `AgentRefused`.
    func checkUnlocked() throws {
        guard case .session(_, let store) = place else { return }
        guard let client = try AgentClient.connect(context.environment) else {
            throw AgentRefused(code: CLIErrorCode.agentGone.rawValue)
        }
        guard try client.status(of: AgentLocation.canonical(store)).first?.isUnlocked == true else {
            throw AgentRefused(code: AgentErrorCode.commandLocked.rawValue)
        }
    }

    /// How long until the agent locks the store, if nothing happens.
    var secondsLeft: UInt64? {
        get throws {
            guard case .session(_, let store) = place else { return nil }
            return try AgentClient.connect(context.environment)?.status(of: AgentLocation.canonical(store)).first?
                .secondsLeft
        }
    }

    /// The name that `--vault` or COFFRET_VAULT gives, if any.
    var namedVault: String? {
        context.arguments.value(GlobalOptions.vault) ?? context.environment.value(.vault)
    }

    /// The same for what lists and finds; nil for all, also where `--vault all` says so.
    var listedVault: String? { namedVault == "all" ? nil : namedVault }

    /// The vault that a command works with: the one that was named, else this device's default.
    var wantedVault: String? {
        get throws { try namedVault ?? perform(VaultList()).vaults.first(where: \.isDefault)?.id }
    }

    /// Performs an operation, and asks the person what it asks.
    ///
    /// - Parameters:
    ///   - descriptors: stay the caller's.
    ///   - progress: is told how far the operation has come.
    ///   - isCancelled: is asked meanwhile whether nobody wants the result any more.
    /// - Throws: what the operation refuses; `AgentRefused` if the session ended meanwhile.
    func perform<Request: PerformedOperation>(
        _ request: Request, by asker: Asker = .person, descriptors: [Int32] = [],
        progress: ((OperationProgress) throws -> Void)? = nil, isCancelled: (() -> Bool)? = nil
    ) throws -> Request.Answer {
        switch place {
        case .here(let session):
            session.desk.work.takeDescriptors = { descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } }
            session.desk.work.report = { [self] step in try? take(step, progress) }
            if let isCancelled { session.desk.work.isCancelled = isCancelled }
            defer { rest() }
            return try request.perform(on: session.desk)
        case .session(let client, let store):
            return try told(store) {
                try client.perform(
                    request, by: asker, descriptors: descriptors, attendedBy: attendant(asker),
                    progress: { [self] in try take($0, progress) }, isCancelled: isCancelled)
            }
        }
    }

    /// Between two operations indexes alone are worth telling.
    private func rest() {
        guard case .here(let session) = place else { return }
        session.desk.work = OperationWork()
        session.desk.work.report = { [unowned self] step in try? take(step, nil) }
    }

    /// Asks for an answer that comes in parts.
    ///
    /// - Returns: the next part each time, and nil once all have come.
    func parts<Request: PiecewiseOperation>(of request: Request) throws -> () throws -> Request.Answer? {
        switch place {
        case .here(let session):
            if let parts = try request.parts(on: session.desk) { return parts }
            var whole: Request.Answer? = try perform(request)
            return { whole.take() }
        case .session(let client, let store):
            let exchange = try told(store) {
                try client.performInParts(request, attendedBy: person) { [self] in try take($0, nil) }
            }
            var isEnded = false
            return { [self] in
                guard !isEnded else { return nil }
                if let part = try told(store, exchange.next) { return part }
                isEnded = true
                return try exchange.reply()
            }
        }
    }

    /// Makes the indexes without which something was listed, so that nobody waited for them. A session does so by itself.
    func catchUp() throws {
        guard case .here(let session) = place else { return }
        try context.output.flush()
        for obstacle in context.timings.measure("index", session.desk.catchUp) {
            context.note("\(obstacle.words) Everything is saved, and is found without the index.")
        }
    }

    /// A program that only looks asks nobody.
    private func attendant(_ asker: Asker) -> TerminalPerson? { asker == .person ? person : nil }

    /// Runs a step of a session.
    private func told<Value>(_ store: String, _ step: () throws -> Value) throws -> Value {
        do {
            return try step()
        } catch let failure as OperationFailure where failure.code == OperationError.Code.unknown.rawValue {
            throw AgentHandover.olderAgent()
        } catch let error as NetError where error.code == .closed {
            throw try ended(store)
        }
    }

    private func take(_ step: OperationProgress, _ progress: ((OperationProgress) throws -> Void)?) throws {
        guard step.stage == OperationProgress.indexing else {
            try progress?(step)
            return
        }
        guard context.terminal.errorIsTerminal, !context.isJSON else { return }
        let reporter = indexReporter ?? context.progress()
        if indexReporter == nil { reporter.begin("Preparing search", unit: "item") }
        indexReporter = reporter
        reporter.update(done: step.done, total: step.total ?? step.done)
        if step.done == step.total {
            reporter.end()
            indexReporter = nil
        }
    }

    /// Why the process that served this command is gone.
    private func ended(_ store: String) throws -> AgentRefused {
        guard let client = try AgentClient.connect(context.environment) else {
            return AgentRefused(code: CLIErrorCode.agentGone.rawValue)
        }
        let isUnlocked = try client.status(of: AgentLocation.canonical(store)).first?.isUnlocked == true
        return AgentRefused(
            code: (isUnlocked ? AgentErrorCode.commandFailed : .commandLocked).rawValue)
    }

    /// Makes sure that the vault can be opened that is named, or meant where none is.
    func checkVault() throws {
        var request = LogRead()
        (request.vault, request.limit) = (namedVault, 0)
        _ = try perform(request)
    }

    // MARK: Words

    /// How an empty vault is spoken of. On a device that was just paired it lies at the server still.
    func emptyWords(_ vault: String?) throws -> String {
        let states = try perform(SyncRead()).vaults
        let isElsewhere = states.contains { $0.id == vault && $0.version == nil && $0.serverVersion != nil }
        return isElsewhere ? "Nothing of this vault is here yet: coffret sync brings it." : "The vault is empty."
    }

    /// Whether the command works with several vaults where it names none, and how many there are.
    var vaultCount: Int { get throws { try perform(VaultList()).vaults.count } }

    /// The item of an answer, for a line that says what was done.
    func label(_ id: String) throws -> String { try labels([id])[0] }

    func labels(_ ids: [String]) throws -> [String] {
        try shown(ids).map(context.label)
    }

    /// How items are shown, in the order of their names.
    func shown(_ items: [String]) throws -> [LabelMessage] {
        var request = ItemLabel()
        (request.items, request.vault) = (items, namedVault)
        return try perform(request).labels
    }
}
