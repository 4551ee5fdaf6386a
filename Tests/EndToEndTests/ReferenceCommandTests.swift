// `read`, `run` and `inject` as scripts use them: what comes out to the byte, what is masked, how it ends.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Secrets in scripts")
struct ReferenceCommandTests {
    static let secret = "pa ss/wörd\"1"
    static let reference = "coffret://Personal/GitHub (work)/password"

    /// A store with two logins; the password of the first is known.
    static func makeRunner() throws -> CoffretRunner {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        try runner.succeed(
            "new", "--type", "login", "GitHub (work)", "--set", "username=ada", "--secret", "password", input: secret)
        try runner.succeed("new", "--type", "login", "GitLab", "--set", "username=bob", "--generate", "password")
        return runner
    }

    @Test("R34: one value byte for byte, several on a line each, ambiguous ones never")
    func read() throws {
        let runner = try Self.makeRunner()
        #expect(try runner.succeed("read", Self.reference) == Self.secret)
        #expect(try runner.succeed("read", "--newline", Self.reference) == Self.secret + "\n")
        let user = "coffret://Personal/gitlab/username"
        #expect(try runner.succeed("read", user, Self.reference) == "bob\n\(Self.secret)\n")
        #expect(try runner.succeed("read", "-0", user, Self.reference) == "bob\0\(Self.secret)\0")
        let json = try runner.json("read", Self.reference)
        #expect(json["value"] as? String == Self.secret && json["isSecret"] as? Bool == true)
        let ambiguous = try runner.run("read", "coffret://Personal/git/password")
        #expect(ambiguous.exitCode == 65 && ambiguous.text == "")
        #expect(ambiguous.errorText.contains("GitLab") && ambiguous.errorText.contains("GitHub (work)"))
        // One that fails leaves the others unprinted.
        let half = try runner.run("read", user, "coffret://Personal/nobody/password")
        #expect(half.exitCode == 66 && half.text == "")
        #expect(try runner.run("read", "coffret://Personal/gitlab").exitCode == 80)
        try runner.makeNote("# Two\nlines\n")
        let lines = try runner.run("read", "coffret://Personal/two/text", user)
        #expect(lines.exitCode == 80 && lines.text == "")
        #expect(try runner.succeed("read", "coffret://Personal/two/text") == "# Two\nlines\n")
    }

    @Test("R33: the command finds the secret in its environment only, and its output is masked")
    func run() throws {
        let runner = try Self.makeRunner()
        let script = """
            printf '%s\\n' "$PW" "$USER_NAME"; printf '%s' "$PW" | base64; printf '%s' "$PW" | od -An -tx1 | tr -d ' \\n'
            echo; echo "error $PW" >&2; tr '\\0' '\\n' < /proc/$$/cmdline | grep -c wörd; exit 3
            """
        let result = try runner.run(
            "run", "-e", "PW=\(Self.reference)", "-e", "USER_NAME=coffret://Personal/gitlab/username", "--",
            "/bin/bash",
            "-c", script)
        #expect(result.exitCode == 3)
        let mark = "<masked by coffret>"
        // The script itself stands in its arguments, with the word that it looks for.
        #expect(result.text == "\(mark)\nbob\n\(mark)\n\(mark)\n1\n")
        #expect(result.errorText == "error \(mark)\n")
    }

    @Test("R33: a secret in two writes with time between is masked; a command that ends by a signal ends us so")
    func splitAndSignals() throws {
        let runner = try Self.makeRunner()
        let split = "printf '%s' \"${PW:0:5}\"; sleep 0.3; printf '%s' \"${PW:5}\"; echo; kill -TERM $$"
        let result = try runner.run("run", "-e", "PW=\(Self.reference)", "--", "/bin/bash", "-c", split)
        #expect(result.text == "<masked by coffret>\n")
        #expect(result.isSignalled && result.exitCode == SIGTERM)
        // A signal that we get reaches the command, which decides.
        let trap =
            "trap 'echo got it; exit 7' USR1; echo ready; kill -USR1 $PPID; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done"
        let trapped = try runner.run("run", "-e", "PW=\(Self.reference)", "--", "/bin/bash", "-c", trap)
        #expect(trapped.text == "ready\ngot it\n" && trapped.exitCode == 7)
    }

