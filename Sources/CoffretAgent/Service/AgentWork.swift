// Work for clients that the agent does not know itself. Invariant: each closure runs in a process forked for it, which ends
// with the result.

/// Programs that the agent's processes run for clients; given by the executable that the agent is part of.
package struct AgentWork {
    /// Fills, in the agent itself, what every command would fill alike; called once, before any client.
    let prepare: () -> Void
    /// Runs a command line, with the standard streams, the environment and the working directory of the process. The
    /// result is the exit code.
    let runCommand: (_ arguments: [String]) -> Int32
    /// Serves the SSH client at the standard streams with the keys of a store, by its path. The result is the exit code.
    let serveSSH: (_ store: String) -> Int32

    package init(
        prepare: @escaping () -> Void, runCommand: @escaping ([String]) -> Int32,
        serveSSH: @escaping (String) -> Int32
    ) {
        self.prepare = prepare
        self.runCommand = runCommand
        self.serveSSH = serveSSH
    }
}
