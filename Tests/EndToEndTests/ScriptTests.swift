// Coffret in scripts: where the passphrase comes from, what goes to which stream, and how it ends.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Scripts")
struct ScriptTests {
    @Test("the passphrase comes from a descriptor, line by line: what follows is the note")
    func descriptor() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let input = CoffretRunner.passphrase + "\n# Written by a script\n"
        let environment: [String: String?] = ["COFFRET_PASSPHRASE_FILE": nil]
        let result = try runner.run("new", "--passphrase-fd", "0", input: input, environment: environment)
        #expect(result.exitCode == 0)
        #expect(try runner.succeed("show", "written") == "# Written by a script\n")
    }

    @Test("a passphrase file that others can read is refused")
    func unsafeFile() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: runner.passphraseFile)
        let result = try runner.run("ls")
        #expect(result.exitCode == 77)
        #expect(result.errorText.contains("chmod 600"))
    }

    @Test("without terminal, file and descriptor it says what to do, and asks nobody")
    func nowhere() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        // A new session has no terminal to ask at.
        let environment = runner.environment(["COFFRET_PASSPHRASE_FILE": nil])
        let result = try ProcessRunner.run(
            "/usr/bin/setsid", ["--wait", CoffretRunner.executable, "ls"], environment: environment)
        #expect(result.exitCode == 86)
        #expect(result.errorText.contains("--passphrase-fd"))
        // But whether the store is locked can be said.
        let status = try ProcessRunner.run(
            "/usr/bin/setsid", ["--wait", CoffretRunner.executable, "status"],
            environment: runner.environment([
                "COFFRET_PASSPHRASE_FILE": nil, "COFFRET_AGENT": nil, "XDG_RUNTIME_DIR": runner.folder.path,
            ]))
        #expect(status.exitCode == 0)
        #expect(status.text.contains("is locked"), "\(status.errorText)")
    }

    @Test("a standard stream that is closed is an error, and never the next file or socket that is opened")
    func closedStreams() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("new", "Open", input: "text\n")
        let alone: [String: String?] = ["COFFRET_AGENT": "off", "COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]
        for more in [[:], alone] {
            for (words, said) in [("new Closed <&-", "standard input"), ("ls >&-", "the output")] {
                let result = try ProcessRunner.run(
                    "/bin/sh", ["-c", "exec \"$0\" \(words)", CoffretRunner.executable],
                    environment: agent.runner.environment(agent.environment(more)), timeoutSeconds: 60)
                #expect(result.exitCode == 74, "\(words), \(more)")
                #expect(result.errorText.contains(said), "\(result.errorText)")
            }
        }
        #expect(try agent.runner.run("fsck").exitCode == 0)
        #expect(try !agent.succeed("ls").contains("Closed"))
    }

    @Test("nothing in the working directory chooses a store, an editor or an export (R35)")
    func workingDirectory() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Mine\n")
        for name in [".env", "coffret.toml", ".coffret", "coffret.json", "store.keyring"] {
            try "COFFRET_STORE=/elsewhere\n".write(
                toFile: runner.folder.file("work/\(name)"), atomically: true, encoding: .utf8)
        }
        #expect(try runner.succeed("ls").contains("Mine"))
        #expect(try runner.run("ls", environment: ["COFFRET_STORE": "relative/store"]).exitCode == 64)
        // A relative entry of PATH, and a relative XDG folder, are not followed either.
        let evil = runner.folder.file("work/nano")
        try "#!/bin/sh\ntouch \(runner.folder.file("work/ran"))\n".write(
            toFile: evil, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: evil)
        #expect(try runner.run("ls", environment: ["XDG_DATA_HOME": "."]).exitCode == 0)
        let terminal = try runner.onTerminal("new", environment: ["PATH": "."])
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        #expect(try terminal.finish() == 69)
        #expect(!FileManager.default.fileExists(atPath: runner.folder.file("work/ran")))
    }

    @Test("results go to standard output, everything else to standard error")
    func streams() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# One\n")
        let timed = try runner.run("ls", "--timings")
        #expect(timed.text.contains("One"))
        #expect(timed.errorText.contains("key-derivation") && timed.errorText.contains("work"))
        let quiet = try runner.run("new", "-q", input: "# Two\n")
        #expect(quiet.text == "" && quiet.errorText == "" && quiet.exitCode == 0)
        let failed = try runner.run("show", "nothing")
        #expect(failed.text == "")
        #expect(failed.errorText.hasPrefix("coffret: error: there is no such item: nothing   [core.item.not-found]\n"))
        #expect(failed.errorText.contains("\ncoffret: hint: "))
        #expect(!failed.errorText.contains("\u{1B}"))
    }

    @Test("a reader that goes away is no error to speak of")
    func brokenPipe() throws {
        let runner = try CoffretRunner()
        let result = try ProcessRunner.run(
            "/bin/bash", ["-c", "\"$0\" help --json | true; echo ${PIPESTATUS[0]}", CoffretRunner.executable],
            environment: runner.environment())
        #expect(["0\n", "141\n"].contains(result.text))
        #expect(result.errorText == "")
        let full = try ProcessRunner.run(
            "/bin/bash", ["-c", "\"$0\" completions bash > /dev/full", CoffretRunner.executable],
            environment: runner.environment())
        #expect(full.exitCode == 79)
    }

    @Test("colour follows the terminal, NO_COLOR and --color")
    func color() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Plain\n")
        #expect(try !runner.succeed("ls").contains("\u{1B}["))
        #expect(try runner.succeed("ls", "--color", "always").contains("\u{1B}["))
        for (environment, isColored) in [
            (["NO_COLOR": nil], true), (["NO_COLOR": "1"], false),
            (["NO_COLOR": nil, "TERM": "dumb"], false),
        ] as [([String: String?], Bool)] {
            let terminal = try runner.onTerminal("ls", environment: environment)
            try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
            #expect(try terminal.finish() == 0)
            #expect(terminal.screen.contains("\u{1B}[33m") == isColored)
        }
    }

    @Test("the version is one line, and mistakes end with 64 and a suggestion")
    func mistakes() throws {
        let runner = try CoffretRunner()
        #expect(try runner.succeed("--version").hasPrefix("coffret 0."))
        let wrong = try runner.run("serach", "x")
        #expect(wrong.exitCode == 64)
        #expect(wrong.errorText.contains("did you mean coffret search?"))
        #expect(try runner.run("ls", "--lmit", "3").errorText.contains("did you mean --limit?"))
        let json = try runner.run("ls", "--lmit", "3", "--json")
        #expect((try? JSONSerialization.jsonObject(with: Data(json.standardError))) != nil)
        #expect(try runner.succeed("help", "lost passphrase").contains("recovery key"))
        #expect(try runner.run("help", "zzzz").exitCode == 66)
    }
}
