// The person at the terminal, as operations ask and tell. Invariant: where nobody can be asked the failure says what a script can
// do instead.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// Answers operations in this process, and those of a session.
final class TerminalPerson: OperationPerson, SessionAttendant {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    var canAnswer: Bool {
        [GlobalOptions.notePassphraseDescriptor, NoteCommand.newDescriptor].contains(where: context.arguments.isSet)
            || context.prompt() != nil
    }

    func tell(_ notice: SessionNotice) {
        switch notice.kind {
        case .note:
            try? context.output.flush()
            context.note(notice.text)
        case .warning: context.warn(notice.text)
        case .code: try? PairingDialogue(context).show(code: notice.text)
        case .storage:
            let style = context.terminal.errorStyle
            let text = "coffret: \(style.apply(.hint, "note:")) \(notice.text)   [\(notice.code ?? "")]\n"
            try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
        }
    }

    func secret(_ question: SessionQuestion) throws -> SecretBytes { try secret(question, isOver: nil) }

    private func secret(_ question: SessionQuestion, isOver: (() -> Bool)?) throws -> SecretBytes {
        let source = PassphraseSource(context: context)
        switch question.kind {
        case .sourcePassword: return try source.ofSource(from: ImportCommand.password, question.text)
        case .notePassphrase: return try source.noteTyped(question.text, isOver: isOver)
        case .currentPassphrase: return try source.typed(question.text)
        case .newNotePassphrase: return try source.newNote(question.text)
        case .newPIN: return try source.newPIN(question.text)
        case .confirm, .compare, .passphrase, .pin, .openPGP, .code: break
        }
        try? context.output.flush()
        guard let prompt = context.prompt() else {
            throw CommandFailure(
                .unavailable, .presenceUnavailable,
                "somebody has to be there to \(question.reason ?? "go on"), and there is no terminal to ask at",
                hint: "use --passphrase-fd N to give the passphrase for this command")
        }
        return try prompt.askSecret(question.text, isOver: isOver)
    }

    func confirm(_ question: SessionQuestion) throws -> Bool? {
        let isComparison = question.kind == .compare
        guard context.terminal.inputIsTerminal, isComparison || !context.isJSON, let prompt = context.prompt() else {
            return nil
        }
        return try prompt.confirm(question.text, isYesDefault: !isComparison)
    }

    func code(_ question: SessionQuestion, idle: () throws -> Void) throws -> String {
        try PairingDialogue(context).ask(question.text, idle: idle)
    }

    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? {
        try OpenPGPProgram(context: context).opened(file)
    }

    func deriving<Value>(_ body: () throws -> Value) throws -> Value { try context.deriving(body) }

    // MARK: For a session

    func take(_ notice: SessionNotice) { tell(notice) }

    func answer(_ question: SessionQuestion, isOver: @escaping () -> Bool) throws -> SessionAnswer {
        if question.kind == .code {
            var digits = try Array(code(question) { if isOver() { throw OperationError(.cancelled) } }.utf8)
            return .secret(SecretBytes(consuming: &digits))
        }
        if question.kind.wantsSecret { return .secret(try secret(question, isOver: isOver)) }
        return try confirm(question) == true ? .yes : .no
    }

    func quietly(_ wait: () throws -> [UInt8]) throws -> [UInt8] { try context.deriving(wait) }
}
