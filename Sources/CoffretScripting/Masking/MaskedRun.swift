// Runs a command and masks what it prints. Invariant: the person's terminal is put back as it was, and every byte of
// the command's output passes a mask.

internal import CoffretBase
package import CoffretTerminal
internal import Glibc

/// A command whose output goes through masks: over pipes, or over a terminal of its own where there is one to imitate.
package final class MaskedRun {
    /// Signals that are handed on to the command.
    private static let forwarded = SignalWatch.ending + [SIGUSR1, SIGUSR2, SIGALRM]
    /// How long the terminal of a command that has ended is listened to, if something still holds on to it.
    private static let lastWordsMilliseconds: Int32 = 250

    private let relay: MaskedRelay
    private let automaton: FormAutomaton

    package init(_ automaton: FormAutomaton) {
        self.automaton = automaton
        relay = MaskedRelay()
    }

    /// Runs the command to its end.
    ///
    /// - Parameter words: the program's path, then its arguments.
    /// - Throws: only if it cannot be started.
    package func run(_ words: [String], _ surroundings: ChildSurroundings) throws(SystemFailure) -> ChildOutcome {
        defer { relay.finish() }
        if let terminal = PseudoTerminal.imitatingOwn() { return try run(words, surroundings, on: terminal) }
        let output = try relay.addPipe(to: STDOUT_FILENO, OutputMask(automaton))
        let error = try relay.addPipe(to: STDERR_FILENO, OutputMask(automaton))
        let watch = SignalWatch(Self.forwarded + [SIGCHLD])
        let child = try ChildProcess.start(
            words, output: .descriptor(output.number), error: .descriptor(error.number), surroundings: surroundings)
        output.close()
        error.close()
        while true {
            relay.move(signals: watch.descriptor, timeoutMilliseconds: -1)
            while let (signal, isFromKernel) = watch.nextWithOrigin() {
                // A signal from the terminal reached the command as well: it is in the same process group.
                if signal != SIGCHLD, !isFromKernel { kill(child.processID, signal) }
            }
            guard let outcome = child.poll() else { continue }
            // The command's output is in the pipes by now. Other processes that still hold them are not waited for.
            while relay.move(timeoutMilliseconds: 0) {}
            return outcome
        }
    }

    /// Runs the command in a session of its own on another terminal.
    private func run(
        _ words: [String], _ surroundings: ChildSurroundings, on terminal: PseudoTerminal
    ) throws(SystemFailure) -> ChildOutcome {
        relay.addTerminal(terminal, to: STDOUT_FILENO, OutputMask(automaton))
        let ownError = isatty(STDERR_FILENO) == 1 ? nil : try relay.addPipe(to: STDERR_FILENO, OutputMask(automaton))
        let watch = SignalWatch(Self.forwarded + [SIGCHLD, SIGWINCH, SIGTSTP])
        let child = try ChildProcess.start(
            words, input: isatty(STDIN_FILENO) == 1 ? .path(terminal.path) : .inherited,
            output: .path(terminal.path), error: ownError.map { .descriptor($0.number) } ?? .path(terminal.path),
            isDetached: true, surroundings: surroundings)
        ownError?.close()
        terminal.takeKeyboard()
        defer { terminal.giveKeyboardBack() }
        while true {
            relay.move(signals: watch.descriptor, keyboard: terminal.keyboard, timeoutMilliseconds: -1)
            while let signal = watch.next() {
                switch signal {
                case SIGCHLD: break
                case SIGWINCH: terminal.copySize()
                case SIGTSTP:
                    // Sent by another process: keys are the command's own.
                    terminal.giveKeyboardBack()
                    kill(-child.processID, SIGSTOP)
                    kill(getpid(), SIGSTOP)
                    kill(-child.processID, SIGCONT)
                    terminal.takeKeyboard()
                    terminal.copySize()
                default: kill(child.processID, signal)
                }
            }
            if relay.isOutputLost { kill(child.processID, SIGHUP) }
            guard let outcome = child.poll() else { continue }
            // A terminal hands on in its own time; its end says that all has come.
            while relay.move(timeoutMilliseconds: Self.lastWordsMilliseconds) {}
            return outcome
        }
    }
}
