// `coffret run`: a command with secrets in its environment. The one thing to keep true: secrets reach the command through
// its environment only, never through arguments or files, and what it prints of them is masked (R33).

internal import CPlatform
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import Glibc

enum RunCommand {
    static let command = ArgumentDescription.required("-- COMMAND", repeats: true, "the command and its arguments")
    static let variable = OptionDescription.value(
        "env", short: "e", "NAME=REFERENCE", repeats: true, "a variable to fill; repeatable")
    static let file = OptionDescription.value(
        "env-file", "FILE", .file, repeats: true, "a file of NAME=VALUE lines; values may be references")
    static let noMasking = OptionDescription.flag("no-masking", "do not look into what the command prints")

    static let description = CommandDescription(
        "run", group: .scripts, "Run a command with secrets in its environment",
        discussion: [
            "Variables whose value is a reference (coffret://VAULT/ITEM/FIELD) are filled: those of your shell, of --env-file and of --env, later ones first. References in arguments are not filled, because every process can read arguments.",
            "If the command prints one of the secrets, also as base64, hex, or with URL or JSON escapes, it is masked. That helps against accidents; a command that wants to give a secret away can.",
            "The exit code is the command's own; 126 and 127 mean that it could not be started.",
        ],
        arguments: [command], options: [variable, file, noMasking],
        examples: [
            CommandExample(
                "coffret run --env DB_PASSWORD=coffret://Work/db/password -- ./migrate",
                "one secret for one command"),
            CommandExample("coffret run --env-file app.env -- npm start", "references kept in a file"),
        ], run: run)

    private static func run(_ context: CommandContext) throws {
        let words = context.arguments.values(command)
        let program = try program(words[0], context)
        var environment = try CommandEnvironment(inheriting: ProcessEnvironment.inherited)
        for path in context.arguments.values(file) { try read(path, into: &environment) }
        for text in context.arguments.values(variable) { try set(text, in: &environment) }
        if words.contains(where: SecretReference.isMeant(by:)) {
            context.warn("references in arguments stay as they are, because every process can read arguments")
        }
        var values = try SecretReferences.values(of: environment.references, context)
        if let descriptor = context.arguments.number(GlobalOptions.passphraseDescriptor), descriptor > 2 {
            // What is left on it is none of the command's business.
            _ = fcntl(Int32(descriptor), F_SETFD, FD_CLOEXEC)
        }
        let surroundings = try environment.surroundings(with: values)
        let forms =
            context.arguments.isSet(noMasking)
            ? [] : values.filter(\.isSecret).flatMap { SecretForms.forms(of: $0.bytes) }
        for index in values.indices { values[index].bytes.zero() }
        let automaton = FormAutomaton(forms)
        try context.output.flush()
        let command = [program] + words.dropFirst()
        guard !automaton.isEmpty else {
            let failure = surroundings.replaceProcess(command)
            throw notExecutable(words[0], failure)
        }
        let outcome: ChildOutcome
        do throws(SystemFailure) {
            outcome = try MaskedRun(automaton).run(command, surroundings)
        } catch {
            throw notExecutable(words[0], error)
        }
        try end(outcome)
    }

    /// Ends coffret as the command ended.
    static func end(_ outcome: ChildOutcome) throws -> Never {
        switch outcome {
        case .exited(let code): throw CommandExit(code: code)
        case .signalled(let signal) where SignalWatch.ending.contains(signal): endProgram(by: signal)
        case .signalled(let signal): throw CommandExit(code: 128 + signal)
        }
    }

    /// Where the program is; asked before any secret is.
    static func program(_ name: String, _ context: CommandContext) throws -> String {
        if let path = ProgramFinder(environment: context.environment).find(name) { return path }
        if name.contains("/"), unsafe access(name, F_OK) == 0 { throw notExecutable(name, SystemFailure.last) }
        throw CommandFailure(
            .commandNotFound, .commandNotFound, "there is no command \"\(TextWidth.displaySafe(name))\"",
            hint: name.contains(" ") ? "words stand apart: coffret run -- COMMAND ARGUMENT" : nil)
    }

    static func notExecutable(_ name: String, _ failure: SystemFailure) -> CommandFailure {
        let reason = failure.number == 0 ? "permission denied" : failure.message
        return CommandFailure(
            .notExecutable, .commandNotExecutable, "\(TextWidth.displaySafe(name)) cannot be executed: \(reason)")
    }

    private static func read(_ path: String, into environment: inout CommandEnvironment) throws {
        let shown = TextWidth.displaySafe(path)
        let bytes = try ForeignFile.read(path == "-" ? nil : path, byteCountMax: EnvironmentFile.byteCountMax)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.badInput, .notText, "\(shown) is not UTF-8 text")
        }
        let variables: [EnvironmentFile.Variable]
        do throws(EnvironmentFile.LineError) {
            variables = try EnvironmentFile.parse(text)
        } catch {
            throw CommandFailure(.badInput, .inputInvalid, "line \(error.line) of \(shown): \(error.reason)")
        }
        for variable in variables { try environment.set(Array(variable.name.utf8), Array(variable.value.utf8)) }
    }

    private static func set(_ text: String, in environment: inout CommandEnvironment) throws {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")),
            EnvironmentFile.isName(String(text[..<equals])),
            SecretReference.isMeant(by: String(text[equals...].dropFirst()))
        else {
            throw CommandFailure(
                .usage, code: UsageError.Code.invalidValue.rawValue, "--env takes NAME=\(SecretReference.prefix)…",
                hint: "other variables are set by the shell, or stand in a file for --env-file")
        }
        try environment.set(Array(text[..<equals].utf8), Array(text[equals...].dropFirst().utf8))
    }
}
