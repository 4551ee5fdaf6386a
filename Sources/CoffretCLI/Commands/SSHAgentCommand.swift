// `coffret ssh-agent`: the vault's SSH keys for ssh, git and everything else that speaks to an agent.

internal import CoffretBase
internal import CoffretCore
internal import Glibc

enum SSHAgentCommand {
    static let command = ArgumentDescription.optional(
        "-- COMMAND", repeats: true, "a command to serve for its lifetime, such as a shell")
    static let socket = OptionDescription.value(
        "socket", "PATH", .file, "where to listen, in a folder that is yours alone")

    static let description = CommandDescription(
        "ssh-agent", group: .scripts, "Serve the SSH keys of the vault to ssh and git",
        discussion: [
            "With a command, the agent lives as long as the command, which finds it through SSH_AUTH_SOCK. Without, it stays in the foreground and prints the line that a shell needs.",
            "Served are the items of type ssh-key of all vaults, or of the one that --vault names: Ed25519, ECDSA and RSA. Keys come and go with the items; ssh-add cannot add or remove them. A key whose item has a field \"confirm\" is used only after a yes (SSH_ASKPASS).",
            "If coffret's own agent runs (coffret unlock), keys are served while the store is unlocked, and it asks otherwise. If not, the store is opened for as long as this runs.",
        ],
        arguments: [command], options: [socket],
        examples: [
            CommandExample("coffret ssh-agent -- bash", "a shell in which ssh uses the keys of the vault"),
            CommandExample("coffret ssh-agent -- git push", "one command with them"),
        ],
        staysHere: true, run: run)

    /// Hidden: serves one connection, which is standard input and output, with the store that the agent has open.
    static let connection = CommandDescription(
        "serve-ssh-connection", "Serve one SSH client", isHidden: true, run: serveConnection)

    private static func serveConnection(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        let client = SSHClient(input: STDIN_FILENO, output: STDOUT_FILENO, keyring: try keyring(session, context))
        while client.serve() {}
    }

    private static func keyring(_ session: StoreSession, _ context: CommandContext) throws -> SSHKeyring {
        let environment = context.environment
        return try SSHKeyring(session.store, vault: session.wantedVault) { question in
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
        let path = try socketPath(context, isForCommand: program != nil)
        let server = try SSHAgentServer(path: path, service(context))
        guard let program else {
            let quoted = "'" + path.replacing("'", with: "'\\''") + "'"
            try context.print(.fields(["socket": .string(path)])) {
                "SSH_AUTH_SOCK=\(quoted); export SSH_AUTH_SOCK;"
            }
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
        var inherited = CommandEnvironment.inherited.filter { !$0.starts(with: "SSH_AUTH_SOCK=".utf8) }
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

    /// Where to listen: for a command, a name of its own.
    private static func socketPath(_ context: CommandContext, isForCommand: Bool) throws -> String {
        if let path = context.arguments.value(socket) { return path }
        let name = isForCommand ? "ssh-\(getpid()).sock" : "ssh.sock"
        guard let folder = AgentLocation.folder(context.environment) else {
            throw CommandFailure(
                .unavailable, .terminalNeeded, "there is no folder for the agent's socket",
                hint: "name one with --socket")
        }
        return PathText.join(folder, name)
    }
}
