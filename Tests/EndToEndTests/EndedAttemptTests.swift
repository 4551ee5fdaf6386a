// Tries that are ended before anybody knows whether the secret was right.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Tries that are ended")
struct EndedAttemptTests {
    /// The count as the files have it, however it is written; nil while nothing was counted.
    private func count(_ runner: CoffretRunner) throws -> Data? {
        let folder = runner.folder.file("home/.local/state/coffret/agent")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.first(where: { $0.hasSuffix(".attempts") }) else { return nil }
        return FileManager.default.contents(atPath: "\(folder)/\(name)")
    }

    /// A store whose passphrase takes long enough to stretch, and in which no try is counted.
    private func makeRunner() throws -> CoffretRunner {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "normal")
        try runner.succeed("ls")
        return runner
    }

    /// Starts a command with the right passphrase, and ends it as soon as the try is counted.
    private func end(
        _ runner: CoffretRunner, _ words: [String], _ signal: Int32, environment: [String: String]
    ) throws -> SpawnedProcess.Status {
        let before = try count(runner)
        let process = try SpawnedProcess(
            CoffretRunner.executable, words, environment: environment, directory: runner.workPath)
        try Waiting.until("the try is counted", everyMilliseconds: 1) { try count(runner) != before }
        return process.kill(signal)
    }

    @Test(
        "faults F8: R119: a command that is ended while it stretches the passphrase is no wrong try",
        arguments: [
            SIGINT, SIGTERM, SIGHUP,
        ])
    func ended(_ signal: Int32) throws {
        let runner = try makeRunner()
        let before = try #require(try count(runner))
        for _ in 0..<4 {
            let status = try end(runner, ["ls"], signal, environment: runner.environment())
            #expect(status.isSignalled && status.code == signal)
            #expect(try count(runner) == before)
        }
        #expect(try runner.run("ls").exitCode == 0, "the next try is not refused")
    }

    @Test("faults F8: R119: nor is one that the agent makes for a client who goes away")
    func endedThroughTheAgent() throws {
        let runner = try makeRunner()
        let runtime = runner.folder.file("run")
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let environment = runner.environment([
            "COFFRET_AGENT": nil, "XDG_RUNTIME_DIR": runtime, "COFFRET_TPM": "off",
        ])
        func run(_ words: String...) throws -> ProcessResult {
            try ProcessRunner.run(CoffretRunner.executable, words, environment: environment, directory: runner.workPath)
        }
        #expect(try run("unlock").exitCode == 0)
        defer { _ = try? run("agent", "stop") }
        #expect(try run("lock").exitCode == 0)
        let before = try count(runner)
        for _ in 0..<4 {
            let status = try end(runner, ["unlock"], SIGINT, environment: environment)
            #expect(status.isSignalled && status.code == SIGINT)
            try Waiting.until("the count is taken back") { try count(runner) == before }
        }
        #expect(try run("unlock").exitCode == 0)
    }

    @Test("faults F8: who is killed outright may have guessed, and counts")
    func killed() throws {
        let runner = try makeRunner()
        for _ in 0..<3 {
            #expect(try end(runner, ["ls"], SIGKILL, environment: runner.environment()).isSignalled)
        }
        let refused = try runner.run("ls")
        #expect(refused.exitCode == 85 && refused.errorText.contains("keys.attempts.pausing"))
    }
}
