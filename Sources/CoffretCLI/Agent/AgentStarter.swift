// Starting the agent when somebody needs it. The one thing to keep true: the agent that is started is the one
// that lies beside this program; the working directory and its files have no say.

internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretSync
internal import CoffretTerminal
internal import Glibc

enum AgentStarter {
    static let programName = "coffret-agent"
    private static let patienceMilliseconds = 5_000

    /// Connects to the agent, and starts one if none runs.
    static func connect(_ context: CommandContext) throws -> AgentClient {
        guard context.environment.value(.agent) != "off" else {
            throw CommandFailure(
                .unavailable, .agentOff, "the agent is switched off", hint: "unset COFFRET_AGENT, which says off")
        }
        if let client = try AgentClient.connect(context.environment) { return client }
        try start(context)
        for _ in 0..<(patienceMilliseconds / 10) {
            if let client = try AgentClient.connect(context.environment) { return client }
            usleep(10_000)
        }
        throw CommandFailure(
            .unavailable, .agentUnavailable, "the agent was started and does not answer",
            hint: "coffret-agent --foreground says what is wrong; COFFRET_AGENT=off goes without it")
    }

    /// An agent for a command whose passphrase a person is about to type at a terminal: it keeps the store open, as after
    /// `coffret unlock`.
    ///
    /// - Returns: nil for scripts, where no agent is installed or none is wanted, and if it does not start.
    static func forTyping(_ context: CommandContext) throws -> AgentClient? {
        guard !PassphraseSource(context: context).isUnattended, context.prompt() != nil,
            !["off", "asked"].contains(context.environment.value(.agent)), find(context.environment) != nil,
            AgentFamilyCommand.syncRecords(of: try StoreAccess.path(context), context)?.opensWhenAsked != true
        else { return nil }
        do {
            return try connect(context)
        } catch let failure as CommandFailure where failure.code == CLIErrorCode.agentUnavailable.rawValue {
            return nil
        }
    }

    private static func start(_ context: CommandContext) throws {
        guard let program = find(context.environment) else {
            throw CommandFailure(
                .unavailable, .agentUnavailable, "there is no \(programName) beside this program, nor on PATH",
                hint: "install it; coffret works without it, but asks for the passphrase each time")
        }
        do throws(SystemFailure) {
            _ = try ChildProcess.start([program], input: .null, output: .null, error: .null, isDetached: true)
        } catch {
            throw CommandFailure(
                .unavailable, .agentUnavailable, "the agent cannot be started: \(error.message)")
        }
    }

    private static func find(_ environment: ProcessEnvironment) -> String? {
        if let own = AgentLocation.canonical("/proc/self/exe") {
            let beside = PathText.join(PathText.parent(of: own), programName)
            if unsafe access(beside, X_OK) == 0 { return beside }
        }
        return ProgramFinder(environment: environment).find(programName)
    }
}
