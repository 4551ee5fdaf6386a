// Locked notes that the agent keeps open. The one thing to keep true: opening the store opens none of them, and what
// locks the store closes all of them.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Open notes in the agent")
struct OpenNoteTests {
    static let text = "# Diary\n\nThe xylophone is under the stairs.\n"

    /// A store with two notes locked under "note one", and one under "note two"; unlocked.
    static func makeAgent() throws -> (agent: AgentRunner, ids: [String]) {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        var ids: [String] = []
        for (title, passphrase) in [("Diary", "note one"), ("Letters", "note one"), ("Plans", "note two")] {
            let made = try agent.succeed(
                "new", "--json", input: text.replacingOccurrences(of: "Diary", with: title))
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(made.utf8)) as? [String: Any])
            let id = try #require(object["id"] as? String)
            var words = ["note", "lock", id, "--effort", "light", "--note-passphrase-fd", "0"]
            if title != "Letters" { words.append("--new") }
            try succeed(agent, words, input: passphrase + "\n")
            ids.append(id)
        }
        return (agent, ids)
    }

    @discardableResult
    static func succeed(_ agent: AgentRunner, _ words: [String], input: String = "") throws -> String {
        let result = try agent.runner.run(words, input: Array(input.utf8), environment: agent.environment())
        #expect(result.exitCode == 0, "\(words): \(result.errorText)")
        return result.text
    }

    @Test("opened once, read and edited without asking; closed by lock, relock, and the store's lock")
    func life() throws {
        let (agent, ids) = try Self.makeAgent()
        defer { try? agent.stop() }
        #expect(try agent.run("show", ids[0]).exitCode == 89, "unlocking the store opens no locked note")
        let wrong = try agent.run("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note two\n")
        #expect(wrong.exitCode == 67 && wrong.errorText.contains("core.note.wrong-passphrase"), "\(wrong.errorText)")
        #expect(try agent.run("show", ids[0]).exitCode == 89)
        // Reading once keeps nothing.
        #expect(
            try agent.succeed("show", ids[0], "--note-passphrase-fd", "0", input: "note one\n") == Self.text)
        #expect(try agent.run("show", ids[0]).exitCode == 89)

        let opened = try agent.succeed("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note one\n")
        #expect(opened.contains("Open until the store locks"))
        #expect(try agent.succeed("show", ids[0]) == Self.text)
        #expect(try agent.succeed("show", ids[1]).contains("# Letters"), "the same passphrase")
        #expect(try agent.run("show", ids[2]).exitCode == 89, "another passphrase")
        try agent.succeed("edit", ids[0], input: Self.text + "marimba\n")
        #expect(try agent.succeed("show", ids[0]).hasSuffix("marimba\n"))
        #expect(try agent.succeed("search", "marimba") == "", "nothing of it is in the index")
        #expect(try agent.succeed("note", "passphrases").contains("open"))

        // Two passphrases, closed one by one.
        try agent.succeed("note", "unlock", ids[2], "--note-passphrase-fd", "0", input: "note two\n")
        #expect(try agent.succeed("note", "lock", ids[1]).hasPrefix("Closed"))
        #expect(try agent.run("show", ids[0]).exitCode == 89)
        #expect(try agent.succeed("show", ids[2]).contains("# Plans"))
        let again = try agent.run("note", "lock", ids[1])
        #expect(again.errorText.contains("core.note.already-locked"), "\(again.errorText)")

        // Another passphrase: neither the old key nor the new one stays.
        try agent.succeed(
            "note", "relock", ids[2], "--effort", "light", "--new-note-passphrase-fd", "0", input: "note three\n")
        #expect(try agent.run("show", ids[2]).exitCode == 89)
        try agent.succeed("note", "unlock", ids[2], "--note-passphrase-fd", "0", input: "note three\n")
        #expect(try agent.succeed("show", ids[2]).contains("# Plans"))
        try agent.succeed("lock")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("show", ids[2]).exitCode == 89, "the store's passphrase opens no locked note")
    }

    @Test("unlocking the store anew keeps what is open; its time closes it")
    func time() throws {
        let (agent, ids) = try Self.makeAgent()
        defer { try? agent.stop() }
        try agent.succeed("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note one\n")
        #expect(try agent.unlock("--for", "2s").exitCode == 0)
        let early = try agent.run("show", ids[0])
        #expect(early.exitCode == 0 || early.exitCode == 69, "\(early.errorText)")
        try Waiting.until("it has locked") { try !agent.succeed("agent", "status").contains("unlocked; locks in") }
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("show", ids[0]).exitCode == 89)
    }

    @Test("an edit made in time by another command that ends after the lock brings no key back")
    func typedOnTerminal() throws {
        let (agent, ids) = try Self.makeAgent()
        defer { try? agent.stop() }
        let changes = agent.environment()
        let first = try agent.runner.onTerminal("note", "unlock", ids[0], environment: changes)
        try first.wait(for: "Passphrase of \"Diary\": ")
        // Locked while the question stands: the answer opens nothing.
        try agent.succeed("lock")
        #expect(try first.finish() != 0)
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("show", ids[0]).exitCode == 89)
        let second = try agent.runner.onTerminal("note", "unlock", ids[0], environment: changes)
        try second.answer("Passphrase of \"Diary\": ", "note one")
        #expect(try second.finish() == 0, "\(second.screen)")
        #expect(try agent.succeed("show", ids[0]) == Self.text)
    }

    @Test("references to locked notes: an error with what to do; values while the note is open")
    func references() throws {
        let (agent, ids) = try Self.makeAgent()
        defer { try? agent.stop() }
        try agent.succeed(
            "edit", ids[0], "--set", "pin=1234", "--note-passphrase-fd", "0", input: "note one\n")
        let reference = "coffret://Personal/\(ids[0])/pin"
        let ways: [([String], String)] = [
            (["read", reference], ""), (["inject"], "pin={{ \(reference) }}\n"),
            (["run", "-e", "PIN=\(reference)", "--", "/bin/sh", "-c", "test $PIN = 1234 && echo right"], ""),
        ]
        func run(_ way: ([String], String)) throws -> ProcessResult {
            try agent.runner.run(way.0, input: Array(way.1.utf8), environment: agent.environment())
        }
        for way in ways {
            let refused = try run(way)
            #expect(refused.exitCode == 89 && refused.text == "", "\(way.0)")
            #expect(
                refused.errorText.contains("core.note.locked") && refused.errorText.contains("coffret note unlock"),
                "\(refused.errorText)")
        }
        try agent.succeed("note", "unlock", ids[0], "--note-passphrase-fd", "0", input: "note one\n")
        #expect(try ways.map { try run($0).text } == ["1234", "pin=1234\n", "right\n"])
        try agent.succeed("lock")
        #expect(try agent.unlock().exitCode == 0)
        #expect(try run(ways[0]).exitCode == 89)
    }

    @Test("without an agent: said so, with what to do, and before a passphrase is asked for")
    func withoutAgent() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote(Self.text)
        let refused = try runner.run("note", "unlock", id)
        #expect(refused.exitCode == 69)
        #expect(refused.errorText.contains("cli.note.needs-agent") && refused.errorText.contains("--for-good"))
    }
}
