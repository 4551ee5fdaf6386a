// The agent and time: what fakes clocks, sleep and the screen cannot keep a store unlocked.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Agent and time", .enabled(if: AgentRunner.watchesAgents, AgentRunner.watchingNote))
struct AgentTimeTests {
    private static let faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"

    /// Starts the agent itself, with variables of its own.
    private func start(_ agent: AgentRunner, _ changes: [String: String?], command: [String] = []) throws
        -> SpawnedProcess
    {
        let words = command + [AgentRunner.agentExecutable, "--foreground"]
        let process = try SpawnedProcess(
            words[0], Array(words.dropFirst()), environment: agent.runner.environment(agent.environment(changes)),
            error: .inherited)
        let end = Date().addingTimeInterval(20)
        while try !agent.succeed("agent", "status").hasPrefix("The agent runs"), Date() < end { usleep(20_000) }
        return process
    }

    @Test(
        "time moved forwards and backwards while it runs: it locks when its time is up, neither before nor after",
        .enabled(if: FileManager.default.fileExists(atPath: faketime), "libfaketime is missing"),
        arguments: ["+30d", "-30d"])
    func movedTime(_ offset: String) throws {
        let agent = try AgentRunner()
        let clock = agent.runner.folder.file("clock")
        try "+0".write(toFile: clock, atomically: true, encoding: .utf8)
        let process = try start(
            agent, ["LD_PRELOAD": Self.faketime, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1"])
        defer { process.kill(SIGTERM) }
        #expect(try agent.unlock("--for", "4s").exitCode == 0)
        let unlocked = Date()
        try offset.write(toFile: clock, atomically: true, encoding: .utf8)
        #expect(try agent.run("ls").exitCode == 0, "its time is not up")
        let left = 4.1 - Date().timeIntervalSince(unlocked)
        if left > 0 { Thread.sleep(forTimeInterval: left) }
        #expect(try agent.run("ls").exitCode == 69)
        #expect(try agent.succeed("agent", "status").contains("its time was up"))
    }

    @Test("it locks by itself when nobody uses it, and says why")
    func idle() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let refused = try agent.run("agent", "settings", "--idle", "2s")
        #expect(refused.exitCode == 69, "changing the times needs the passphrase")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("agent", "settings", "--idle", "2s").exitCode == 69, "also while it is unlocked")
        let changed = try agent.run(
            "agent", "settings", "--idle", "2s", "--json",
            environment: ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile])
        #expect(changed.text.contains("\"idleSeconds\":2,"))
        Thread.sleep(forTimeInterval: 1.2)
        #expect(try agent.run("ls").exitCode == 0, "use starts the interval anew")
        Thread.sleep(forTimeInterval: 2.2)
        #expect(try agent.succeed("agent", "status").contains("it was not used for a while"))
        // The times outlive the agent.
        try agent.stop()
        #expect(try agent.unlock().text.contains("after 2 s without use"))
    }

    @Test(
        "the pause after wrong tries counts time asleep",
        .enabled(if: geteuid() == 0, "a time namespace takes root"))
    func pauseAsleep() throws {
        let agent = try AgentRunner()
        for _ in 0..<3 {
            _ = try agent.unlock(passphrase: "wrong")
        }
        try agent.stop()
        #expect(try agent.unlock().exitCode == 85)
        try agent.stop()
        // As if the machine had slept for a day: the same boot, a boot clock that has gone on.
        let process = try start(agent, [:], command: ["/usr/bin/unshare", "-T", "--boottime", "86400"])
        defer { process.kill(SIGTERM) }
        #expect(try agent.unlock().exitCode == 0)
    }

    @Test(
        "logind: the screen's lock and the machine's sleep lock every store, before the machine may sleep",
        .enabled(if: MockLogind.isAvailable, "python3-dbusmock or dbus is missing"))
    func logind() throws {
        let logind = try MockLogind()
        let agent = try AgentRunner()
        let process = try start(agent, ["DBUS_SYSTEM_BUS_ADDRESS": logind.address])
        defer { process.kill(SIGTERM) }
        #expect(try logind.ask("inhibitors") == "Coffret sleep delay")
        for (event, words) in [
            ("lock", "the screen was locked"), ("hint", "the screen was locked"), ("sleep", "went to sleep"),
        ] {
            #expect(try agent.unlock().exitCode == 0)
            #expect(try agent.run("ls").exitCode == 0)
            try logind.ask(event)
            let end = Date().addingTimeInterval(5)
            while try agent.run("ls").exitCode == 0, Date() < end { usleep(20_000) }
            #expect(try agent.succeed("agent", "status").contains(words), "\(event)")
        }
        #expect(try logind.ask("inhibitors") == "", "the machine may sleep now")
        try logind.ask("wake")
        let end = Date().addingTimeInterval(5)
        while try logind.ask("inhibitors") == "", Date() < end { usleep(20_000) }
        #expect(try logind.ask("inhibitors") == "Coffret sleep delay")
        try logind.ask("other-lock")
        #expect(try agent.unlock().exitCode == 0)
        try logind.ask("other-lock")
        usleep(300_000)
        #expect(try agent.run("ls").exitCode == 0, "another user's screen is another user's")
    }

    @Test(
        "R32: without a terminal a pinentry asks, and says which program wants to know",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/pinentry-tty"), "pinentry-tty is missing"))
    func pinentry() throws {
        let agent = try AgentRunner()
        let terminal = try TerminalProcess(
            "/bin/sh", ["-c", "tty; exec sleep 60"], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
        defer { kill(terminal.processID, SIGKILL) }
        let seen = try terminal.wait(for: "\n")
        let name = seen.trimmingCharacters(in: .whitespacesAndNewlines)
        let process = try start(
            agent, ["GPG_TTY": name, "TERM": "xterm", "COFFRET_PINENTRY": "/usr/bin/pinentry-tty"])
        defer { process.kill(SIGTERM) }
        try agent.runner.makeNote("# Tomatoes\n")
        let client = try SpawnedProcess(
            "/usr/bin/setsid", ["-w", CoffretRunner.executable, "ls"],
            environment: agent.runner.environment(agent.environment()), output: .pipe, error: .inherited)
        let question = try terminal.wait(for: "Passphrase")
        #expect(question.contains("asks for the passphrase of"))
        #expect(question.contains("coffret"))
        terminal.type("wrong\r")
        try terminal.wait(for: "not the passphrase")
        try terminal.wait(for: "Passphrase")
        terminal.type(CoffretRunner.passphrase + "\r")
        let text = String(decoding: client.readOutputToEnd(), as: UTF8.self)
        #expect(client.wait().code == 0)
        #expect(text.contains("Tomatoes"))
        #expect(try agent.run("ls").exitCode == 0, "it stays unlocked")
    }
}
