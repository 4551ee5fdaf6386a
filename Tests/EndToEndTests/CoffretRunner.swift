// The real executable with a home folder of its own. The one thing to keep true: a test can only reach
// what lies in its temporary folder, so nothing of the machine it runs on can help or harm it.

import CoffretTestSupport
import Foundation
import Synchronization

/// Runs `coffret` in a world of its own.
final class CoffretRunner: Sendable {
    let folder: TemporaryDirectory
    private let keptUnlocked = Mutex(false)
    static let passphrase = "lagoon pewter fig onyx crayon"

    init() throws {
        folder = try TemporaryDirectory("end-to-end")
        for name in ["home", "tmp", "work"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
        }
        try setPassphrase(Self.passphrase)
    }

    /// Where the test bundle lies, the executable lies too; COFFRET_TEST_PRODUCTS names another folder of programs.
    static let executable: String = {
        if let folder = ProcessInfo.processInfo.environment["COFFRET_TEST_PRODUCTS"] {
            return URL(fileURLWithPath: folder).appendingPathComponent("coffret").path
        }
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("coffret").path
        if FileManager.default.isExecutableFile(atPath: beside) { return beside }
        // A test helper of the toolchain loads the bundle; then its path is an argument.
        for argument in CommandLine.arguments where argument.contains("PackageTests") {
            let path = URL(fileURLWithPath: argument).deletingLastPathComponent().appendingPathComponent("coffret").path
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        return beside
    }()

    var storePath: String { folder.file("home/.local/share/coffret") }
    var workPath: String { folder.file("work") }
    var passphraseFile: String { folder.file("home/passphrase") }

    func setPassphrase(_ text: String) throws {
        let path = passphraseFile
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    deinit {
        if isKeptUnlocked { _ = try? run("agent", "stop") }
    }

    /// The environment of every run; `nil` as a value takes a variable away.
    func environment(_ changes: [String: String?] = [:]) -> [String: String] {
        var environment = [
            "HOME": folder.file("home"), "TMPDIR": folder.file("tmp"), "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TZ": "UTC", "LANG": "C.UTF-8", "COFFRET_PASSPHRASE_FILE": passphraseFile, "COFFRET_AGENT": "off",
        ]
        if changes.isEmpty, isKeptUnlocked {
            environment["COFFRET_AGENT"] = nil
            environment.merge(agentVariables) { $1 }
        }
        for (name, value) in changes { environment[name] = value }
        return environment
    }

    @discardableResult
    func run(
        _ arguments: String..., input: String = "", environment changes: [String: String?] = [:]
    ) throws -> ProcessResult {
        try run(arguments, input: Array(input.utf8), environment: changes)
    }

    func run(_ arguments: [String], input: [UInt8], environment changes: [String: String?] = [:]) throws
        -> ProcessResult
    {
        try ProcessRunner.run(
            Self.executable, arguments, input: input, environment: environment(changes), directory: workPath,
            timeoutSeconds: 120)
    }

    /// Runs a command that must succeed, and returns what it printed.
    @discardableResult
    func succeed(_ arguments: String..., input: String = "", environment changes: [String: String?] = [:]) throws
        -> String
    {
        let result = try run(arguments, input: Array(input.utf8), environment: changes)
        guard result.exitCode == 0, !result.isSignalled else {
            throw Failed(text: "\(arguments) ended with \(result.exitCode): \(result.errorText)")
        }
        return result.text
    }

    struct Failed: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    /// Runs a command with `--json` and reads its last line.
    func json(_ arguments: String..., input: String = "") throws -> [String: Any] {
        let result = try run(arguments + ["--json"], input: Array(input.utf8))
        guard result.exitCode == 0 else { throw Failed(text: "\(arguments): \(result.errorText)") }
        let line = result.text.split(separator: "\n").last ?? ""
        return (try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]) ?? [:]
    }

    /// Makes a store; its passphrase is stretched as little as the bounds allow, to keep tests quick.
    func makeStore() throws {
        try succeed("init", "--effort", "light")
    }

    /// Has an agent keep the store open, which syncs nothing by itself, for all commands without variables of their own. Each would stretch
    /// the passphrase anew, which is most of its work; for tests in which that is not the matter.
    func keepUnlocked() throws {
        guard FileManager.default.isExecutableFile(atPath: AgentRunner.agentExecutable) else { return }
        try FileManager.default.createDirectory(
            atPath: folder.file("kept"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        keptUnlocked.withLock { $0 = true }
        try succeed("agent", "settings", "--sync", "off")
        try succeed("unlock")
    }

    var isKeptUnlocked: Bool { keptUnlocked.withLock(\.self) }

    private var agentVariables: [String: String] {
        ["XDG_RUNTIME_DIR": folder.file("kept"), "COFFRET_TPM": "off"]
    }

    /// Makes a note and returns its id.
    @discardableResult
    func makeNote(_ text: String, _ options: String...) throws -> String {
        let result = try run(["new"] + options + ["--json"], input: Array(text.utf8))
        guard result.exitCode == 0 else { throw Failed(text: result.errorText) }
        let object = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
        return object?["id"] as? String ?? ""
    }
}
