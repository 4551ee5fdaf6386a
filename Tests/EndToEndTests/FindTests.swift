// `coffret find` on real terminals: a pseudo terminal for keys and signals, tmux for what is seen. The one thing to keep true: what
// a test takes for the screen was put together by a terminal, not by the test.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// A program in tmux, which shows its screen as text.
private final class TerminalScreen {
    private let words: [String]
    private let environment: [String: String]

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/tmux")

    init(_ runner: CoffretRunner, _ environment: [String: String], _ arguments: String, columns: Int, lines: Int) throws
    {
        words = ["-S", runner.folder.file("tmp/tmux"), "-f", "/dev/null"]
        self.environment = environment
        let command = "\(CoffretRunner.executable) \(arguments); echo ended $?; exec sleep 600"
        try run(["new-session", "-d", "-x", "\(columns)", "-y", "\(lines)", command])
    }

    deinit { _ = try? run(["kill-server"]) }

    @discardableResult
    private func run(_ more: [String]) throws -> String {
        let result = try ProcessRunner.run("/usr/bin/tmux", words + more, environment: environment)
        guard result.exitCode == 0 else { throw CoffretRunner.Failed(text: "tmux \(more): \(result.errorText)") }
        return result.text
    }

    func type(_ text: String) throws { try run(["send-keys", "-l", text]) }
    func press(_ keys: String...) throws { try run(["send-keys"] + keys) }
    func resize(columns: Int, lines: Int) throws {
        try run(["resize-window", "-x", "\(columns)", "-y", "\(lines)"])
    }

