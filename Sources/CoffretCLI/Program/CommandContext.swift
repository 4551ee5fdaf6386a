// What a command works with. The one thing to keep true: commands reach the outside world only
// through this object, so a test can tell everything they may read.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import Glibc

/// One run of one command.
final class CommandContext {
    let arguments: ParsedArguments
    let environment: ProcessEnvironment
    let terminal: Terminal
    let output: OutputStream
    let errors: OutputStream
    /// The moment at which the command began, in milliseconds since 1970.
    let nowMilliseconds: Int64
    let timings = Timings()
    /// Vaults that were opened for writing, to be kept small once the answer is out.
    var written: [Vault] = []
    /// What the agent hears of the stores that this command opened by itself.
    var keyNews: [AgentKeyNews] = []
    /// Whether the agent locks the store for what this command changed in a session.
    var hasLocked = false

    init(arguments: ParsedArguments, environment: ProcessEnvironment) {
        self.arguments = arguments
        self.environment = environment
        terminal = Terminal(environment: environment, color: arguments.value(GlobalOptions.color))
        output = OutputStream(descriptor: STDOUT_FILENO)
        errors = OutputStream(descriptor: STDERR_FILENO)
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        nowMilliseconds = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    var isJSON: Bool { arguments.isSet(GlobalOptions.json) }
    var isQuiet: Bool { arguments.isSet(GlobalOptions.quiet) }
    var isVerbose: Bool { arguments.isSet(GlobalOptions.verbose) }
    var relativeTime: RelativeTime { RelativeTime(nowMilliseconds: nowMilliseconds) }

    /// Prints a result for people and for programs: the JSON value with `--json`, the text otherwise.
    ///
    /// - Parameter isVerbatim: a value that people copy, whose lines stay as they are; all else breaks between words.
    func print(
        _ value: @autoclosure () -> JSONValue, isVerbatim: Bool = false, text: () throws -> String
    ) throws {
        if isJSON {
            try output.line(value().line)
        } else {
            let text = try text()
            let width = isVerbatim ? nil : terminal.tableWidth
            if !text.isEmpty { try show(TextWidth.broken(text, width: width)) }
        }
    }

    /// Prints a text, through the pager if it is longer than the terminal.
    private func show(_ text: String) throws {
        var text: String? = text
        try show(pieces: { text.take() })
    }

    /// Prints a text that comes piece by piece, each ending before the end of its last line; nil is the end. What is there is
    /// shown before the next piece is asked for, through the pager if it is longer than the terminal.
    func show(pieces next: () throws -> String?) throws {
        var shown = ""
        if let height = terminal.height, terminal.canMoveCursor, let pager = Pager(environment) {
            var lineCount = 2
            while lineCount <= height {
                guard let piece = try next() else {
                    if !shown.isEmpty { try output.write(shown) }
                    return
                }
                lineCount += piece.utf8.count { $0 == 0x0A } + (shown.isEmpty ? 0 : 1)
                shown += piece + "\n"
            }
            try output.flush()
            if try pager.show(shown, then: next) { return }
        }
        try output.write(shown)
        while let piece = try next() {
            try output.line(piece)
            try output.flush()
        }
    }

    /// Says on one line that something was done: silent with `--quiet`, JSON with `--json`.
    func confirmDone(_ value: @autoclosure () -> JSONValue, text: () throws -> String) throws {
        if isQuiet, !isJSON { return }
        try print(value(), text: text)
    }

    /// Tells the person something beside the result, on standard error.
    func note(_ text: String) {
        guard !isQuiet else { return }
        try? errors.line(TextWidth.broken(text, width: terminal.errorWidth))
        try? errors.flush()
    }

    /// Says at the end that the agent keeps a store open no more, if this command is why.
    func noteLock() {
        guard hasLocked || keyNews.contains(where: \.hasLocked) else {
            return
        }
        try? output.flush()
        note("The store is locked now; coffret unlock opens it.")
    }

    /// Gives the locks back, and merges files of the vaults that were written in one small run where that is due.
    ///
    /// What was acknowledged does not hang on it, so a failure is nobody's business now; the check tells of damage.
    func tendWritten() {
        for vault in written {
            let isDue = vault.repository.isMergeDue
            vault.close()
            if isDue { _ = try? vault.repository.mergeSegments(runCountMax: 1) }
        }
        written = []
    }

    /// A warning, on standard error even with `--quiet`: it says that something needs attention.
    func warn(_ text: String) {
        try? output.flush()
        let line = "coffret: \(terminal.errorStyle.apply(.error, "warning:")) \(text)"
        try? errors.line(TextWidth.broken(line, width: terminal.errorWidth, hanging: 2))
        try? errors.flush()
    }

    /// A reporter for long work, in the manner that fits where the output goes.
    func progress() -> ProgressReporter {
        let manner: ProgressReporter.Manner =
            if isJSON { .json } else if isQuiet { .silent } else if terminal.errorIsTerminal, terminal.canMoveCursor {
                .bar
            } else { .lines }
        return ProgressReporter(
            manner: manner, output: isJSON ? output : errors, style: terminal.errorStyle, width: terminal.width)
    }

    /// The person at the terminal, if there is one.
    func prompt() -> TerminalPrompt? {
        TerminalPrompt(showsBullets: terminal.canMoveCursor)
    }

    /// Derives a key, which takes a second: what is typed meanwhile is neither shown nor kept.
    func deriving<Value>(_ body: () throws -> Value) rethrows -> Value {
        try timings.measure("key-derivation") {
            guard !PassphraseSource(context: self).isUnattended, let prompt = prompt() else { return try body() }
            return try prompt.silently(body)
        }
    }

    /// A moment from the command line.
    func moment(_ text: String) throws -> Int64 {
        guard let moment = MomentParser(nowMilliseconds: nowMilliseconds).parse(text) else {
            throw CommandFailure(
                .usage, .momentInvalid, "\"\(TextWidth.displaySafe(text))\" is not a moment that coffret understands",
                hint: "write 2026-05-03, '3 May', '3 May 14:00', yesterday, or '2 weeks ago'")
        }
        return moment
    }

    /// A moment before now: "2 years" and "2 years ago" are the same here.
    func past(_ text: String) throws -> Milliseconds {
        let isAlone = MomentParser(nowMilliseconds: nowMilliseconds).parse(text + " ago") == nil
        return try moment(isAlone ? text : text + " ago")
    }

    /// Asks before something dangerous; `--yes` answers in advance.
    ///
    /// - Parameter what: what will be done, in numbers; ends with a full stop.
    /// - Throws: `.notConfirmed` if the answer is no, or if nobody can be asked.
    func confirmDanger(_ what: String, question: String, isConfirmed: Bool) throws {
        if isConfirmed { return }
        try output.flush()
        guard terminal.inputIsTerminal, let prompt = prompt() else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "this needs a yes, and nobody can be asked here",
                details: [what], hint: "add --yes if that is what you want")
        }
        prompt.show(what + "\n")
        guard try prompt.confirm(question, isYesDefault: false) else {
            throw CommandFailure(.notConfirmed, .notConfirmed, "not confirmed; nothing was changed")
        }
    }
}
