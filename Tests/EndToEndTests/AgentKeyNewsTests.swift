// Commands that ask for the passphrase beside an agent and change the keyring. The one thing to keep true: no passphrase
// reaches a command here but those that ask for it, so what works afterwards works by the agent's key.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretNet
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Synchronization
import Testing

@Suite(
    "Keys that follow", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct AgentKeyNewsTests {
    /// A command with the passphrase, beside the agent.
    @discardableResult
    private func beside(_ agent: AgentRunner, _ arguments: String...) throws -> ProcessResult {
        let result = try agent.runner.run(
            arguments, input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        #expect(result.exitCode == 0, "\(arguments): \(result.errorText)")
        return result
    }

    private func state(_ agent: AgentRunner) throws -> String {
        String(try agent.succeed("agent", "status").split(separator: "\n").first ?? "")
    }

    @Test("a device let in, and one revoked, beside the agent: the store stays unlocked and goes on syncing")
    func devices() throws {
        let server = try ServerRunner()
        let (first, second) = (try AgentRunner(), try AgentRunner(makesStore: false))
        #expect(try first.unlock().exitCode == 0)
        try beside(first, "server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("new", input: "# Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(
            second.runner, first.runner, server, name: "Second",
            environment: first.environment(["COFFRET_PASSPHRASE_FILE": first.runner.passphraseFile]))
        #expect(try state(first).contains(": unlocked; locks in"))
        #expect(try second.unlock().exitCode == 0)
        try first.succeed("new", input: "# Beans")
        try Waiting.until("the note") { try second.succeed("ls").contains("Beans") }
        try second.succeed("new", input: "# Peas")
        try Waiting.until("the other note") { try first.succeed("ls").contains("Peas") }

        try beside(first, "device", "revoke", "Second", "--yes")
        #expect(try state(first).contains(": unlocked; locks in"))
        try first.succeed("new", input: "# Leeks")
        try Waiting.until("sent under the new key") {
            try first.succeed("status").contains("nothing waits to be sent")
        }
        #expect(try first.succeed("ls").contains("Leeks"))
        for agent in [first, second] { try agent.stop() }
    }

    @Test("another passphrase, and a recovery key revoked, lock at once and say so; a recovery key more does not")
    func slots() throws {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        try beside(agent, "recovery", "add", "--print-only", "--name", "safe")
        #expect(try agent.run("ls").exitCode == 0)
        #expect(try beside(agent, "recovery", "revoke", "safe", "--yes").errorText.contains("The store is locked now"))
        #expect(try state(agent).contains("locked (its keys were changed)"))
        #expect(try agent.run("ls").exitCode == 86)
        #expect(try agent.unlock().exitCode == 0)

        let input = Array("other words\n".utf8)
        let changed = try agent.runner.run(
            ["passphrase", "--effort", "light", "--new-passphrase-fd", "0"], input: input,
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        #expect(changed.errorText.contains("The store is locked now"), "\(changed.errorText)")
        #expect(try state(agent).contains("locked (its keys were changed)"))
        #expect(try agent.unlock().exitCode == 67)
        #expect(try agent.unlock(passphrase: "other words").exitCode == 0)
        #expect(try agent.run("ls").exitCode == 0)
        try agent.stop()
    }

    @Test("a PIN taken away, or changed, locks at once and says so, also where the command runs in the agent")
    func keysOfThisComputer() throws {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        let pin = agent.runner.folder.file("home/pin")
        try Data("2468 letters too\n".utf8).write(to: URL(fileURLWithPath: pin))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pin)
        // With the passphrase in a file, to be asked for by the agent's process: these commands run there.
        #expect(
            !(try beside(agent, "key", "add", "--in", "file", "--pin-file", pin)).errorText.contains("is locked now"))
        #expect(try state(agent).contains(": unlocked; locks in"))
        for arguments in [["change", "--pin-file", pin], ["remove", "default", "--yes"]] {
            let result = try agent.runner.run(
                ["key"] + arguments, input: [],
                environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
            #expect(result.exitCode == 0, "the command itself goes on to its end: \(result.errorText)")
            #expect(result.errorText.contains("The store is locked now"), "\(result.errorText)")
            #expect(try state(agent).contains("locked (its keys were changed)"))
            #expect(try agent.run("ls").exitCode == 86)
            #expect(try agent.unlock().exitCode == 0)
        }
        #expect(try agent.run("ls").exitCode == 0)
        try agent.stop()
    }

    @Test(
        "a paper device revoked beside the agent locks at once and says so; the announcement does not",
        .enabled(if: Faketime.isAvailable, Faketime.missing))
    func paper() throws {
        let server = try ServerRunner()
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        try beside(agent, "server", "join", server.url, "--fingerprint", server.fingerprint)
        try beside(agent, "recovery", "add", "--paper", "--name", "Safe", "--print-only")
        #expect(try beside(agent, "device", "revoke", "Safe", "--yes").text.contains("seven days"))
        #expect(try state(agent).contains(": unlocked; locks in"))
        try server.restart(at: "+8d")
        let late = try agent.runner.run(
            ["device", "revoke", "Safe", "--yes"], input: [],
            environment: agent.environment([
                "COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile, "LD_PRELOAD": Faketime.library,
                "FAKETIME": "+8d",
            ]))
        #expect(late.exitCode == 0 && late.text.contains("Revoked the paper device \"Safe\""), "\(late.errorText)")
        #expect(late.errorText.contains("The store is locked now"), "\(late.errorText)")
        #expect(try state(agent).contains("locked (its keys were changed)"))
        try agent.stop()
    }

    @Test("a command that begins between another's new keyring and its word to the agent waits for that word")
    func between() throws {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# Tomatoes")
        let socket = try UnixConnection.connect(path: agent.socketFolder + "/agent.sock", userID: geteuid())
        let path = try #require(unsafe realpath(agent.runner.storePath, nil).map { unsafe String(cString: $0) })
        let before = Mutex<StorageKey?>(nil)
        let listing = Mutex<SpawnedProcess?>(nil)
        let (variables, directory) = (agent.runner.environment(agent.environment()), agent.runner.workPath)
        let processID = try #require(agent.processID)
        let environment = StoreEnvironment(
            stateDirectory: agent.runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: SystemRandomSource(), clock: SystemWallClock(),
            keepStorageKey: { kept in
                let old = before.withLock { before in
                    defer { before = kept.key }
                    return before
                }
                guard let old else { return }
                // The keyring lies on the disk by now. A command that begins here meets it.
                let command = try? SpawnedProcess(
                    CoffretRunner.executable, ["ls"], environment: variables, directory: directory, output: .pipe)
                listing.withLock { $0 = command }
                for _ in 0..<500 where command?.isRunning == true {
                    if (try? ProcessFiles.children(of: processID))?.isEmpty == false { break }
                    usleep(10_000)
                }
                // Time enough for one that does not wait.
                for _ in 0..<50 where command?.isRunning == true { usleep(10_000) }
                let sealed = kept.sealed(under: old, path: path, random: SystemRandomSource())
                try? socket.send(AgentRequest.renewed(store: path, sealedKey: sealed).encoded())
                let answer = try? socket.receive().map { try AgentResponse(decoding: $0.0.bytes) }
                #expect(answer == .done)
            })
        var typed = Array(CoffretRunner.passphrase.utf8)
        let store = try Store.open(
            at: agent.runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        _ = try store.changeKeyring { keyring in try keyring.addRecoveryKey(named: "safe") }
        let command = try #require(listing.withLock { $0 })
        let output = String(decoding: command.readOutputToEnd(), as: UTF8.self)
        let end = command.finish()
        #expect(end.code == 0 && !end.isSignalled)
        #expect(output.contains("Tomatoes"))
        #expect(try state(agent).contains(": unlocked; locks in"))
        try agent.stop()
    }
}
