// Coffret among other programs: editors, shells, manual pages, and what any of them could find on disk.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Surroundings")
struct SurroundingsTests {
    static let canary = "CANARY-text-4b1f"
    static let canaryPassword = "CANARY-password-77e0"

    /// An editor that adds a line, leaves a swap file behind, and says where it worked.
    private func editor(_ runner: CoffretRunner, exitCode: Int = 0) throws -> String {
        let path = runner.folder.file("home/editor")
        let script = """
            #!/bin/sh
            printf '\(Self.canary)\\n' >> "$1"
            cp "$1" "$(dirname "$1")/.note.md.swp"
            stat -f -c %T "$1" > "$HOME/kind"; stat -c %a "$(dirname "$1")" > "$HOME/mode"; dirname "$1" > "$HOME/folder"
            exit \(exitCode)
            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private func text(_ runner: CoffretRunner, _ name: String) throws -> String {
        try String(contentsOfFile: runner.folder.file("home/\(name)"), encoding: .utf8).trimmingCharacters(
            in: .whitespacesAndNewlines)
    }

    @Test("the editor works in memory, in a private folder that is gone afterwards")
    func editing() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("# Tomatoes\n")
        let terminal = try runner.onTerminal("edit", id, environment: ["EDITOR": editor(runner)])
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.wait(for: "Saved")
        #expect(try terminal.finish() == 0)
        #expect(try text(runner, "kind") == "tmpfs")
        #expect(try text(runner, "mode") == "700")
        #expect(try !FileManager.default.fileExists(atPath: text(runner, "folder")))
        #expect(try runner.succeed("show", id) == "# Tomatoes\n\(Self.canary)\n")
    }

    @Test("the text of an editor that fails is offered, and lost only if the person says so")
    func failingEditor() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("# Tomatoes\n")
        for (answer, exitCode) in [("n", Int32(69)), ("y", 0)] {
            let terminal = try runner.onTerminal("edit", id, environment: ["EDITOR": editor(runner, exitCode: 1)])
            try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
            try terminal.answer("Save it? [Y/n] ", answer)
            #expect(try terminal.finish() == exitCode)
            #expect(try !FileManager.default.fileExists(atPath: text(runner, "folder")))
            #expect(try runner.succeed("show", id).contains(Self.canary) == (answer == "y"))
        }
    }

    @Test("a canary text and a canary password are nowhere in clear after any command")
    func canary() throws {
        let runner = try CoffretRunner()
        try runner.setPassphrase(Self.canaryPassword)
        try runner.makeStore()
        let id = try runner.makeNote("# \(Self.canary)\n\n#\(Self.canary)\n\(Self.canary)\n", "-t", Self.canary)
        let file = runner.folder.file("work/file")
        try String(repeating: Self.canary, count: 9_000).write(toFile: file, atomically: true, encoding: .utf8)
        try runner.succeed("attach", "add", id, file)
        try runner.succeed(
            "new", "--type", "login", Self.canary + " login", "--secret", "password", input: Self.canary + "\n")
        for command in [
            ["ls"], ["search", Self.canary], ["show", id], ["history", id], ["log"], ["tag", "ls"], ["link", id],
            ["fsck"],
            ["compact"], ["status"], ["recovery", "add", "--print-only"],
            ["backup", "create", runner.folder.file("home/backup")],
        ] {
            #expect(try runner.run(command, input: []).exitCode == 0, "\(command)")
        }
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.removeItem(atPath: runner.passphraseFile)
        let found = try ProcessRunner.run(
            "/usr/bin/grep", ["-rlaiE", "CANARY-(text|password)|" + Self.utf16Pattern, runner.folder.path])
        #expect(found.text == "", "in clear on disk")
        #expect(found.exitCode == 1)
    }

    private static let utf16Pattern = canary.map { "\($0)." }.joined()

    @Test("bash and fish complete commands, options and values; zsh loads its completions")
    func completions() throws {
        let runner = try CoffretRunner()
        for shell in ["bash", "zsh", "fish"] {
            try runner.succeed("completions", shell).write(
                toFile: runner.folder.file("home/c.\(shell)"), atomically: true, encoding: .utf8)
        }
        let bash = try ProcessRunner.run(
            "/bin/bash",
            [
                "-c",
                """
                source "$HOME/c.bash"
                for line in 'coffret hi' 'coffret tag re' 'coffret ls --so' 'coffret ls --sort c'; do
                    COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _coffret; echo "${COMPREPLY[*]}"
                done
                """,
            ], environment: runner.environment())
        #expect(bash.text == "history\nrename\n--sort\ncreated\n")
        #expect(bash.errorText == "")
        let fish = try ProcessRunner.run(
            "/usr/bin/fish",
            ["-c", "source $HOME/c.fish; complete -C 'coffret hi'; complete -C 'coffret ls --sort c'"],
            environment: runner.environment())
        #expect(fish.text.contains("history\tList the versions") && fish.text.contains("created\t"))
        let zsh = try ProcessRunner.run(
            "/usr/bin/zsh",
            ["-fc", "autoload -U compinit; compinit -u -d $HOME/z; source $HOME/c.zsh; whence -w _coffret_tag_add"],
            environment: runner.environment())
        #expect(zsh.text == "_coffret_tag_add: function\n")
    }

    @Test(
        "a library that sets variables before the program begins takes no word of its command line away",
        .enabled(if: Faketime.isAvailable, Faketime.missing),
        arguments: ["", "-agent", "-server"])
    func preloadedLibrary(_ suffix: String) throws {
        let runner = try CoffretRunner()
        let result = try ProcessRunner.run(
            CoffretRunner.executable + suffix, ["--help"],
            environment: runner.environment(["LD_PRELOAD": Faketime.library, "FAKETIME": "+400d"]))
        #expect(result.exitCode == 0 && result.text.lowercased().contains("usage"), "\(result.text)")
    }

    @Test("manual pages are rendered without a warning")
    func manualPages() throws {
        let runner = try CoffretRunner()
        try runner.succeed("help", "--write-manual-pages", runner.folder.file("work/man"))
        let names = try FileManager.default.contentsOfDirectory(atPath: runner.folder.file("work/man"))
        #expect(names.contains("coffret.1") && names.contains("coffret-tag-add.1"))
        for name in names {
            let page = try ProcessRunner.run(
                "/usr/bin/man", ["--warnings", "-l", runner.folder.file("work/man/\(name)")],
                environment: runner.environment(["MANPAGER": "cat", "MANWIDTH": "80"]))
            #expect(page.exitCode == 0 && page.errorText == "", "\(name): \(page.errorText)")
            #expect(page.text.contains("DESCRIPTION"))
        }
    }

    @Test("what was acknowledged survives kill -9 at any moment, and the store is whole")
    func killed() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let rounds = ProcessInfo.processInfo.environment["COFFRET_CRASH_ROUNDS"].flatMap { Int($0) } ?? 12
        let generator = SeededGenerator.fromEnvironment()
        var acknowledged: [String] = []
        for round in 0..<rounds {
            // A program that is killed while it stretches the passphrase leaves a try that counts as wrong.
            try? FileManager.default.removeItem(atPath: runner.folder.file("home/.local/state/coffret/agent"))
            let milliseconds = generator.int(in: 20...600)
            let script =
                "printf '# Note \(round)\\n' | timeout -s KILL 0.\(String(1000 + milliseconds).dropFirst()) \"$0\" new --json"
            let result = try ProcessRunner.run(
                "/bin/bash", ["-c", script, CoffretRunner.executable],
                environment: runner.environment(["COFFRET_STORE": runner.storePath]))
            if result.text.hasSuffix("}\n") { acknowledged.append("Note \(round)") }
        }
        try? FileManager.default.removeItem(atPath: runner.folder.file("home/.local/state/coffret/agent"))
        #expect(try runner.run("fsck").exitCode == 0)
        let titles = try #require(try runner.json("ls")["items"] as? [[String: Any]]).compactMap {
            $0["title"] as? String
        }
        for title in acknowledged { #expect(titles.contains(title), "\(title) was acknowledged") }
    }
}
