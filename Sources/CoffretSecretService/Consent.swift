// Whether the person lets a program use the service. Invariant: no answer is a no; a yes is for a path, which the kernel names, and is
// remembered.
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

    private let environment: ProcessEnvironment
    private let programs: SecretServicePrograms
    private var question: Question?

    /// A question on the screen. Its program takes the question away when the pipe to it is closed.
    private struct Question {
        let program: String
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
        guard let program, let prompt, environment.value(.display) ?? environment.value(.waylandDisplay) != nil else {
            return false
        }
        guard question == nil else { return question?.program == program }
        let words = """
            \(TextWidth.displaySafe(program))
            wants to keep passwords in "\(TextWidth.displaySafe(vault))", and to read those of other programs there.
            """
        let lines = [
            "SETTITLE Coffret asks", "SETDESC \(Self.escaped(words))", "SETOK Allow", "SETCANCEL Refuse", "CONFIRM",
        ]
        guard let input = try? ChildProcess.makePipe(), let output = try? ChildProcess.makePipe() else { return false }
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
            return false
        }
        _ = fcntl(output.reading, F_SETFL, O_NONBLOCK)
        question = Question(
            program: program, child: child.processID, commands: input.writing, answers: output.reading)
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

    /// - Returns: the program, once, when the question about it was answered; the answer is in `isAllowed`.
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
        end()
        let isYes = lines.count > Self.answerCount && lines[Self.answerCount - 1].hasPrefix("OK")
        if isYes { try? programs.add(asked.program) }
        return asked.program
    }

    /// Takes the question away that nobody waits for any more.
    func end(unless isWanted: (String?) -> Bool = { _ in false }) {
        guard let asked = question, !isWanted(asked.program) else { return }
        kill(asked.child, SIGTERM)
        close(asked.commands)
        close(asked.answers)
        var status: Int32 = 0
        while unsafe waitpid(asked.child, &status, 0) < 0, errno == EINTR {}
        question = nil
    }
}
