// The real agent with real clients: unlock once, work without being asked, lock.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Agent")
struct AgentTests {
    @Test("unlocked once, commands need no passphrase; locked, they do again")
    func unlockWorkLock() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.run("ls").exitCode == 86, "nobody can be asked here")
        #expect(try agent.unlock().text.hasPrefix("Unlocked."))
        try agent.succeed("new", input: "# Tomatoes\n\nwater them\n")
        #expect(try agent.succeed("show", "tomatoes") == "# Tomatoes\n\nwater them\n")
        #expect(try agent.succeed("agent", "status").contains("unlocked; locks in"))
        let missing = try agent.run("show", "cucumbers")
        #expect(missing.exitCode == 66)
        #expect(missing.errorText.contains("core.item.not-found"))
        #expect(try agent.succeed("lock") == "Locked.\n")
        #expect(try agent.run("show", "tomatoes").exitCode == 86)
        #expect(try agent.succeed("status").contains("is locked (you locked it)"))
    }

    @Test("a vault that a command adds is there for the next one; a change by others locks")
    func keyringChanges() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("vault", "new", "Work")
        #expect(try agent.succeed("vault", "ls").contains("Work"))
        try agent.runner.succeed("vault", "new", "Elsewhere")
        #expect(try agent.run("vault", "ls").exitCode == 86)
        #expect(try agent.succeed("agent", "status").contains("its keys were changed"))
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.succeed("vault", "ls").contains("Elsewhere"))
    }

    @Test("relative paths, the environment and exit codes are the caller's")
    func surroundings() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try "# From a file\n".write(
            toFile: agent.runner.workPath + "/note.md", atomically: true, encoding: .utf8)
        try agent.succeed("new", "-f", "note.md")
        #expect(try agent.run("ls", environment: ["COFFRET_VAULT": "nothing"]).exitCode == 66)
        try agent.succeed("export", "out", "--yes")
        #expect(FileManager.default.fileExists(atPath: agent.runner.workPath + "/out"))
    }

    @Test("several clients at once: everybody reads, writers take turns, nothing is lost")
    func severalClients() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let script = """
            for i in 1 2 3 4 5 6; do
              (printf '# Note %s\\n' $i | "$0" new --quiet 2>&1 > /dev/null || echo "new $i ended with $?") &
              ("$0" ls 2>&1 > /dev/null || echo "ls $i ended with $?") &
            done
            wait
            """
        let all = try ProcessRunner.run(
            "/bin/bash", ["-c", script, CoffretRunner.executable],
            environment: agent.runner.environment(agent.environment()))
        #expect(!all.text.contains("ended with"), "\(all.text)")
        let list = try agent.succeed("ls")
        #expect(list.split(separator: "\n").count == 6, "\(list)\(all.text)")
    }

    @Test("an agent that was killed leaves nothing that stands in the way of the next")
    func killed() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let first = try #require(agent.processID)
        kill(first, SIGKILL)
        let alone = try agent.run("ls")
        #expect(alone.exitCode == 86, "without the agent the command opens the store by itself: \(alone.errorText)")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try #require(agent.processID) != first)
        #expect(try agent.run("ls").exitCode == 0)
    }

    @Test("an agent that was started on the way keeps nothing open of who started it")
    func inheritedDescriptors() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        // The shell ends when the last holder of the pipe's end has closed it.
        let started = try ProcessRunner.run(
            "/bin/bash", ["-c", "{ \"$0\" agent start 3>&1 4>&1 >/dev/null; } | cat", CoffretRunner.executable],
            environment: agent.runner.environment(agent.environment()), timeoutSeconds: 60)
        #expect(started.exitCode == 0 && !started.isSignalled)
        #expect(try agent.succeed("agent", "status").hasPrefix("The agent runs"))
    }

    @Test(
        "R30: after three wrong tries the next has to wait, also in a new agent",
        .enabled(if: LongPause.isAvailable, LongPause.missing))
    func attempts() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        for _ in 0..<3 {
            let wrong = try agent.unlock(passphrase: "wrong")
            #expect(wrong.exitCode == 67)
            #expect(wrong.errorText.contains("keys.unlock-failed"))
        }
        try agent.stop()
        let clock = try LongPause.make(agent.runner)
        func unlock(after seconds: Int = 0) throws -> ProcessResult {
            try agent.runner.run(
                ["unlock"], by: LongPause.launcher(clock + seconds),
                environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        }
        for _ in 0..<3 {
            let refused = try unlock()
            #expect(refused.exitCode == 85, "even the right one has to wait")
            #expect(refused.errorText.contains("too many wrong tries; try again in"))
            #expect(try agent.succeed("agent", "status").contains("nothing was unlocked"))
        }
        // What is refused meanwhile is no try, and makes the pause no longer. The next agent is of its clock.
        try agent.stop()
        #expect(try unlock(after: LongPause.seconds).exitCode == 0)
    }

    @Test("R32: a socket folder that others can enter is refused by both sides, and nothing is sent")
    func replacedFolder() throws {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        unsafe chmod(agent.socketFolder, 0o755)
        let refused = try agent.run("ls")
        #expect(refused.exitCode == 77)
        #expect(refused.errorText.contains("net.directory.untrusted"))
        #expect(try agent.unlock().exitCode == 77)
        #expect(try agent.run("ls", environment: ["COFFRET_AGENT": "off"]).exitCode == 86)
        unsafe chmod(agent.socketFolder, 0o700)
        try agent.stop()
        unsafe chmod(agent.socketFolder, 0o755)
        let started = try ProcessRunner.run(
            AgentRunner.agentExecutable, ["--foreground"],
            environment: agent.runner.environment(agent.environment()), timeoutSeconds: 60)
        #expect(started.exitCode == 69)
        #expect(started.errorText.contains("net.directory.untrusted"))
    }

    @Test("Ctrl-C at the client ends the session of its command in the agent")
    func interrupted() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# Diary")
        let processID = try #require(agent.processID)
        // The command waits for a passphrase that does not come. It is interrupted meanwhile.
        let script = """
            mkfifo w; exec 3<>w
            python3 -c "$1" "$0" note lock Diary --note-passphrase-fd 0 <w & client=$!
            sleep 1
            kill -INT $client; wait $client; echo "ended with $?"
            """
        // The thread that runs this test holds signals back, its children inherit that, and bash ignores Ctrl-C for them.
        let interruptible = """
            import os, signal, sys
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let result = try ProcessRunner.run(
            "/bin/bash", ["-m", "-c", script, CoffretRunner.executable, interruptible],
            environment: agent.runner.environment(agent.environment()), directory: agent.runner.workPath,
            timeoutSeconds: 60)
        #expect(result.text.contains("ended with 130"), "\(result.text)\(result.errorText)")
        // The process that syncs stays, or starts again.
        try Waiting.until("the command has ended with its client") {
            try ProcessFiles.children(of: processID).count <= 1
        }
        #expect(try agent.succeed("ls").contains("Diary"))
    }

    /// An editor that adds a line to its file and says that it has a terminal.
    private func editor(_ agent: AgentRunner, then last: String = "") throws -> String {
        let path = agent.runner.folder.file("home/editor")
        let script =
            "#!/bin/sh\necho 'one more line' >> \"$1\"\ntest -t 0 && tty < /dev/tty > \"$HOME/terminal\"\n\(last)\n"
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    @Test("an editor opens at the caller's own terminal, and the text is saved where the keys are")
    func editing() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# Tomatoes\n")
        let terminal = try agent.runner.onTerminal(
            "edit", "tomatoes", environment: agent.environment(["EDITOR": editor(agent)]))
        try terminal.wait(for: "Saved")
        #expect(try terminal.finish() == 0)
        #expect(try agent.succeed("show", "tomatoes") == "# Tomatoes\none more line\n")
        #expect(FileManager.default.fileExists(atPath: agent.runner.folder.file("home/terminal")))
    }

    @Test("locked while the editor is open: the text is kept and taken up again")
    func lockedWhileEditing() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# Tomatoes\n")
        let gate = agent.runner.folder.file("home/gate")
        let terminal = try agent.runner.onTerminal(
            "edit", "tomatoes",
            environment: agent.environment([
                "EDITOR": editor(agent, then: "touch \(gate).open; while test ! -e \(gate); do sleep 0.05; done")
            ]))
        try Waiting.until("the editor is open") { FileManager.default.fileExists(atPath: gate + ".open") }
        try agent.succeed("lock")
        try "".write(toFile: gate, atomically: true, encoding: .utf8)
        try terminal.wait(for: "agent.command.locked")
        #expect(try terminal.finish() == 86)
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.succeed("show", "tomatoes") == "# Tomatoes\n")
        let again = try agent.runner.onTerminal(
            "edit", "tomatoes", environment: agent.environment(["EDITOR": "/bin/true"]))
        try again.answer("Continue with it? [Y/n] ", "y")
        try again.wait(for: "Saved")
        #expect(try again.finish() == 0)
        #expect(try agent.succeed("show", "tomatoes") == "# Tomatoes\none more line\n")
    }

    @Test("at a terminal a locked store is unlocked on the way, and a change of the passphrase asks all the same")
    func atTheTerminal() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        try agent.succeed("agent", "start")
        let first = try agent.runner.onTerminal("vault", "ls", environment: agent.environment())
        try first.answer("Passphrase: ", CoffretRunner.passphrase)
        try first.wait(for: "Personal")
        #expect(try first.finish() == 0)
        #expect(try agent.run("ls").exitCode == 0, "from now on nobody is asked")
        let change = try agent.runner.onTerminal("passphrase", environment: agent.environment())
        try change.wait(for: "Passphrase: ")
        change.type("\u{3}")
        #expect(try change.finish() == 130)
        #expect(change.echoes)
        let wrong = try agent.runner.onTerminal("recovery", "add", environment: agent.environment())
        try wrong.answer("Passphrase: ", "not it")
        try wrong.wait(for: "keys.unlock-failed")
        #expect(try wrong.finish() == 67)
    }
}
