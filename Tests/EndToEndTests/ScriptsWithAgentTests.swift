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
        #expect(locked.exitCode == 69)
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
}