    /// The screen, line by line.
    var lines: [String] {
        get throws {
            try run(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// Waits until all these texts stand on the screen, and none of those that must not.
    @discardableResult
    func wait(for texts: String..., without others: [String] = []) throws -> [String] {
        let end = Date().addingTimeInterval(60)
        while true {
            let lines = try lines
            let whole = lines.joined(separator: "\n")
            if texts.allSatisfy(whole.contains), !others.contains(where: whole.contains) { return lines }
            guard Date() < end else { throw CoffretRunner.Failed(text: "waited for \(texts): \(whole)") }
            usleep(20_000)
        }
    }
}

@Suite("coffret find")
struct FindTests {
    private static func store() throws -> CoffretRunner {
        let runner = try CoffretRunner()
        try runner.makeStore()
        return runner
    }

    private static func screen(
        _ runner: CoffretRunner, _ arguments: String = "find", columns: Int = 80, lines: Int = 24
    ) throws -> TerminalScreen {
        try TerminalScreen(
            runner, runner.environment(["TERM": "tmux-256color"]), arguments, columns: columns, lines: lines)
    }

    @Test(
        "80 columns: a list, a search with each key, the chosen item, wide characters within their lines",
        .enabled(if: TerminalScreen.isAvailable, "tmux is missing"))
    func looking() throws {
        let runner = try Self.store()
        let wide = String(repeating: "漢字のノート", count: 12)
        try runner.makeNote("# \(wide)\n\n\(wide)\(wide)\n")
        for number in 1...30 { try runner.makeNote("# Bed \(number)\n\nBlight on leaf \(number).\n", "-t", "garden") }
        let screen = try Self.screen(runner)
        var lines = try screen.wait(for: "1 of 31", "Blight on leaf 30.")
        #expect(lines[0].hasPrefix("Find") && lines[1].hasPrefix("> Bed 30"))
        #expect(lines.last { !$0.isEmpty }?.hasPrefix("Tab read") == true)
        try screen.press("End")
        lines = try screen.wait(for: "31 of 31", "> 漢字")
        // Two columns each: 38 of them and the ellipsis fit beside the day, and nothing is pushed into the next line.
        let row = try #require(lines.first { $0.hasPrefix("> 漢字") })
        #expect(row.hasSuffix("today") && row.contains("…") && row.count < 60)
        #expect(lines.count <= 25 && lines[0].hasPrefix("Find"))
        try screen.type("leaf 1")
        try screen.wait(for: "Find leaf 1", without: ["> 漢字"])
        try screen.type("7")
        lines = try screen.wait(for: "1 of 1", "> Bed 17", "Blight on leaf 17.")
        try screen.press("C-u")
        try screen.wait(for: "1 of 31")
        try screen.type("nothinglikeit")
        try screen.wait(for: "Nothing found for nothinglikeit.", without: ["Bed"])
        // One half of a query, and one letter of a word, leave the list alone.
        try screen.press("C-u")
        try screen.wait(for: "1 of 31")
        try screen.type("\"")
        try screen.wait(for: "no query yet", "Bed 30")
        try screen.press("C-u")
        try screen.type("z")
        try screen.wait(for: "Find z", "1 of 31")
        try screen.press("Escape")
        try screen.wait(for: "Find  ", "1 of 31")
        try screen.press("Escape")
        try screen.wait(for: "ended 0", without: ["Bed", "Find"])
    }

    @Test(
        "a window that grows and shrinks is drawn anew, down to one column",
        .enabled(if: TerminalScreen.isAvailable, "tmux is missing"))
    func resizing() throws {
        let runner = try Self.store()
        for number in 1...30 { try runner.makeNote("# Bed \(number)\n\nBlight on leaf \(number).\n") }
        let screen = try Self.screen(runner)
        try screen.wait(for: "1 of 30", "Blight on leaf 30.")
        try screen.press("PageDown")
        try screen.resize(columns: 140, lines: 30)
        let lines = try screen.wait(for: "13 of 30", "│ Bed 18", "Blight on leaf 18.")
        #expect(lines[1].hasPrefix("  Bed 28"))
        for (columns, height) in [(30, 10), (10, 4), (2, 2), (1, 1)] {
            try screen.resize(columns: columns, lines: height)
            try screen.press("Down")
        }
        try screen.resize(columns: 80, lines: 24)
        try screen.wait(for: "17 of 30", "> Bed 14", "Blight on leaf 14.")
        try screen.press("C-c")
        try screen.wait(for: "ended 0")
    }

    @Test(
        "an empty store says so, and a letter does no harm", .enabled(if: TerminalScreen.isAvailable, "tmux is missing")
    )
    func empty() throws {
        let runner = try Self.store()
        let screen = try Self.screen(runner)
        try screen.wait(for: "Notes and logins will stand here")
        try screen.type("tomatoes")
        try screen.wait(for: "Nothing found for tomatoes.")
        for key in ["Enter", "C-y", "C-t", "C-r", "Tab", "Down", "End", "PageUp"] { try screen.press(key) }
        try screen.press("Escape")
        try screen.wait(for: "Notes and logins will stand here")
        try screen.press("Escape")
        try screen.wait(for: "ended 0")
    }

    @Test("secrets are drawn when they are asked for, go with the next key, and are copied without being drawn")
    func secrets() throws {
        let runner = try Self.store()
        try runner.succeed(
            "new", "--type", "login", "GitHub", "--set", "username=ada", "--secret", "password", input: "canary-4711\n")
        let terminal = try runner.onTerminal(
            "find", "github", environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "Password  ••••")
        terminal.type("\u{19}")
        // The terminal's own clipboard: its sequence, and no other sign of the secret.
        let copied = Data("canary-4711".utf8).base64EncodedString()
        try terminal.wait(for: "\u{1B}]52;c;\(copied)\u{7}")
        try terminal.wait(for: "It is cleared in 45 s.")
        #expect(!terminal.screen.contains("canary-4711"))
        terminal.type("\u{12}")
        try terminal.wait(for: "canary-4711")
        terminal.type("\u{1B}[A")
        try terminal.wait(for: "Password  ••••")
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 0)
        #expect(terminal.echoes)
    }

    @Test("what titles, texts and tags hold is shown, and never sent to the terminal")
    func hostile() throws {
        let runner = try Self.store()
        let evil = "\u{1B}[2J\u{1B}]0;owned\u{7}\u{1B}[?1049l\u{9B}31m\u{202E}dlot\u{202C}\r\u{8}x"
        try runner.makeNote("# Evil \(evil) end\n\nBody \(evil)\n", "-t", "garden")
        let terminal = try runner.onTerminal(
            "find", environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "^[[2J^[]0;owned^G")
        terminal.type("\t")
        try terminal.wait(for: "Body ^[[2J")
        terminal.type("\u{1B}")
        try terminal.wait(for: "1049")
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 0)
        for part in ["\u{1B}]0;", "\u{9B}", "\u{202E}", "\u{7}"] {
            #expect(!terminal.screen.contains(part), "\(part.debugDescription)")
        }
        // The program's own: once into the other screen, once out of it.
        #expect(terminal.screen.components(separatedBy: "\u{1B}[?1049l").count == 2)
    }

    @Test(
        "the terminal is put back, and the screen wiped, when a signal ends the program",
        arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT])
    func signals(signal: Int32) throws {
        let runner = try Self.store()
        try runner.makeNote("# Tomatoes\n")
        let terminal = try runner.onTerminal(
            "find", environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "1 of 1")
        #expect(!terminal.echoes)
        kill(terminal.processID, signal)
        #expect(try terminal.finish() == 128 + signal)
        #expect(terminal.echoes)
        #expect(terminal.screen.hasSuffix("\u{1B}[2J\u{1B}[?2004l\u{1B}[?7h\u{1B}[?1049l\u{1B}[?25h"))
    }

