// The streams that the program is connected to. Invariant: each stream is examined by itself, so `coffret ls | less`
// and `coffret ls 2>log` both do what they look like.

internal import Glibc

/// The three standard streams as a person sees them.
package struct Terminal: Sendable {
    package let inputIsTerminal: Bool
    package let outputIsTerminal: Bool
    package let errorIsTerminal: Bool
    /// Styles for standard output and standard error.
    package let style: TextStyler
    package let errorStyle: TextStyler
    /// Columns of the terminal, between 40 and 200; 80 when nothing says otherwise.
    package let width: Int
    /// Lines of the terminal of standard output; nil if it is none.
    package var height: Int? {
        var size = winsize()
        guard outputIsTerminal, unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else {
            return nil
        }
        return Int(size.ws_row)
    }
    /// Whether cursor movement works: false for `TERM=dumb`.
    package let canMoveCursor: Bool

    package init(environment: ProcessEnvironment, color: String?) {
        inputIsTerminal = isatty(STDIN_FILENO) == 1
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        errorIsTerminal = isatty(STDERR_FILENO) == 1
        let name = environment.value(.terminal)
        canMoveCursor = name != nil && name != "dumb"
        let isWanted = environment.value(.noColor) == nil && canMoveCursor
        func isColored(_ isTerminal: Bool) -> Bool {
            switch color {
            case "always": true
            case "never": false
            default: isTerminal && isWanted
            }
        }
        style = TextStyler(isColored: isColored(outputIsTerminal))
        errorStyle = TextStyler(isColored: isColored(errorIsTerminal))
        width = Self.measureWidth(environment)
    }

    /// The width to cut lines to: none when standard output goes to a file or another program.
    package var tableWidth: Int? { outputIsTerminal ? width : nil }

    /// The width to break lines at that go to standard error; as above.
    package var errorWidth: Int? { errorIsTerminal ? width : nil }

    private static func measureWidth(_ environment: ProcessEnvironment) -> Int {
        var size = winsize()
        for descriptor in [STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO] {
            if unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
                return min(max(Int(size.ws_col), 40), 200)
            }
        }
        if let columns = environment.value(.columns).flatMap({ Int($0) }), columns > 0 {
            return min(max(columns, 40), 200)
        }
        return 80
    }
}
