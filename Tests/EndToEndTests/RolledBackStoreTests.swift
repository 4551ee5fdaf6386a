// A store that was put back to an old copy, on a machine with a TPM. The one thing to keep true: without the TPM the same
// copy opens, so that it is the TPM's memory that tells.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("A store that was put back", .enabled(if: SoftwareTPM.isAvailable, "swtpm is missing"))
struct RolledBackStoreTests {
    let tpm: SoftwareTPM
    let agent: AgentRunner

    init() throws {
        tpm = try SoftwareTPM()
        agent = try AgentRunner(environment: [
            "COFFRET_TPM": tpm.transport, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/no",
        ])
    }

    private var state: String { agent.runner.folder.file("home/.local/state/coffret") }
    /// What an attacker can copy: the store, and what is remembered of it outside; not the agent's records.
    private var places: [String] {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: state).filter { $0.count == 32 }
            return [agent.runner.storePath] + names.map { "\(state)/\($0)" }
        }
    }

    private func copy(to name: String) throws {
        for (number, place) in try places.enumerated() {
            try FileManager.default.copyItem(atPath: place, toPath: agent.runner.folder.file("\(name)-\(number)"))
        }
    }

    private func putBack(_ name: String) throws {
        for (number, place) in try places.enumerated() {
            try FileManager.default.removeItem(atPath: place)
            try FileManager.default.copyItem(atPath: agent.runner.folder.file("\(name)-\(number)"), toPath: place)
        }
    }

    private var keyring: Data {
        get throws { try Data(contentsOf: URL(fileURLWithPath: agent.runner.storePath + "/store.keyring")) }
    }

    private func withPassphrase(_ arguments: String...) throws -> ProcessResult {
        try agent.runner.run(
            arguments, input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
    }

    @Test("R1: an old copy of the store and of its marker is refused where a TPM remembers; nothing is changed")
    func store() throws {
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try copy(to: "old")
        try agent.succeed("vault", "new", "Work")
        try agent.stop()
        try copy(to: "new")
        try putBack("old")
        let old = try keyring
        for _ in 0..<2 {
            let refused = try agent.unlock()
            #expect(refused.exitCode == 72, "\(refused.errorText)")
            #expect(refused.errorText.contains("the store is older than this device has already seen"))
            #expect(try agent.run("ls").exitCode == 86, "it stays locked")
        }
        #expect(try keyring == old)
        try agent.stop()
        // Nothing but the TPM remembers.
        #expect(try agent.runner.run("vault", "ls", environment: ["COFFRET_TPM": "off"]).exitCode == 0)
        try putBack("new")
        #expect(try agent.unlock().exitCode == 0, "a refusal is no wrong try")
        #expect(try agent.succeed("vault", "ls").contains("Work"))

        // Its owner put it back, and says so; from then on the newer copy is the old one.
        try agent.stop()
        try putBack("old")
        #expect(try agent.unlock().errorText.contains("coffret device renew"))
        let renewed = try withPassphrase("device", "renew")
        #expect(renewed.exitCode == 0, "\(renewed.errorText)")
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("vault", "new", "Garden")
        try agent.stop()
        try putBack("new")
        #expect(try agent.unlock().exitCode == 72)
        // The same where the marker remembers, and no agent is asked.
        try FileManager.default.removeItem(atPath: agent.runner.storePath)
        try FileManager.default.copyItem(atPath: agent.runner.folder.file("old-0"), toPath: agent.runner.storePath)
        #expect(try agent.runner.run("vault", "ls").exitCode == 72)
        #expect(try withPassphrase("device", "renew").exitCode == 0)
        #expect(try agent.runner.run("vault", "ls").exitCode == 0)
    }

    @Test("what is no old copy opens: changed without the agent, restored from a backup, on a machine that forgot")
    func legitimate() throws {
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let backup = agent.runner.folder.file("backup")
        #expect(try withPassphrase("backup", "create", backup).exitCode == 0)
        try agent.succeed("vault", "new", "Work")
        try agent.succeed("lock")
        try agent.runner.succeed("vault", "new", "Garden")
        #expect(try agent.unlock().exitCode == 0, "the agent knows of less than there is")
        try agent.succeed("vault", "new", "Attic")
        try agent.succeed("lock")
        #expect(try agent.unlock().exitCode == 0)

        // An older state on purpose: beside the newer store, and in its place.
        let other = agent.runner.folder.file("other")
        #expect(try withPassphrase("backup", "restore", backup, "--store", other).exitCode == 0)
        #expect(try agent.unlock("--store", other).exitCode == 0)
        try agent.stop()
        try FileManager.default.removeItem(atPath: agent.runner.storePath)
        #expect(try withPassphrase("backup", "restore", backup).exitCode == 0)
        #expect(try agent.unlock().exitCode == 0)

        // Records that are gone while the TPM knows that there were some cost a pause and nothing else.
        try agent.stop()
        try FileManager.default.removeItem(atPath: state + "/agent/tpm.records")
        var unlocked = try agent.unlock()
        try Waiting.until("the pause is over", everyMilliseconds: 500) {
            if unlocked.exitCode == 85 { unlocked = try agent.unlock() }
            return unlocked.exitCode != 85
        }
        #expect(unlocked.exitCode == 0, "\(unlocked.errorText)")
    }

    @Test("R1: an old copy in which a PIN still opens the store does not bring the PIN back")
    func slot() throws {
        defer { try? agent.stop() }
        let pin = agent.runner.folder.file("home/pin")
        try Data("2468\n".utf8).write(to: URL(fileURLWithPath: pin))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pin)
        #expect(try agent.unlock().exitCode == 0)
        #expect(try withPassphrase("key", "add", "--pin-file", pin).exitCode == 0)
        try agent.succeed("lock")
        #expect(try agent.run("unlock", "--pin-file", pin).exitCode == 0)
        try copy(to: "old")
        #expect(try withPassphrase("key", "remove", "default", "--yes").exitCode == 0)
        try agent.succeed("lock")
        try putBack("old")
        let refused = try agent.run("unlock", "--pin-file", pin)
        #expect(refused.exitCode == 72, "\(refused.errorText)")
        #expect(try agent.run("ls").exitCode == 86)
    }
}
