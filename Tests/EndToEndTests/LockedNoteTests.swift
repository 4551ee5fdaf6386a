// `coffret note`, as people and scripts use it.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Locked notes on the command line")
struct LockedNoteCommandTests {
    private static let text = "# Diary\n\nThe xylophone is under the stairs.\n"

    /// Runs with lines on descriptor 3.
    private func run(
        _ runner: CoffretRunner, _ lines: String, _ arguments: String..., input: String = ""
    ) throws -> ProcessResult {
        let path = runner.folder.file("home/lines")
        try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
        return try ProcessRunner.run(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 3< \"$LINES\"", CoffretRunner.executable] + arguments,
            input: Array(input.utf8), environment: runner.environment(["LINES": path]), directory: runner.workPath,
            timeoutSeconds: 120)
    }

    @Test("lock, show, edit, search, take the lock off")
    func life() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote(Self.text)
        let locked = try run(
            runner, "note one\n", "note", "lock", "diary", "--effort", "light", "--note-passphrase-fd", "3")
        #expect(locked.exitCode == 0, "\(locked.errorText)")
        #expect(locked.text.contains("1 earlier version"))
        #expect(try runner.succeed("ls").contains("Diary"))
        #expect(try runner.succeed("search", "xylophone") == "")
        let refused = try runner.run("show", id)
        #expect(refused.exitCode == 89 && refused.text == "")
        let wrong = try run(runner, "nothing\n", "show", id, "--note-passphrase-fd", "3")
        #expect(wrong.exitCode == 67 && wrong.text == "")
        let shown = try run(runner, "note one\n", "show", id, "--note-passphrase-fd", "3")
        #expect(shown.text == Self.text)
        let edited = try run(
            runner, "note one\n", "edit", id, "--note-passphrase-fd", "3", input: Self.text + "marimba\n")
        #expect(edited.exitCode == 0, "\(edited.errorText)")
        #expect(try runner.succeed("search", "marimba") == "")
        #expect(try runner.succeed("history", id).contains("sealed contents"))
        #expect(try runner.run("edit", id, input: "clear").exitCode == 89)
        #expect(try runner.run("copy", id).exitCode == 89)
        let versions = try #require(try runner.json("history", id)["versions"] as? [[String: Any]])
        let oldest = try #require(versions.last?["version"] as? String)
        #expect(try runner.succeed("show", id, "--at", oldest) == Self.text)
        #expect(try runner.run("restore", id, "--at", oldest).exitCode == 89)
        let unlocked = try run(runner, "note one\n", "note", "unlock", id, "--for-good", "--note-passphrase-fd", "3")
        #expect(unlocked.exitCode == 0, "\(unlocked.errorText)")
        #expect(try runner.succeed("show", id) == Self.text + "marimba\n")
    }

    @Test("another passphrase for all, a hint, and the history cut")
    func relock() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote(Self.text)
        let locked = try run(
            runner, "one\n", "note", "lock", id, "--effort", "light", "--note-passphrase-fd", "3", "--hint", "first",
            "--purge-history", "--yes")
        #expect(locked.exitCode == 0, "\(locked.errorText)")
        #expect(locked.text.contains("a signed record says so") && locked.text.contains("Not reached"))
        #expect(try runner.succeed("note", "hint", id) == "first\n")
        #expect(try runner.json("history", id)["versions"].map { ($0 as? [Any])?.count } == 1)
        let relocked = try run(
            runner, "one\ntwo\n", "note", "relock", "--all", "--effort", "light", "--note-passphrase-fd", "3",
            "--new-note-passphrase-fd", "3")
        #expect(relocked.exitCode == 0, "\(relocked.errorText)")
        #expect(try run(runner, "one\n", "show", id, "--note-passphrase-fd", "3").exitCode == 67)
        #expect(try run(runner, "two\n", "show", id, "--note-passphrase-fd", "3").text == Self.text)
        #expect(try runner.succeed("note", "passphrases").contains("replaced by"))
        let other = try runner.makeNote("# Other\n")
        #expect(try run(runner, "one\n", "note", "lock", other, "--note-passphrase-fd", "3").exitCode == 67)
        #expect(try run(runner, "two\n", "note", "lock", other, "--note-passphrase-fd", "3").exitCode == 0)
    }

    @Test("scheme 1 only when asked for, with a warning; a broken scheme is named at every start")
    func schemes() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote(Self.text)
        let locked = try run(runner, "one\n", "note", "lock", id, "--scheme", "1", "--note-passphrase-fd", "3")
        #expect(locked.exitCode == 0 && locked.errorText.contains("does not stretch"))
        #expect(try runner.json("note", "sealed", id)["scheme"] as? Int == 1)
        let warned = try runner.run("ls", environment: ["COFFRET_BROKEN_SCHEMES": "1"])
        #expect(warned.exitCode == 0 && warned.errorText.contains("scheme 1, which is broken"))
        #expect(try run(runner, "one\n", "show", id, "--note-passphrase-fd", "3").text == Self.text)
        #expect(try runner.json("note", "sealed", id)["scheme"] as? Int == 2)
        #expect(try runner.run("ls", environment: ["COFFRET_BROKEN_SCHEMES": "1"]).errorText == "")
    }

    @Test("hidden is not encrypted: said so, and asked before it is shown")
    func hidden() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote(Self.text)
        #expect(try runner.succeed("note", "hide", id).contains("not encrypted"))
        #expect(try runner.succeed("search", "xylophone") == "")
        let refused = try runner.run("show", id)
        #expect(refused.exitCode == 69 && refused.text == "")
        let shown = try run(runner, CoffretRunner.passphrase + "\n", "show", id, "--passphrase-fd", "3")
        #expect(shown.text == Self.text)
        #expect(
            try run(runner, CoffretRunner.passphrase + "\n", "note", "unhide", id, "--passphrase-fd", "3").exitCode == 0
        )
        #expect(try runner.succeed("show", id) == Self.text)
    }
}
