// The vault's keys in use: ssh-add lists them, ssh-keygen signs with them, and a real sshd lets in who has them.

import CoffretTestSupport
import Foundation
import Testing

@Suite("SSH agent", .enabled(if: RealPrograms.hasSSH, "needs OpenSSH's client and server"))
struct SSHAgentTests {
    static func makeRunner() throws -> CoffretRunner {
        let runner = try CoffretRunner()
        try runner.makeStore()
        return runner
    }

    /// Makes a key with ssh-keygen.
    static func keygen(_ runner: CoffretRunner, _ name: String, _ options: [String]) throws -> String {
        let path = runner.folder.file("home/\(name)")
        let result = try ProcessRunner.run("/usr/bin/ssh-keygen", ["-q", "-N", "", "-C", name, "-f", path] + options)
        try #require(result.exitCode == 0, "\(result.errorText)")
        return path
    }

    static func agent(_ runner: CoffretRunner, _ script: String, _ changes: [String: String?] = [:]) throws
        -> ProcessResult
    {
        var environment = changes
        environment["XDG_RUNTIME_DIR"] = runner.folder.file("tmp")
        return try runner.run(["ssh-agent", "--", "/bin/bash", "-c", script], input: [], environment: environment)
    }

    static let kinds: [(String, [String])] = [
        ("ed", ["-t", "ed25519"]), ("p256", ["-t", "ecdsa", "-b", "256"]), ("p384", ["-t", "ecdsa", "-b", "384"]),
        ("p521", ["-t", "ecdsa", "-b", "521"]), ("rsa2", ["-t", "rsa", "-b", "2048"]),
        ("rsa4", ["-t", "rsa", "-b", "4096"]),
    ]

