// Copies past the page. Invariant: the value is never in this process, but in `coffret copy` alone.

internal import CGTK
internal import CoffretFront
internal import CoffretTerminal
internal import Glibc

/// Runs `coffret copy` and `coffret otp`, which clear the clipboard afterwards.
struct ClipboardCommands {
    private final class Pending {
        let reply: PageDesk.Reply
        init(_ reply: @escaping PageDesk.Reply) { self.reply = reply }
    }

    func perform(_ request: FrontRequest, store: String, reply: @escaping PageDesk.Reply) {
        do throws(SystemFailure) {
            guard let words = request.clipboardCommand(store: store) else { throw SystemFailure(number: ENOENT) }
            let child = try ChildProcess.start(words, input: .null, output: .null, error: .null)
            unsafe g_child_watch_add_full(
                G_PRIORITY_DEFAULT, child.processID,
                { _, status, held in
                    let pending = unsafe Unmanaged<Pending>.fromOpaque(held!).takeUnretainedValue()
                    pending.reply(FrontReply.copied(ChildOutcome(waitStatus: status)))
                }, Unmanaged.passRetained(Pending(reply)).toOpaque(),
                { held in unsafe Unmanaged<Pending>.fromOpaque(held!).release() })
        } catch {
            reply(FrontReply.error(FrontError(.copyFailed)))
        }
    }
}
