// The program from its first to its last instruction. The one thing to keep true: every way out
// passes here, so the exit code and the last words always fit what happened.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import Glibc

/// `coffret`, given the words of its command line.
package enum CommandLineProgram {
    /// The version of the program, as `coffret --version` prints it.
    package static let version = CoffretVersion.text

    /// Runs the command and returns the exit code.
    ///
    /// - Parameter words: the command line without the program's name.
    package static func run(_ words: [String]) -> Int32 {
        ProcessHardening.apply()
        do throws(UsageError) {
            switch try ArgumentParser.parse(words, root: RootCommand.description, globalOptions: GlobalOptions.all) {
            case .version:
                return finish { output in try output.line("coffret \(version)") }
            case .help(let path):
                return finish { output in try output.write(HelpCommand.helpText(path: path)) }
            case .run(let arguments):
                return run(arguments)
            }
        } catch {
            return report(error, words: words)
        }
    }

    private static func run(_ arguments: ParsedArguments) -> Int32 {
        guard let body = arguments.command.run else { preconditionFailure("the parser refuses families of commands") }
        let context = CommandContext(arguments: arguments, environment: ProcessEnvironment())
        let terminal = context.terminal
        SecretMemory.onExhaustion {
            let failure = CommandFailure(
                .unavailable, .memoryExhausted, "the system has no memory for another secret; nothing saved is lost",
                hint: "close other programs, or raise the limit: ulimit -v unlimited")
            _ = report(failure, arguments: arguments, terminal: terminal)
        }
        do {
            try body(context)
            try context.output.flush()
            context.noteLock()
            if arguments.isSet(GlobalOptions.timings) {
                try context.errors.line(context.timings.text)
                try context.errors.flush()
            }
            context.tendWritten()
            return ExitCode.success.rawValue
        } catch {
            // What was already printed is true; it comes before the error.
            try? context.output.flush()
            context.noteLock()
            return report(error, arguments: arguments, terminal: context.terminal)
        }
    }

    private static func report(_ error: any Error, arguments: ParsedArguments, terminal: Terminal) -> Int32 {
        if let exit = error as? CommandExit { return exit.code }
        if error is BrokenPipe { return ExitCode.brokenPipe.rawValue }
        let failure = FailureTranslation.failure(from: error)
        let printer = FailurePrinter(
            isJSON: arguments.isSet(GlobalOptions.json), isVerbose: arguments.isSet(GlobalOptions.verbose),
            style: terminal.errorStyle, width: terminal.errorWidth)
        let text = printer.lines(for: failure).joined(separator: "\n") + "\n"
        try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
        return failure.exitCode.rawValue
    }

    /// A wrong command line: the message, the usage of the command as far as it was understood, a hint.
    private static func report(_ error: UsageError, words: [String]) -> Int32 {
        let isJSON = words.contains("--json")
        let terminal = Terminal(environment: ProcessEnvironment(), color: nil)
        let printer = FailurePrinter(
            isJSON: isJSON, isVerbose: false, style: terminal.errorStyle, width: terminal.errorWidth)
        let command = RootCommand.description.descendant(at: error.path) ?? RootCommand.description
        let usage = HelpText.usage(of: command, path: error.path)
        let failure = CommandFailure(
            .usage, code: error.code.rawValue, TextWidth.displaySafe(error.message), details: ["usage: \(usage)"],
            hint: error.hint ?? "coffret help \(error.path.joined(separator: " "))".trimmingTrailingSpace)
        let text = printer.lines(for: failure).joined(separator: "\n") + "\n"
        try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
        return failure.exitCode.rawValue
    }

    private static func finish(_ body: (OutputStream) throws -> Void) -> Int32 {
        let output = OutputStream(descriptor: STDOUT_FILENO)
        do {
            try body(output)
            try output.flush()
            return ExitCode.success.rawValue
        } catch {
            return error is BrokenPipe ? ExitCode.brokenPipe.rawValue : ExitCode.inputOutput.rawValue
        }
    }
}
