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

    private let environment: ProcessEnvironment
    private let programs: SecretServicePrograms
    private var question: (program: String, child: pid_t)?
    private var answers: Int32 = -1

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
            "BYE",
        ]
        guard let input = try? ChildProcess.makePipe(), let output = try? ChildProcess.makePipe() else { return false }
        // It is read once the prompt has started; a pipe has room for it.
        try? DescriptorIO.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: input.writing)
        let child = try? ChildProcess.start(
            [prompt], input: .descriptor(input.reading), output: .descriptor(output.writing), error: .null,
            isDetached: true)
        for end in [input.reading, input.writing, output.writing] { close(end) }
        guard let child else {
            close(output.reading)
            return false
        }
        (question, answers) = ((program, child.processID), output.reading)
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

    /// - Returns: true once, when the question was answered; the answer is in `isAllowed`.
    func poll() -> Bool {
        guard let asked = question else { return false }
        var status: Int32 = 0
        guard unsafe waitpid(asked.child, &status, WNOHANG) == asked.child else { return false }
        question = nil
        let bytes = (try? DescriptorIO.readAll(from: answers, byteCountMax: Self.byteCountMax)) ?? []
        close(answers)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        // A greeting, and an answer to each command; the fifth is the question.
        if lines.count > 5, lines[5].hasPrefix("OK") { try? programs.add(asked.program) }
        return true
    }

    /// Takes the question away that nobody waits for any more.
    func end(unless isWanted: (String?) -> Bool) {
        guard let asked = question, !isWanted(asked.program) else { return }
        kill(asked.child, SIGTERM)
        var status: Int32 = 0
        while unsafe waitpid(asked.child, &status, 0) < 0, errno == EINTR {}
        question = nil
        close(answers)
    }
}
