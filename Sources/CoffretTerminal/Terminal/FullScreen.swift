// The whole terminal as one picture. Invariant: whatever ends the program, short of SIGKILL, the picture is wiped and the terminal
// put back as it was before the program goes.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// An event that a full-screen program waits for.
package enum ScreenEvent: Equatable {
    /// All keys that were there.
    case keys([Key])
    /// The terminal has another size, or shows something else: everything is to be drawn again.
    case redraw
    /// The descriptor that was given can be read, or has ended.
    case readable
    case timeout
    /// The terminal is gone.
    case gone
}

/// The terminal of this program, in which it draws lines and reads keys. Sequences of ECMA-48 and xterm.
package final class FullScreen {
    private let terminal: OwnedDescriptor
    private var watch: SignalWatch?
    private var original = termios()
    private var decoder = KeyDecoder()
    /// The lines on the screen; nil before the first picture.
    private var shown: [String]?

    /// Another screen, no wrapping at the margin, pastes in brackets, nothing there.
    private static let entering = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[?2004h\u{1B}[2J"
    /// The same the other way round. The picture is wiped: some terminals keep the other screen.
    private static let leaving = "\u{1B}[0m\u{1B}[2J\u{1B}[?2004l\u{1B}[?7h\u{1B}[?1049l\u{1B}[?25h"

    /// How long the rest of a key's sequence may take, in milliseconds.
    private static let sequenceMilliseconds: Int32 = 50
    /// As many bytes are read before they are looked at.
    private static let typeaheadByteCountMax = 65_536

    /// Takes the terminal.
    ///
    /// - Returns: nil where the program has none.
    package init?() {
        do throws(SystemFailure) {
            // One that nobody reads must not hold up the end of the program.
            terminal = try OwnedDescriptor.open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY)
        } catch {
            return nil
        }
        enter()
    }

    deinit { leave() }

    /// Takes the terminal again after `leave`.
    package func enter() {
        guard watch == nil else { return }
        watch = SignalWatch(SignalWatch.ending + [SIGTSTP, SIGCONT, SIGWINCH])
        unsafe tcgetattr(terminal.number, &original)
        makeRaw()
    }

    /// Wipes the picture and gives the terminal back, for the end or for another program.
    package func leave() {
        guard watch != nil else { return }
        write(Self.leaving)
        unsafe tcsetattr(terminal.number, TCSADRAIN, &original)
        shown = nil
        // Signals that came meanwhile take effect here.
        watch = nil
    }

    private func makeRaw() {
        var raw = original
        unsafe cfmakeraw(&raw)
        unsafe tcsetattr(terminal.number, TCSADRAIN, &raw)
        shown = nil
        write(Self.entering)
    }

    /// Columns and lines, at least one of each; 80 and 24 where the terminal says nothing.
    package var size: (columns: Int, lines: Int) {
        var size = winsize()
        guard unsafe ioctl(terminal.number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    // MARK: Reading

    /// True while typed bytes wait to be read.
    package var hasInput: Bool { DescriptorIO.isReadable(terminal.number) }

    /// Waits for keys, signals, or what can be read elsewhere. A signal that ends the program does so here, after the terminal
    /// was put back.
    ///
    /// - Parameter other: a descriptor, or -1.
    package func next(other: Int32 = -1, timeoutMilliseconds: Int32 = -1) -> ScreenEvent {
        while true {
            let limit = decoder.isWithinKey ? Self.sequenceMilliseconds : timeoutMilliseconds
            let (ready, isOtherReady) = wait(for: Int16(POLLIN), other, limit)
            if let event = takeSignals() { return event }
            if ready & Int16(POLLIN) != 0 {
                guard let bytes = readAll() else { return .gone }
                let keys = decoder.add(bytes)
                if !keys.isEmpty { return .keys(keys) }
            } else if ready != 0 {
                return .gone
            } else if isOtherReady {
                return .readable
            } else if decoder.isWithinKey {
                let keys = decoder.flush()
                if !keys.isEmpty { return .keys(keys) }
            } else if timeoutMilliseconds >= 0 {
                return .timeout
            }
        }
    }

    /// Waits for the terminal, a signal and another descriptor.
    private func wait(
        for events: Int16, _ other: Int32, _ timeoutMilliseconds: Int32
    ) -> (terminal: Int16, isOtherReady: Bool) {
        var polled = [
            pollfd(fd: terminal.number, events: events, revents: 0),
            pollfd(fd: signalDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        guard unsafe poll(&polled, nfds_t(polled.count), timeoutMilliseconds) > 0 else { return (0, false) }
        return (polled[0].revents, polled[2].revents != 0)
    }

    private var signalDescriptor: Int32 {
        switch watch {
        case .some(let watch): watch.descriptor
        case .none: -1
        }
    }

    private func nextSignal() -> Int32? {
        switch watch {
        case .some(let watch): watch.next()
        case .none: nil
        }
    }

    private func takeSignals() -> ScreenEvent? {
        var event: ScreenEvent?
        while let signal = nextSignal() {
            switch signal {
            case SIGWINCH: break
            case SIGCONT: makeRaw()
            case SIGTSTP: suspend()
            default:
                leave()
                endProgram(by: signal)
            }
            shown = nil
            event = .redraw
        }
        return event
    }

    /// Stops the program, as Ctrl-Z does, until its shell lets it go on.
    package func suspend() {
        leave()
        kill(getpid(), SIGSTOP)
        enter()
    }

    /// All typed bytes so far; nil if the terminal is gone.
    private func readAll() -> [UInt8]? {
        var bytes: [UInt8] = []
        repeat {
            guard let part = try? DescriptorIO.read(from: terminal.number, byteCountMax: 4096), !part.isEmpty else {
                return bytes.isEmpty ? nil : bytes
            }
            bytes += part
        } while hasInput && bytes.count < Self.typeaheadByteCountMax
        return bytes
    }

    // MARK: Drawing

    /// Draws a picture; lines that stand there already are not sent again.
    ///
    /// - Parameters:
    ///   - lines: from the top, each as wide as the terminal at most, safe to display but for colours; what is missing is empty.
    ///   - cursor: column and line of the cursor, from 0; nil for none.
    package func draw(_ lines: [String], cursor: (column: Int, line: Int)?) {
        let height = size.lines
        let lines = (0..<height).map { $0 < lines.count ? lines[$0] : "" }
        // The terminal shows nothing in between, if it knows how (mode 2026).
        var text = "\u{1B}[?2026h\u{1B}[?25l"
        if shown == nil { text += "\u{1B}[2J" }
        for (index, line) in lines.enumerated() where shown.map({ index >= $0.count || $0[index] != line }) ?? true {
            text += "\u{1B}[\(index + 1);1H\u{1B}[0m\u{1B}[2K\(line)"
        }
        text += "\u{1B}[0m"
        if let cursor { text += "\u{1B}[\(cursor.line + 1);\(cursor.column + 1)H\u{1B}[?25h" }
        write(text + "\u{1B}[?2026l")
        shown = lines
    }

    /// Moves to a column of a line in a picture, from 0.
    package static func column(_ column: Int) -> String { "\u{1B}[\(column + 1)G" }

    /// Writes to the terminal, which may be slow; nothing more once a signal wants the end of the program.
    private func write(_ text: String) {
        var bytes = Array(text.utf8)
        defer { bytes.zero() }
        var done = 0
        var triesLeft = 50
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(terminal.number, buffer.baseAddress! + done, buffer.count - done)
            }
            if count > 0 {
                done += count
                triesLeft = 50
            } else if count < 0, errno == EAGAIN {
                // A terminal that takes nothing for five seconds, or while a signal waits, is left as it is.
                let isSignalled = DescriptorIO.isReadable(signalDescriptor)
                triesLeft -= isSignalled ? 10 : 1
                guard triesLeft > 0 else { return }
                var polled = pollfd(fd: terminal.number, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&polled, 1, 100)
            } else if count < 0, errno != EINTR {
                return
            }
        }
    }
}
