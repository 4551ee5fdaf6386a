// Syncing where an agent has the store unlocked. The one thing to keep true: no passphrase reaches a command here but
// the one that unlocks.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Agent and sync", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct AgentSyncTests {
    @Test("an unlocked store syncs without a passphrase, and says what is true when the server is away")
    func commands() throws {
        let server = try ServerRunner()
        let agent = try AgentRunner()
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        _ = try agent.unlock()
        try agent.runner.makeNote("Tomatoes")
        #expect(try agent.succeed("vault", "sync", "Personal").contains("on the server now"))
        #expect(try agent.succeed("device", "ls").contains("this device"))
        #expect(try agent.succeed("server", "status").contains("answers"))
        #expect(try agent.succeed("sync").contains("up to date"))
        let synced = try agent.succeed("status")
        #expect(synced.contains("nothing waits to be sent; last synced"), "\(synced)")

        server.stop()
        try agent.succeed("new", input: "Written on a train")
        let offline = try agent.run("sync", "--patience", "1s")
        #expect(offline.exitCode == 90, "\(offline.errorText)")
        #expect(offline.errorText.contains("1 change waits to be sent; last synced"), "\(offline.errorText)")
        #expect(offline.errorText.contains("trying again in 1 s"), "\(offline.errorText)")
        #expect(try agent.succeed("status").contains("1 change waits to be sent"))
        try server.start()
        // The agent may have been faster.
        let back = try agent.succeed("sync")
        #expect(back.contains("sent 1 change") || back.contains("up to date"), "\(back)")
        #expect(try agent.succeed("status").contains("nothing waits to be sent"))
        try agent.stop()
    }

    /// Two devices of one person, each with an agent, and a vault that both have.
    private struct World {
        let server: ServerRunner
        let first: AgentRunner
        let second: AgentRunner

        init() throws {
            server = try ServerRunner()
            first = try AgentRunner()
            second = try AgentRunner(makesStore: false)
            try first.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            try first.runner.makeNote("Tomatoes")
            try first.runner.succeed("vault", "sync", "Personal")
            try DevicePairing.pair(second.runner, first.runner, server, name: "Second")
            for agent in [first, second] { #expect(try agent.unlock().exitCode == 0) }
            for agent in [first, second] {
                try Waiting.until("connected") { try World.state(agent) == "connected" }
            }
        }

        static func state(_ agent: AgentRunner) throws -> String? {
            let text = try agent.succeed("agent", "status", "--json")
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            return (object?["stores"] as? [[String: Any]])?.first?["sync"] as? String
        }

        func stop() throws { for agent in [first, second] { try agent.stop() } }
    }

    @Test("an agent reads the server's log by itself, and again with news of a link (R85)")
    func keyLog() throws {
        let world = try World()
        func size() throws -> Int {
            let text = try world.first.succeed("server", "log", "--json")
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            return object?["size"] as? Int ?? 0
        }
        try world.second.succeed("server", "log", "--check")
        let text = try world.second.succeed("server", "log", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let known = try #require(object?["size"] as? Int)
        try Waiting.until("the log was read") { try size() == known }
        try world.second.succeed("device", "rename", "Second", "Other")
        try Waiting.until("the link was looked for") { try size() == known + 1 }
        try world.stop()
    }

    private func waitForTitle(_ title: String, on agent: AgentRunner) throws {
        try Waiting.until(title) { try agent.succeed("ls").contains(title) }
    }

    @Test("an edit on one device appears on the other without any command, whatever wrote it")
    func continuous() throws {
        let world = try World()
        try waitForTitle("Tomatoes", on: world.second)
        try world.first.succeed("new", input: "By the first")
        try waitForTitle("By the first", on: world.second)
        try world.second.succeed("new", input: "By the second")
        try waitForTitle("By the second", on: world.first)
        // A command that knows of no agent.
        try world.first.runner.makeNote("Without an agent")
        try waitForTitle("Without an agent", on: world.second)
        // A vault that is new to the other device: its keys come by mail.
        try world.first.succeed("vault", "new", "Garden")
        try world.first.succeed("new", "--vault", "Garden", input: "Beans")
        try world.first.succeed("vault", "sync", "Garden")
        try Waiting.until("Beans") {
            try world.second.run("ls", "--vault", "Garden").text.contains("Beans")
        }
        try world.second.succeed("new", "--vault", "Garden", input: "Peas")
        try Waiting.until("Peas") { try world.first.succeed("ls", "--vault", "Garden").contains("Peas") }
        for agent in [world.first, world.second] { try agent.runner.succeed("fsck", "--vault", "Garden") }
        try world.stop()
    }

    @Test("a vault that cannot be read when something was written in it: the agent says so, and goes on once it can")
    func unreadable() throws {
        let world = try World()
        try waitForTitle("Tomatoes", on: world.second)
        try Waiting.until("connected") { try World.state(world.first) == "connected" }
        let vaults = world.first.runner.storePath + "/vaults"
        let vault = vaults + "/" + (try #require(FileManager.default.contentsOfDirectory(atPath: vaults).first))
        let manifest = try Data(contentsOf: URL(fileURLWithPath: vault + "/manifest"))
        try Data(manifest.reversed()).write(to: URL(fileURLWithPath: vault + "/manifest"), options: .atomic)
        // As somebody who writes there would do it.
        try Data().write(to: URL(fileURLWithPath: vault + "/journal/touched"))
        try FileManager.default.removeItem(atPath: vault + "/journal/touched")
        let records = world.first.runner.folder.file("home/.local/state/coffret/sync")
        try Waiting.until("a word of it", seconds: 30) {
            guard let files = FileManager.default.enumerator(atPath: records) else { return false }
            return files.compactMap { $0 as? String }.contains { name in
                let bytes = try? Data(contentsOf: URL(fileURLWithPath: records + "/" + name))
                return bytes?.range(of: Data("storage.".utf8)) != nil
            }
        }
        try manifest.write(to: URL(fileURLWithPath: vault + "/manifest"), options: .atomic)
        let status = try world.first.succeed("status", "--vault", "Personal")
        #expect(status.contains("damaged"), "\(status)")
        try world.first.succeed("new", input: "After the repair")
        try waitForTitle("After the repair", on: world.second)
        #expect(try world.first.succeed("status", "--vault", "Personal").contains("nothing waits to be sent"))
        try world.stop()
    }

    @Test("a server that is killed and comes back: nothing is lost, the status says what is true")
    func serverAway() throws {
        let world = try World()
        try waitForTitle("Tomatoes", on: world.second)
        world.server.stop(SIGKILL)
        try Waiting.until("waiting") { try World.state(world.first) == "waiting" }
        try world.first.succeed("new", input: "While it was away")
        let status = try world.first.succeed("status", "--vault", "Personal")
        #expect(status.contains("1 change waits to be sent"), "\(status)")
        #expect(status.contains("trying again"), "\(status)")
        try world.server.start()
        try waitForTitle("While it was away", on: world.second)
        try Waiting.until("connected") { try World.state(world.first) == "connected" }
        #expect(try world.first.succeed("status").contains("nothing waits to be sent"))
        try world.stop()
    }

    @Test("locked, or switched off, the agent does not sync; unlocked and switched on it does")
    func locked() throws {
        let world = try World()
        try waitForTitle("Tomatoes", on: world.second)
        let agent = try #require(world.second.processID)
        // That of the last command ends a moment after its answer.
        try Waiting.until("only the process that syncs is left") { Self.children(of: agent).count == 1 }
        try world.second.succeed("lock")
        #expect(Self.children(of: agent).isEmpty, "the process that syncs ends with the lock")
        try world.first.succeed("new", input: "For later")
        try Waiting.until("sent") { try world.first.succeed("status").contains("nothing waits to be sent") }
        #expect(try !world.second.runner.succeed("ls").contains("For later"))
        _ = try world.second.unlock()
        try waitForTitle("For later", on: world.second)

        try world.second.succeed("agent", "settings", "--sync", "off")
        try Waiting.until("off") { try World.state(world.second) == "off" }
        try world.first.succeed("new", input: "Not yet")
        try Waiting.until("sent") { try world.first.succeed("status").contains("nothing waits to be sent") }
        #expect(try !world.second.succeed("ls").contains("Not yet"))
        #expect(try world.second.succeed("sync").contains("received 1 change"), "a command syncs all the same")
        try world.second.succeed("agent", "settings", "--sync", "on")
        try Waiting.until("connected") { try World.state(world.second) == "connected" }
        try world.stop()
    }

    @Test("it works through a proxy, and comes back when that was away")
    func proxy() throws {
        let server = try ServerRunner()
        let proxy = try ConnectProxy()
        let agent = try AgentRunner(environment: ["https_proxy": proxy.url])
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try agent.runner.succeed("vault", "sync", "Personal")
        _ = try agent.unlock()
        try Waiting.until("connected") { try World.state(agent) == "connected" }
        #expect(try agent.succeed("sync").contains("up to date"))
        proxy.stop()
        try Waiting.until("waiting") { try World.state(agent) == "waiting" }
        #expect(try agent.run("sync", "--patience", "1s").exitCode == 90, "nothing goes around the proxy")
        try proxy.start()
        try Waiting.until("connected") { try World.state(agent) == "connected" }
        try agent.stop()
    }

    @Test(
        "a device that joins the account is announced on the desktop of the others",
        .enabled(if: MockDesktop.isAvailable, "needs dbus-daemon and python3-dbusmock"))
    func notification() throws {
        let desktop = try MockDesktop()
        let server = try ServerRunner()
        let agent = try AgentRunner(environment: ["DBUS_SESSION_BUS_ADDRESS": desktop.address])
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try agent.runner.succeed("vault", "sync", "Personal")
        let second = try CoffretRunner()
        try DevicePairing.pair(second, agent.runner, server, name: "Second")
        _ = try agent.unlock()
        try Waiting.until("connected") { try World.state(agent) == "connected" }
        #expect(desktop.shown.isEmpty, "it was added here")
        // Another one lets the third in, while this one is connected.
        try DevicePairing.pair(try CoffretRunner(), second, server, name: "Third")
        try Waiting.until("notification") { !desktop.shown.isEmpty }
        #expect(desktop.shown.count == 1 && desktop.shown[0].contains("Third"), "\(desktop.shown)")
        #expect(try agent.succeed("device", "ls").contains("Third"))
        try agent.stop()
    }

    @Test(
        "R26: a device that asks to join is a number on the desktop and in the list, and joins without one being typed",
        .enabled(if: MockDesktop.isAvailable, "needs dbus-daemon and python3-dbusmock"))
    func request() throws {
        let desktop = try MockDesktop()
        let server = try ServerRunner()
        let agent = try AgentRunner(environment: ["DBUS_SESSION_BUS_ADDRESS": desktop.address])
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try agent.runner.succeed("vault", "sync", "Personal")
        _ = try agent.unlock()
        try Waiting.until("connected") { try World.state(agent) == "connected" }
        let status = try agent.succeed("server", "status")
        let account = try #require(status.firstMatch(of: /([0-9a-f]{4}-){3}[0-9a-f]{4}/), "\(status)")
        let none = try agent.runner.run("device", "approve")
        #expect(none.exitCode == 66 && none.errorText.contains("--account \(account.0)"), "\(none.errorText)")
        func pair(_ runner: CoffretRunner, _ account: String) throws -> TerminalProcess {
            try DevicePairing.terminal(
                runner, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--name", "<b>Trust me</b>",
                "--account", account, "--effort", "light")
        }
        let newcomers = try (0..<3).map { _ in try CoffretRunner() }
        defer { withExtendedLifetime(newcomers) {} }
        let requester = try pair(newcomers[0], String(account.0))
        let shown = try requester.wait(for: "or you type it whole")
        let number = try #require(shown.firstMatch(of: /number ([0-9a-f]{4} [0-9a-f]{4})/)).1
        try Waiting.until("notification") { !desktop.shown.isEmpty }
        #expect(desktop.shown.count == 1 && desktop.shown[0].contains(number), "\(desktop.shown)")
        #expect(!desktop.shown[0].contains("Trust"), "nothing that the device says of itself: \(desktop.shown)")
        let list = try agent.succeed("device", "ls")
        #expect(list.contains("asks to join: coffret device approve") && !list.contains("Trust"), "\(list)")
        #expect(list.contains(number.replacing(" ", with: "")) && list.contains("since"), "\(list)")
        let unattended = try agent.runner.run("device", "approve")
        #expect(unattended.exitCode == 83 && unattended.errorText.contains(number), "\(unattended.errorText)")
        let approver = try DevicePairing.terminal(agent.runner, "device", "approve")
        try approver.wait(for: "with the number \(number)")
        try approver.answer("show that number? [y/N]", "y")
        let first = try requester.wait(for: "Type the code that")
        try approver.wait(for: "shows: ")
        approver.type(try DevicePairing.code(first) + "\n")
        requester.type(try DevicePairing.code(approver.wait(for: "on the other device")) + "\n")
        try requester.wait(for: "one of yours now")
        try approver.wait(for: "one of your devices now")
        #expect(try !agent.runner.succeed("device", "ls").contains("asks to join"))

        // Two ask at once: none is chosen, and the beginning of the number says which.
        let waiting = try newcomers[1...].map { try pair($0, String(account.0)) }
        let numbers = try waiting.map { process in
            let text = try process.wait(for: "or you type it whole")
            return String(try #require(text.firstMatch(of: /number ([0-9a-f]{4} [0-9a-f]{4})/)).1)
        }
        let several = try agent.runner.run("device", "approve")
        #expect(several.exitCode == 65 && numbers.allSatisfy(several.errorText.contains), "\(several.errorText)")
        let chosen = try DevicePairing.terminal(agent.runner, "device", "approve", numbers[1])
        try chosen.wait(for: "shows: ")
        #expect(try agent.runner.run("device", "approve", "00000000").exitCode == 66)
        try agent.stop()
    }

    @Test("with nothing to do, the process that syncs does nothing")
    func idle() throws {
        let world = try World()
        try waitForTitle("Tomatoes", on: world.second)
        let agent = try #require(world.second.processID)
        let worker = try #require(Self.children(of: agent).first)
        // Until its last word is said.
        var before = Self.work(of: worker)
        try Waiting.until("quiet") {
            usleep(2_500_000)
            defer { before = Self.work(of: worker) }
            return Self.work(of: worker).switches - before.switches <= 1
        }
        before = Self.work(of: worker)
        usleep(3_000_000)
        let after = Self.work(of: worker)
        #expect(after.switches - before.switches <= 2, "woke up \(after.switches - before.switches) times")
        #expect(after.ticks - before.ticks <= 1)
        try world.stop()
    }

    private static func children(of process: pid_t) -> [pid_t] {
        let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    /// How often a process waited, and how long it ran, in the kernel's ticks.
    private static func work(of process: pid_t) -> (switches: Int, ticks: Int) {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
        let statistics = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let fields = statistics.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
        return (line.flatMap { Int($0.split(whereSeparator: \.isWhitespace).last ?? "") } ?? 0, ticks)
    }
}

/// A proxy that joins clients and hosts by CONNECT and keeps nothing.
private final class ConnectProxy {
    private var process: SpawnedProcess?
    private let port: ReservedPort
    var url: String { "http://127.0.0.1:\(port.number)" }

    init() throws {
        port = try ReservedPort()
        try start()
    }

    deinit { stop() }

    func start() throws {
        let process = try SpawnedProcess("/usr/bin/python3", ["-c", Self.program, "\(port.number)"], output: .pipe)
        _ = try #require(process.readOutputLine(), "the proxy ended")
        self.process = process
    }

    func stop() {
        process?.kill()
        process = nil
    }

    private static let program = """
        import socket, socketserver, sys, threading

        def copy(a, b):
            try:
                while data := a.recv(65536): b.sendall(data)
            except OSError: pass
            for end in (a, b):
                try: end.shutdown(socket.SHUT_RDWR)
                except OSError: pass

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                head = b""
                while b"\\r\\n\\r\\n" not in head: head += self.request.recv(1)
                host, port = head.split()[1].decode().rsplit(":", 1)
                other = socket.create_connection((host, int(port)))
                self.request.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
                threading.Thread(target=copy, args=(other, self.request), daemon=True).start()
                copy(self.request, other)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

        server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """
}
