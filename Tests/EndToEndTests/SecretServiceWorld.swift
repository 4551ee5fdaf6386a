// A bus of its own with Coffret's Secret Service on it. Invariant: nothing else provides the service there, and no program is
// started by the bus.

import CoffretTestSupport
import Foundation
import Testing

/// A message bus that only this test knows.
final class PrivateBus {
    private let folder: TemporaryDirectory
    private let process: SpawnedProcess
    let address: String

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon")

    /// - Parameter services: a folder of files that say which programs the bus starts.
    init(services: String? = nil) throws {
        folder = try TemporaryDirectory("private-bus")
        let services = services.map { "<servicedir>\($0)</servicedir>" } ?? ""
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
                "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type><listen>unix:path=\(folder.file("bus"))</listen>\(services)
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
              </policy>
            </busconfig>
            """
        try configuration.write(toFile: folder.file("bus.conf"), atomically: true, encoding: .utf8)
        process = try SpawnedProcess(
            "/usr/bin/dbus-daemon",
            ["--config-file=\(folder.file("bus.conf"))", "--print-address", "--nofork", "--nopidfile"],
            environment: ["PATH": "/usr/bin:/bin"], directory: "/", output: .pipe, error: .null)
        address = try #require(process.readOutputLine(), "dbus-daemon does not start")
    }

    deinit { process.kill() }
}

/// A store with a vault for the desktop, switched on, and its service.
final class SecretServiceWorld {
    let agent: AgentRunner
    let bus: PrivateBus
    private var service: SpawnedProcess?

    static var program: String { CoffretRunner.executable + "-secret-service" }
    static let isAvailable =
        AgentRunner.isAvailable && PrivateBus.isAvailable && FileManager.default.isExecutableFile(atPath: program)
    static let python = "/usr/bin/python3"
    /// Those that the tests use as the person's.
    private static let programs = [
        python, "/usr/bin/secret-tool", "/usr/lib/chromium/chromium", "/usr/bin/dbus-send", "/usr/bin/gdbus",
    ]
    static let hasPython =
        (try? ProcessRunner.run(python, ["-c", "import secretstorage, jeepney"]))?.exitCode == 0
    static let hasTool = FileManager.default.isExecutableFile(atPath: "/usr/bin/secret-tool")

    /// - Parameter screen: where the agent asks; nil for nowhere.
    init(screen: DesktopScreen? = nil, isServing: Bool = true) throws {
        bus = try PrivateBus()
        var places: [String: String?] = [:]
        for (name, value) in screen?.environment ?? [:] { places[name] = value }
        places["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        agent = try AgentRunner(environment: places)
        try agent.runner.succeed("vault", "new", "Desktop")
        try #require(try agent.unlock().exitCode == 0)
        if isServing {
            let on = try switchOn()
            try #require(on.exitCode == 0, "\(on.errorText)")
            try serve()
        }
    }

    deinit {
        service?.kill()
        _ = try? agent.stop()
    }

    /// As a person does, with the passphrase.
    func switchOn(_ more: String...) throws -> ProcessResult {
        try agent.runner.run(
            ["secret-service", "on", "--vault", "Desktop", "--passphrase-fd", "0"] + more,
            input: Array((CoffretRunner.passphrase + "\n").utf8), environment: agent.environment())
    }

    /// - Parameter isAllowing: whether the person has said yes to the programs of the tests before.
    func serve(isAllowing: Bool = true) throws {
        if isAllowing { try allowPrograms() }
        let service = try SpawnedProcess(
            Self.program, environment: variables, directory: "/", output: .pipe, error: .pipe)
        #expect(service.readOutputLine() == "ready")
        self.service = service
    }

    func allowPrograms() throws {
        for program in Self.programs where FileManager.default.isExecutableFile(atPath: program) {
            try agent.succeed("secret-service", "allow", program)
        }
    }

    var processID: pid_t? { service?.processID }
    func end() { service?.kill() }
    /// What it has said to the administrator, once there is something.
    func words() -> String { String(decoding: service?.readError() ?? [], as: UTF8.self) }
    func waitForEnd() -> SpawnedProcess.Status? { service?.wait() }

    /// Those of a program on this desktop.
    var variables: [String: String] { agent.runner.environment(agent.environment()) }

    func tool(_ words: String..., input: String = "") throws -> ProcessResult {
        try ProcessRunner.run(
            "/usr/bin/secret-tool", words, input: Array(input.utf8), environment: variables, timeoutSeconds: 120)
    }

    func python(_ script: String, _ words: [String] = []) throws -> ProcessResult {
        try ProcessRunner.run(Self.python, ["-c", script] + words, environment: variables, timeoutSeconds: 300)
    }

    /// Makes an item, and returns its id.
    func make(_ text: String, _ options: String...) throws -> String {
        let made = try agent.runner.run(
            ["new"] + options + ["--json"], input: Array(text.utf8), environment: agent.environment())
        let value = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any]
        return try #require(value?["id"] as? String, "\(made.errorText)")
    }
}
