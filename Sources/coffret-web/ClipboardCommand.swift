// Copies past the page. Invariant: the value is never in this process, but in `coffret copy` alone.

internal import CoffretBase
internal import CoffretFront
internal import CoffretTerminal

/// Runs `coffret copy` and `coffret otp`, which clear the clipboard afterwards.
final class ClipboardCommand {
    private let store: String
    private var running: [Copying] = []

    private final class Copying {
        let child: ChildProcess
        let reply: PageDesk.Reply

        init(_ child: consuming ChildProcess, _ reply: @escaping PageDesk.Reply) {
            self.child = child
            self.reply = reply
        }
    }

    init(store: String) { self.store = store }

    var isWaiting: Bool { !running.isEmpty }

    func perform(_ request: FrontRequest, reply: @escaping PageDesk.Reply) {
        guard let words = request.clipboardCommand(store: store) else {
            return reply(FrontReply.error(FrontError(.copyFailed)))
        }
        do throws(SystemFailure) {
            let child = try ChildProcess.start(words, input: .null, output: .null, error: .null)
            running.append(Copying(child, reply))
        } catch {
            reply(FrontReply.error(FrontError(.copyFailed)))
        }
    }

    /// Answers those whose program has ended.
    func poll() {
        running = running.filter { running in
            guard let outcome = running.child.poll() else { return true }
            running.reply(FrontReply.copied(outcome))
            return false
        }
    }
}
