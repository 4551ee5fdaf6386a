// The agent and time: what fakes clocks, sleep and the screen cannot keep a store unlocked.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Agent and time")
struct AgentTimeTests {
    /// Starts the agent itself, with variables of its own.
    private func start(_ agent: AgentRunner, _ changes: [String: String?], command: [String] = []) throws
        -> SpawnedProcess
    {
        let words = command + [AgentRunner.agentExecutable, "--foreground"]
        let process = try SpawnedProcess(
            words[0], Array(words.dropFirst()), environment: agent.runner.environment(agent.environment(changes)),
            error: .inherited)
        try Waiting.until("the agent answers") {
            guard process.isRunning else { throw CoffretRunner.Failed(text: "the agent ended") }
            return try agent.succeed("agent", "status").hasPrefix("The agent runs")
        }
        return process
    }

    /// An agent under libfaketime, which tells it the time that the file `clock` says.
    private func startFaked(_ agent: AgentRunner, clock: String) throws -> SpawnedProcess {
        try "+0".write(toFile: clock, atomically: true, encoding: .utf8)
        return try start(
            agent, ["LD_PRELOAD": Faketime.library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1"])
    }

    @Test(
        "time moved forwards, backwards or held still while it runs: it locks when its time is up, not before or after",
        .enabled(if: Faketime.isAvailable, Faketime.missing),
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"),
        arguments: ["+30d", "-30d", "2030-01-01 00:00:00"])
    func movedTime(_ time: String) throws {
        let agent = try AgentRunner()
        let clock = agent.runner.folder.file("clock")
        let process = try startFaked(agent, clock: clock)
        defer { process.kill(SIGTERM) }
        #expect(try agent.unlock("--for", "1h").exitCode == 0)
        try time.write(toFile: clock, atomically: true, encoding: .utf8)
        #expect(try agent.run("ls").exitCode == 0, "its time is not up")
        try ClockLeap.move(process.processID, to: 1_800)
        #expect(try agent.run("ls").exitCode == 0, "its time is not up")
        try ClockLeap.move(process.processID, to: 3_600)
        #expect(try agent.run("ls").exitCode == 86)
        #expect(try agent.succeed("agent", "status").contains("its time was up"))
    }

    @Test(
        "across a suspend: the first request afterwards finds it locked, and its key gone",
        .enabled(if: Faketime.isAvailable, Faketime.missing),
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
    func suspended() throws {
        let agent = try AgentRunner()
        let clock = agent.runner.folder.file("clock")
        let process = try startFaked(agent, clock: clock)
        defer { process.kill(SIGTERM) }
        #expect(try agent.unlock("--for", "1h").exitCode == 0)
        let key = try AgentMemoryTests.storageKey(of: agent.runner)
        #expect(try MemoryDump(of: process.processID).contains(key))
        // While nothing runs two hours go by, and whoever sets the clocks of libraries says that none have.
        process.signal(SIGSTOP)
        try "2030-01-01 00:00:00".write(toFile: clock, atomically: true, encoding: .utf8)
        process.signal(SIGCONT)
        try ClockLeap.move(process.processID, to: 7_200)
        #expect(try agent.run("ls").exitCode == 86)
        #expect(try !MemoryDump(of: process.processID).contains(key.prefix(16)))
        #expect(try agent.succeed("agent", "status").contains("its time was up"))
    }

    @Test(
        "it locks by itself when nobody uses it, and says why",
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
    func idle() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let refused = try agent.run("agent", "settings", "--idle", "5m")
        #expect(refused.exitCode == 69, "changing the times needs the passphrase")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("agent", "settings", "--idle", "5m").exitCode == 69, "also while it is unlocked")
        let changed = try agent.run(
            "agent", "settings", "--idle", "5m", "--json",
            environment: ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile])
        #expect(changed.text.contains("\"idleSeconds\":300,"))
        let process = try #require(agent.processID)
        for seconds in [200, 400] {
            try ClockLeap.move(process, to: seconds)
            #expect(try agent.run("ls").exitCode == 0, "use starts the interval anew")
        }
        try ClockLeap.move(process, to: 700)
        #expect(try agent.succeed("agent", "status").contains("it was not used for a while"))
        // The times outlive the agent.
        try agent.stop()
        #expect(try agent.unlock().text.contains("after 5 min without use"))
    }

    @Test(
        "the pause after wrong tries counts time asleep",
        .enabled(if: geteuid() == 0, "a time namespace takes root"))
    func pauseAsleep() throws {
        let agent = try AgentRunner()
        for _ in 0..<3 {
            _ = try agent.unlock(passphrase: "wrong")
        }
        try LongPause.make(agent.runner)
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
            try Waiting.until("\(event) locks") { try agent.run("ls").exitCode != 0 }
            #expect(try agent.succeed("agent", "status").contains(words), "\(event)")
            if event == "sleep" {
                // The mock sees that it was given up when it looks.
                try Waiting.until("the machine may sleep") { try logind.ask("inhibitors") == "" }
            } else {
                #expect(try logind.ask("inhibitors") == "Coffret sleep delay", "it may not sleep before that is said")
            }
        }
        try logind.ask("wake")
        try Waiting.until("sleep is delayed again") { try logind.ask("inhibitors") == "Coffret sleep delay" }
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
            "/bin/sh", ["-c", "tty; exec sleep 600"], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
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
        #expect(question.contains("coffret for"))
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
