// Typing a sheet back. The one thing to keep true: it is typed as it stands on paper, row by row, and neither its rows nor
// what is typed too much of it stay on the screen or reach the shell behind this program.

internal import CoffretBase
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

/// Asks for groups of a sheet at a terminal.
struct SheetPrompt {
    let context: CommandContext
    let prompt: TerminalPrompt

    /// How often one part may be typed wrong.
    private static let tryCountMax = 3

    /// Asks for 14 groups, over as many lines as the person likes; they are shown while they are typed, because nobody types
    /// 56 characters unseen, and wiped from the screen afterwards.
    ///
    /// - Parameter parse: what the text is; a `KeyError` that says that it was mistyped lets the person try again.
    /// - Throws: `.cancelled` at the end of input; the last `KeyError`.
    func ask<Part>(_ title: String, _ parse: (String) throws -> Part) throws -> Part {
        for tryNumber in 1... {
            let text = try groups(title)
            do {
                return try parse(text)
            } catch let error as KeyError where Self.isMistyped(error) && tryNumber < Self.tryCountMax {
                prompt.show("\(FailureTranslation.failure(from: error).message). Once more, please.\n")
            }
        }
        preconditionFailure("the last try returns or throws")
    }

    private static func isMistyped(_ error: KeyError) -> Bool {
        [.recoveryKeyMistyped, .recoveryKeyMalformed].contains(error.code)
    }

    private func groups(_ title: String) throws -> String {
        prompt.show(title + "\n")
        var text = ""
        var rowCount = 0
        // An empty line ends it, so that nobody is caught who lacks a group.
        while RecoveryKey.characterCount(of: text) < RecoveryKey.groupCount * RecoveryKey.groupCharacterCount {
            guard let line = try prompt.askLine("    ") else {
                throw CommandFailure(.cancelled, .cancelled, "cancelled")
            }
            rowCount += 1 + (TextWidth.columns(of: line) + 4) / context.terminal.width
            if line.allSatisfy(\.isWhitespace) { break }
            // A row may be pasted with its numbers.
            text += (line.firstIndex(of: ":").map { line[line.index(after: $0)...] } ?? line[...]) + " "
        }
        if context.terminal.canMoveCursor { prompt.show("\u{1B}[\(rowCount)A\r\u{1B}[J") }
        return text
    }
}
