// Questions to the person at the terminal. Invariant: what is typed at a secret prompt is never shown, never kept
// outside locked memory, and the terminal is put back as it was, whatever ends the prompt.

package import CoffretBase
package import Glibc

/// Talks to the controlling terminal, which stays reachable when standard input and output are pipes.
package final class TerminalPrompt: Sendable {
    package let descriptor: Int32
    private let showsBullets: Bool

    /// The longest secret that can be typed.
    package static let secretByteCountMax = 1024

    /// - Returns: `nil` when the program has no terminal.
    package init?(showsBullets: Bool) {
        do throws(SystemFailure) {
            let opened = try OwnedDescriptor.open("/dev/tty", O_RDWR)
            descriptor = dup(opened.number)
        } catch {
            return nil
        }
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.showsBullets = showsBullets
    }

    /// A prompt at a terminal that somebody handed over.
    package init?(duplicating terminal: Int32) {
        descriptor = fcntl(terminal, F_DUPFD_CLOEXEC, 3)
        showsBullets = true
        guard descriptor >= 0 else { return nil }
    }

    /// How the terminal stands; nil if it is none.
    package var state: termios? {
        var state = termios()
        return unsafe tcgetattr(descriptor, &state) == 0 ? state : nil
    }

    /// Puts the terminal as it was.
    package func restore(_ state: termios) {
        var state = state
        unsafe tcsetattr(descriptor, TCSAFLUSH, &state)
    }

    /// Runs `body`, during which nothing that is typed is shown, and drops it: it was no answer to a question, and may be a
    /// secret that was typed too early. A signal that would end the program does so after the terminal is put back.
    package func silently<Value>(_ body: () throws -> Value) rethrows -> Value {
        guard let original = state else { return try body() }
        let watch = SignalWatch(SignalWatch.ending + [SIGTSTP])
        defer {
            restore(original)
            _ = watch.descriptor
        }
        var silent = original
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        unsafe tcsetattr(descriptor, TCSANOW, &silent)
        return try body()
    }

    deinit {
        close(descriptor)
    }

    /// The path of the terminal behind the standard streams, by which a process without a controlling terminal reaches it.
    package static var deviceName: String? {
        for descriptor in [STDERR_FILENO, STDOUT_FILENO, STDIN_FILENO] {
            var buffer = [CChar](repeating: 0, count: 256)
            guard unsafe ttyname_r(descriptor, &buffer, buffer.count) == 0 else { continue }
            let path = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if path != "/dev/tty" { return path }
        }
        return nil
    }

    /// Shows text on the terminal itself.
    package func show(_ text: String) {
        try? DescriptorIO.write(Array(TextWidth.broken(text, width: width).utf8), to: descriptor)
    }

    /// Sends bytes to the terminal as they are.
    package func send(_ sequence: String) {
        try? DescriptorIO.write(Array(sequence.utf8), to: descriptor)
    }

    private var width: Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return max(40, Int(size.ws_col))
    }

    /// Asks for a line of ordinary text, with the terminal's own editing.
    ///
    /// - Returns: `nil` at the end of input (Ctrl-D).
    /// - Throws: `CommandFailure` `.cancelled` for Ctrl-C, so that whoever asks can put right what was begun.
    package func askLine(_ question: String) throws -> String? {
        // Before the question stands there: the answer may be a Ctrl-C at once.
        let watch = SignalWatch([SIGINT])
        show(question)
        var bytes: [UInt8] = []
        while bytes.count < 65_536 {
            let isReadable = watch.wait(for: descriptor)
            if watch.next() != nil {
                show("\n")
                throw CommandFailure(.cancelled, .cancelled, "cancelled")
            }
            guard isReadable else { continue }
            let part = try Self.translate(DescriptorIO.read(from: descriptor, byteCountMax: 4096))
            if part.isEmpty { break }
            bytes += part
            if bytes.last == 0x0A { break }
        }
        if bytes.isEmpty {
            show("\n")
            return nil
        }
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Asks for a line, and calls `idle` again and again until one is there.
    package func askLine(_ question: String, idle: () throws -> Void) throws -> String? {
        show(question)
        do {
            while !DescriptorIO.isReadable(descriptor) { try idle() }
        } catch {
            // An error has a line of its own.
            show("\n")
            throw error
        }
        return try askLine("")
    }

    /// Asks a question that is answered by yes or no. What was typed before it stood there is no answer.
    ///
    /// - Parameter isYesDefault: what an empty line means. The end of input always means no.
    package func confirm(_ question: String, isYesDefault: Bool) throws -> Bool {
        tcflush(descriptor, TCIFLUSH)
        while true {
            guard let line = try askLine("\(question) [\(isYesDefault ? "Y/n" : "y/N")] ") else { return false }
            switch line.lowercased().filter({ $0 != " " }) {
            case "": return isYesDefault
            case "y", "yes": return true
            case "n", "no": return false
            default: show("Please answer yes or no.\n")
            }
        }
    }

    /// Asks for a secret. Backspace takes a character away, Ctrl-U all of them.
    ///
    /// - Parameter isOver: whether nobody wants the answer any more, which ends the question as Ctrl-C does; asked a few times a
    ///   second.
    /// - Throws: `CommandFailure` `.cancelled` for Ctrl-C and the end of input. A signal that would end
    ///   the program does so after the terminal is restored.
    package func askSecret(_ question: String, isOver: (() -> Bool)? = nil) throws -> SecretBytes {
        var original = termios()
        let isTerminal = unsafe tcgetattr(descriptor, &original) == 0
        let watch = SignalWatch(SignalWatch.ending + [SIGTSTP])
        if isTerminal {
            var silent = original
            silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
            silent.c_iflag &= ~tcflag_t(ICRNL)
            unsafe tcsetattr(descriptor, TCSAFLUSH, &silent)
        }
        show(question)
        var typed = SecretLine(byteCountMax: Self.secretByteCountMax)
        let outcome = readSecret(into: &typed, watch: watch, isOver)
        if isTerminal { unsafe tcsetattr(descriptor, TCSAFLUSH, &original) }
        show("\n")
        switch outcome {
        case .done: return typed.take()
        case .cancelled: throw CommandFailure(.cancelled, .cancelled, "cancelled")
        case .tooLong:
            throw CommandFailure(
                .badInput, .passphraseTooLong, "a passphrase has at most \(Self.secretByteCountMax) bytes")
        case .signal(let signal): endProgram(by: signal)
        }
    }

    private enum SecretOutcome {
        case done, cancelled, tooLong
        case signal(Int32)
    }

    private func readSecret(
        into typed: inout SecretLine, watch: borrowing SignalWatch, _ isOver: (() -> Bool)?
    ) -> SecretOutcome {
        while true {
            let isReadable = watch.wait(for: descriptor, timeoutMilliseconds: isOver == nil ? -1 : 200)
            if let signal = watch.next() { return .signal(signal) }
            if isOver?() == true { return .cancelled }
            guard isReadable else { continue }
            var byte: UInt8 = 0
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return .cancelled }
            switch byte {
            case 0x0A, 0x0D: return .done
            case 0x03: return .cancelled
            case 0x04: return typed.byteCount == 0 ? .cancelled : .done
            case 0x08, 0x7F: if typed.removeLastCharacter(), showsBullets { show("\u{8} \u{8}") }
            case 0x15:
                while typed.removeLastCharacter() { if showsBullets { show("\u{8} \u{8}") } }
            default:
                guard typed.append(byte) else { return .tooLong }
                // One bullet for a character: continuation bytes of UTF-8 show nothing.
                if showsBullets, byte & 0xC0 != 0x80 { show("•") }
            }
        }
    }

    private static func translate<Value>(_ value: @autoclosure () throws(SystemFailure) -> Value) throws -> Value {
        do throws(SystemFailure) {
            return try value()
        } catch {
            throw CommandFailure(.inputOutput, .fileUnreadable, "the terminal cannot be read: \(error.message)")
        }
    }
}