    @Test("ssh-add lists all kinds, ssh-keygen signs with them, and nothing can be added or removed from outside")
    func tools() throws {
        let runner = try Self.makeRunner()
        var lines: Set<String> = []
        for (name, options) in Self.kinds {
            let path = try Self.keygen(runner, name, options)
            let line = try String(contentsOfFile: path + ".pub", encoding: .utf8)
            #expect(try runner.succeed("ssh-key", "import", path) == line)
            lines.insert(line.trimmingCharacters(in: .newlines))
        }
        let made = try runner.succeed("ssh-key", "new", "made here")
        #expect(made.hasPrefix("ssh-ed25519 ") && made.hasSuffix(" made here\n"))
        #expect(try runner.succeed("ssh-key", "public", "made here") == made)
        lines.insert(made.trimmingCharacters(in: .newlines))
        let list = try Self.agent(runner, "ssh-add -L")
        #expect(Set(list.text.split(separator: "\n").map(String.init)) == lines)

        let script = """
            set -e
            for name in ed p256 p384 p521 rsa2 rsa4; do
              echo message > $name.txt
              ssh-keygen -q -Y sign -f $HOME/$name.pub -n file $name.txt
              echo "me $(cat $HOME/$name.pub)" > allowed
              ssh-keygen -Y verify -f allowed -I me -n file -s $name.txt.sig < $name.txt | cut -d ' ' -f 1-4
            done
            ssh-add $HOME/ed 2>&1 | grep -ci 'could not\\|refused'
            ssh-add -D >/dev/null 2>&1 || echo no removal
            ssh-add -L | wc -l
            exit 5
            """
        // The private halves are gone from the disk: only the vault has them.
        for (name, _) in Self.kinds { try FileManager.default.removeItem(atPath: runner.folder.file("home/\(name)")) }
        try Data("not a key".utf8).write(to: URL(fileURLWithPath: runner.folder.file("home/ed")))
        let used = try Self.agent(
            runner, script.replacing("ssh-add $HOME/ed", with: "ssh-keygen -q -t ed25519 -N '' -f other; ssh-add other")
        )
        #expect(
            used.text == String(repeating: "Good \"file\" signature for\n", count: 6) + "1\nno removal\n7\n",
            "\(used.errorText)")
        #expect(used.exitCode == 5)
        // The socket went with the command.
        let sockets = try ProcessRunner.run("/usr/bin/find", [runner.folder.file("tmp"), "-name", "*.sock"])
        #expect(sockets.text == "")
    }

    @Test("a real sshd lets in who has the key, for each kind of key")
    func server() throws {
        let runner = try Self.makeRunner()
        let host = try Self.keygen(runner, "host", ["-t", "ed25519"])
        var authorized = ""
        for (name, options) in Self.kinds {
            let path = try Self.keygen(runner, name, options)
            authorized += try runner.succeed("ssh-key", "import", path)
            try FileManager.default.removeItem(atPath: path)
        }
        let folder = runner.folder.file("home")
        try authorized.write(toFile: folder + "/authorized", atomically: true, encoding: .utf8)
        if getuid() == 0 {
            try? FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
        }
        // sshd serves one connection on its standard input: no port is needed.
        let config = """
            HostKey \(host)
            AuthorizedKeysFile \(folder)/authorized
            PidFile none
            UsePAM no
            StrictModes no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin yes
            LogLevel ERROR

            """
        try config.write(toFile: folder + "/sshd_config", atomically: true, encoding: .utf8)
        let script = """
            echo "server $(cut -d ' ' -f 1,2 $HOME/host.pub)" > known
            for name in ed p256 p384 p521 rsa2 rsa4; do
              ssh -F none -o "ProxyCommand=/usr/sbin/sshd -i -f $HOME/sshd_config" -o UserKnownHostsFile=known \
                -o IdentitiesOnly=yes -i $HOME/$name.pub -o BatchMode=yes -o LogLevel=ERROR "$(id -un)@server" \
                "echo in with $name"
            done
            """
        let result = try Self.agent(runner, script)
        #expect(
            result.text == Self.kinds.map { "in with \($0.0)\n" }.joined(), "\(result.errorText)")
    }

    @Test("a key that asks first is used after a yes only; keys in the trash are not served")
    func confirmation() throws {
        let runner = try Self.makeRunner()
        let line = try runner.succeed("ssh-key", "new", "careful", "--confirm")
        try line.write(toFile: runner.folder.file("home/careful.pub"), atomically: true, encoding: .utf8)
        let script =
            "echo x > x; rm -f x.sig; ssh-keygen -q -Y sign -f $HOME/careful.pub -n file x; ls x.sig; ssh-add -L | wc -l"
        func answer(_ code: Int) throws -> String {
            let path = runner.folder.file("home/askpass")
            try "#!/bin/sh\necho \"$SSH_ASKPASS_PROMPT: $1\" >> \(runner.folder.file("home/asked"))\nexit \(code)\n"
                .write(
                    toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            return path
        }
        #expect(try Self.agent(runner, script, ["SSH_ASKPASS": answer(0)]).text == "x.sig\n1\n")
        #expect(try Self.agent(runner, script, ["SSH_ASKPASS": answer(1)]).text == "1\n")
        #expect(try Self.agent(runner, script, ["SSH_ASKPASS": "relative/askpass"]).text == "1\n")
        let asked = try String(contentsOfFile: runner.folder.file("home/asked"), encoding: .utf8)
        #expect(asked.contains("confirm: Allow use of the SSH key \"careful\"?"))
        try runner.succeed("rm", "careful")
        #expect(try Self.agent(runner, "ssh-add -L | grep -c ssh-ed25519").text == "0\n")
    }

    @Test("in the foreground it says where it listens, and ends with its signal")
    func foreground() throws {
        let runner = try Self.makeRunner()
        try runner.succeed("new", "--type", "ssh-key", "plain", "--generate", "private-key")
        let process = try SpawnedProcess(
            CoffretRunner.executable, ["ssh-agent"],
            environment: runner.environment(["XDG_RUNTIME_DIR": runner.folder.file("tmp")]), output: .pipe)
        let line = String(decoding: process.readOutput(), as: UTF8.self)
        let path = line.split(separator: "'").dropFirst().first.map(String.init) ?? ""
        #expect(line == "SSH_AUTH_SOCK='\(path)'; export SSH_AUTH_SOCK;\n")
        let list = try ProcessRunner.run("/usr/bin/ssh-add", ["-L"], environment: ["SSH_AUTH_SOCK": path])
        #expect(list.text.hasPrefix("ssh-ed25519 ") && list.text.hasSuffix(" plain\n"))
        let second = try runner.run("ssh-agent", environment: ["XDG_RUNTIME_DIR": runner.folder.file("tmp")])
        #expect(second.exitCode == 0 && second.text == line, "it says where the first one is")
        #expect(second.errorText.contains("another coffret ssh-agent"))
        let status = process.kill(SIGTERM)
        #expect(status.code == 0 || status.isSignalled)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
