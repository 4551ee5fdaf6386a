// With a TPM the agent's memory holds no key while nobody uses the store. The one thing to keep true: the key is found
// before and after, by the same search.

import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite(
    "Keys that nobody uses, with a TPM", .enabled(if: SoftwareTPM.isAvailable, "swtpm is missing"),
    .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
struct IdleKeysTests {
    /// An agent whose store is unlocked, with its key.
    private final class World {
        let tpm: SoftwareTPM
        let agent: AgentRunner
        let processID: pid_t
        private var key: [UInt8]
        private var seconds = 0

        /// - Parameter prepare: called with the store, before it is unlocked.
        init(_ prepare: (CoffretRunner) throws -> Void = { _ in }) throws {
            tpm = try SoftwareTPM()
            agent = try AgentRunner(environment: ["COFFRET_TPM": tpm.transport])
            try prepare(agent.runner)
            try #require(try agent.unlock().exitCode == 0)
            try agent.succeed("new", input: "# Tomatoes\n")
            key = try AgentMemoryTests.storageKey(of: agent.runner)
            processID = try #require(agent.processID)
        }

        /// One whose vault is at a server, connected to it.
        static func syncing(
            with server: ServerRunner, _ prepare: (CoffretRunner) throws -> Void = { _ in }
        ) throws -> World {
            let world = try World { runner in
                try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
                try runner.succeed("vault", "sync", "Personal")
                try prepare(runner)
            }
            try Waiting.until("connected") { try world.isConnected() }
            return world
        }

        /// Whether the key, or half of it, lies in the memory of the agent or of one of its processes.
        func isInMemory() throws -> Bool {
            let dump = try MemoryDump(of: processID)
            return dump.contains(key.prefix(16)) || dump.contains(key.suffix(16))
        }

        /// Lets time pass without a command, for the agent and the process that syncs, until the keys are sealed.
        func rest() throws {
            seconds += 30
            try ClockLeap.move(processID, to: seconds)
            for process in try ProcessFiles.children(of: processID) {
                do {
                    try ClockLeap.move(process, to: seconds)
                } catch {
                    // One that is ending, such as that of a command; the one that syncs stays.
                    try Waiting.until("\(process) has ended") {
                        try !ProcessFiles.children(of: processID).contains(process)
                    }
                }
            }
            key = try AgentMemoryTests.storageKey(of: agent.runner)
            try Waiting.until("the keys are sealed", everyMilliseconds: 250) {
                // A process that ends while its memory is read is one more reason to look again.
                try ProcessFiles.children(of: processID).count <= 1 && (try? isInMemory()) == false
            }
        }

        /// Lets time pass for the agent alone.
        func leap() throws {
            seconds += 30
            try ClockLeap.move(processID, to: seconds)
        }

        /// What the agent says of its syncing; asking is no use of the store.
        func isConnected() throws -> Bool {
            try agent.succeed("agent", "status", "--json").contains(#""sync":"connected""#)
        }
    }

    @Test("R31: while nobody uses the store the key is nowhere in memory; a command has it again")
    func sealed() throws {
        let world = try World()
        defer { try? world.agent.stop() }
        #expect(try world.isInMemory(), "the search finds it while the store is used")
        for _ in 0..<2 {
            try world.rest()
            #expect(try !world.isInMemory())
            #expect(try world.agent.succeed("agent", "status").contains("unlocked; locks in"))
            #expect(try !world.isInMemory(), "asking for the state is no use")
            #expect(try world.agent.succeed("show", "tomatoes") == "# Tomatoes\n")
            #expect(try world.isInMemory(), "the next command of a series does not wait for the TPM")
        }
        try world.rest()
        try world.agent.succeed("lock")
        #expect(try world.agent.run("ls").exitCode == 86)
    }

    @Test("R31: several commands at once each get the keys; an SSH client as well")
    func together() throws {
        let world = try World()
        defer { try? world.agent.stop() }
        try world.rest()
        let agent = world.agent
        let runs = try (0..<5).map { _ in
            try SpawnedProcess(
                CoffretRunner.executable, ["show", "tomatoes"],
                environment: agent.runner.environment(agent.environment()), directory: agent.runner.workPath,
                output: .pipe, error: .inherited)
        }
        for run in runs {
            #expect(String(decoding: run.readOutputToEnd(), as: UTF8.self) == "# Tomatoes\n")
            #expect(run.wait().code == 0)
        }
        let place = try agent.succeed("ssh-agent", "--json")
        let socket = try #require(
            (try JSONSerialization.jsonObject(with: Data(place.utf8)) as? [String: Any])?["socket"] as? String)
        try world.rest()
        let listed = try ProcessRunner.run("/usr/bin/ssh-add", ["-l"], environment: ["SSH_AUTH_SOCK": socket])
        #expect((listed.text + listed.errorText).contains("no identities"))
    }

    @Test(
        "R31: the process that syncs seals its key as well, and what another device writes comes all the same",
        .enabled(if: ServerRunner.isAvailable, "needs coffret-server"))
    func syncing() throws {
        let (server, second) = (try ServerRunner(), try CoffretRunner())
        let world = try World.syncing(with: server) { runner in
            try DevicePairing.pair(second, runner, server, name: "Second")
        }
        defer { try? world.agent.stop() }
        let worker = try ProcessFiles.children(of: world.processID)
        for title in ["Beans", "Peas"] {
            try world.rest()
            #expect(try world.isConnected(), "the connection stays")
            try second.makeNote(title)
            try second.succeed("sync")
            // Without the agent, whose keys stay sealed.
            try Waiting.until(title) { try world.agent.runner.succeed("ls").contains(title) }
        }
        try world.rest()
        // What is written here without the agent goes out.
        try world.agent.runner.makeNote("Leeks")
        try Waiting.until("Leeks") {
            try second.succeed("sync")
            return try second.succeed("ls").contains("Leeks")
        }
        #expect(try ProcessFiles.children(of: world.processID) == worker, "the same process, all the time")
        // A TPM that forgot the key: the store locks, and says so.
        try world.rest()
        world.tpm.stop()
        try second.makeNote("Chives")
        try second.succeed("sync")
        try Waiting.until("locked") {
            try world.agent.succeed("agent", "status").contains("locked (the TPM did not give its keys back)")
        }
        #expect(try ProcessFiles.children(of: world.processID).isEmpty)
        try world.tpm.start()
        #expect(try world.agent.unlock().exitCode == 0)
        try Waiting.until("Chives") { try world.agent.succeed("ls").contains("Chives") }
    }

    @Test(
        "R31: a status that follows gets the keys for as long as a look takes, and leaves them sealed",
        .enabled(if: ServerRunner.isAvailable, "needs coffret-server"))
    func watching() throws {
        let server = try ServerRunner()
        let world = try World.syncing(with: server)
        defer { try? world.agent.stop() }
        try world.rest()
        let watch = try TerminalProcess(
            CoffretRunner.executable, ["sync", "--status", "--watch"],
            environment: world.agent.runner.environment(world.agent.environment(["TERM": "dumb"])),
            directory: world.agent.runner.workPath)
        try watch.wait(for: ", 1 item\r\n")
        // Sooner than 20 seconds after a use: a look is none.
        try Waiting.until("the keys are sealed", seconds: 15) { (try? world.isInMemory()) == false }
        watch.type("\u{3}")
        #expect(try watch.finish() == 0, "\(watch.screen)")
    }

    @Test(
        "R31: a sync that could not start, because the process that asks the TPM was ended, starts again later",
        .enabled(if: ServerRunner.isAvailable, "needs coffret-server"))
    func syncStartsAgain() throws {
        let server = try ServerRunner()
        let world = try World.syncing(with: server)
        defer { try? world.agent.stop() }
        try world.rest()
        world.tpm.pause(true)
        let worker = try #require(try ProcessFiles.children(of: world.processID).first)
        kill(worker, SIGKILL)
        // The one that would open the keys for the next sync waits for the TPM.
        var asking: pid_t?
        try Waiting.until("the TPM is asked") {
            asking = try ProcessFiles.children(of: world.processID).first { $0 != worker }
            return asking != nil
        }
        kill(try #require(asking), SIGKILL)
        try Waiting.until("nobody asks") { try ProcessFiles.children(of: world.processID).isEmpty }
        world.tpm.pause(false)
        #expect(try !world.isConnected())
        try world.leap()
        try Waiting.until("connected again") { try world.isConnected() }
    }

    @Test(
        "R31: a session nobody asks ends, and its keys with it; a client that asks again does not notice",
        arguments: [false, true])
    func session(isJSON: Bool) throws {
        let world = try World()
        defer { try? world.agent.stop() }
        var variables = world.agent.runner.environment().filter { !$0.key.hasPrefix("COFFRET_") }
        variables["XDG_RUNTIME_DIR"] = world.agent.runtimeFolder
        let store = try #require(AgentLocation.canonical(world.agent.runner.storePath))
        let session = try #require(
            try SessionClient.open(ProcessEnvironment(variables), store: store, isJSON: isJSON))
        for round in 0..<2 {
            #expect(try session.perform(ItemList()).items.map(\.title) == ["Tomatoes"], "round \(round)")
            #expect(try world.isInMemory(), "the session has the key while it is used")
            try world.rest()
            #expect(try ProcessFiles.children(of: world.processID).count <= 1, "its process is gone")
        }
        // A change is made once, though its request crossed the end of the session.
        var create = ItemCreate()
        create.text = "# Beans"
        _ = try session.perform(create)
        #expect(try session.perform(ItemList()).total == 2)
    }

    @Test("a TPM that is gone, or was started anew, locks the store, and the next command says why", arguments: [0, 1])
    func tpmGone(restarts: Int) throws {
        let world = try World()
        defer { try? world.agent.stop() }
        try world.rest()
        world.tpm.stop()
        if restarts == 1 { try world.tpm.start() }
        let refused = try world.agent.run("ls")
        #expect(refused.exitCode == 86)
        #expect(refused.errorText.contains("the store is locked (the TPM did not give its keys back)"))
        #expect(refused.text.isEmpty)
        let status = try world.agent.succeed("agent", "status")
        #expect(status.contains("locked (the TPM did not give its keys back)"))
        #expect(try !world.isInMemory())
        if restarts == 0 { try world.tpm.start() }
        #expect(try world.agent.unlock().exitCode == 0, "the passphrase still opens it")
        #expect(try world.agent.succeed("show", "tomatoes") == "# Tomatoes\n")
    }
}
