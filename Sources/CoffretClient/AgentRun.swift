// A command that runs in the agent, seen from the terminal it was typed at. Invariant: to the person it is as if the
// command ran here: Ctrl-C ends it, and the terminal is put back as it was.

internal import CoffretBase
internal import CoffretNet
internal import CoffretTerminal
package import CoffretWire
internal import Glibc

/// Lets the agent run one command with this process's standard streams and terminal, and starts the programs that
/// the command asks for, such as an editor.
package final class AgentRun {
    package enum Outcome {
        case exited(Int32)
        /// Nothing was run.
        case locked(reason: String)
    }

    private let client: AgentClient
    private let terminal: Int32?
    private var terminalState: termios?
    /// Programs that this process started and that have not ended, by process id; whether Ctrl-C is theirs.
    private var programs: [pid_t: Bool] = [:]

    package init(_ client: AgentClient) {
        self.client = client
        terminal = try? OwnedDescriptor.open("/dev/tty", O_RDWR).duplicate()
        var state = termios()
        if let terminal, unsafe tcgetattr(terminal, &state) == 0 { terminalState = state }
    }

    deinit {
        if let terminal { close(terminal) }
    }

    package func run(_ command: AgentCommand) throws -> Outcome {
        let descriptors = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] + (terminal.map { [$0] } ?? [])
        let watch = SignalWatch(SignalWatch.ending + [SIGCHLD])
        try client.connection.send(AgentRequest.run(command).encoded(), descriptors: descriptors)
        while true {
            let hasAnswer = watch.wait(for: client.connection.descriptor)
            while let signal = watch.next() { try handle(signal) }
            guard hasAnswer else { continue }
            let message: ReceivedMessage
            let received: ReceivedDescriptors
            do throws(NetError) {
                guard let next = try client.connection.receive() else { throw NetError(.closed) }
                (message, received) = next
            } catch {
                putTerminalBack()
                waitForPrograms(watch)
                throw AgentRefused(code: CLIErrorCode.agentGone.rawValue)
            }
            switch try AgentResponse(decoding: message.bytes) {
            case .exited(let code): return .exited(Int32(code))
            case .locked(let reason): return .locked(reason: reason)
            case .start(let program): try start(program, received.take())
            case .failed(let code, let waitSeconds):
                putTerminalBack()
                waitForPrograms(watch)
                throw AgentRefused(code: code, waitSeconds: waitSeconds)
            default: throw WireError(.unsupported)
            }
        }
    }

    /// A command that was ended from outside may have left the terminal without echo.
    private func putTerminalBack() {
        if let terminal, var state = terminalState { unsafe tcsetattr(terminal, TCSADRAIN, &state) }
    }

    // MARK: Signals

    private func handle(_ signal: Int32) throws {
        if signal == SIGCHLD {
            try reap()
            return
        }
        // The terminal has sent it to the program in the foreground as well, and it is meant for that one.
        if signal == SIGINT || signal == SIGQUIT, programs.values.contains(true) { return }
        for (processID, _) in programs { kill(processID, signal) }
        client.connection.shutDown()
        putTerminalBack()
        endProgram(by: signal)
    }

    private func reap() throws {
        for processID in programs.keys {
            var status: Int32 = 0
            guard unsafe waitpid(processID, &status, WNOHANG) == processID else { continue }
            programs[processID] = nil
            let end: AgentProgramEnd =
                switch ChildOutcome(waitStatus: status) {
                case .exited(let code): .exited(UInt8(truncatingIfNeeded: code))
                case .signalled(let signal): .signalled(UInt8(truncatingIfNeeded: signal))
                }
            try? client.connection.send(
                AgentRequest.ended(processID: UInt64(UInt32(bitPattern: processID)), end).encoded())
        }
    }

    /// The command is gone; an editor that is still open keeps the terminal until it is closed.
    private func waitForPrograms(_ watch: borrowing SignalWatch) {
        while !programs.isEmpty {
            _ = watch.wait(for: -1)
            while let signal = watch.next() { if signal == SIGCHLD { try? reap() } }
        }
    }

    // MARK: Programs

    private func start(_ program: AgentProgram, _ descriptors: [Int32]) throws {
        var left = descriptors[...]
        defer { for descriptor in descriptors { close(descriptor) } }
        let streams = program.streams.map { stream -> ChildProcess.Stream in
            switch stream {
            case .inherited: .inherited
            case .null: .null
            case .descriptor: left.popFirst().map { .descriptor($0) } ?? .null
            }
        }
        let answer: AgentRequest
        do throws(SystemFailure) {
            let child = try ChildProcess.startHere(
                program.words, input: streams[0], output: streams[1], error: streams[2],
                environment: program.environment, isDetached: program.isDetached)
            if !program.isDetached { programs[child.processID] = streams[0] == .inherited || streams[1] == .inherited }
            answer = .started(processID: UInt64(UInt32(bitPattern: child.processID)))
        } catch {
            answer = .ended(processID: 0, .notStarted(UInt8(truncatingIfNeeded: error.number)))
        }
        try client.connection.send(answer.encoded())
    }
}