    @Test("variables come from the shell, files and options, later ones first; nothing to mask means exec")
    func sources() throws {
        let runner = try Self.makeRunner()
        let file = runner.folder.file("work/app.env")
        try "A=file\nB='\(Self.reference)'\nC=coffret://Personal/gitlab/username\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let result = try runner.run(
            [
                "run", "--env-file", "app.env", "-e", "A=coffret://Personal/GitHub%20(work)/username", "--no-masking",
                "--",
            ]
                + ["/bin/bash", "-c", "echo \"$A|$B|$C|$D\"; umask; cat /proc/$PPID/comm"],
            input: [], environment: ["A": "shell", "C": "shell", "D": "shell"])
        let mask = try ProcessRunner.run("/bin/bash", ["-c", "umask"]).text
        #expect(result.text.hasPrefix("ada|\(Self.secret)|bob|shell\n\(mask)"))
        #expect(!result.text.hasSuffix("coffret\n"), "coffret gives its place to the command")
        try "A = x\n".write(toFile: file, atomically: true, encoding: .utf8)
        let wrong = try runner.run("run", "--env-file", "app.env", "--", "true")
        #expect(wrong.exitCode == 80 && wrong.errorText.contains("line 1"))
        #expect(try runner.run("run", "-e", "A=plain", "--", "true").exitCode == 64)
        #expect(try runner.run("run", "--", "no-such-command").exitCode == 127)
        #expect(try runner.run("run", "--", "./app.env").exitCode == 126)
        let reference = try runner.run("run", "--", "echo", Self.reference)
        #expect(reference.text == Self.reference + "\n" && reference.errorText.contains("every process can read"))
        // A reference that means nothing starts nothing.
        let none = try runner.run("run", "-e", "A=coffret://Personal/nobody/password", "--", "touch", "started")
        #expect(none.exitCode == 66)
        #expect(!FileManager.default.fileExists(atPath: runner.folder.file("work/started")))
    }

    @Test("R33: on a terminal the command has one too, keys reach it, and what both streams print is masked")
    func terminal() throws {
        let runner = try Self.makeRunner()
        let script = """
            test -t 0 && test -t 1 && test -t 2 && echo all terminals; stty size; \
            printf %s "${PW:0:4}"; printf '%s\\n' "${PW:4}" >&2; read -r line; echo "heard $line"; sleep 30
            """
        let terminal = try runner.onTerminal(
            "run", "-e", "PW=\(Self.reference)", "--", "/bin/bash", "-c", script,
            environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        try terminal.wait(for: "all terminals\r\n40 80\r\n<masked by coffret>\r\n")
        terminal.type("hello\r")
        try terminal.wait(for: "heard hello")
        // Ctrl-C goes to the command, which ends; so do we, with the terminal as it was.
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 128 + SIGINT)
        #expect(terminal.echoes)
        #expect(!terminal.screen.contains("wörd"))
    }

    @Test("templates are filled whole or not at all, into a file for the owner only")
    func inject() throws {
        let runner = try Self.makeRunner()
        let template = "user = {{ coffret://Personal/gitlab/username }}\npw = {{\(Self.reference)}}\n{{ other }}\n"
        let filled = "user = bob\npw = \(Self.secret)\n{{ other }}\n"
        #expect(try runner.succeed("inject", input: template) == filled)
        try runner.succeed("inject", "-o", "app.conf", input: template)
        let path = runner.folder.file("work/app.conf")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == filled)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try runner.run("inject", "-o", "app.conf", input: template).exitCode == 73)
        // One reference that means nothing: the old file stays, and no other file appears.
        let before = try FileManager.default.contentsOfDirectory(atPath: runner.workPath)
        let failed = try runner.run(
            "inject", "--force", "-o", "app.conf", input: template + "{{ coffret://Personal/nobody/password }}")
        #expect(failed.exitCode == 66 && failed.text == "")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == filled)
        #expect(try FileManager.default.contentsOfDirectory(atPath: runner.workPath) == before)
        try runner.succeed("inject", "-f", "-o", "app.conf", input: "x")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "x")
        let wrong = try runner.run("inject", input: "fine\n{{ coffret://nothing }}\n")
        #expect(wrong.exitCode == 80 && wrong.errorText.contains("line 2"))
    }
}
