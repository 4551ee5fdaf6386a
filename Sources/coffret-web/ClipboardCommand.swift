// Copies past the page and past this process. Invariant: the value is never in this process: `coffret copy` has it.

internal import CoffretBase
internal import CoffretFront
internal import CoffretTerminal
internal import Glibc

/// Runs `coffret copy` and `coffret otp`, which clear the clipboard afterwards.
final class ClipboardCommand {
    private static let seconds = 45

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
        let options = ["--store", store, "--quiet"]
        let words: [String]
        switch request {
        case .hello: return
        case .copy(let item, let vault, let field):
            words =
                ["copy"] + options + ["--clear-after", "\(Self.seconds)"] + (vault.map { ["--vault", $0] } ?? [])
                + ["--", item] + (field.map { [$0] } ?? [])
        case .copyCode(let item, let vault):
            words = ["otp", "--copy"] + options + (vault.map { ["--vault", $0] } ?? []) + ["--", item]
        }
        do throws(SystemFailure) {
            let program = PathText.join(try Self.folder(), "coffret")
            let child = try ChildProcess.start([program] + words, input: .null, output: .null, error: .null)
            running.append(Copying(child, reply))
        } catch {
            reply(FrontReply.error(FrontError(.copyFailed)))
        }
    }

    /// Answers those whose program has ended.
    func poll() {
        running = running.filter { running in
            guard let outcome = running.child.poll() else { return true }
            running.reply(
                outcome.isSuccess
                    ? FrontReply.ok([("seconds", .integer(Self.seconds))]) : FrontReply.error(FrontError(.copyFailed)))
            return false
        }
    }

    private static func folder() throws(SystemFailure) -> String {
        guard let path = unsafe realpath("/proc/self/exe", nil) else { throw SystemFailure.last }
        defer { unsafe free(path) }
        return PathText.parent(of: unsafe String(cString: path))
    }
}
