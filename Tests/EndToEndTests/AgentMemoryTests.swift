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

@Suite("Agent's memory", .enabled(if: geteuid() == 0, "reading another process's memory takes root"))
struct AgentMemoryTests {
    static let note = "CANARY-note-51d3e0"
    static let password = "CANARY-password-9ac217"
    /// In what a command was called with: among its words, and among its variables.
    static let word = "CANARY-word-e07b42"
    static let proxy = "http://ada:CANARY-proxy-33f18d@127.0.0.1:9"
    /// Among the variables of who unlocked, which a process of the store needs.
    static let homeProxy = "http://ada:CANARY-home-6b04c9@127.0.0.1:9"

    /// The storage key as it is now, opened with the passphrase beside the agent.
    static func storageKey(of runner: CoffretRunner) throws -> [UInt8] {
        let found = Mutex<[UInt8]>([])
        let environment = StoreEnvironment(
            stateDirectory: runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: SystemRandomSource(), clock: SystemWallClock(),
            keepStorageKey: { kept in
                found.withLock { $0 = unsafe kept.key.withUnsafeBytes { unsafe [UInt8]($0) } }
            })
        var typed = Array(CoffretRunner.passphrase.utf8)
        _ = try Store.open(
            at: runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        return found.withLock { $0 }
    }

    @Test("R31: after lock neither the agent nor a process of it holds a passphrase, a key or a text; before, they do")
    func nothingIsLeft() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        // Before it is needed: its own variables are those of who starts it.
        try agent.succeed("agent", "start")
        try agent.succeed(
            "unlock",
            environment: ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile, "https_proxy": Self.homeProxy])
        let called: [String: String?] = ["all_proxy": Self.proxy]
        try agent.succeed("new", Self.word, input: "\(Self.note)\n", environment: called)
        try agent.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: Self.password + "\n")
        #expect(try agent.succeed("show", "GitHub", "--field", "password") == Self.password + "\n")
        #expect(try agent.succeed("search", Self.note, environment: called).contains(Self.word))
        let key = try Self.storageKey(of: agent.runner)
        let processID = try #require(agent.processID)
        let texts = [Self.note, Self.password, CoffretRunner.passphrase, Self.word, Self.proxy].map { Array($0.utf8) }
        let homeProxy = Array(Self.homeProxy.utf8)

        let alone = try MemoryDump(of: processID)
        #expect(alone.contains(key), "the search finds the key while the store is unlocked")
        #expect(alone.contains(homeProxy), "and what the process that syncs may need")
        for text in texts { #expect(!alone.contains(text), "the agent itself reads neither vaults nor commands") }

        // While the person writes, the command's process holds the text.
        let editor = agent.runner.folder.file("home/editor")
        try "#!/bin/sh\necho started\nexec sleep 600\n".write(toFile: editor, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: editor)
        let terminal = try agent.runner.onTerminal(
            "edit", Self.word, environment: agent.environment(["EDITOR": editor, "all_proxy": Self.proxy]))
        defer { kill(terminal.processID, SIGKILL) }
        try terminal.wait(for: "started")
        let during = try MemoryDump(of: processID)
        for secret in [Self.note, Self.word, Self.proxy] {
            #expect(during.contains(Array(secret.utf8)), "the search finds it in the command's process")
        }

        try agent.succeed("lock")
        #expect(try ProcessFiles.children(of: processID) == [], "the command goes on with what it held")
        let after = try MemoryDump(of: processID)
        #expect(after.byteCount > 1 << 20)
        // What an allocator writes into freed memory may hide either half.
        for secret in texts + [homeProxy, Array(key.prefix(16)), Array(key.suffix(16))] {
            #expect(!after.contains(secret), "\(String(decoding: secret, as: UTF8.self))")
        }
    }

    @Test("R31: when its time is up the key is gone by itself, without anybody asking")
    func timeIsUp() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let key = try Self.storageKey(of: agent.runner)
        let processID = try #require(agent.processID)
        #expect(try MemoryDump(of: processID).contains(key))
        #expect(try agent.unlock("--for", "1s").exitCode == 0)
        try Waiting.until("the key is gone", everyMilliseconds: 50) { try !MemoryDump(of: processID).contains(key) }
        let after = try MemoryDump(of: processID)
        for half in [key.prefix(16), key.suffix(16)] { #expect(!after.contains(half)) }
        #expect(try agent.succeed("agent", "status").contains("its time was up"))
    }

    @Test("R31: the key of an open note lies in the agent until it is closed, or the store locks")
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
        let key = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        let processID = try #require(agent.processID)
        #expect(try !MemoryDump(of: processID).contains(key))
        for close in [["note", "lock", ids[0]], ["lock"]] {
            try agent.succeed("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note one\n")
            #expect(try MemoryDump(of: processID).contains(key), "the search finds it while it is there")
            try OpenNoteTests.succeed(agent, close)
            let after = try MemoryDump(of: processID)
            for secret in [Array(key.prefix(16)), Array(key.suffix(16)), Array("note one".utf8)] {
                #expect(!after.contains(secret))
            }
        }
    }

    @Test(
        "R31: neither another user nor another program of the same user can trace the agent or read its memory",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "setpriv is missing"))
    func otherPrograms() throws {
        let nobody = try NobodysAgent()
        defer { nobody.end() }
        let control = try nobody.run("sleep 20 & head -c 1 /proc/$!/environ > /dev/null && echo readable; kill $!")
        #expect(control.text == "readable\n", "an ordinary process of that user can be read")
        for user in [NobodysAgent.user, NobodysAgent.user - 1] {
            for name in ["mem", "environ", "maps"] {
                let result = try nobody.run("head -c 1 /proc/\(nobody.processID)/\(name)", as: user)
                #expect(result.exitCode != 0)
                #expect(result.errorText.contains("Permission denied"), "\(user), \(name): \(result.errorText)")
            }
            if FileManager.default.isExecutableFile(atPath: "/usr/bin/gdb") {
                let debugger = try nobody.run("gdb -nx -batch -p \(nobody.processID) < /dev/null", as: user)
                #expect((debugger.text + debugger.errorText).contains("Operation not permitted"), "\(user)")
            }
        }
    }

    @Test(
        "R32: another user gets no answer, and does not take another user's agent for his own",
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
            "/usr/bin/setpriv", Self.becoming(Self.user) + [AgentRunner.agentExecutable, "--foreground"],
            environment: Self.environment(runner))
        try Waiting.until("the agent listens") { FileManager.default.fileExists(atPath: socket) }
    }

    static let user: uid_t = 65_534

    private static func becoming(_ user: uid_t) -> [String] {
        ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    }

    private static func environment(_ runner: CoffretRunner) -> [String: String] {
        runner.environment([
            "COFFRET_AGENT": nil, "XDG_RUNTIME_DIR": runner.folder.file("run"), "COFFRET_TPM": "off",
        ])
    }

    var runtimeFolder: String { runner.folder.file("run") }
    var socket: String { runtimeFolder + "/coffret/agent.sock" }
    var processID: pid_t { process.processID }

    /// Runs a shell command, as the agent's user or as another one.
    func run(_ command: String, as user: uid_t = NobodysAgent.user) throws -> ProcessResult {
        try ProcessRunner.run(
            "/usr/bin/setpriv", Self.becoming(user) + ["/bin/sh", "-c", command], environment: Self.environment(runner),
            timeoutSeconds: 60)
    }

    func end() { process.kill(SIGTERM) }
}
