// `coffret ssh-agent`: the vault's SSH keys for ssh, git and everything else that speaks to an agent.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretNet
internal import CoffretSSH
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum SSHAgentCommand {
    static let command = ArgumentDescription.optional(
        "-- COMMAND", repeats: true, "a command to serve for its lifetime, such as a shell")
    static let socket = OptionDescription.value(
        "socket", "PATH", .file, "where to listen, in a folder that is yours alone")

    static let description = CommandDescription(
        "ssh-agent", group: .scripts, "Serve the SSH keys of the vault to ssh and git",
        discussion: [
            "With a command, the agent lives as long as the command, which finds it through SSH_AUTH_SOCK. Without, it prints the line that a shell needs: coffret's own agent serves the keys of a store there as long as the store is unlocked, and is started and unlocked if need be.",
            "Served are the items of type ssh-key of all vaults, or of the one that --vault names: Ed25519, ECDSA and RSA. Keys come and go with the items; ssh-add cannot add or remove them. A key whose item has a field \"confirm\" is used only after a yes (SSH_ASKPASS).",
            "With --socket or --vault, and where there is no such agent (COFFRET_AGENT=off), it stays in the foreground. With the agent, a store that is locked is asked for; without, the store is open for as long as this runs.",
        ],
        arguments: [command], options: [socket],
        examples: [
            CommandExample("coffret ssh-agent -- bash", "a shell in which ssh uses the keys of the vault"),
            CommandExample("coffret ssh-agent -- git push", "one command with them"),
            CommandExample("eval \"$(coffret ssh-agent)\"", "this shell; the same keys as in every other one"),
        ], run: run)

    /// Hidden: serves one connection, which is standard input and output, with the store that the agent has open.
    static let connection = CommandDescription(
        "serve-ssh-connection", "Serve one SSH client", isHidden: true, run: serveConnection)

    private static func serveConnection(_ context: CommandContext) throws {
        let path = try StoreAccess.requireStore(context).path
        guard let session = try AgentHandover.session(context, store: path) else {
            let session = try StoreSession.open(context, with: .passphrase)
            let keys = try keyring(session, context)
            let client = SSHClient(input: STDIN_FILENO, output: STDOUT_FILENO, keys: keys)
            while client.serve() {}
            return
        }
        let vault = context.arguments.value(GlobalOptions.vault) ?? context.environment.value(.vault)
        let keys = SessionSSHKeys(session, vault: vault, context.environment)
        let client = SSHClient(input: STDIN_FILENO, output: STDOUT_FILENO, keys: keys)
        while !keys.isOver, client.serve() {}
    }

    private static func keyring(_ session: StoreSession, _ context: CommandContext) throws -> SSHKeyring {
        let environment = context.environment
        return try SSHKeyring(
            session.store, in: session.desk.guests.vaults(session.namedVault, for: .ssh)
        ) { question in
            SSHConfirmation.ask(question, environment)
        }
    }

    /// With coffret's agent, this process holds no key: each connection is served by a process of the agent's, while the
    /// store is unlocked. Without, the store is opened here.
    private static func service(_ context: CommandContext) throws -> SSHConnectionService {
        if try AgentClient.connect(context.environment) != nil {
            var words = ["/proc/self/exe", connection.name]
            for option in [GlobalOptions.store, GlobalOptions.vault] {
                if let value = context.arguments.value(option) { words.append("--\(option.name)=\(value)") }
            }
            return .processes(words)
        }
        let session = try StoreSession.open(context, with: .passphrase)
        return .here { try keyring(session, context) }
    }

    private static func run(_ context: CommandContext) throws {
        let words = context.arguments.values(command)
        let program = try words.first.map { try RunCommand.program($0, context) }
        if program == nil, try useAgent(context) { return }
        let path = try socketPath(context, isForCommand: program != nil)
        let isOwnChoice = context.arguments.isSet(socket)
        if program == nil, !isOwnChoice, isServed(path) {
            context.note("coffret: another coffret ssh-agent serves these keys; it goes on doing so.")
            return try say(path, context)
        }
        let service = try service(context)
        let server: SSHAgentServer
        do {
            server = try SSHAgentServer(path: path, service)
        } catch let error as NetError where isOwnChoice {
            throw unusable(path, error)
        }
        guard let program else {
            try say(path, context)
            try context.output.flush()
            let watch = SignalWatch(SignalWatch.ending + [SIGCHLD])
            while true {
                server.serve(signals: watch.descriptor)
                while let signal = watch.next() {
                    guard signal == SIGCHLD else { return }
                    server.reap()
                }
            }
        }
        try context.output.flush()
        let watch = SignalWatch(SignalWatch.ending + [SIGCHLD])
        var inherited = ProcessEnvironment.inherited.filter { !$0.starts(with: "SSH_AUTH_SOCK=".utf8) }
        inherited.append(Array("SSH_AUTH_SOCK=\(path)".utf8))
        let surroundings = ChildSurroundings(entries: inherited)
        let child: ChildProcess
        do throws(SystemFailure) {
            child = try ChildProcess.start([program] + words.dropFirst(), surroundings: surroundings)
        } catch {
            throw RunCommand.notExecutable(words[0], error)
        }
        while true {
            server.serve(signals: watch.descriptor)
            while let (signal, isFromKernel) = watch.nextWithOrigin() {
                // What the terminal sent, the command got as well.
                if signal != SIGCHLD, !isFromKernel { kill(child.processID, signal) }
            }
            server.reap()
            if let outcome = child.poll() { try RunCommand.end(outcome) }
        }
    }

    /// Prints the line that a shell needs.
    private static func say(_ path: String, _ context: CommandContext) throws {
        let quoted = "'" + path.replacing("'", with: "'\\''") + "'"
        try context.print(.fields(["socket": .string(path)])) { "SSH_AUTH_SOCK=\(quoted); export SSH_AUTH_SOCK;" }
    }

    /// Lets coffret's own agent serve the keys.
    ///
    /// - Returns: false where that cannot be, or is not what was asked for.
    private static func useAgent(_ context: CommandContext) throws -> Bool {
        guard !context.arguments.isSet(socket), context.arguments.value(GlobalOptions.vault) == nil,
            context.environment.value(.agent) != "off", try StoreAccess.exists(context),
            let store = AgentLocation.canonical(try StoreAccess.path(context)),
            let folder = AgentLocation.folder(context.environment)
        else { return false }
        let client: AgentClient
        do {
            client = try AgentStarter.connect(context)
        } catch let failure as CommandFailure where failure.code == CLIErrorCode.agentUnavailable.rawValue {
            return false
        }
        if try client.status(of: store).first?.isUnlocked != true {
            try AgentUnlocking.unlock(client, store: store, context: context, seconds: nil)
        }
        let path = AgentLocation.sshSocketPath(store: store, in: folder)
        // Another vault's agent, or a path that is too long, may be in the way.
        guard isServed(path) else { return false }
        try say(path, context)
        return true
    }

    /// Whether somebody of this user listens there.
    private static func isServed(_ path: String) -> Bool {
        (try? UnixConnection.connect(path: path, userID: geteuid())) != nil
    }

    /// Why the person's own choice of a place is none.
    private static func unusable(_ path: String, _ error: NetError) -> CommandFailure {
        let shown = TextWidth.displaySafe(path)
        switch error.code {
        case .directoryUntrusted:
            return CommandFailure(
                .permission, code: error.code.rawValue,
                "\(shown) is in a folder that others can look into; the socket was not made",
                hint: "make a folder for it: mkdir -m 700 FOLDER; without --socket it lies in one that is yours alone")
        case .addressTaken:
            return CommandFailure(
                .alreadyExists, code: error.code.rawValue, "another agent listens at \(shown)",
                hint: "use it: SSH_AUTH_SOCK=\(shown); or name another place")
        default: return FailureTranslation.failure(from: error)
        }
    }

    /// Where to listen: for a command, a name of its own; otherwise the store's.
    private static func socketPath(_ context: CommandContext, isForCommand: Bool) throws -> String {
        if let path = context.arguments.value(socket) { return path }
        guard let folder = AgentLocation.folder(context.environment) else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "there is no folder for the agent's socket",
                hint: "name one with --socket")
        }
        if isForCommand { return PathText.join(folder, "ssh-\(getpid()).sock") }
        let path = try StoreAccess.path(context)
        return AgentLocation.sshSocketPath(
            store: AgentLocation.canonical(path) ?? path, vault: context.arguments.value(GlobalOptions.vault),
            in: folder)
    }
}

