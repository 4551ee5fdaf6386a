// A program on a pseudo terminal, driven as a person would: wait for a question, type an answer. The one
// thing to keep true: every wait ends, with what was on the screen in the error.

import CTestProcess
import Foundation
import Glibc

/// A child process whose controlling terminal is ours to type on.
final class TerminalProcess {
    private let master: Int32
    let processID: pid_t
    private(set) var screen = ""
    /// The beginning of a character.
    private var pending: [UInt8] = []
    /// Whether the system says that it wrote a core file, once the program has ended.
    private(set) var dumpedCore = false
    private var isReaped = false
    /// How much of the screen earlier waits have used up.
    private var position = 0

    struct TimedOut: Error, CustomStringConvertible {
        let wanted: String
        let screen: String
        var description: String { "waited in vain for \"\(wanted)\"; on the screen: \(screen)" }
    }

    init(
        _ executable: String, _ arguments: [String], environment: [String: String], directory: String,
        columns: UInt16 = 80
    ) throws {
        var (parent, child): (Int32, Int32) = (-1, -1)
        var nameBuffer = [CChar](repeating: 0, count: 128)
        var size = winsize(ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard unsafe openpty(&parent, &child, &nameBuffer, nil, &size) == 0 else {
            throw TimedOut(wanted: "a terminal", screen: "")
        }
        _ = fcntl(parent, F_SETFD, FD_CLOEXEC)
        // The program opens the terminal by its name; this end would keep it open after the program's death.
        close(child)
        master = parent
        let terminal = String(decoding: nameBuffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)

        var words = unsafe ([executable] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        var variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") }
        unsafe variables.append(nil)
        defer {
            unsafe words.forEach { unsafe free($0) }
            unsafe variables.forEach { unsafe free($0) }
        }
        var started: pid_t = 0
        let status = unsafe coffret_test_spawn_on_terminal(
            &started, executable, &words, &variables, directory, terminal)
        guard status == 0 else {
            close(parent)
            throw TimedOut(wanted: "posix_spawn", screen: "error \(status)")
        }
        processID = started
    }

    deinit {
        // The program's terminal is gone with this; one that does not care is ended.
        close(master)
        guard !isReaped else { return }
        var status: Int32 = 0
        for _ in 0..<200 {
            if unsafe waitpid(processID, &status, WNOHANG) != 0 { return }
            usleep(5_000)
        }
        kill(processID, SIGKILL)
        _ = unsafe waitpid(processID, &status, 0)
    }

    /// Reads what the program shows until `text` stands there, after what earlier waits have seen.
    @discardableResult
    func wait(for text: String, seconds: Double = 60) throws -> String {
        let end = Date().addingTimeInterval(seconds)
        while true {
            let rest = screen.dropFirst(position)
            if let range = rest.range(of: text) {
                let seen = String(rest[..<range.upperBound])
                position += seen.count
                return seen
            }
            guard Date() < end, readSome(timeoutMilliseconds: 200) else { throw TimedOut(wanted: text, screen: screen) }
        }
    }

    /// - Returns: whether the terminal is still open.
    private func readSome(timeoutMilliseconds: Int32) -> Bool {
        var polled = [pollfd(fd: master, events: Int16(POLLIN), revents: 0)]
        guard unsafe poll(&polled, 1, timeoutMilliseconds) > 0 else { return true }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        pending += buffer[..<count]
        // A character that is not whole yet waits for its rest.
        var whole = pending.count
        for length in 1...3 where length <= pending.count {
            let byte = pending[pending.count - length]
            guard byte & 0xC0 != 0x80 else { continue }
            let wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            if wanted > length { whole -= length }
            break
        }
        screen += String(decoding: pending[..<whole], as: UTF8.self)
        pending.removeFirst(whole)
        return true
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe write(master, bytes, bytes.count)
    }

    /// Types a line once the question is there.
    func answer(_ question: String, _ line: String) throws {
        try wait(for: question)
        type(line + "\r")
    }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var state = termios()
        guard unsafe tcgetattr(master, &state) == 0 else { return false }
        return state.c_lflag & tcflag_t(ECHO) != 0 && state.c_lflag & tcflag_t(ICANON) != 0
    }

    /// Waits for the end of the program: its exit code, or 128 and the signal that ended it.
    func finish(seconds: Double = 60) throws -> Int32 {
        let end = Date().addingTimeInterval(seconds)
        var status: Int32 = 0
        while Date() < end {
            let isOpen = readSome(timeoutMilliseconds: 50)
            if unsafe waitpid(processID, &status, WNOHANG) == processID {
                isReaped = true
                while isOpen, readSome(timeoutMilliseconds: 0), hasMore() {}
                let signal = status & 0x7F
                dumpedCore = signal != 0 && status & 0x80 != 0
                return signal == 0 ? status >> 8 & 0xFF : 128 + signal
            }
        }
        kill(processID, SIGKILL)
        _ = unsafe waitpid(processID, &status, 0)
        isReaped = true
        throw TimedOut(wanted: "the end of the program", screen: screen)
    }

    private func hasMore() -> Bool {
        var polled = [pollfd(fd: master, events: Int16(POLLIN), revents: 0)]
        return unsafe poll(&polled, 1, 0) > 0
    }
}

extension CoffretRunner {
    /// Starts `coffret` on a terminal, where it asks for the passphrase.
    func onTerminal(_ arguments: String..., environment changes: [String: String?] = [:]) throws -> TerminalProcess {
        var environment = environment([
            "TERM": "xterm-256color", "COFFRET_PASSPHRASE_FILE": nil, "NO_COLOR": "1",
        ])
        for (name, value) in changes { environment[name] = value }
        return try TerminalProcess(Self.executable, arguments, environment: environment, directory: workPath)
    }
}
