// Long output at a terminal, page by page. Invariant: the text goes through a pipe and nothing of it is written to a
// disk; without a pager it appears as it comes.

internal import CoffretBase
internal import Glibc

package struct Pager {
    private let words: [String]

    /// The pager of the person's own environment: COFFRET_PAGER, else PAGER, else less where it is installed; nil where the
    /// variable says `cat` or nothing.
    package init?(_ environment: ProcessEnvironment) {
        if let variable = getenv(.ownPager) ?? getenv(.pager) {
            guard variable != "cat", variable.contains(where: { $0 != " " }) else { return nil }
            words = ["/bin/sh", "-c", variable]
        } else if let less = ProgramFinder(environment: environment).find("less") {
            words = [less]
        } else {
            return nil
        }
        /// An empty value counts here: it says that none is wanted.
        func getenv(_ variable: ProcessEnvironment.Variable) -> String? {
            unsafe Glibc.getenv(variable.rawValue).map { unsafe String(cString: $0) }
        }
    }

    /// Shows a text, and after it the pieces that come, each a line or more without its last line end.
    ///
    /// - Returns: false if the pager could not be started; nothing was shown then, and no piece was asked for.
    package func show(_ text: String, then next: () throws -> String?) throws -> Bool {
        // Ctrl-C is the pager's while it runs.
        let watch = SignalWatch([SIGINT])
        defer { _ = watch.next() }
        let child: ChildProcess
        let input: Int32
        do throws(SystemFailure) {
            let (inputEnd, inputSource) = try ChildProcess.makePipe()
            defer { close(inputEnd) }
            do throws(SystemFailure) {
                child = try ChildProcess.start(
                    words, input: .descriptor(inputEnd),
                    environment: ["LESS": "FRX", "LESSSECURE": "1", "LESSHISTFILE": "-", "LESSCHARSET": "utf-8"])
            } catch {
                close(inputSource)
                throw error
            }
            input = inputSource
        } catch {
            return false
        }
        var failure: (any Error)?
        // A pager that was left early reads no more.
        if Self.write(text, to: input) {
            do {
                while let piece = try next(), Self.write(piece + "\n", to: input) {}
            } catch {
                failure = error
            }
        }
        close(input)
        let outcome = child.wait()
        if let failure { throw failure }
        return outcome != .exited(127)
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var bytes = Array(text.utf8)
        defer { bytes.zero() }
        return (try? DescriptorIO.write(bytes, to: descriptor)) != nil
    }
}
