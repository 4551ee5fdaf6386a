// Editing text in the person's editor. The one thing to keep true: the text lies in memory only, and
// it is not lost: not when the editor crashes, not when saving fails, not when coffret is killed.

internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import Glibc

/// One edit, from opening the editor until the text is safe in the vault.
final class EditorSession {
    private let context: CommandContext
    private let directory: PrivateDirectory
    private static let fileName = "note.md"
    /// Holds the name of what is being edited, so that an abandoned text finds its way back.
    private static let targetName = "target"
    /// The target of a text that is not in the vault yet.
    static let newTarget = "new"

    private init(context: CommandContext, directory: PrivateDirectory) {
        self.context = context
        self.directory = directory
    }

    /// Lets the person edit `text` and hands the result to `save`.
    ///
    /// If `save` throws, the text stays in its private folder and the error says where.
    /// - Parameter target: what is edited: an item's id, or `newTarget`.
    /// - Returns: `nil` when the text was left as it was.
    static func edit<Result>(
        _ text: String, target: String, context: CommandContext, save: (String) throws -> Result
    ) throws -> Result? {
        let editor = try EditorProgram.find(context.environment)
        if let found = try recover(target: target, context: context) {
            return try found.run(editor: editor, original: text, save: save)
        }
        let directory = try PrivateDirectory.make(environment: context.environment)
        try directory.write(text, to: fileName)
        try directory.write(target, to: targetName)
        return try EditorSession(context: context, directory: directory).run(
            editor: editor, original: text, save: save)
    }

    private func run<Result>(
        editor: EditorProgram, original: String, save: (String) throws -> Result
    ) throws -> Result? {
        let outcome = try runEditor(editor)
        guard let edited = String(validating: directory.read(Self.fileName) ?? [], as: UTF8.self) else {
            throw kept(CommandFailure(.badInput, .notText, "the edited text is not UTF-8"))
        }
        if !outcome.isSuccess, !(try keepAfterFailure(editor, outcome, isChanged: edited != original)) {
            directory.wipe()
            throw CommandFailure(
                .unavailable, .editorFailed, "the editor \(editor.name) failed (\(outcome.text)); nothing was saved")
        }
        guard edited != original else {
            directory.wipe()
            return nil
        }
        do {
            let result = try save(edited)
            directory.wipe()
            return result
        } catch {
            throw kept(FailureTranslation.failure(from: error))
        }
    }

    /// The editor ended with an error: the text is offered, not lost.
    private func keepAfterFailure(_ editor: EditorProgram, _ outcome: ChildOutcome, isChanged: Bool) throws -> Bool {
        guard isChanged else { return false }
        guard context.terminal.inputIsTerminal, let prompt = context.prompt() else {
            throw kept(
                CommandFailure(.unavailable, .editorFailed, "the editor \(editor.name) failed (\(outcome.text))"))
        }
        prompt.show("The editor \(editor.name) failed (\(outcome.text)), but the text has changed.\n")
        return try prompt.confirm("Save it?", isYesDefault: true)
    }

    /// Says where the text is, with a command that takes it up.
    private func kept(_ failure: CommandFailure) -> CommandFailure {
        var failure = failure
        let target = directory.read(Self.targetName).map { String(decoding: $0, as: UTF8.self) } ?? Self.newTarget
        let command = target == Self.newTarget ? "coffret new" : "coffret edit \(target.prefix(8))"
        failure.details += [
            "Your text is kept in memory until the computer restarts:", "  " + directory.file(Self.fileName),
            "\(command) takes it up again.",
        ]
        return failure
    }

    // MARK: Running

    /// Runs the editor in the foreground. Ctrl-C belongs to the editor; when coffret is told to end, the
    /// editor is ended first and the text is wiped.
    private func runEditor(_ editor: EditorProgram) throws -> ChildOutcome {
        try context.output.flush()
        let watch = SignalWatch(SignalWatch.ending + [SIGCHLD])
        let child: ChildProcess
        do throws(SystemFailure) {
            child = try ChildProcess.start(
                editor.words(editing: directory.file(Self.fileName), privateFolder: directory.path))
        } catch {
            directory.wipe()
            throw CommandFailure(
                .unavailable, .editorMissing, "the editor \(editor.name) cannot be started: \(error.message)",
                hint: "set EDITOR to the editor you like")
        }
        while true {
            if let outcome = child.poll() { return outcome }
            _ = watch.wait(for: -1, timeoutMilliseconds: 1000)
            guard let signal = watch.next(), signal == SIGTERM || signal == SIGHUP else { continue }
            kill(child.processID, signal)
            for _ in 0..<20 where child.poll() == nil {
                _ = watch.wait(for: -1, timeoutMilliseconds: 100)
                _ = watch.next()
            }
            directory.wipe()
            endProgram(by: signal)
        }
    }

    // MARK: Texts of edits that did not end

    /// Offers the text of an earlier edit of the same target whose coffret was killed.
    private static func recover(target: String, context: CommandContext) throws -> EditorSession? {
        for directory in PrivateDirectory.abandoned(environment: context.environment) {
            guard let bytes = directory.read(fileName), let name = directory.read(targetName), !bytes.isEmpty else {
                directory.wipe()
                continue
            }
            guard Array(target.utf8) == name, context.terminal.inputIsTerminal, let prompt = context.prompt() else {
                continue
            }
            let time = directory.modificationMilliseconds(fileName).map { context.relativeTime.moment($0) }
            let lines = NumberText.counted(bytes.count { $0 == 0x0A }, "line")
            prompt.show("The text of an edit that did not end is still in memory (\(time ?? "earlier"), \(lines)).\n")
            if try prompt.confirm("Continue with it?", isYesDefault: true) {
                return EditorSession(context: context, directory: directory)
            }
            if try prompt.confirm("Throw it away for good?", isYesDefault: false) { directory.wipe() }
        }
        return nil
    }
}
