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
        #expect(try agent.run("ls").exitCode == 69, "nobody can be asked here")
        #expect(try agent.unlock().text.hasPrefix("Unlocked."))
        try agent.succeed("new", input: "# Tomatoes\n\nwater them\n")
        #expect(try agent.succeed("show", "tomatoes") == "# Tomatoes\n\nwater them\n")
        #expect(try agent.succeed("agent", "status").contains("unlocked; locks in"))
        let missing = try agent.run("show", "cucumbers")
        #expect(missing.exitCode == 66)
        #expect(missing.errorText.contains("core.item.not-found"))
        #expect(try agent.succeed("lock") == "Locked.\n")
        #expect(try agent.run("show", "tomatoes").exitCode == 69)
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
        #expect(try agent.run("vault", "ls").exitCode == 69)
        #expect(try agent.succeed("agent", "status").contains("another coffret changed its keys"))
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
              printf '# Note %s\\n' $i | "$0" new --quiet > /dev/null & "$0" ls > /dev/null &
            done
            wait
            """
        _ = try ProcessRunner.run(
            "/bin/bash", ["-c", script, CoffretRunner.executable],
            environment: agent.runner.environment(agent.environment()))
        #expect(try agent.succeed("ls").split(separator: "\n").count == 6)
    }

    @Test("an agent that was killed leaves nothing that stands in the way of the next")
    func killed() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let first = try #require(agent.processID)
        kill(first, SIGKILL)
        #expect(try agent.run("ls").exitCode == 69, "without the agent the command opens the store by itself")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try #require(agent.processID) != first)
        #expect(try agent.run("ls").exitCode == 0)
    }

    @Test("R29, R30: after three wrong tries the next has to wait, also in a new agent")
    func attempts() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        for _ in 0..<3 {
            let wrong = try agent.unlock(passphrase: "wrong")
            #expect(wrong.exitCode == 67)
            #expect(wrong.errorText.contains("keys.unlock-failed"))
        }
        try agent.stop()
        let refused = try agent.unlock()
        #expect(refused.exitCode == 85, "even the right one has to wait")
        #expect(refused.errorText.contains("too many wrong tries; try again in"))
        #expect(try agent.succeed("agent", "status").contains("nothing was unlocked"))
        Thread.sleep(forTimeInterval: 5.2)
        #expect(try agent.unlock().exitCode == 0)
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
        #expect(try agent.run("ls", environment: ["COFFRET_AGENT": "off"]).exitCode == 69)
        unsafe chmod(agent.socketFolder, 0o700)
        try agent.stop()
        unsafe chmod(agent.socketFolder, 0o755)
        let started = try ProcessRunner.run(
            AgentRunner.agentExecutable, ["--foreground"],
            environment: agent.runner.environment(agent.environment()), timeoutSeconds: 20)
        #expect(started.exitCode == 69)
        #expect(started.errorText.contains("net.directory.untrusted"))
    }

    @Test("Ctrl-C at the client ends the command in the agent")
    func interrupted() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        // The command waits for a text that does not come.
        let script = "mkfifo w; exec 3<>w; \"$0\" new <w & sleep 1; kill -INT $!; wait $!; echo \"ended with $?\""
        let result = try ProcessRunner.run(
            "/bin/bash", ["-m", "-c", script, CoffretRunner.executable],
            environment: agent.runner.environment(agent.environment()), directory: agent.runner.workPath,
            timeoutSeconds: 60)
        #expect(result.text.contains("ended with 130"))
        let children = try String(
            contentsOfFile: "/proc/\(#require(agent.processID))/task/\(#require(agent.processID))/children",
            encoding: .utf8)
        #expect(
            children.trimmingCharacters(in: .whitespacesAndNewlines) == "", "the command goes on without its client")
        #expect(try agent.succeed("ls") == "")
    }
}
