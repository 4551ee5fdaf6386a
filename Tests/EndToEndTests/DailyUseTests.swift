// Daily use: long work that is stopped, lists, several vaults, many commands at the same time.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Daily use")
struct DailyUseTests {
    /// Notes in a folder, so many that an import of them can be stopped on the way.
    private func makeNotes(_ count: Int, sentenceCount: Int = 40, in folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let text = String(repeating: "Some words about nothing in particular. ", count: sentenceCount)
        for number in 0..<count {
            // Two folders with the same files would be one folder that was moved, and nothing new.
            let note = "# Note \(number)\n\n\(text)\n\n\(folder)\n"
            try Data(note.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(number).md"))
        }
    }

    @Test("use 24: Ctrl-C in an import is answered, and the answer is true", arguments: [true, false])
    func stoppedImport(hasAgent: Bool) throws {
        guard AgentRunner.isAvailable else { return }
        let world = try AgentRunner()
        if hasAgent { try world.unlock() }
        let environment = world.runner.environment(
            world.environment([
                "TERM": "xterm-256color", "NO_COLOR": "1", "COFFRET_AGENT": hasAgent ? nil : "off",
                "COFFRET_PASSPHRASE_FILE": hasAgent ? nil : world.runner.passphraseFile,
            ]))
        var itemCount = 0
        var stoppedCount = 0
        for round in 0..<5 where stoppedCount == 0 {
            // Longer ones where a machine was too quick.
            try makeNotes(3_000, sentenceCount: 40 << min(2 * round, 5), in: world.runner.workPath + "/notes\(round)")
            let terminal = try TerminalProcess(
                CoffretRunner.executable, ["import", "notes\(round)"], environment: environment,
                directory: world.runner.workPath)
            if (try? terminal.wait(for: "Reading")) != nil { terminal.type("\u{3}") }
            let exitCode = try terminal.finish()
            if exitCode == 130 {
                #expect(terminal.screen.contains("stopped: nothing was imported"))
                stoppedCount += 1
            } else {
                #expect(exitCode == 0 && terminal.screen.contains("Imported 3,000 items"), "\(terminal.screen)")
                itemCount += 3_000
            }
            let listed = try world.run(
                "ls", "--json", "-n", "1",
                environment: ["COFFRET_PASSPHRASE_FILE": hasAgent ? nil : world.runner.passphraseFile])
            #expect(listed.text.hasSuffix("\"total\":\(itemCount)}\n"))
        }
        #expect(stoppedCount == 1, "an import of 3,000 notes was too quick for five attempts")
        if hasAgent { try world.stop() }
    }

    @Test("all vaults are exported at once, each by itself")
    func exportOfAll() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Garden plan\n")
        try runner.succeed("vault", "new", "Work 2026")
        try runner.makeNote("# Tax return\n", "--vault", "Work 2026")
        #expect(try runner.run("export", "out", "--all-vaults", "--vault", "Personal", "--yes").exitCode == 64)
        try runner.succeed("export", "out", "--all-vaults", "--yes")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: runner.workPath + "/out").sorted() == [
                "Personal", "Work 2026",
            ])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: runner.workPath + "/out/Work 2026") == ["Tax return.md"]
        )
        try runner.succeed("export", "whole", "--all-vaults", "--format", "json", "--yes")
        let other = try CoffretRunner()
        try other.makeStore()
        try other.succeed("import", runner.workPath + "/whole/Work 2026.json")
        #expect(try other.succeed("show", "tax") == "# Tax return\n")
        #expect(try runner.run("export", "alone", "--yes").errorText.contains("--all-vaults all"))
    }

    @Test("small things: conflicts lists, a pin is told once, NUL is no text, colours and ordinals are no tags")
    func smallThings() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote(
            "# Paint\n\nthe wall is #fff, the door #1e90ff, the frame #09f, on the #1st try; #dad likes it #2fa\n")
        #expect(
            try runner.succeed("tag", "ls").split(separator: "\n").map { $0.split(separator: " ")[0] } == [
                "#2fa", "#dad",
            ])
        #expect(try runner.run("conflicts").exitCode == 0)
        #expect(try runner.succeed("pin", "paint").hasPrefix("Pinned \"Paint\""))
        #expect(try runner.succeed("pin", "paint").hasPrefix("Was pinned already: \"Paint\""))
        #expect(try runner.succeed("unarchive", "paint").hasPrefix("Was not archived: \"Paint\""))
        let refused = try runner.run(["new"], input: Array("a\0b".utf8))
        #expect(refused.exitCode == 80 && refused.errorText.contains("NUL"))
        let terminal = try runner.onTerminal(
            "show", "paint", environment: ["COFFRET_PASSPHRASE_FILE": runner.passphraseFile])
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.components(separatedBy: "Paint").count == 2, "the title stands there once")
    }

    @Test("use 7: the options of tar are words, and tomato -blight leaves out blight")
    func commandsAsQueries() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Archives\n\ntar -xzf file.tgz\n")
        try runner.makeNote("# Tomato\n\nblight\n")
        #expect(try runner.succeed("search", "tar -xzf").contains("Archives"))
        let tomato = try runner.run("search", "tomato -blight")
        #expect(tomato.text == "" && tomato.errorText.contains("without: blight"))
    }

    @Test("lists say which items are locked")
    func marks() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Diary\n\nsecret\n")
        try runner.makeNote("# Plain\n")
        let locked = try runner.run(
            ["note", "lock", "diary", "--new-note-passphrase-fd", "0"],
            input: Array("wombat lantern orbit quartz\n".utf8))
        try #require(locked.exitCode == 0, "\(locked.errorText)")
        let lines = try runner.succeed("ls").split(separator: "\n")
        #expect(lines.filter { $0.contains("  locked") }.count == 1)
        let listed = try runner.json("ls")["items"] as? [[String: Any]]
        #expect(listed?.compactMap { $0["isLocked"] as? Bool }.sorted { !$0 && $1 } == [false, true])
    }

    @Test("a list over several vaults is one list in order, however long each of them is")
    func severalLists() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("vault", "new", "Rust")
        for (vault, count) in [("Personal", 130), ("Rust", 110), ("Personal", 20)] {
            let folder = runner.folder.file("\(vault)-\(count)")
            try makeNotes(count, in: folder)
            try runner.succeed("import", folder, "--vault", vault)
        }
        try runner.makeNote("# Last\n", "--vault", "Rust")
        for order in ["modified", "created"] {
            let items = try runner.json("ls", "--sort", order)["items"] as? [[String: Any]] ?? []
            #expect(items.count == 261 && Set(items.compactMap { $0["id"] as? String }).count == 261)
            #expect(items.first?["title"] as? String == "Last" && items.first?["vault"] as? String == "Rust")
            let times = items.compactMap { $0[order] as? String }
            #expect(times == times.sorted(by: >), "\(order)")
            let vaults = items.compactMap { $0["vault"] as? String }
            #expect(Set(vaults) == ["Personal", "Rust"] && vaults.count == 261)
        }
        let lines = try runner.succeed("ls").split(separator: "\n")
        #expect(lines.count == 261 && lines[0].contains("Last") && lines[0].contains("Rust"))
        let first = try runner.succeed("ls", "-n", "3").split(separator: "\n")
        #expect(first.count == 4 && first[3] == "3 of 261 items")
        #expect(try runner.succeed("ls", "--sort", "title", "-n", "1").contains("Last"))
    }

    @Test("use 18: shells complete the names of an item's fields", arguments: ["bash", "fish"])
    func fieldCompletion(shell: String) throws {
        guard AgentRunner.isAvailable else { return }
        guard ["/usr/bin", "/bin"].contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(shell)") })
        else {
            print("skipped: \(shell) is not installed")
            return
        }
        let world = try AgentRunner()
        try world.unlock()
        try world.succeed(
            "new", "GitHub", "--type", "login", "--set", "username=me", "--set", "Recovery mail=a@example.org")
        #expect(try world.succeed("complete-words", "fields", "", "github") == "Username\nRecovery mail\n")
        #expect(try world.succeed("complete-words", "fields", "rec", "github") == "Recovery mail\n")
        let script = try world.succeed("completions", shell)
        let path = world.runner.folder.file("completions")
        try Data(script.utf8).write(to: URL(fileURLWithPath: path))
        let program =
            shell == "bash"
            ? "source \(path); COMP_WORDS=(coffret show GitHub --field Rec); COMP_CWORD=4; _coffret; echo \"${COMPREPLY[@]}\""
            : "source \(path); complete -C 'coffret show GitHub --field Rec'"
        let folder = URL(fileURLWithPath: CoffretRunner.executable).deletingLastPathComponent().path
        let result = try ProcessRunner.run(
            "/usr/bin/env", [shell, "-c", program],
            environment: world.runner.environment(world.environment(["PATH": "\(folder):/usr/bin:/bin"])),
            directory: world.runner.workPath)
        #expect(result.text.contains("Recovery") && result.exitCode == 0, "\(result.errorText)")
        #expect(!result.text.contains("Username"))
        try world.stop()
    }

    @Test("R114: 24 imports at the same time under a limit of 24 open files bring in everything")
    func importsWithFewFiles() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let count = 24
        for number in 0..<count {
            let folder = runner.workPath + "/source\(number)"
            try FileManager.default.createDirectory(atPath: folder + "/deep", withIntermediateDirectories: true)
            try Data("# Plan \(number)\n\n![](picture.png)\n".utf8).write(to: URL(fileURLWithPath: folder + "/plan.md"))
            try Data(repeating: UInt8(number), count: 40_000).write(to: URL(fileURLWithPath: folder + "/picture.png"))
            for note in 0..<20 {
                try Data("# Note \(number)-\(note)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/deep/\(note).md"))
            }
        }
        // Twice, since the files that the first round leaves are open in the second.
        for (round, said) in ["Imported 21 items", "Nothing new"].enumerated() {
            let script = """
                ulimit -n 24 || exit 99
                for number in $(seq 0 \(count - 1)); do
                    { "$0" import "source$number" > "out$number" 2>&1; echo "ended $?" >> "out$number"; } &
                done
                wait
                """
            let result = try ProcessRunner.run(
                "/bin/sh", ["-c", script, CoffretRunner.executable], environment: runner.environment(),
                directory: runner.workPath, timeoutSeconds: 300)
            #expect(result.exitCode == 0)
            for number in 0..<count {
                let text = try String(contentsOfFile: runner.workPath + "/out\(number)", encoding: .utf8)
                #expect(text.contains(said) && text.hasSuffix("ended 0\n"), "round \(round), import \(number): \(text)")
            }
        }
        #expect(try runner.json("ls", "-n", "1")["total"] as? Int == count * 21)
        let limited = try ProcessRunner.run(
            "/bin/sh", ["-c", "ulimit -n 24; exec \"$0\" fsck", CoffretRunner.executable],
            environment: runner.environment(), directory: runner.workPath)
        #expect(limited.exitCode == 0, "\(limited.errorText)")
    }
}
