// Locked notes in vaults that other people have, too: their passphrases can be guessed at.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Locked notes in shared vaults",
    .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SharedLockedNoteTests {
    /// Runs with lines on descriptor 3.
    private func run(_ runner: CoffretRunner, _ lines: String, _ arguments: String...) throws -> ProcessResult {
        let path = runner.folder.file("home/lines")
        try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
        return try ProcessRunner.run(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 3< \"$LINES\"", CoffretRunner.executable] + arguments,
            environment: runner.environment(["LINES": path]), directory: runner.workPath, timeoutSeconds: 240)
    }

    private func lock(_ runner: CoffretRunner, _ note: String, _ passphrase: String) throws -> ProcessResult {
        try run(
            runner, passphrase + "\n", "note", "lock", note, "--new", "--effort", "light", "--note-passphrase-fd", "3")
    }

    @Test(
        "R82 guessableSharedNote: who locks is warned of those who can guess, and a passphrase that opens a record elsewhere is refused"
    )
    func guessableSharedNote() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        let own = try alice.makeNote("Diary\nfor nobody")
        let second = try alice.makeNote("Letters\nfor nobody either")
        let shared = try alice.makeNote("Plan\nfor two", "--vault", "Home")
        let other = try alice.makeNote("List\nfor two", "--vault", "Home")
        let alone = try lock(alice, own, "my own words")
        #expect(alone.exitCode == 0 && !alone.errorText.contains("guess"), "\(alone.errorText)")
        // Under the same record.
        let again = try run(alice, "my own words\n", "note", "lock", second, "--note-passphrase-fd", "3")
        #expect(again.exitCode == 0, "\(again.errorText)")
        try people.share("Home", "writer", with: bob)

        let before = try alice.succeed("show", shared)
        let refused = try lock(alice, shared, "my own words")
        #expect(
            refused.exitCode == 80 && refused.errorText.contains("core.note.passphrase-elsewhere")
                && refused.errorText.contains("Personal") && refused.errorText.contains("another person has"),
            "\(refused.exitCode) \(refused.errorText)")
        #expect(try alice.succeed("show", shared) == before, "nothing was changed")
        let locked = try lock(alice, shared, "words for two")
        #expect(locked.exitCode == 0 && locked.errorText.contains("used nowhere else"), "\(locked.errorText)")
        // The other way round: members could guess at what would be one's own.
        let back = try lock(alice, try alice.makeNote("Poem\nmine"), "words for two")
        #expect(
            back.exitCode == 80 && back.errorText.contains("\"Home\"") || back.errorText.contains("Home"),
            "\(back.errorText)")
        // Another passphrase of a note that is locked.
        let relocked = try run(
            alice, "words for two\nmy own words\n", "note", "relock", shared, "--effort", "light",
            "--note-passphrase-fd", "3", "--new-note-passphrase-fd", "3")
        #expect(
            relocked.exitCode == 80 && relocked.errorText.contains("core.note.passphrase-elsewhere"),
            "\(relocked.errorText)")
        #expect(try run(alice, "words for two\n", "show", shared, "--note-passphrase-fd", "3").exitCode == 0)

        // A note whose passphrase another one keeps at home goes nowhere with it, by no command.
        for command in [["mv", own, "--to", "Home"], ["share", "item", own, try people.account(of: bob), "--yes"]] {
            let moved = try alice.run(command, input: [])
            #expect(
                moved.exitCode == 80 && moved.errorText.contains("core.note.passphrase-elsewhere"), "\(moved.errorText)"
            )
        }
        #expect(try alice.items("ls", "--vault", "Personal").contains { $0["id"] as? String == own })
        try alice.succeed("mv", own, second, "--to", "Home")
        try people.sync(alice, bob)
        #expect(try run(bob, "words for two\n", "show", shared, "--note-passphrase-fd", "3").exitCode == 0)
        let theirs = try lock(bob, other, "words of Bob")
        #expect(theirs.exitCode == 0 && theirs.errorText.contains("another person has"), "\(theirs.errorText)")
    }
}
