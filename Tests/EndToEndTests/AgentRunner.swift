// A world with an agent of its own. The one thing to keep true: the agent ends with the test, whatever happened.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// Runs `coffret` beside its own agent, which is found in a private runtime folder.
final class AgentRunner {
    let runner: CoffretRunner
    /// What the agent's variables are beside the usual ones.
    private let changes: [String: String?]

    /// Makes a store, unless it is to come by pairing; no agent runs yet.
    init(environment changes: [String: String?] = [:], makesStore: Bool = true) throws {
        runner = try CoffretRunner()
        self.changes = changes
        try FileManager.default.createDirectory(
            atPath: runtimeFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if makesStore { try runner.makeStore() }
    }

    /// An agent for somebody who has a store already; no agent runs yet.
    init(for runner: CoffretRunner, environment changes: [String: String?] = [:]) throws {
        (self.runner, self.changes) = (runner, changes)
        try FileManager.default.createDirectory(
            atPath: runtimeFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A test that fails half way has not stopped its agent.
        if let processID { kill(processID, SIGKILL) }
    }

    var runtimeFolder: String { runner.folder.file("run") }
    var socketFolder: String { runtimeFolder + "/coffret" }
    static var agentExecutable: String { CoffretRunner.executable + "-agent" }
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: agentExecutable) }

    /// The variables of every run: no passphrase file, so that only the agent opens the store.
    func environment(_ more: [String: String?] = [:]) -> [String: String?] {
        var result: [String: String?] = [
            "XDG_RUNTIME_DIR": runtimeFolder, "COFFRET_AGENT": nil, "COFFRET_PASSPHRASE_FILE": nil,
            "COFFRET_TPM": "off",
        ]
        for (name, value) in changes { result[name] = value }
        for (name, value) in more { result[name] = value }
        return result
    }

    @discardableResult
    func run(_ arguments: String..., input: String = "", environment more: [String: String?] = [:]) throws
        -> ProcessResult
    {
        try runner.run(arguments, input: Array(input.utf8), environment: environment(more))
    }

    /// Runs a command that must succeed.
    @discardableResult
    func succeed(_ arguments: String..., input: String = "", environment more: [String: String?] = [:]) throws
        -> String
    {
        let result = try runner.run(arguments, input: Array(input.utf8), environment: environment(more))
        guard result.exitCode == 0, !result.isSignalled else {
            throw CoffretRunner.Failed(text: "\(arguments) ended with \(result.exitCode): \(result.errorText)")
        }
        return result.text
    }

    /// Unlocks with the passphrase from its file; starts the agent if none runs.
    @discardableResult
    func unlock(_ arguments: String...) throws -> ProcessResult {
        try runner.run(
            ["unlock"] + arguments, input: [],
            environment: environment(["COFFRET_PASSPHRASE_FILE": runner.passphraseFile]))
    }

    /// Tries to unlock with another passphrase.
    func unlock(passphrase: String) throws -> ProcessResult {
        let path = runner.folder.file("home/wrong")
        try Data((passphrase + "\n").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return try runner.run(
            ["unlock"], input: [], environment: environment(["COFFRET_PASSPHRASE_FILE": path]))
    }

    func stop() throws { try succeed("agent", "stop") }

    /// The agent's process, found by the lock that it holds on its socket.
    var processID: pid_t? {
        let path = socketFolder + "/agent.sock.lock"
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { return nil }
        for line in (try? ProcessFiles.lines("/proc/locks")) ?? []
        where line.hasSuffix("0 EOF") && line.contains("FLOCK") {
            let words = line.split(separator: " ")
            guard words.count >= 6, words[5].hasSuffix(":\(information.st_ino)"), let found = pid_t(words[4]) else {
                continue
            }
            return found
        }
        return nil
    }
}
