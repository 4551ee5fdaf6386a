// A status of syncing that follows what happens, beside an agent and without one. The one thing to keep true: what is
// waited for is a state that only the event brings, so that a watch that sleeps fails the test.

import CoffretTestSupport
import Foundation
import Synchronization
import Testing

@Suite(
    "Status that follows", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct SyncWatchTests {
    /// A store with an agent that syncs with a server.
    private struct World {
        let server: ServerRunner
        let agent: AgentRunner
        let other: CoffretRunner

        init() throws {
            server = try ServerRunner()
            agent = try AgentRunner()
            other = try CoffretRunner()
            try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            try agent.runner.makeNote("Tomatoes")
            try agent.runner.succeed("vault", "sync", "Personal")
            try DevicePairing.pair(other, agent.runner, server, name: "Other")
            try other.succeed("sync")
        }

        func watch(_ options: String..., terminal: String = "xterm-256color", columns: UInt16 = 80) throws
            -> TerminalProcess
        {
            try TerminalProcess(
                CoffretRunner.executable, ["sync", "--status", "--watch"] + options,
                environment: agent.runner.environment(agent.environment(["TERM": terminal, "NO_COLOR": "1"])),
                directory: agent.runner.workPath, columns: columns)
        }
    }

    @Test("beside an agent: what waits, what comes, a server that goes and comes back; Ctrl-C ends it")
    func agent() throws {
        let world = try World()
        _ = try world.agent.unlock()
        let drawn = try world.watch()
        let said = try world.watch(terminal: "dumb")
        let objects = try world.watch("--json", columns: 2_000)
        try drawn.wait(for: "Other")
        try drawn.wait(for: "connected, in both directions")
        // In what order they come is the agent's business.
        for text in ["1 item\r\n", "Other: has all that is here", "To send: nothing", "Syncing: connected"] {
            while !said.screen.contains(text) { try said.wait(for: "\n") }
        }
        try objects.wait(for: "\"itemCount\":1,")

        // From the other device.
        try world.other.makeNote("By the other")
        try world.other.succeed("sync")
        try drawn.wait(for: ", 2 items")
        try said.wait(for: "This device: state ")
        try objects.wait(for: "\"itemCount\":2,")

        // From here, while nobody can take it.
        world.server.stop(SIGKILL)
        try world.agent.succeed("new", input: "While it was away")
        try drawn.wait(for: "To send      1 change, ")
        try drawn.wait(for: "the server cannot be reached; trying again")
        try said.wait(for: "To send: 1 change, ")
        try said.wait(for: "Syncing: the server cannot be reached")
        try objects.wait(for: "\"pending\":1,")
        try objects.wait(for: "\"agentSync\":\"waiting\"")
        try world.server.start()
        try drawn.wait(for: "To send      nothing")
        try drawn.wait(for: "connected, in both directions")
        try said.wait(for: "To send: nothing")
        try objects.wait(for: "\"pending\":0,")
        // The other's word about it is heard when a sync asks for it.
        try world.other.succeed("sync")
        try world.agent.succeed("sync")
        try said.wait(for: "Other: has all that is here")

        // A line is drawn over, and said once.
        #expect(drawn.screen.contains("\u{1B}[J"))
        #expect(!said.screen.contains("\u{1B}["))
        for watch in [drawn, said, objects] {
            watch.type("\u{3}")
            #expect(try watch.finish() == 0, "\(watch.screen)")
        }
        let last = try #require(objects.screen.split(separator: "\r\n").last { $0.hasPrefix("{") })
        let object = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
        let vault = try #require((object?["vaults"] as? [[String: Any]])?.first)
        #expect(vault["version"] as? String == vault["serverVersion"] as? String)
        try world.agent.stop()
    }

    @Test("without an agent: the server says that there is something, and coffret sync fetches it")
    func server() throws {
        let world = try World()
        let passphrase = ["COFFRET_AGENT": "off", "COFFRET_PASSPHRASE_FILE": world.agent.runner.passphraseFile]
        let watch = try world.agent.runner.onTerminal(
            "sync", "--status", "--watch", environment: passphrase.merging(["TERM": "dumb"]) { $1 })
        try watch.wait(for: "Syncing: by coffret sync only; the server is listened to")
        try world.other.makeNote("By the other")
        try world.other.succeed("sync")
        try watch.wait(for: "Server: has a newer state")
        try watch.wait(for: "To receive: changes that the server has")
        // Whenever it looks, also in the middle of a sync: a state, its items and the server's word of it go together.
        try whileLookedAt(world.agent.runner.storePath) { try world.agent.runner.succeed("sync") }
        try watch.wait(for: ", 2 items")
        try watch.wait(for: "Server: the same state")
        world.server.stop(SIGKILL)
        try watch.wait(for: "the server cannot be reached, asked again")
        try world.agent.runner.makeNote("While it was away")
        try watch.wait(for: "To send: 1 change, ")
        try world.server.start()
        try watch.wait(for: "the server is listened to")
        watch.type("\u{3}")
        #expect(try watch.finish() == 0, "\(watch.screen)")

        // Nothing happens meanwhile that it could tell of.
        let line = try ProcessRunner.run(
            "/bin/sh", ["-c", "\(CoffretRunner.executable) sync --status --watch --json | head -n 1"],
            environment: world.agent.runner.environment(passphrase), timeoutSeconds: 60)
        #expect(line.exitCode == 0 && line.text.hasPrefix("{\"vaults\""), "\(line.text) \(line.errorText)")

        let once = try world.agent.runner.succeed("sync", "--status")
        for words in ["\"Personal\"\n  This device  state ", ", 3 items\n", "  To send      1 change, "] {
            #expect(once.contains(words), "\(once)")
        }
        #expect(try world.agent.runner.run("sync", "--watch").exitCode == 64)

        // Written while it begins: whatever it had seen of the vault by then, it comes to show it.
        let early = try world.agent.runner.onTerminal(
            "sync", "--status", "--watch", environment: passphrase.merging(["TERM": "dumb"]) { $1 })
        for number in 1...3 { try world.agent.runner.makeNote("While it began, \(number)") }
        try early.wait(for: ", 6 items")
        early.type("\u{3}")
        #expect(try early.finish() == 0, "\(early.screen)")
    }

    /// Does something while the watch of a store is made to look again and again.
    private func whileLookedAt(_ store: String, _ body: () throws -> Void) throws {
        let isOver = Mutex(false)
        let ended = DispatchSemaphore(value: 0)
        Thread {
            while !isOver.withLock(\.self) {
                try? Data().write(to: URL(fileURLWithPath: store + "/nothing"))
                Thread.sleep(forTimeInterval: 0.01)
            }
            ended.signal()
        }.start()
        defer {
            isOver.withLock { $0 = true }
            ended.wait()
        }
        try body()
    }

    @Test(
        "watching is no use of the store: it locks in its time, which ends the watch",
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
    func idle() throws {
        let world = try World()
        _ = try world.agent.unlock()
        let process = try #require(world.agent.processID)
        let watch = try world.watch(terminal: "dumb")
        try watch.wait(for: ", 1 item\r\n")
        // Half of the interval: a busy machine needs its time for what is in between.
        try ClockLeap.move(process, to: 300)
        // Written by a command that knows of no agent, and seen by a process of the agent.
        try world.agent.runner.makeNote("Later")
        try watch.wait(for: ", 2 items\r\n")
        try ClockLeap.move(process, to: 650)
        #expect(try world.agent.succeed("agent", "status").contains("it was not used for a while"))
        #expect(try watch.finish() == 86, "\(watch.screen)")
        #expect(watch.screen.contains("the store was locked"), "\(watch.screen)")
        try world.agent.stop()
    }
}
