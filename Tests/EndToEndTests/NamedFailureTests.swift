// Failures of unlocking that people meet, each with its own words and exit code. The one thing to keep true: none of
// them changes anything, and the passphrase still opens the store.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Failures of unlocking by name")
struct NamedFailureTests {
    private func makeFile(_ agent: AgentRunner, _ text: String) throws -> String {
        let path = agent.runner.folder.file("home/\(text)")
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    private func addKey(_ agent: AgentRunner, _ arguments: String...) throws -> ProcessResult {
        try agent.runner.run(
            ["key", "add"] + arguments, input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
    }

    private func keyring(_ agent: AgentRunner) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: agent.runner.storePath + "/store.keyring"))
    }

    @Test(
        "wrong PIN; the TPM's own lockout, with the time that is left; a TPM that is gone",
        .enabled(if: SoftwareTPM.isAvailable, "swtpm is missing"),
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
    func tpm() throws {
        let tpm = try SoftwareTPM()
        let agent = try AgentRunner(environment: [
            "COFFRET_TPM": tpm.transport, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/no",
        ])
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        #expect(try addKey(agent, "--in", "tpm", "--pin-file", makeFile(agent, "2468")).exitCode == 0)
        try agent.succeed("lock")
        let before = try keyring(agent)
        let process = try #require(agent.processID)
        var (seconds, last) = (0, try agent.run("unlock", "--pin-file", makeFile(agent, "0000")))
        #expect(last.exitCode == 67 && last.errorText.contains("keys.unlock-failed"), "\(last.errorText)")
        for _ in 0..<12 where !last.errorText.contains("keystore.pin.locked-out") {
            // Past the pause that the agent itself makes.
            seconds += 4_000
            try ClockLeap.move(process, to: seconds)
            last = try agent.run("unlock", "--pin-file", makeFile(agent, "0000"))
        }
        #expect(last.exitCode == 85)
        #expect(last.errorText.contains("too many wrong PINs; the TPM takes none for a while; try again in"))
        #expect(last.errorText.contains("the passphrase still opens the store"))
        #expect(try keyring(agent) == before)
        seconds += 4_000
        try ClockLeap.move(process, to: seconds)
        let unlocked = try agent.unlock()
        #expect(unlocked.exitCode == 0, "\(unlocked.errorText)")
        try agent.succeed("lock")

        tpm.stop()
        let gone = try agent.run("unlock", "--pin-file", makeFile(agent, "2468"))
        #expect(gone.exitCode == 69 && gone.errorText.contains("keystore.unavailable"), "\(gone.errorText)")
        #expect(gone.errorText.contains("the key store does not answer"))
        #expect(try keyring(agent) == before)
        #expect(try agent.runner.run("ls").exitCode == 0, "without the agent the passphrase opens it")
        try tpm.start()
    }

    @Test(
        "a keyring that nobody unlocked",
        .enabled(if: HeadlessKeyring.isAvailable, "gnome-keyring is missing"))
    func lockedKeyring() throws {
        let agent = try AgentRunner()
        let folder = agent.runner.folder
        // A bus of its own: the other tests' keyrings share one.
        let address = "unix:path=\(folder.file("bus"))"
        let environment = [
            "HOME": folder.file("home"), "XDG_RUNTIME_DIR": folder.path, "XDG_DATA_HOME": folder.file("data"),
            "DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin",
        ]
        let bus = try SpawnedProcess(
            "/usr/bin/dbus-daemon", ["--session", "--nofork", "--nopidfile", "--address=\(address)"],
            environment: environment)
        var daemon = try keyringDaemon(["--unlock"], environment, password: "login")
        defer {
            try? agent.stop()
            daemon.kill()
            bus.kill()
        }
        let places = ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile, "DBUS_SESSION_BUS_ADDRESS": address]
        let pin = try makeFile(agent, "2468")
        let unlocked = try agent.runner.run(["unlock"], input: [], environment: agent.environment(places))
        #expect(unlocked.exitCode == 0, "\(unlocked.errorText)")
        let added = try agent.runner.run(
            ["key", "add", "--in", "keyring", "--pin-file", pin], input: [], environment: agent.environment(places))
        #expect(added.exitCode == 0, "\(added.errorText)")
        let before = try keyring(agent)
        // The next session, in which nobody has unlocked the keyring.
        try agent.stop()
        daemon.kill()
        daemon = try keyringDaemon([], environment)
        let refused = try agent.run("unlock", "--pin-file", pin, environment: ["DBUS_SESSION_BUS_ADDRESS": address])
        #expect(try agent.run("ls").exitCode == 86)
        #expect(refused.exitCode == 87, "\(refused.errorText)")
        #expect(refused.errorText.contains("the desktop's keyring is locked"), "\(refused.errorText)")
        #expect(refused.errorText.contains("keystore.locked"), "\(refused.errorText)")
        #expect(try keyring(agent) == before)
        #expect(try agent.unlock().exitCode == 0, "the passphrase opens it")
    }

    /// Starts a keyring of the person's, and waits until it answers.
    private func keyringDaemon(
        _ arguments: [String], _ environment: [String: String], password: String = ""
    ) throws -> SpawnedProcess {
        let socket = try #require(environment["DBUS_SESSION_BUS_ADDRESS"]).dropFirst("unix:path=".count)
        try Waiting.until("the bus is there") { FileManager.default.fileExists(atPath: String(socket)) }
        let daemon = try SpawnedProcess(
            "/usr/bin/gnome-keyring-daemon", ["--components=secrets", "--foreground"] + arguments,
            environment: environment, input: .pipe)
        daemon.write(Array(password.utf8))
        daemon.closeInput()
        let question = [
            "--bus=unix:path=\(socket)", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
            "org.freedesktop.DBus.GetConnectionUnixProcessID", "string:org.freedesktop.secrets",
        ]
        try Waiting.until("the keyring answers") {
            try ProcessRunner.run("/usr/bin/dbus-send", question, environment: environment)
                .text.contains("uint32 \(daemon.processID)\n")
        }
        return daemon
    }

    @Test(
        "R32: a socket that another user put in the place of the agent's gets no word",
        .enabled(if: geteuid() == 0, "becoming another user takes root"))
    func replacedSocket() throws {
        let agent = try AgentRunner()
        try FileManager.default.createDirectory(
            atPath: agent.socketFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let program = """
            import os, socket, sys
            s = socket.socket(socket.AF_UNIX)
            s.bind(sys.argv[1])
            os.setgid(65534); os.setuid(65534)
            s.listen()
            print('listens', flush=True)
            for _ in range(2):
                c, _ = s.accept()
                print(len(c.recv(65536)), flush=True)
            """
        let other = try SpawnedProcess(
            "/usr/bin/python3", ["-c", program, agent.socketFolder + "/agent.sock"], output: .pipe)
        defer { other.kill() }
        #expect(other.readOutputLine() == "listens")
        let before = try keyring(agent)
        for refused in [try agent.unlock(), try agent.run("ls")] {
            #expect(refused.exitCode == 77)
            #expect(refused.errorText.contains("net.peer.untrusted"), "\(refused.errorText)")
            #expect(other.readOutputLine() == "0", "nothing was said to it")
        }
        #expect(try keyring(agent) == before)
        #expect(try agent.runner.run("ls").exitCode == 0, "without an agent the passphrase opens the store")
    }
}
