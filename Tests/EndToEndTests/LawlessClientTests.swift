// Programs of the same user that ask the agent for more than a command. The one thing to keep true: each trap is first shown
// to work on a program that takes it, so that a mark that is missing means that nothing was loaded.

import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite("Lawless clients", .enabled(if: TrapLibrary.isAvailable, "a C compiler is missing"))
struct LawlessClientTests {
    private static let refused = AgentResponse.failed(code: "agent.request.invalid", waitSeconds: nil)

    private func home(_ agent: AgentRunner) -> [String: String] { ["HOME": agent.runner.folder.file("home")] }

    /// An archive, and a folder in which the C library finds character sets of somebody else's.
    private func setUpCharacterSets(_ agent: AgentRunner) throws -> TrapLibrary {
        let folder = agent.runner.folder.file("gconv")
        let trap = try TrapLibrary(in: folder)
        try """
        module ISO-10646/UTF8/ INTERNAL TRAP 1
        module INTERNAL ISO-10646/UTF8/ TRAP 1
        module ISO-10646/UTF8/ ISO-10646/UTF8/ TRAP 1

        """.write(toFile: folder + "/gconv-modules", atomically: true, encoding: .utf8)
        for name in ["one", "two", "three"] {
            let work = agent.runner.workPath
            try "# \(name)\n".write(toFile: "\(work)/\(name)-é.md", atomically: true, encoding: .utf8)
            let packed = try ProcessRunner.run(
                "/usr/bin/tar", ["-C", work, "-cf", "\(work)/\(name).tar", "\(name)-é.md"])
            try #require(packed.exitCode == 0, "\(packed.errorText)")
        }
        return trap
    }

    /// Has a session import an archive: this process reads nothing of it.
    private func bring(_ name: String, _ agent: AgentRunner) throws {
        let variables = home(agent).merging(["XDG_RUNTIME_DIR": agent.runtimeFolder]) { $1 }
        let store = try #require(AgentLocation.canonical(agent.runner.storePath))
        let session = try #require(try SessionClient.open(ProcessEnvironment(variables), store: store))
        let source = try OwnedDescriptor.open("\(agent.runner.workPath)/\(name)", O_RDONLY)
        #expect(try session.perform(ImportRun(), descriptors: [source.number]).items?.imported == 1)
    }

