// Work for clients that the agent does not know itself. Invariant: it runs in a process forked for it, which ends with the result.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal

/// Programs that the agent's processes run for clients; given by the executable that the agent is part of.
package struct AgentWork {
    /// Runs a command line, with the standard streams, the environment and the working directory of the process. The
    /// result is the exit code.
    let runCommand: (_ arguments: [String]) -> Int32

    package init(runCommand: @escaping ([String]) -> Int32) { self.runCommand = runCommand }

    /// Fills, in the agent itself, tables that each of its processes would fill alike; called once, before any client.
    static func prepare() {
        _ = ProcessHardening.original
        _ = try? SecretReference(typed: "coffret://a/b/c")
        _ = FailureMeaning.find("core.item.not-found")
        Store.rehearse(random: SystemRandomSource())
    }
}
