// What the real program lets into a store's keyring. The one thing to keep true: nothing that was accepted shuts the
// person out, and nothing that somebody else made is taken for the person's own.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Foundation
import Glibc
import Testing

@testable import CoffretKeys

@Suite("What enters a keyring")
struct KeyringGuardTests {
    @Test(
        "keys 2, R93: a name or an address that a reader refuses is refused when it is typed, and the store still opens"
    )
    func names() throws {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "light")
        let keyring = URL(fileURLWithPath: runner.storePath + "/store.keyring")
        let before = try Data(contentsOf: keyring)
        let long = String(repeating: "n", count: 1_025)
        let named = try runner.run("recovery", "add", "--print-only", "--name", long)
        #expect(named.exitCode == 80 && named.errorText.contains("keys.name.too-long"), "\(named.errorText)")
        let joined = try runner.run("server", "join", "https://127.0.0.1/" + long + long)
        #expect(joined.exitCode != 0 && joined.errorText.contains("http.address-invalid"), "\(joined.errorText)")
        #expect(try Data(contentsOf: keyring) == before)
        try runner.succeed("recovery", "add", "--print-only", "--name", String(repeating: "n", count: 1_024))
        #expect(try runner.succeed("recovery", "ls", "--json").contains(String(repeating: "n", count: 1_024)))
    }

    @Test("keys 2: a damaged keyring is said to have one before it, and putting that back opens the store")
    func previous() throws {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "light")
        try runner.succeed("ls")
        try runner.succeed("recovery", "add", "--print-only", "--name", "safe")
        let keyring = runner.storePath + "/store.keyring"
        try Data(Data(contentsOf: URL(fileURLWithPath: keyring)).dropLast(3)).write(to: URL(fileURLWithPath: keyring))
        let damaged = try runner.run("ls")
        #expect(damaged.errorText.contains("keys.keyring.previous-kept"), "\(damaged.errorText)")
        #expect(damaged.errorText.contains("mv store.keyring.previous store.keyring"))
        try FileManager.default.removeItem(atPath: keyring)
        try FileManager.default.moveItem(atPath: keyring + ".previous", toPath: keyring)
        try runner.succeed("device", "renew")
        try runner.succeed("new", input: "# After all\n")
        #expect(try runner.succeed("ls").contains("After all"))
    }

    @Test(
        "a process that stretches its passphrase while another one changes the keyring opens what that one made of it")
    func changedMeanwhile() throws {
        let agent = try AgentRunner(makesStore: false)
        defer { try? agent.stop() }
        let runner = agent.runner
        try runner.succeed("init", "--effort", "normal")
        try runner.succeed("ls")
        #expect(try agent.unlock().exitCode == 0)
        let before = try #require(try Self.attempts(of: runner))
        let late = try SpawnedProcess(
            CoffretRunner.executable, ["vault", "ls"], environment: runner.environment(), directory: runner.workPath)
        // The file is read, and the try is counted; the memory beside the store is not looked at yet.
        try Waiting.until("the try is counted", everyMilliseconds: 1) { try Self.attempts(of: runner) != before }
        late.signal(SIGSTOP)
        try agent.succeed("vault", "new", "Work")
        late.signal(SIGCONT)
        let status = late.finish()
        #expect(status.code == 0 && !status.isSignalled)
    }

    /// The count of tries as the files have it, however it is written.
    private static func attempts(of runner: CoffretRunner) throws -> Data? {
        let folder = runner.folder.file("home/.local/state/coffret/agent")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.first(where: { $0.hasSuffix(".attempts") }) else { return nil }
        return FileManager.default.contents(atPath: "\(folder)/\(name)")
    }

    private static func passphrase(_ text: String) throws -> Passphrase {
        var bytes = Array(text.utf8)
        return try Passphrase(typed: &bytes)
    }

    /// Makes the forger's store one of the victim's store id and slots, which lie in clear: the forger's vaults and keys,
    /// behind the victim's passphrase and sheets.
    private func forge(_ forger: CoffretRunner, as victim: CoffretRunner) throws {
        try forger.setPassphrase("forger")
        try forger.succeed("init", "--effort", "light")
        try forger.succeed("new", input: "# Planted note\n")
        let path = forger.storePath + "/store.keyring"
        let environment = KeyringEnvironment(
            keyringPath: path, stateDirectory: forger.folder.file("home/.local/state/coffret"),
            fileSystem: PosixFileSystem(), random: SystemRandomSource(), clock: SystemWallClock())
        let secret = try Self.passphrase("forger")
        let own = try Keyring.open(with: .passphrase(secret), environment: environment)
        let theirs = try KeyringFile(
            decoding: Array(Data(contentsOf: URL(fileURLWithPath: victim.storePath + "/store.keyring"))))
        let slot = try PassphraseSlot.make(
            secret, parameters: .generate(from: environment.random, memoryKibibytes: 65_536, passCount: 3),
            storeID: theirs.storeID, anchor: own.anchor(), random: environment.random)
        try FileManager.default.removeItem(atPath: path)
        try UnlockedKeyring(
            storeID: theirs.storeID, generation: theirs.generation + 1, slots: theirs.slots + [slot], body: own.body(),
            instanceStatus: .current, environment: environment
        ).save(expectingGeneration: nil)
        #expect(try forger.succeed("ls").contains("Planted note"), "the forger's own secret opens it")
    }

    @Test(
        "keys 3, keys 8, R94, R96: another's store behind the person's own slots is refused as foreign, and shows nothing"
    )
    func fabricatedStore() throws {
        let (victim, forger) = (try CoffretRunner(), try CoffretRunner())
        try victim.succeed("init", "--effort", "light")
        try victim.succeed("new", input: "# My note\n")
        let sheet = try victim.succeed("recovery", "add", "--print-only", "--name", "safe")
        try forge(forger, as: victim)
        let aside = victim.storePath + ".aside"
        try FileManager.default.moveItem(atPath: victim.storePath, toPath: aside)
        try FileManager.default.copyItem(atPath: forger.storePath, toPath: victim.storePath)
        for command in [["ls"], ["new"], ["passphrase"], ["backup", "create", "here"]] {
            let result = try victim.run(command, input: Array("my PIN is 4711\n".utf8))
            #expect(result.exitCode == 71 && result.errorText.contains("keys.keyring.foreign"), "\(result.errorText)")
            #expect(!(result.text + result.errorText).contains("Planted"))
        }
        try victim.setPassphrase(sheet.trimmingCharacters(in: .whitespacesAndNewlines))
        for command in [["recovery", "test"], ["passphrase", "--recovery"]] {
            let result = try victim.run(command, input: [])
            #expect(result.exitCode == 71 && result.errorText.contains("keys.keyring.foreign"), "\(result.errorText)")
        }
        try FileManager.default.removeItem(atPath: victim.storePath)
        try FileManager.default.moveItem(atPath: aside, toPath: victim.storePath)
        #expect(try victim.succeed("recovery", "test").contains("opens the store"))
        try victim.setPassphrase(CoffretRunner.passphrase)
        #expect(try victim.succeed("ls").contains("My note"))
    }

    @Test("keys 3, R94: the agent unlocks no other's store, and one that has the person's unlocked shows nothing of it")
    func fabricatedForAgent() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let (victim, forger) = (agent.runner, try CoffretRunner())
        try forge(forger, as: victim)
        #expect(try agent.unlock().exitCode == 0)
        try FileManager.default.removeItem(atPath: victim.storePath)
        try FileManager.default.copyItem(atPath: forger.storePath, toPath: victim.storePath)
        let open = try agent.run("ls")
        #expect(open.exitCode != 0 && !open.text.contains("Planted"), "\(open.text)\(open.errorText)")
        _ = try agent.run("lock")
        let locked = try agent.unlock()
        #expect(locked.exitCode == 71 && locked.errorText.contains("keys.keyring.foreign"), "\(locked.errorText)")
    }

    @Test(
        "keys 3, keys 8, R95, R96: another's backup behind the person's own slots is refused as foreign, and nothing is restored"
    )
    func fabricatedBackup() throws {
        let (victim, forger) = (try CoffretRunner(), try CoffretRunner())
        try victim.succeed("init", "--effort", "light")
        let sheet = try victim.succeed("recovery", "add", "--print-only", "--name", "safe")
        try victim.succeed("backup", "create", "own")
        try forge(forger, as: victim)
        let file = victim.folder.file("work/forged")
        try forger.succeed("backup", "create", file)
        let target = victim.folder.file("work/restored")
        func check(_ arguments: [String]) throws {
            for command in [["verify", file, "--from", "newest"], ["restore", file, "--store", target]] {
                let result = try victim.run(["backup"] + command + arguments, input: [])
                #expect(
                    result.exitCode == 71 && result.errorText.contains("keys.backup.foreign"), "\(result.errorText)")
            }
            #expect(!FileManager.default.fileExists(atPath: target))
        }
        try check([])
        try victim.setPassphrase(sheet.trimmingCharacters(in: .whitespacesAndNewlines))
        try check(["--recovery"])
        try victim.succeed("backup", "verify", "own", "--recovery")
        try victim.setPassphrase(CoffretRunner.passphrase)
        try victim.succeed("backup", "restore", "own", "--store", target)
        // The sheet is of the account of before, which the restored store calls a former one: it is asked about.
        try victim.setPassphrase(sheet.trimmingCharacters(in: .whitespacesAndNewlines))
        let former = try victim.run("recovery", "test", "--store", target)
        #expect(
            former.exitCode == 80 && former.errorText.contains("keys.recovery.account-differs"), "\(former.errorText)")
    }
}