    @Test("keys 5: R100: a client's GCONV_PATH loads nothing into a process of the agent")
    func characterSets() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let trap = try setUpCharacterSets(agent)
        let variables = home(agent).merging(["GCONV_PATH": agent.runner.folder.file("gconv")]) { $1 }
        // Without the agent the variable is the person's own.
        try agent.runner.succeed("import", "one.tar", environment: ["GCONV_PATH": variables["GCONV_PATH"]])
        try #require(trap.isSprung, "an import reads character sets")
        trap.arm()
        #expect(try agent.unlock().exitCode == 0)
        let client = LawlessClient(agent: agent)
        #expect(try client.beginSession(variables) == Self.refused)
        #expect(try client.beginSession(home(agent)) == .done)
        try bring("two.tar", agent)
        #expect(!trap.isSprung)
        #expect(try agent.succeed("ls").contains("two"))
        for name in ["LD_PRELOAD", "GIO_EXTRA_MODULES", "OPENSSL_CONF", "LOCPATH", "COFFRET_AGENT", "COFFRET_PINENTRY"]
        {
            #expect(try client.beginSession([name: "/nowhere"]) == Self.refused, "\(name)")
            #expect(try client.unlock(.passphrase, "x", [name: "/nowhere"]) == Self.refused, "\(name)")
        }
    }

    @Test("keys 5: R100: an agent that is started with GCONV_PATH does without it")
    func ownCharacterSets() throws {
        let folder = try TemporaryDirectory("gconv")
        let agent = try AgentRunner(environment: ["GCONV_PATH": folder.path])
        defer { try? agent.stop() }
        let trap = try setUpCharacterSets(agent)
        for name in try FileManager.default.contentsOfDirectory(atPath: agent.runner.folder.file("gconv")) {
            try FileManager.default.createSymbolicLink(
                atPath: folder.file(name), withDestinationPath: agent.runner.folder.file("gconv/\(name)"))
        }
        #expect(try agent.unlock().exitCode == 0)
        trap.arm()
        try bring("three.tar", agent)
        #expect(!trap.isSprung)
    }

    @Test(
        "keys 6: R100: a client's COFFRET_TPM loads nothing, with the store locked or unlocked",
        .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
    func transport() throws {
        let tpm = try SoftwareTPM()
        let agent = try AgentRunner(environment: [
            "COFFRET_TPM": tpm.transport, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/no",
        ])
        defer { try? agent.stop() }
        let trap = try TrapLibrary(in: agent.runner.folder.file("tpm"))
        let pin = agent.runner.folder.file("home/pin")
        try "2468\n".write(toFile: pin, atomically: true, encoding: .utf8)
        unsafe chmod(pin, 0o600)
        #expect(try agent.unlock().exitCode == 0)
        let added = try agent.runner.run(
            ["key", "add", "--in", "tpm", "--pin-file", pin], input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        try #require(added.exitCode == 0, "\(added.errorText)")
        let client = LawlessClient(agent: agent)
        let variables = home(agent).merging(["COFFRET_TPM": trap.path]) { $1 }
        #expect(try client.beginSession(variables) == Self.refused)
        #expect(try agent.succeed("key", "ls", environment: ["COFFRET_TPM": trap.path]).contains("tries left"))
        try agent.succeed("lock")
        #expect(try client.unlock(.pin, "2468", variables) == Self.refused)
        #expect(!trap.isSprung)
        #expect(try client.unlock(.pin, "2468", home(agent)) == .done)
    }

    @Test("keys 6: R100: the agent's own COFFRET_TPM names a TPM, and no library or command")
    func ownTransport() throws {
        let folder = try TemporaryDirectory("tpm")
        let trap = try TrapLibrary(in: folder.path)
        for transport in [trap.path, "cmd:touch \(trap.mark)", "device/../TRAP.so"] {
            let agent = try AgentRunner(environment: ["COFFRET_TPM": transport])
            defer { try? agent.stop() }
            let refused = try agent.unlock()
            #expect(refused.exitCode == 69, "\(transport): \(refused.errorText)")
            #expect(refused.errorText.contains("keystore.unavailable"))
            #expect(!trap.isSprung)
        }
    }

    @Test("keys 6: R100: a client's PATH chooses no pinentry")
    func pinentry() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let folder = agent.runner.folder.file("bin")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let mark = agent.runner.folder.file("mark")
        for name in ["theirs", "ours"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
            let script = "#!/bin/sh\necho \(name) >> \(mark)\nexit 1\n"
            try script.write(toFile: "\(folder)/\(name)/pinentry", atomically: true, encoding: .utf8)
            unsafe chmod("\(folder)/\(name)/pinentry", 0o755)
        }
        // Starts an agent whose PATH leads to another one.
        let started = try agent.run(
            "unlock", "--passphrase-fd", "0", input: CoffretRunner.passphrase + "\n",
            environment: ["PATH": "\(folder)/ours:/usr/bin:/bin"])
        try #require(started.exitCode == 0, "\(started.errorText)")
        try agent.succeed("lock")
        let variables = home(agent).merging(["PATH": "\(folder)/theirs:/usr/bin:/bin", "DISPLAY": ":0"]) { $1 }
        let answer = try LawlessClient(agent: agent).unlock(.asked, "", variables)
        #expect(answer == .failed(code: "agent.pinentry.missing", waitSeconds: nil))
        #expect(try String(contentsOfFile: mark, encoding: .utf8) == "ours\n")
    }
}
