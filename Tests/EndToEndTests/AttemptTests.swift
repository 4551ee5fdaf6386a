// Wrong secrets are counted by every program alike. The one thing to keep true: a refused attempt looks at nothing and
// changes nothing, even with the right secret.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Wrong tries, with and without an agent", .enabled(if: LongPause.isAvailable, LongPause.missing))
struct AttemptTests {
    private func write(_ text: String, _ runner: CoffretRunner) throws -> String {
        let path = runner.folder.file("home/" + UUID().uuidString)
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    private func keyring(_ runner: CoffretRunner) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: runner.storePath + "/store.keyring"))
    }

    @Test("R30: without an agent three wrong ones are free, then nothing is looked at, in any process, for a while")
    func withoutAgent() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# One\n")
        try runner.succeed("backup", "create", "backups")
        let wrong = try write("not it", runner)
        let before = try keyring(runner)
        // A backup opens with the same passphrase, and so counts like the store.
        for arguments in [["ls"], ["recovery", "add"], ["backup", "verify", "backups"]] {
            let result = try runner.run(arguments, input: [], environment: ["COFFRET_PASSPHRASE_FILE": wrong])
            #expect(result.exitCode == 67, "\(arguments): \(result.errorText)")
        }
        let clock = try LongPause.make(runner)
        func run(_ arguments: String..., after seconds: Int = 0) throws -> ProcessResult {
            try runner.run(arguments, by: LongPause.launcher(clock + seconds), environment: ["COFFRET_AGENT": nil])
        }
        for arguments in [["ls"], ["backup", "verify", "backups"], ["unlock"]] {
            let refused = try runner.run(
                arguments + ["--json"], by: LongPause.launcher(clock), environment: ["COFFRET_AGENT": nil])
            #expect(refused.exitCode == 85, "even with the right one: \(refused.errorText)")
            #expect(refused.text == "")
            #expect(refused.errorText.contains("\"keys.attempts.pausing\""))
            let wait = try #require(refused.errorText.firstMatch(of: /"waitSeconds":([0-9]+)/))
            // As long as it is after seven, so each of them was counted.
            #expect((LongPause.seconds / 2 + 1...LongPause.seconds).contains(try #require(Int(wait.1))))
        }
        _ = try run("agent", "stop")
        #expect(try run("ls").errorText.contains("the next try is possible in"))
        #expect(try keyring(runner) == before)
        #expect(try run("ls", after: LongPause.seconds).exitCode == 0, "the pause ends")
        #expect(try runner.run("ls", environment: ["COFFRET_PASSPHRASE_FILE": wrong]).exitCode == 67)
        #expect(try runner.run("ls").exitCode == 0, "and the right one has taken the count back")
    }

    @Test("R30: nobody is asked for a passphrase that would not be looked at")
    func notAsked() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let wrong = try write("not it", runner)
        for _ in 0..<3 {
            #expect(try runner.run("ls", environment: ["COFFRET_PASSPHRASE_FILE": wrong]).exitCode == 67)
        }
        try LongPause.make(runner)
        // By whose clock the last try is still to come: the pause begins with the question.
        let terminal = try runner.onTerminal("ls")
        try terminal.wait(for: "too many wrong tries")
        #expect(try terminal.finish() == 85)
        #expect(!terminal.screen.contains("Passphrase:"))
    }

    @Test("R30: what the agent counted, coffret without it has counted, and the other way round")
    func shared() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock(passphrase: "one").exitCode == 67)
        let wrong = try write("two", agent.runner)
        #expect(try agent.runner.run("ls", environment: ["COFFRET_PASSPHRASE_FILE": wrong]).exitCode == 67)
        #expect(try agent.unlock(passphrase: "three").exitCode == 67)
        let clock = try LongPause.make(agent.runner)
        let refused = try agent.runner.run(["ls", "--json"], by: LongPause.launcher(clock))
        #expect(refused.exitCode == 85, "\(refused.errorText)")
        let wait = try #require(refused.errorText.firstMatch(of: /"waitSeconds":([0-9]+)/))
        #expect(try #require(Int(wait.1)) > LongPause.seconds / 2, "seven were counted: \(wait.1)")
        #expect(try agent.unlock().exitCode == 85)
        #expect(try agent.succeed("agent", "status").contains("nothing was unlocked"))
    }

    @Test("R30: passphrases of locked notes are counted, each by itself, and not with the store's")
    func notes() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        func run(_ line: String, _ arguments: String..., by launcher: [String] = LongPause.launcher(0)) throws
            -> ProcessResult
        {
            let path = try write(line, runner)
            return try ProcessRunner.run(
                launcher[0],
                launcher.dropFirst() + [
                    "/bin/sh", "-c", "exec \"$0\" \"$@\" --note-passphrase-fd 3 3< \"$LINES\"",
                    CoffretRunner.executable,
                ] + arguments,
                environment: runner.environment(["LINES": path]), directory: runner.workPath, timeoutSeconds: 120)
        }
        for name in ["one", "two"] {
            try runner.makeNote("# \(name)\n\ninside \(name)\n")
            let locked = try run("note \(name)", "note", "lock", name, "--new", "--effort", "light")
            #expect(locked.exitCode == 0, "\(locked.errorText)")
        }
        for number in 1...4 {
            // Another note's passphrase is no wrong one where any will do.
            let locked = try run("note two", "note", "lock", try runner.makeNote("# more \(number)\n"))
            #expect(locked.exitCode == 0, "\(locked.errorText)")
        }
        for _ in 0..<3 {
            let wrong = try run("not it", "show", "one")
            #expect(wrong.exitCode == 67, "\(wrong.errorText)")
        }
        let clock = LongPause.launcher(try LongPause.make { try run("not it", "show", "one", by: $0) })
        let refused = try run("note one", "show", "one", "--json", by: clock)
        #expect(refused.exitCode == 85 && refused.text == "", "\(refused.errorText)")
        #expect(refused.errorText.contains("\"keys.attempts.pausing\"") && refused.errorText.contains("waitSeconds"))
        #expect(try runner.run("ls").exitCode == 0)
        #expect(try run("note two", "show", "two", by: clock).text.contains("inside two"))
        #expect(
            try run("note one", "show", "one", by: clock).exitCode == 85, "another note's passphrase sets nothing back")
        // Where the count cannot be written down nothing is tried; a full or read-only disk is another matter.
        let state = runner.folder.file("home/.local/state/coffret/agent")
        try FileManager.default.removeItem(atPath: state)
        try Data().write(to: URL(fileURLWithPath: state))
        let uncounted = try runner.run("ls")
        #expect(uncounted.exitCode == 77 && uncounted.errorText.contains("keys.attempts.uncounted"))
    }
}
