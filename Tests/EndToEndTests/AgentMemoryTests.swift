// What is left in the agent's memory. The one thing to keep true: each search is first shown to find something, so that
// an empty result means that nothing is there.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretTestSupport
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("Agent's memory", .enabled(if: AgentRunner.watchesAgents, AgentRunner.watchingNote))
struct AgentMemoryTests {
    static let note = "CANARY-note-51d3e0"
    static let password = "CANARY-password-9ac217"

    /// Read to its end: the kernel gives a page at a time, and Foundation takes less than a page for the end.
    private static func maps(of processID: pid_t) throws -> String {
        let file = unsafe open("/proc/\(processID)/maps", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    /// All memory of a process that can be read, as root does it.
    private static func memory(of processID: pid_t) throws -> Data {
        let file = unsafe open("/proc/\(processID)/mem", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var all = Data()
        for line in try maps(of: processID).split(separator: "\n") {
            let words = line.split(separator: " ")
            let bounds = words[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            // Guard pages are left out: the kernel would let root read them, and they hold nothing.
            guard bounds.count == 2, words[1].hasPrefix("r"), !line.hasSuffix("[vvar]"), !line.hasSuffix("[vsyscall]")
            else { continue }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var position = bounds[0]
            while position < bounds[1] {
                let count = unsafe pread(file, &buffer, min(buffer.count, Int(bounds[1] - position)), off_t(position))
                guard count > 0 else { break }
                all.append(contentsOf: buffer[..<count])
                position += UInt(count)
            }
        }
        return all
    }

    /// The storage key as it is now, opened with the passphrase beside the agent.
    private static func storageKey(of runner: CoffretRunner) throws -> [UInt8] {
        let found = Mutex<[UInt8]>([])
        let environment = StoreEnvironment(
            stateDirectory: runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: SystemRandomSource(), clock: SystemWallClock(),
            keepStorageKey: { key, _ in
                found.withLock { $0 = unsafe key.withUnsafeBytes { unsafe [UInt8]($0) } }
            })
        var typed = Array(CoffretRunner.passphrase.utf8)
        _ = try Store.open(
            at: runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        return found.withLock { $0 }
    }

    @Test(
        "after lock the agent's memory holds no passphrase, no key, no text; before, only the key",
        .enabled(if: geteuid() == 0, "reading another process's memory takes root"))
    func nothingIsLeft() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", input: "# \(Self.note)\n")
        try agent.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: Self.password + "\n")
        #expect(try agent.succeed("show", "GitHub", "--field", "password") == Self.password + "\n")
        #expect(try agent.succeed("search", "CANARY*").contains(Self.note))
        let key = Data(try Self.storageKey(of: agent.runner))
        let processID = try #require(agent.processID)
        let planted = [Self.note, Self.password, CoffretRunner.passphrase].map { Data($0.utf8) }

        let before = try Self.memory(of: processID)
        #expect(before.range(of: key) != nil, "the search finds the key while the store is unlocked")
        for secret in planted { #expect(before.range(of: secret) == nil, "the agent itself never reads a vault") }
        try agent.succeed("lock")
        let after = try Self.memory(of: processID)
        #expect(after.count > 1 << 20)
        #expect(after.range(of: key) == nil)
        #expect(after.range(of: key.prefix(16)) == nil)
        for secret in planted { #expect(after.range(of: secret) == nil) }
    }

    @Test(
        "the key of an open note lies in the agent until it is closed, or the store locks",
        .enabled(if: geteuid() == 0, "reading another process's memory takes root"))
    func openNotes() throws {
        let (agent, ids) = try OpenNoteTests.makeAgent()
        defer { try? agent.stop() }
        let made = try agent.succeed("note", "sealed", ids[0], "--json")
        let record = try #require(try JSONSerialization.jsonObject(with: Data(made.utf8)) as? [String: Any])
        func number(_ name: String) throws -> UInt32 { UInt32(try #require(record[name] as? Int)) }
        let salt = try Hex.decode(try #require(record["salt"] as? String))
        let parameters = try PasswordParameters(
            memoryKibibytes: number("memoryKibibytes"), passCount: number("passCount"), salt: salt)
        var typed = Array("note one".utf8)
        let secret = try parameters.deriveSecret(from: Passphrase(typed: &typed))
        let key = Data(unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) })
        let processID = try #require(agent.processID)
        #expect(try Self.memory(of: processID).range(of: key) == nil)
        for close in [["note", "lock", ids[0]], ["lock"]] {
            try agent.succeed("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note one\n")
            #expect(try Self.memory(of: processID).range(of: key) != nil, "the search finds it while it is there")
            try OpenNoteTests.succeed(agent, close)
            let after = try Self.memory(of: processID)
            #expect(after.range(of: key) == nil && after.range(of: key.prefix(16)) == nil)
            #expect(after.range(of: Data("note one".utf8)) == nil)
        }
    }

    @Test(
        "another program of the same user can neither trace the agent nor read its memory",
        .enabled(if: geteuid() == 0, "becoming another user takes root"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "setpriv is missing"))
    func sameUser() throws {
        let nobody = try NobodysAgent()
        defer { nobody.end() }
        let control = try nobody.run("sleep 20 & head -c 1 /proc/$!/environ > /dev/null && echo readable; kill $!")
        #expect(control.text == "readable\n", "an ordinary process of that user can be read")
        for name in ["mem", "environ", "maps"] {
            let result = try nobody.run("head -c 1 /proc/\(nobody.processID)/\(name)")
            #expect(result.exitCode != 0)
            #expect(result.errorText.contains("Permission denied"), "\(name): \(result.errorText)")
        }
        if FileManager.default.isExecutableFile(atPath: "/usr/bin/gdb") {
            let debugger = try nobody.run("gdb -nx -batch -p \(nobody.processID) < /dev/null")
            #expect((debugger.text + debugger.errorText).contains("Operation not permitted"))
        }
    }

    @Test(
        "R32: another user gets no answer, and does not take another user's agent for his own",
        .enabled(if: geteuid() == 0, "becoming another user takes root"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "setpriv is missing"))
    func otherUser() throws {
        let nobody = try NobodysAgent()
        defer { nobody.end() }
        let answered = try nobody.run("python3 -c \"\(Self.hello)\" \(nobody.socket)")
        #expect(answered.text == "answered\n", "\(answered.errorText)")
        // root may enter the folder, but is not that user.
        let refused = try ProcessRunner.run("/usr/bin/python3", ["-c", Self.hello, nobody.socket])
        #expect(refused.text == "refused\n", "\(refused.errorText)")
        let client = try nobody.runner.run(
            "agent", "status", environment: ["COFFRET_AGENT": nil, "XDG_RUNTIME_DIR": nobody.runtimeFolder])
        #expect(client.exitCode == 77)
        #expect(client.errorText.contains("net.directory.untrusted"))
    }

    /// Says hello as Spec/agent.md writes it.
    private static let hello = """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        try:
            s.sendall(bytes([0, 0, 0, 3, 0x82, 1, 1]))
            print('answered' if s.recv(64) else 'refused')
        except OSError:
            print('refused')
        """
}

/// An agent that runs as the user nobody.
final class NobodysAgent {
    let runner: CoffretRunner
    private let process: SpawnedProcess

    init() throws {
        runner = try CoffretRunner()
        let runtime = runner.folder.file("run")
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        unsafe chmod(runner.folder.path, 0o755)
        for path in [runtime, runner.folder.file("home")] { unsafe chown(path, 65_534, 65_534) }
        process = try SpawnedProcess(
            "/usr/bin/setpriv", Self.asNobody + [AgentRunner.agentExecutable, "--foreground"],
            environment: Self.environment(runner))
        let end = Date().addingTimeInterval(20)
        while !FileManager.default.fileExists(atPath: socket), Date() < end { usleep(20_000) }
    }

    private static let asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups"]

    private static func environment(_ runner: CoffretRunner) -> [String: String] {
        runner.environment([
            "COFFRET_AGENT": nil, "XDG_RUNTIME_DIR": runner.folder.file("run"), "COFFRET_TPM": "off",
        ])
    }

    var runtimeFolder: String { runner.folder.file("run") }
    var socket: String { runtimeFolder + "/coffret/agent.sock" }
    var processID: pid_t { process.processID }

    /// Runs a shell command as the same user.
    func run(_ command: String) throws -> ProcessResult {
        try ProcessRunner.run(
            "/usr/bin/setpriv", Self.asNobody + ["/bin/sh", "-c", command], environment: Self.environment(runner),
            timeoutSeconds: 60)
    }

    func end() { process.kill(SIGTERM) }
}