/// The keys of a store that a session of the agent has open.
private final class SessionSSHKeys: SSHKeys, SessionAttendant {
    private let session: SessionClient
    private let vault: String?
    private let environment: ProcessEnvironment
    /// Whether the session has ended, as with the lock of its store.
    private(set) var isOver = false

    init(_ session: SessionClient, vault: String?, _ environment: ProcessEnvironment) {
        self.session = session
        self.vault = vault
        self.environment = environment
    }

    func identities() -> [SSHIdentity] {
        var request = SSHList()
        request.vault = vault
        return (perform(request)?.keys ?? []).compactMap { key in
            (try? Base64.standard.decode(key.key)).map { SSHIdentity(blob: $0, comment: key.title) }
        }
    }

    func sign(_ wanted: SSHSignRequest) -> [UInt8]? {
        var request = SSHSign()
        (request.vault, request.key) = (vault, Base64.standard.encode(wanted.blob))
        (request.data, request.flags) = (Base64.standard.encode(wanted.data), Int(wanted.flags))
        (request.host, request.isForwarded) = (wanted.hostFingerprint, wanted.isForwarded)
        return perform(request)?.signature.flatMap { try? Base64.standard.decode($0) }
    }

    private func perform<Request: StoreOperation>(_ request: Request) -> Request.Answer? {
        do {
            return try session.perform(request, attendedBy: self)
        } catch {
            if !(error is OperationFailure) { isOver = true }
            return nil
        }
    }

    // MARK: Questions

    func take(_ notice: SessionNotice) {}

    func answer(_ question: SessionQuestion, isOver: @escaping () -> Bool) -> SessionAnswer {
        question.kind == .confirm && SSHConfirmation.ask(question.text, environment) ? .yes : .no
    }

    func quietly(_ wait: () throws -> [UInt8]) throws -> [UInt8] { try wait() }

    func opened(_ file: borrowing OwnedDescriptor) -> OwnedDescriptor? { nil }
}
