// What is wrong with a command line is said before anybody types a passphrase. The one thing to keep true: nobody can be asked
// here, so a command that would ask ends with 86 and fails the test.

import CoffretTestSupport
import Foundation
import Testing

@Suite("The passphrase is asked for last")
struct AskedLastTests {
    private func expect(
        _ runner: CoffretRunner, _ words: String, _ exitCode: Int32, _ code: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let result = try runner.run(
            words.split(separator: " ").map(String.init), input: [], environment: ["COFFRET_PASSPHRASE_FILE": nil])
        #expect(result.exitCode == exitCode, "\(words): \(result.errorText)", sourceLocation: location)
        #expect(result.errorText.contains("[\(code)]"), "\(words): \(result.errorText)", sourceLocation: location)
    }

    @Test("files that are not there, places that are taken, words that are none")
    func arguments() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try FileManager.default.createDirectory(atPath: runner.workPath + "/full", withIntermediateDirectories: false)
        for name in ["taken", "full/file"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: runner.workPath + "/" + name))
        }
        try expect(runner, "attach add Tomatoes nothere", 66, "cli.file.unreadable")
        try expect(runner, "attach extract Tomatoes a --output taken", 73, "cli.file.exists")
        try expect(runner, "attach extract Tomatoes a --output nowhere/x", 66, "cli.file.unreadable")
        try expect(runner, "import nothere", 66, "import.source.missing")
        try expect(runner, "export full --yes", 73, "export.target.occupied")
        try expect(runner, "export taken --format json --yes", 73, "export.target.occupied")
        try expect(runner, "export nowhere/x --yes", 73, "export.target.unwritable")
        try expect(runner, "backup create taken", 73, "cli.file.exists")
        try expect(runner, "backup create full", 73, "cli.file.exists")
        try expect(runner, "backup create nowhere/x", 66, "cli.file.unreadable")
        try expect(runner, "backup verify nothere", 66, "cli.file.unreadable")
        try expect(runner, "new -f nothere", 66, "cli.file.unreadable")
        try expect(runner, "new --type login GitHub --set username", 64, "cli.usage.invalid-value")
        try expect(runner, "edit Tomatoes -f nothere", 66, "cli.file.unreadable")
        try expect(runner, "ssh-key import nothere", 66, "cli.file.unreadable")
        for command in ["show Tomatoes --at", "restore Tomatoes --at", "diff Tomatoes"] {
            try expect(runner, command + " gestern", 64, "cli.moment.invalid")
        }
        try expect(runner, "search (", 64, "search.query.unbalanced")
        try expect(runner, "vault new a/b", 82, "core.vault.name-invalid")
        try expect(runner, "vault rename Personal a/b", 82, "core.vault.name-invalid")
        try expect(runner, "passphrase --new-passphrase-fd 99", 77, "cli.file.unreadable")
        try expect(runner, "recovery revoke safe", 66, "cli.recovery.not-found")
        try expect(runner, "key change", 66, "cli.key.not-found")
        try expect(runner, "key remove phone", 66, "cli.key.not-found")
        try expect(runner, "key add --pin-file nothere", 66, "cli.file.unreadable")
        // What can be seen to be right is asked about.
        try runner.succeed("recovery", "add", "--print-only", "--name", "safe")
        try expect(runner, "recovery revoke safe", 86, "cli.passphrase.unavailable")
        try expect(runner, "export new --yes", 86, "cli.passphrase.unavailable")
    }

    @Test(
        "what no new device shows is told before the passphrase is asked for",
        .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
    func requests() throws {
        let server = try ServerRunner()
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try expect(runner, "device approve 123", 64, "cli.input.invalid")
        for text in ["hello", "66b1-918g-0000", "COFFRET-PAIR:1:AAAA", String(repeating: "a", count: 33)] {
            try expect(runner, "device approve " + text, 64, "pairing.invitation-malformed")
        }
        try expect(runner, "device approve 66b1-918e", 86, "cli.passphrase.unavailable")
        try expect(runner, "sync --patience soon", 64, "cli.duration.invalid")
    }
}
