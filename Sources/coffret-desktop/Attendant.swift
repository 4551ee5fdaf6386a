// The questions of a session as windows over the page. Invariant: a typed secret goes from GTK's locked memory to the session, and
// the page learns neither the question nor the answer.

internal import CGTK
internal import CoffretBase
internal import CoffretClient
internal import CoffretFront
internal import CoffretWidgets
internal import CoffretWire

/// Asks one question after the other, over the page's window.
final class Attendant: PageAttendant {
    private let parent: Widget
    private var asked: QuestionWindow?
    /// Is called after each answer: what waited for it may have been sent to a session now.
    var answered: () -> Void = {}

    init(over parent: Widget) { self.parent = parent }

    func ask(_ question: SessionQuestion, reply: @escaping (consuming SessionAnswer) -> Void) {
        questionIsOver()
        // No key of the person opens files in this program.
        guard question.kind != .openPGP else { return reply(.no) }
        let wantsSecret = question.kind.wantsSecret
        asked = QuestionWindow(Self.words(question), over: parent) { [unowned self] outcome in
            guard let window = asked else { return }
            let isYes = outcome == .accepted
            if isYes, wantsSecret {
                unsafe reply(.secret(window.takeSecret { unsafe SecretBytes(copying: $0) }))
            } else {
                reply(isYes ? .yes : .no)
            }
            remove()
            answered()
        }
        asked?.show()
    }

    func show(code: String) {
        questionIsOver()
        var words = Question()
        words.kind = .message
        words.title = "Let a device in"
        words.description =
            "Type this code on the new device, which is in once it was right there. Somebody in between has one guess in a million."
        words.code = code
        asked = QuestionWindow(words, over: parent) { [unowned self] _ in remove() }
        asked?.show()
    }

    func questionIsOver() { asked?.end(.abandoned) }

    /// It may be this window's own signal that ends it, so it goes a moment later.
    private func remove() {
        guard let window = asked else { return }
        asked = nil
        Source.soon { window.close() }
    }

    private static func words(_ question: SessionQuestion) -> Question {
        var words = Question()
        words.kind = question.kind.wantsSecret ? .secret : .confirm
        let reason = question.reason.map { "To \($0)" }
        if question.kind.wantsSecret {
            words.title = reason ?? "Coffret asks"
            words.prompt = question.text
            // A code is no secret to the person in front of two screens.
            words.isPeeked = question.kind == .code
            if words.isPeeked { words.description = "Six digits. One try, so take your time." }
            words.isTypedTwice = question.kind == .newNotePassphrase || question.kind == .newPIN
        } else {
            words.title = "Coffret asks"
            words.description = [question.text, reason].compactMap(\.self).joined(separator: "\n")
            (words.accept, words.cancel) = ("Yes", "No")
        }
        return words
    }
}
