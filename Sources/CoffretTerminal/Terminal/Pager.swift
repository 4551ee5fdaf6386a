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

    /// - Returns: false if the pager could not be started; nothing was shown then.
    package func show(_ text: String) -> Bool {
        var bytes = Array((text + "\n").utf8)
        defer { bytes.zero() }
        // Ctrl-C is the pager's while it runs.
        let watch = SignalWatch([SIGINT])
        do throws(SystemFailure) {
            let (inputEnd, inputSource) = try ChildProcess.makePipe()
            defer { _ = watch.next() }
            let child: ChildProcess
            do throws(SystemFailure) {
                child = try ChildProcess.start(
                    words, input: .descriptor(inputEnd),
                    environment: ["LESS": "FRX", "LESSSECURE": "1", "LESSHISTFILE": "-", "LESSCHARSET": "utf-8"])
            } catch {
                close(inputEnd)
                close(inputSource)
                throw error
            }
            close(inputEnd)
            // A pager that was left early reads no more.
            try? DescriptorIO.write(bytes, to: inputSource)
            close(inputSource)
            return child.wait() != .exited(127)
        } catch {
            return false
        }
    }
}
