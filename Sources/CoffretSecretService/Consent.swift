// Whether the person lets a program use the service. Invariant: only a person's answer is a yes or a no; a yes is for a path, which the
// kernel names, and is remembered.
//
// Source: the manuals of Assuan and pinentry (gnupg.org), for the question.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

/// Asks about one program at a time, by the agent's kind of prompt.
final class Consent {
    private static let byteCountMax = 16 << 10
    /// A greeting and five commands.
    private static let answerCount = 6
    /// A prompt that ends without an answer is started again, so often in all.
    private static let startCountMax = 3

    private let environment: ProcessEnvironment
    private let programs: SecretServicePrograms
    private var question: Question?

    /// A question on the screen. Its program takes the question away when the pipe to it is closed.
    private struct Question {
        let program: String
        let vault: String
        /// How often its prompt was started before.
        let earlierStartCount: Int
        let child: pid_t
        let commands: Int32
        let answers: Int32
        var received: [UInt8] = []
    }

    init(_ environment: ProcessEnvironment) {
        self.environment = environment
        programs = SecretServicePrograms(environment)
    }

    var isAsking: Bool { question != nil }

    /// - Parameter program: nil for one that hides its path, which nobody can say yes to.
    func isAllowed(_ program: String?) -> Bool { program.map(programs.all.contains) ?? false }

    /// Asks, unless another program is asked about.
    ///
    /// - Returns: whether the question stands on the screen.
    func ask(_ program: String?, vault: String) -> Bool {
        let screen = environment.value(.display) ?? environment.value(.waylandDisplay)
        guard let program, screen != nil else { return false }
        guard question == nil else { return question?.program == program }
        return start(program, vault: vault, earlierStartCount: 0)
    }

    private func start(_ program: String, vault: String, earlierStartCount: Int) -> Bool {
        let words = """
            \(TextWidth.displaySafe(program))
            wants to keep passwords in "\(TextWidth.displaySafe(vault))", and to read those of other programs there.
            """
        let lines = [
            "SETTITLE Coffret asks", "SETDESC \(Self.escaped(words))", "SETOK Allow", "SETCANCEL Refuse", "CONFIRM",
        ]
        guard let prompt, let input = try? ChildProcess.makePipe(), let output = try? ChildProcess.makePipe() else {
            ServiceLog.say("nobody can be asked: there is neither coffret-prompt nor pinentry, or no pipe to it")
            return false
        }
        // It is read once the prompt has started; a pipe has room for it.
        try? DescriptorIO.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: input.writing)
        let child = try? ChildProcess.start(
            [prompt], input: .descriptor(input.reading), output: .descriptor(output.writing), error: .null,
            isDetached: true)
        close(input.reading)
        close(output.writing)
        guard let child else {
            close(input.writing)
            close(output.reading)
            ServiceLog.say("nobody can be asked: \(prompt) does not start")
            return false
        }
        _ = fcntl(output.reading, F_SETFL, O_NONBLOCK)
        question = Question(
            program: program, vault: vault, earlierStartCount: earlierStartCount, child: child.processID,
            commands: input.writing, answers: output.reading)
        return true
    }

    /// The agent's choice of program, as far as this one can know it.
    private var prompt: String? {
        if let own = AgentLocation.canonical("/proc/self/exe"),
            case let path = PathText.join(PathText.parent(of: own), "coffret-prompt"), unsafe access(path, X_OK) == 0
        {
            return path
        }
        return ProgramFinder(environment: environment).find("pinentry")
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { $0 == "%" ? "%25" : $0 == "\n" ? "%0A" : String($0) }.joined()
    }

    /// - Returns: the program, once, when the question about it was answered, or cannot be asked; a yes is in `isAllowed`.
    func poll() -> String? {
        guard var asked = question else { return nil }
        var part = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(asked.answers, &part, part.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        if count > 0 { asked.received += part.prefix(count) }
        question = asked
        // A greeting, and an answer to each command; the last is that to the question.
        let lines = String(decoding: asked.received, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard count <= 0 || lines.count > Self.answerCount || asked.received.count > Self.byteCountMax else {
            return nil
        }
        let outcome = remove(asked)
        guard lines.count > Self.answerCount else {
            let startCount = asked.earlierStartCount + 1
            let program = TextWidth.displaySafe(asked.program)
            ServiceLog.say("nobody has answered about \(program): the prompt is gone; \(outcome.text)")
            let isAskedAgain =
                startCount < Self.startCountMax
                && start(asked.program, vault: asked.vault, earlierStartCount: startCount)
            return isAskedAgain ? nil : asked.program
        }
        if lines[Self.answerCount - 1].hasPrefix("OK") { add(asked.program) }
        return asked.program
    }

    private func add(_ program: String) {
        do { try programs.add(program) } catch {
            ServiceLog.say("the yes to \(TextWidth.displaySafe(program)) cannot be remembered: \(error)")
        }
    }

    /// Takes the question away that nobody waits for any more.
    func end(unless isWanted: (String?) -> Bool) {
        if let asked = question, !isWanted(asked.program) { _ = remove(asked) }
    }

    private func remove(_ asked: Question) -> ChildOutcome {
        kill(asked.child, SIGTERM)
        close(asked.commands)
        close(asked.answers)
        var status: Int32 = 0
        while unsafe waitpid(asked.child, &status, 0) < 0, errno == EINTR {}
        question = nil
        return ChildOutcome(waitStatus: status)
    }
}
