// A process of its own, by posix_spawn. The one thing to keep true: it ends with the test that holds it, and it
// inherits nothing but the three descriptors it is given.
//
// Not Foundation's `Process`: it hands its children this thread's signal mask and a socket, waits for whatever a
// child leaves behind, and reads past a directory entry when many descriptors are open.

internal import CTestProcess
internal import Glibc

/// A running program; dropped, it is killed.
package final class SpawnedProcess: @unchecked Sendable {
    // SAFETY: used by one test at a time.

    /// What stands behind one of the standard descriptors.
    package enum Stream: Sendable {
        case null
        case pipe
        /// The test's own.
        case inherited
    }

    /// How a process ended.
    package struct Status: Sendable, Equatable {
        /// Its exit code, or the signal that ended it.
        package let code: Int32
        package let isSignalled: Bool
    }

    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    package let processID: Int32
    private var status: Status?
    /// Our ends of the pipes; -1 where there is none, or no longer.
    private var ends: (input: Int32, output: Int32, error: Int32) = (-1, -1, -1)

    /// Starts a program with no signal held back.
    ///
    /// - Parameters:
    ///   - executable: its full path.
    ///   - environment: all its variables; the test's own when nil.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: Stream = .null, output: Stream = .null, error: Stream = .null
    ) throws {
        var theirs: [Int32] = []
        var ours: [Int32] = []
        var standard: [Int32] = []
        defer { for descriptor in theirs { close(descriptor) } }
        for (number, stream) in [input, output, error].enumerated() {
            var mine: Int32 = -1
            switch stream {
            case .null: standard.append(-1)
            case .inherited: standard.append(Int32(number))
            case .pipe:
                var pair: [Int32] = [-1, -1]
                guard unsafe coffret_test_pipe(&pair) == 0 else {
                    throw Failed(description: "no pipe: errno \(errno)")
                }
                mine = number == 0 ? pair[1] : pair[0]
                theirs.append(number == 0 ? pair[0] : pair[1])
                standard.append(theirs[theirs.count - 1])
            }
            ours.append(mine)
        }
        var words: [UnsafeMutablePointer<CChar>?] = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            unsafe (environment ?? [:]).map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var processID: pid_t = 0
        let failure =
            unsafe environment == nil
            ? coffret_test_spawn(&processID, executable, &words, nil, directory, standard)
            : coffret_test_spawn(&processID, executable, &words, &variables, directory, standard)
        self.processID = processID
        guard failure == 0 else {
            for descriptor in ours where descriptor >= 0 { close(descriptor) }
            status = Status(code: 127, isSignalled: false)
            throw Failed(description: "\(executable) was not started: errno \(failure)")
        }
        ends = (ours[0], ours[1], ours[2])
    }

    deinit {
        closeInput()
        if status == nil { kill(SIGKILL) }
        for descriptor in [ends.output, ends.error] where descriptor >= 0 { close(descriptor) }
    }

    package var isRunning: Bool { poll() == nil }

    package func signal(_ number: Int32) {
        if poll() == nil { _ = Glibc.kill(processID, number) }
    }

    /// Sends a signal and waits for the end.
    @discardableResult
    package func kill(_ number: Int32 = SIGKILL) -> Status {
        signal(number)
        return wait()
    }

    /// Closes its input, which ends a program that reads it, and waits for the end.
    @discardableResult
    package func finish() -> Status {
        closeInput()
        return wait()
    }

    /// Waits for the end; kills it when that takes too long.
    @discardableResult
    package func wait(timeoutSeconds: Int = 120) -> Status {
        for _ in 0..<(timeoutSeconds * 500) {
            if let status = poll() { return status }
            usleep(2_000)
        }
        _ = Glibc.kill(processID, SIGKILL)
        var raw: Int32 = 0
        while unsafe waitpid(processID, &raw, 0) < 0, errno == EINTR {}
        return note(raw)
    }

    /// How it ended, if it did.
    private func poll() -> Status? {
        if let status { return status }
        var raw: Int32 = 0
        let found = unsafe waitpid(processID, &raw, WNOHANG)
        guard found != 0 else { return nil }
        return note(raw)
    }

    private func note(_ raw: Int32) -> Status {
        let signal = raw & 0x7F
        let result = Status(code: signal == 0 ? (raw >> 8) & 0xFF : signal, isSignalled: signal != 0)
        status = result
        return result
    }

    // MARK: - Its streams

    /// Writes all of `bytes` to its input; a program that reads no more is no error.
    package func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Self.writeSome(ends.input, rest)
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    package func closeInput() {
        if ends.input >= 0 { close(ends.input) }
        ends.input = -1
    }

    /// What has come on its output, waiting for the first byte; empty at the end.
    package func readOutput() -> [UInt8] { Self.readSome(ends.output) }

    /// What has come among its messages, waiting for the first byte; empty at the end.
    package func readError() -> [UInt8] { Self.readSome(ends.error) }

    /// The next line of its output, without its end; nil when there is none.
    package func readOutputLine() -> String? {
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            guard unsafe read(ends.output, &byte, 1) == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// All that comes until the end.
    package func readOutputToEnd() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let more = readOutput()
            if more.isEmpty { return all }
            all += more
        }
    }

    private static func readSome(_ descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            return Array(buffer.prefix(max(count, 0)))
        }
    }

    /// Writes without the signal of a broken pipe, which would end the whole test run.
    ///
    /// The signal is held back on this thread only, so no child ever inherits another disposition.
    private static func writeSome(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
        var (brokenPipe, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        // The signal of a failed write is pending for this thread; it is taken before the mask goes.
        var now = timespec()
        while unsafe sigtimedwait(&brokenPipe, nil, &now) == SIGPIPE {}
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        return count
    }

    /// Feeds `input`, and reads both outputs, until they end.
    ///
    /// - Returns: what came, and whether there was time enough.
    func exchange(input: [UInt8], timeoutSeconds: Double) -> (output: [UInt8], error: [UInt8], isInTime: Bool) {
        let limit = Self.now() + timeoutSeconds
        var (rest, output, error) = (input[...], [UInt8](), [UInt8]())
        if rest.isEmpty { closeInput() }
        _ = fcntl(ends.input, F_SETFL, O_NONBLOCK)
        var isOpen = (output: true, error: true)
        // A grandchild may keep a stream after the program has ended; it is not waited for.
        var grace: Double?
        while isOpen.output || isOpen.error {
            let now = Self.now()
            if now > limit { return (output, error, false) }
            if grace == nil, poll() != nil { grace = now + 10 }
            if let grace, now > grace { break }
            var waited = [
                pollfd(fd: isOpen.output ? ends.output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isOpen.error ? ends.error : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ends.input, events: Int16(POLLOUT), revents: 0),
            ]
            guard unsafe Glibc.poll(&waited, 3, 100) > 0 else { continue }
            if waited[0].revents != 0 {
                let more = readOutput()
                output += more
                isOpen.output = !more.isEmpty
            }
            if waited[1].revents != 0 {
                let more = readError()
                error += more
                isOpen.error = !more.isEmpty
            }
            if waited[2].revents != 0 {
                let count = Self.writeSome(ends.input, rest.prefix(65_536))
                if count > 0 { rest = rest.dropFirst(count) }
                // A program that ends without reading its input breaks the pipe, which is its right.
                if rest.isEmpty || (count < 0 && errno != EAGAIN) { closeInput() }
            }
        }
        return (output, error, true)
    }

    private static func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
