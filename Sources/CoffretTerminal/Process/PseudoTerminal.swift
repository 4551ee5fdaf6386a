// A terminal for a command whose output is looked into. Invariant: it looks to the command as the person's own does,
// and that one is put back as it was.

internal import CoffretBase
internal import Glibc

/// A pseudo terminal beside the person's own.
package final class PseudoTerminal {
    /// Our end: what is written there was typed, what is read there was printed. Never blocks on writing.
    package let master: Int32
    /// The command's end.
    package let path: String
    /// Where the person types.
    package let keyboard: Int32
    private let ownsKeyboard: Bool
    private var original: termios?

    private init(master: Int32, path: String, keyboard: Int32, ownsKeyboard: Bool) {
        self.master = master
        self.path = path
        self.keyboard = keyboard
        self.ownsKeyboard = ownsKeyboard
    }

    deinit {
        giveKeyboardBack()
        close(master)
        if ownsKeyboard { close(keyboard) }
    }

    /// A terminal like the one that standard output is; nil if it is none, or belongs to somebody else just now: from the
    /// background nobody may touch a terminal.
    package static func imitatingOwn() -> PseudoTerminal? {
        guard isatty(STDOUT_FILENO) == 1, tcgetpgrp(STDOUT_FILENO) == getpgrp() else { return nil }
        var state = termios()
        var size = winsize()
        guard unsafe tcgetattr(STDOUT_FILENO, &state) == 0 else { return nil }
        _ = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        var keyboard = STDIN_FILENO
        let ownsKeyboard = isatty(STDIN_FILENO) != 1
        if ownsKeyboard {
            // Standard input is the command's own; what it asks for at the terminal is typed there.
            guard let opened = try? OwnedDescriptor.open("/dev/tty", O_RDWR).duplicate() else { return nil }
            keyboard = opened
        }
        var (master, child): (Int32, Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        guard unsafe openpty(&master, &child, &name, &state, &size) == 0 else {
            if ownsKeyboard { close(keyboard) }
            return nil
        }
        // The command opens it by name: so it becomes the terminal that controls its session.
        close(child)
        _ = fcntl(master, F_SETFD, FD_CLOEXEC)
        _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
        let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return PseudoTerminal(master: master, path: path, keyboard: keyboard, ownsKeyboard: ownsKeyboard)
    }

    /// Keys come unchanged from now on: the command's terminal gives them their meaning.
    package func takeKeyboard() {
        var state = termios()
        guard original == nil, unsafe tcgetattr(keyboard, &state) == 0 else { return }
        original = state
        unsafe cfmakeraw(&state)
        unsafe tcsetattr(keyboard, TCSADRAIN, &state)
    }

    /// Puts the person's terminal back as it was.
    package func giveKeyboardBack() {
        guard var state = original else { return }
        unsafe tcsetattr(keyboard, TCSADRAIN, &state)
        original = nil
    }

    /// Gives the command's terminal the size of the person's.
    package func copySize() {
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return }
        _ = unsafe ioctl(master, UInt(TIOCSWINSZ), &size)
    }
}
