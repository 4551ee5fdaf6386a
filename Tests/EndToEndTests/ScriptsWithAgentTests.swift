// Secrets in scripts while the agent has the store open: nobody is asked, and what belongs here stays here.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Scripts with the agent")
struct ScriptsWithAgentTests {
    @Test("R33: read, run, inject and git's helper work through the agent; the command is a child of the caller")
    func references() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed(
            "new", "--type", "login", "Forge", "--set", "username=ada", "--set", "url=https://git.example.org",
            "--secret", "password", input: "s3cret value")
        let reference = "coffret://Personal/forge/password"
        #expect(try agent.succeed("read", reference) == "s3cret value")
        let script = "echo \"$PW|$MINE\"; cat; test -d \"$PWD/deep\" && echo here"
        try FileManager.default.createDirectory(
            atPath: agent.runner.workPath + "/deep", withIntermediateDirectories: true)
        let ran = try agent.run(
            "run", "-e", "PW=\(reference)", "--", "/bin/bash", "-c", script, input: "typed\n",
            environment: ["MINE": "of the caller"])
        #expect(ran.text == "<masked by coffret>|of the caller\ntyped\nhere\n", "\(ran.errorText)")
        #expect(try agent.succeed("inject", input: "pw={{ \(reference) }}\n") == "pw=s3cret value\n")
        let asked = "protocol=https\nhost=git.example.org\n\n"
        #expect(try agent.succeed("git-credential", "get", input: asked) == "username=ada\npassword=s3cret value\n")
        try agent.succeed(
            "git-credential", "store", input: "protocol=https\nhost=git.example.org\nusername=ada\npassword=newer\n\n")
        #expect(try agent.succeed("read", reference) == "newer")
        // What is wrong is said once, with its code.
        let wrong = try agent.run("run", "-e", "PW=coffret://Personal/nobody/x", "--", "true")
        #expect(wrong.exitCode == 66 && wrong.errorText.contains("core.item.not-found"))
        // Locked: nobody can be asked here, and nothing is started. Storing is no reason to ask.
        try agent.succeed("lock")
        let locked = try agent.run("run", "-e", "PW=\(reference)", "--", "touch", "started")
        #expect(locked.exitCode == 86)
        #expect(!FileManager.default.fileExists(atPath: agent.runner.workPath + "/started"))
        let stored = try agent.run("git-credential", "store", input: asked + "username=a\npassword=b\n\n")
        #expect(stored.exitCode == 0 && stored.errorText == "")
    }

    @Test(
        "SSH keys are served by processes of the agent's while the store is unlocked, and not after",
        .enabled(if: RealPrograms.hasSSH, "needs OpenSSH's client and server"))
    func ssh() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let line = try agent.succeed("ssh-key", "new", "laptop")
        try line.write(toFile: agent.runner.folder.file("work/laptop.pub"), atomically: true, encoding: .utf8)
        let script = """
            ssh-add -L
            echo x > x
            ssh-keygen -q -Y sign -f laptop.pub -n file x && ssh-keygen -Y check-novalidate -n file -s x.sig < x | cut -c 1-4
            '\(CoffretRunner.executable)' lock
            ssh-add -L 2>/dev/null | grep -c ssh-ed25519
            """
        let result = try agent.run("ssh-agent", "--", "/bin/bash", "-c", script)
        #expect(result.text == line + "Good\nLocked.\n0\n", "\(result.errorText)")
    }

    /// What `coffret ssh-agent` prints.
    private func socket(in line: String) throws -> String {
        let path = try #require(line.split(separator: "'").dropFirst().first.map(String.init))
        #expect(line == "SSH_AUTH_SOCK='\(path)'; export SSH_AUTH_SOCK;\n")
        return path
    }

    private func list(_ path: String) throws -> ProcessResult {
        try ProcessRunner.run("/usr/bin/ssh-add", ["-L"], environment: ["SSH_AUTH_SOCK": path])
    }

    @Test(
        "the agent itself serves SSH keys from unlock to lock, at a place that stays the same",
        .enabled(if: RealPrograms.hasSSH, "needs OpenSSH's client and server"))
    func hostedSSH() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let secret: [String: String?] = ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]
        // No agent runs: it is started and unlocked.
        let path = try socket(in: agent.succeed("ssh-agent", environment: secret))
        #expect(try agent.succeed("agent", "status").contains("unlocked; locks in"))
        let line = try agent.succeed("ssh-key", "new", "laptop")
        #expect(try list(path).text == line)
        #expect(try socket(in: agent.succeed("ssh-agent")) == path, "a second one says where the first one is")
        let careful = try agent.succeed("ssh-key", "new", "careful", "--confirm")
        try careful.write(toFile: agent.runner.folder.file("work/careful.pub"), atomically: true, encoding: .utf8)
        try line.write(toFile: agent.runner.folder.file("work/laptop.pub"), atomically: true, encoding: .utf8)
        let script = """
            export SSH_AUTH_SOCK='\(path)'
            echo x > x
            ssh-keygen -q -Y sign -f laptop.pub -n file x && ssh-keygen -Y check-novalidate -n file -s x.sig < x | cut -c 1-4
            rm -f x.sig; ssh-keygen -q -Y sign -f careful.pub -n file x 2>/dev/null || echo refused
            """
        let used = try ProcessRunner.run(
            "/bin/bash", ["-c", script], environment: agent.runner.environment(agent.environment()),
            directory: agent.runner.workPath)
        #expect(used.text == "Good\nrefused\n", "\(used.errorText)")

        // A connection that stays open is cut off by the lock, and the place is gone with it.
        let open = try SpawnedProcess(
            "/usr/bin/python3", ["-c", Self.heldConnection, path], environment: ["PATH": "/usr/bin"], output: .pipe)
        #expect(open.readOutputLine() == "1 keys or more")
        try agent.succeed("lock")
        #expect(String(decoding: open.readOutputToEnd(), as: UTF8.self) == "cut off\n")
        _ = open.wait()
        #expect(try list(path).exitCode == 2)
        #expect(!FileManager.default.fileExists(atPath: path))
        let asked = try agent.run("ssh-agent")
        #expect(asked.exitCode == 69, "nobody can be asked: \(asked.errorText)")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try list(path).text.hasPrefix("ssh-ed25519 "), "unlocking is enough")
    }

    @Test("a place for the socket that others can look into is refused with what to do")
    func socketPlace() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let folder = runner.folder.file("open")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let refused = try runner.run("ssh-agent", "--socket", folder + "/x")
        #expect(refused.exitCode == 77)
        #expect(refused.errorText.contains("net.directory.untrusted") && refused.errorText.contains("mkdir -m 700"))
        #expect(!refused.errorText.contains("COFFRET_AGENT"), "the background agent has nothing to do with it")
    }

    /// Lists keys, and stays.
    private static let heldConnection = """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        s.sendall(b"\\0\\0\\0\\1\\x0b")
        answer = s.recv(5)
        print("1 keys or more" if answer[4] == 12 else answer, flush=True)
        while s.recv(65536):
            pass
        print("cut off", flush=True)
        """
}
