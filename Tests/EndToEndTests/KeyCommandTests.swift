// A PIN in a real (software) TPM, set and used with the real program and its agent.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Keys of this computer", .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct KeyCommandTests {
    let tpm: SoftwareTPM
    let agent: AgentRunner

    init() throws {
        tpm = try SoftwareTPM()
        agent = try AgentRunner(environment: [
            "COFFRET_TPM": tpm.transport, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/no",
        ])
    }

    func file(_ text: String) throws -> String {
        let path = agent.runner.folder.file("home/pin-\(text.utf8.count)-\(text)")
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// With the passphrase, which changing keys asks for again.
    func key(_ arguments: String...) throws -> ProcessResult {
        try agent.runner.run(
            ["key"] + arguments, input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
    }

    func unlock(pin: String) throws -> ProcessResult { try agent.run("unlock", "--pin-file", try file(pin)) }

    @Test("a PIN in the TPM: set, used, changed, wrong too often, taken away (R30)")
    func pinInTPM() throws {
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let short = try key("add", "--pin-file", file("12"))
        #expect(short.exitCode == 80 && short.errorText.contains("cli.pin.too-short"))
        let added = try key("add", "--pin-file", file("2468"))
        #expect(added.exitCode == 0 && added.text.contains("a PIN in the TPM"), "\(added.errorText)")
        #expect(try key("add", "--pin-file", file("2468")).exitCode == 82)
        try agent.succeed("lock")
        #expect(try unlock(pin: "2468").exitCode == 0)
        #expect(try agent.succeed("ls") == "")
        #expect(try agent.succeed("key", "ls").contains("tries left"))
        #expect(try key("change", "--pin-file", file("13579")).exitCode == 0)
        try agent.succeed("lock")
        let wrong = try unlock(pin: "2468")
        #expect(wrong.exitCode == 67 && wrong.errorText.contains("keys.unlock-failed"), "\(wrong.errorText)")
        #expect(try unlock(pin: "13579").exitCode == 0)
        #expect(try key("remove", "default", "--yes").exitCode == 0)
        try agent.succeed("lock")
        #expect(try unlock(pin: "13579").exitCode == 66)
        #expect(try agent.unlock().exitCode == 0)
    }

    @Test("a TPM that locks out says how long, and the passphrase still opens")
    func lockedOut() throws {
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        #expect(try key("add", "--in", "tpm", "--pin-file", file("2468")).exitCode == 0)
        try agent.succeed("lock")
        var last = try unlock(pin: "0000")
        for _ in 0..<8 where last.exitCode == 67 { last = try unlock(pin: "0000") }
        #expect(last.exitCode == 85, "\(last.errorText)")
        #expect(last.errorText.contains("try again in"), "\(last.errorText)")
    }

    @Test("the TPM opens the store without a PIN, and another TPM does not; without the agent files are all there is")
    func withoutPIN() throws {
        #expect(try key("add", "--in", "tpm", "--no-pin").exitCode == 69)
        #expect(try agent.unlock().exitCode == 0)
        #expect(try key("add", "--in", "tpm", "--no-pin").exitCode == 0)
        try agent.succeed("lock")
        #expect(try agent.run("unlock", "--no-pin").exitCode == 0)
        try agent.succeed("lock")
        try tpm.clear()
        // The count of wrong tries was behind the TPM's counter: that it is gone is not taken for a clean slate (R30).
        var cleared = try agent.run("unlock", "--no-pin")
        #expect(cleared.exitCode == 85)
        try Waiting.until("the pause is over") {
            cleared = try agent.run("unlock", "--no-pin")
            return cleared.exitCode != 85
        }
        #expect(cleared.exitCode == 69 && cleared.errorText.contains("keystore.key.unusable"), "\(cleared.errorText)")
        try agent.stop()
        let inFile = try key("add", "--in", "file", "--pin-file", file("2468 letters too"))
        #expect(inFile.exitCode == 0, "\(inFile.errorText)")
        #expect(inFile.errorText.contains("can guess a short PIN"))
    }
}
