// Exports within age: everything leaves through a pipe, and comes back. Invariant: no file of the test's folder ever holds a secret
// in clear.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Exports within age", .enabled(if: AgePrograms.areThere, "age is not installed"))
struct SealedExportTests {
    private static let secret = "a word that stands nowhere else: perihelion"

    /// Files below the world of a test that hold the secret.
    private func leaks(_ runner: CoffretRunner) throws -> [String] {
        let root = runner.folder.file("")
        return try #require(FileManager.default.subpaths(atPath: root)).filter { path in
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: root + "/" + path))) ?? Data()
            return bytes.range(of: Data(Self.secret.utf8)) != nil
        }
    }

    /// Makes a pair of keys, and returns the public one.
    private func makeKeys(_ runner: CoffretRunner, _ name: String) throws -> String {
        let path = runner.workPath + "/" + name
        let made = try ProcessRunner.run("/usr/bin/age-keygen", ["-o", path])
        try #require(made.exitCode == 0)
        let line = try #require(made.errorText.split(separator: "\n").first { $0.contains("age1") })
        return String(try #require(line.split(separator: " ").last))
    }

    /// A store with a note, and a file larger than a pipe holds.
    private func fill(_ run: (_ arguments: [String], _ input: String) throws -> Void, _ runner: CoffretRunner) throws {
        try run(["new"], "# Seeds\n\n\(Self.secret)\n")
        let file = runner.workPath + "/large.bin"
        try Data((0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(fileURLWithPath: file))
        try run(["attach", "add", "Seeds", file], "")
    }

    private func hash(_ json: [String: Any]) -> String? { json["stateHash"] as? String }

    @Test("for a key: the file holds everything, opens with the key alone, and nothing stands in clear on the disk")
    func key() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try fill({ _ = try runner.run($0, input: Array($1.utf8)) }, runner)
        let recipient = try makeKeys(runner, "key.txt")
        _ = try makeKeys(runner, "other.txt")
        let sealed = try runner.json("export", "all.json.age", "--recipient", recipient)
        #expect(try leaks(runner).isEmpty)
        let mode = try FileManager.default.attributesOfItem(atPath: runner.workPath + "/all.json.age")
        #expect(mode[.posixPermissions] as? Int == 0o600)

        let other = try CoffretRunner()
        try other.makeStore()
        let path = runner.workPath + "/all.json.age"
        let wrong = try other.run("import", path, "--identity", runner.workPath + "/other.txt")
        #expect(wrong.exitCode == 84 && wrong.errorText.contains("[cli.age.failed]"), "\(wrong.errorText)")
        #expect(try other.succeed("ls").isEmpty)
        let report = try other.json("import", path, "--identity", runner.workPath + "/key.txt")
        #expect(hash(report) != nil && hash(report) == hash(sealed))
        #expect(try other.succeed("show", "Seeds").contains(Self.secret))
        #expect(try leaks(other).isEmpty)
    }

    @Test("under a passphrase that age asks for at the terminal, and asks for again to open it")
    func passphrase() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try fill({ _ = try runner.run($0, input: Array($1.utf8)) }, runner)
        let terminal = try DevicePairing.terminal(runner, "export", "all.age")
        try terminal.answer("Enter passphrase", "perseids")
        try terminal.answer("Confirm passphrase", "perseids")
        #expect(try terminal.finish() == 0, "\(terminal.screen)")
        #expect(terminal.screen.contains("Exported 1 item"))
        #expect(try leaks(runner).isEmpty)
        try runner.succeed("vault", "new", "Second")
        let opening = try DevicePairing.terminal(runner, "import", "all.age", "--vault", "Second")
        try opening.answer("Enter passphrase", "perseids")
        #expect(try opening.finish() == 0, "\(opening.screen)")
        #expect(opening.screen.contains("Imported 1 item with 2 changes of history and 1 attachment."))
    }

    @Test("beside an agent, which never sees the file", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
    func agent() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)
        let runner = agent.runner
        try fill({ _ = try runner.run($0, input: Array($1.utf8), environment: agent.environment()) }, runner)
        let recipient = try makeKeys(runner, "key.txt")
        try agent.succeed("export", "--format", "age", "out", "--all-vaults", "--recipient", recipient)
        #expect(try leaks(runner).isEmpty)
        let opened = try ProcessRunner.run(
            "/usr/bin/age", ["-d", "-i", runner.workPath + "/key.txt", runner.workPath + "/out/Personal.json.age"])
        #expect(opened.text.contains(Self.secret) && opened.text.hasSuffix("}\n"))
    }

    @Test("without age, with a key that is none, and with a target that is there, nothing is written")
    func refusals() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Seeds")
        let bad = try runner.run("export", "all.age", "--recipient", "age1nonsense")
        #expect(bad.exitCode == 74 && bad.errorText.contains("[cli.age.failed]"), "\(bad.errorText)")
        let missing = try runner.run(
            "export", "all.age", "--recipient", "x", environment: ["PATH": runner.folder.file("home")])
        #expect(missing.exitCode == 69 && missing.errorText.contains("apt install age"), "\(missing.errorText)")
        let lonely = try runner.run("export", "all.age")
        #expect(lonely.exitCode == 69 && lonely.errorText.contains("--recipient"), "\(lonely.errorText)")
        #expect(try runner.run("export", "out", "--recipient", "x").exitCode == 64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: runner.workPath).isEmpty)
        try Data("# no export".utf8).write(to: URL(fileURLWithPath: runner.workPath + "/note.md"))
        let recipient = try makeKeys(runner, "key.txt")
        let sealed = try ProcessRunner.run(
            "/usr/bin/age", ["-r", recipient, "-o", "\(runner.workPath)/note.age", "\(runner.workPath)/note.md"])
        #expect(sealed.exitCode == 0)
        let foreign = try runner.run("import", "note.age", "--identity", "key.txt")
        #expect(foreign.exitCode == 81 && foreign.errorText.contains("[import.source.unsupported]"))
        #expect(try runner.run("export", "note.age", "--recipient", recipient).errorText.contains("occupied"))
    }
}

private enum AgePrograms {
    static let areThere = FileManager.default.isExecutableFile(atPath: "/usr/bin/age")
}
