// The agent as a program. The one thing to keep true: before anything secret can arrive, this process gives no
// core dumps, cannot be traced by its user, and has no terminal and no folder that it keeps busy.

internal import CPlatform
internal import CoffretBase
internal import CoffretClient
package import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretTerminal
internal import Glibc

/// `coffret-agent`.
package enum AgentProgram {
    package static let usage = """
        usage: coffret-agent [--foreground]

        Keeps stores unlocked for coffret and locks them in time. coffret unlock starts it when it is needed.
          --foreground   says on standard error why it cannot start (for service managers and for a first look)
        """

    /// Runs the agent until it is told to end.
    ///
    /// - Parameter makeSources: what tells that the person leaves; called once, before any client.
    /// - Parameter notify: tells the person something; called in processes of their own.
    /// - Parameter makeRecords: a better home for the agent's records than files in the folder that it is given, if
    ///   there is one, with the TPM that was chosen, if one was; called in processes of their own.
    /// - Returns: the exit code.
    package static func run(
        _ arguments: [String], makeSources: () -> [any LockEventSource] = { [] },
        notify: @escaping (SyncNews) -> Void = { _ in },
        makeRecords: @escaping @Sendable (String, String?) -> (any ProtectedRecords)? = { _, _ in nil }
    ) -> Int32 {
        var isForeground = false
        for argument in arguments {
            switch argument {
            case "--foreground": isForeground = true
            case "--help", "-h": return say(usage, exitCode: 0)
            case "--version": return say("coffret-agent \(CoffretVersion.text)", exitCode: 0)
            default: return say("coffret-agent: error: unknown option \(argument)\n\(usage)", exitCode: 64)
            }
        }
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        // What the starter left open, such as the end of a pipe, would stay open for hours.
        _ = coffret_close_from(3)
        guard let socketPath = AgentLocation.socketPath, let state = AgentLocation.stateDirectory else {
            return say("coffret-agent: error: there is no home folder", exitCode: 68)
        }
        // The agent's own variable: children have those of their clients.
        let tpm = AgentLocation.tpm
        let service: AgentService
        do {
            try PosixFileSystem().makeDirectories(PathText.parent(of: PathText.parent(of: socketPath)))
            service = try AgentService(
                socketPath: socketPath, userID: geteuid(),
                makeRecords: {
                    let folder = PathText.join(state, "agent")
                    return makeRecords(folder, tpm)
                        ?? FileRecords(folder: folder, fileSystem: PosixFileSystem(), random: SystemRandomSource())
                },
                wrapping: KeyStoreProviders.installed?.idleWrapping(
                    KeyStoreSurroundings(
                        stateDirectory: state, fileSystem: PosixFileSystem(), random: SystemRandomSource(),
                        tpm: tpm)),
                environment: AgentLocation.variables, sources: makeSources(), notify: notify)
        } catch {
            return say("coffret-agent: error: \(words(for: error))   [\(FailureCode.of(error))]", exitCode: 69)
        }
        _ = setsid()
        _ = unsafe chdir("/")
        if !isForeground { detachStreams() }
        AgentTables.fill()
        service.run()
        return 0
    }

    private static func words(for error: any Error) -> String { FailureCode.words(for: error) }

    private static func say(_ text: String, exitCode: Int32) -> Int32 {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe write(exitCode == 0 ? STDOUT_FILENO : STDERR_FILENO, bytes, bytes.count)
        return exitCode
    }

    private static func detachStreams() {
        let null = unsafe open("/dev/null", O_RDWR)
        guard null >= 0 else { return }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, descriptor) }
        if null > STDERR_FILENO { close(null) }
    }
}
