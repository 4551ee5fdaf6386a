// The clipboard, through the programs that own it. Invariant: what is copied reaches those programs through a pipe, so
// that no list of processes ever shows it.

internal import CoffretBase
internal import Glibc

/// A way to put text on the clipboard and to look at what is there.
package enum Clipboard: Equatable, Sendable {
    /// A program for each direction, by its path and arguments.
    case programs(name: String, copy: [String], paste: [String], clear: [String])
    /// The terminal's own clipboard, by the escape sequence OSC 52; it cannot be read back.
    case terminal

    /// Wayland, then X11, then the terminal.
    package static func find(_ environment: ProcessEnvironment, terminal: Terminal) -> Clipboard? {
        let finder = ProgramFinder(environment: environment)
        if environment.value(.waylandDisplay) != nil, let copy = finder.find("wl-copy"),
            let paste = finder.find("wl-paste")
        {
            return .programs(
                name: "wl-copy", copy: [copy, "--type", "text/plain"], paste: [paste, "--no-newline"],
                clear: [copy, "--clear"])
        }
        if environment.value(.display) != nil {
            if let xclip = finder.find("xclip") {
                return .programs(
                    name: "xclip", copy: [xclip, "-selection", "clipboard", "-in"],
                    paste: [xclip, "-selection", "clipboard", "-out"],
                    clear: [xclip, "-selection", "clipboard", "-in"])
            }
            if let xsel = finder.find("xsel") {
                return .programs(
                    name: "xsel", copy: [xsel, "--clipboard", "--input"], paste: [xsel, "--clipboard", "--output"],
                    clear: [xsel, "--clipboard", "--clear"])
            }
        }
        return terminal.canMoveCursor && TerminalPrompt(showsBullets: false) != nil ? .terminal : nil
    }

    /// Puts bytes on the clipboard.
    package func copy(_ bytes: [UInt8]) throws {
        switch self {
        case .programs(let name, let words, _, _):
            let outcome: ChildOutcome
            do throws(SystemFailure) {
                outcome = try ChildProcess.feed(words, input: bytes)
            } catch {
                throw CommandFailure(.unavailable, .clipboardFailed, "\(name) cannot be started: \(error.message)")
            }
            guard outcome.isSuccess else {
                throw CommandFailure(
                    .unavailable, .clipboardFailed, "\(name) did not take the text: \(outcome.text)",
                    hint: "coffret show ITEM --field NAME prints it instead")
            }
        case .terminal:
            TerminalPrompt(showsBullets: false)?.send(Self.sequence(for: bytes))
        }
    }

    /// OSC 52 of xterm: the clipboard's new content in base64; none empties it.
    package static func sequence(for bytes: [UInt8]) -> String {
        "\u{1B}]52;c;\(bytes.isEmpty ? "!" : Base64.standard.encode(bytes))\u{7}"
    }

    /// The content of the clipboard; `nil` when it cannot be known.
    package func content() -> [UInt8]? {
        guard case .programs(_, _, let words, _) = self else { return nil }
        do throws(SystemFailure) {
            let (outcome, bytes) = try ChildProcess.run(words)
            return outcome.isSuccess ? bytes : nil
        } catch {
            return nil
        }
    }

    package func clear() {
        switch self {
        case .programs(_, _, _, let words):
            do throws(SystemFailure) {
                _ = try ChildProcess.feed(words, input: [])
            } catch {
                return
            }
        case .terminal:
            TerminalPrompt(showsBullets: false)?.send(Self.sequence(for: []))
        }
    }
}