    @Test(
        "10,000 notes: what was typed at once is searched at once, and the end of the list is a key away",
        .enabled(if: TerminalScreen.isAvailable, "tmux is missing"))
    func many() throws {
        let runner = try Self.store()
        let folder = runner.folder.file("work/notes")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for number in 1...10_000 {
            let text = "# Leaf \(number)\n\nFound beside wall\(number % 97) and gate\(number % 101).\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/leaf-\(number).md"))
        }
        try runner.succeed("import", folder)
        let terminal = try runner.onTerminal(
            "find", environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "1 of 10,000")
        let before = terminal.screen.components(separatedBy: "\u{1B}[?2026h").count
        let query = "found beside wall5 gate7 leaf"
        terminal.type(query)
        try terminal.wait(for: "Find \(query)")
        try terminal.wait(for: "1 of 1")
        // One picture for what was read at once, and one more with the chosen item.
        let pictures = terminal.screen.components(separatedBy: "\u{1B}[?2026h").count - before
        #expect(pictures < query.count / 2, "\(pictures) pictures for \(query.count) keys")
        terminal.type("\u{15}\u{1B}[F")
        try terminal.wait(for: "10,000 of 10,000")
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 0)
    }

    @Test("Enter opens the item in the editor, and the list is there again with what was saved")
    func editing() throws {
        let runner = try Self.store()
        try runner.makeNote("# Tomatoes\n")
        let editor = runner.folder.file("home/editor")
        try "#!/bin/sh\nprintf 'a remark\\n' >> \"$1\"\n".write(toFile: editor, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: editor)
        let terminal = try runner.onTerminal(
            "find", "tomatoes", environment: ["EDITOR": editor, "COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "1 of 1")
        terminal.type("\r")
        try terminal.wait(for: "Saved.")
        try terminal.wait(for: "a remark")
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 0)
        #expect(try runner.succeed("show", "tomatoes").contains("a remark"))
    }

    @Test("without a terminal, find says what does the same")
    func noTerminal() throws {
        let result = try Self.store().run("find")
        #expect(result.exitCode == 64)
        #expect(result.errorText.contains("needs a terminal") && result.errorText.contains("coffret search"))
    }
}

@Suite("coffret find with an agent", .enabled(if: AgentRunner.isAvailable, "coffret-agent is not built"))
struct FindWithAgentTests {
    private func finding(_ agent: AgentRunner) throws -> TerminalProcess {
        var changes = agent.environment()
        changes["COFFRET_AGENT"] = .some(nil)
        return try agent.runner.onTerminal("find", environment: changes)
    }

    @Test("when the store locks, the screen is wiped at once and find ends")
    func locking() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        try #require(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# Tomatoes\n\ncanary text\n")
        let terminal = try finding(agent)
        try terminal.wait(for: "canary text")
        try agent.succeed("lock")
        #expect(try terminal.finish() == 86)
        let leaving = try #require(terminal.screen.range(of: "\u{1B}[2J\u{1B}[?2004l", options: .backwards))
        let after = terminal.screen[leaving.upperBound...]
        #expect(!after.contains("canary") && !after.contains("Tomatoes") && after.contains("locked"))
        #expect(terminal.echoes)
    }

    @Test("a locked store is unlocked first; a hidden item is shown once the person has answered")
    func locked() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        try agent.runner.makeNote("# Diary\n\ncanary text\n")
        try agent.runner.succeed("note", "hide", "diary")
        let terminal = try finding(agent)
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.wait(for: "Hidden. Ctrl-R shows it")
        #expect(!terminal.screen.contains("canary text"))
        terminal.type("\u{12}")
        try terminal.answer("the hidden note \"Diary\": ", CoffretRunner.passphrase)
        try terminal.wait(for: "canary text")
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 0)
    }
}
