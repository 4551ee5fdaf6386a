// Help as people see it, compared with files under Snapshots. After a change that is meant, run the
// tests with COFFRET_UPDATE_SNAPSHOTS=1 and read the difference before committing it.

import Foundation
import Testing

@testable import CoffretCLI

@Suite("Help")
struct HelpTextTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Snapshots")

    static let commands: [[String]] =
        [[]] + RootCommand.description.allDescendants().map(\.path)

    @Test("the help of a command is what its snapshot shows", arguments: commands)
    func snapshots(path: [String]) throws {
        let command = try #require(RootCommand.description.descendant(at: path))
        let text = HelpText(width: 80, style: .plain).text(for: command, path: path)
        let file = Self.folder.appendingPathComponent((["coffret"] + path).joined(separator: "-") + ".txt")
        if ProcessInfo.processInfo.environment["COFFRET_UPDATE_SNAPSHOTS"] != nil {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(text == (try? String(contentsOf: file, encoding: .utf8)))
    }

    @Test("no snapshot is left from a command that is gone")
    func noStraySnapshots() throws {
        let names = Set(Self.commands.map { (["coffret"] + $0).joined(separator: "-") + ".txt" })
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files).subtracting(names) == [])
    }

    @Test("every line of help fits 80 columns", arguments: commands)
    func width(path: [String]) throws {
        let command = try #require(RootCommand.description.descendant(at: path))
        for line in HelpText(width: 80, style: .plain).text(for: command, path: path).split(separator: "\n") {
            #expect(TextWidth.columns(of: String(line)) <= 80, "\(line)")
        }
    }

    @Test("colour changes nothing but colour")
    func colour() {
        let plain = HelpText(width: 80, style: .plain).text(for: RootCommand.description, path: [])
        let colored = HelpText(width: 80, style: TextStyler(isColored: true)).text(
            for: RootCommand.description, path: [])
        #expect(colored != plain)
        #expect(colored.replacing(/\u{1B}\[[0-9;]*m/, with: "") == plain)
    }

    @Test("summaries are sentences without a full stop, and groups are set")
    func summaries() {
        for (path, command) in RootCommand.description.allDescendants() {
            #expect(!command.summary.hasSuffix("."), "\(path)")
            #expect(command.summary.first?.isUppercase == true, "\(path)")
            if path.count == 1 { #expect(command.group != nil, "\(path)") }
        }
    }

    @Test(
        "words about a task find it",
        arguments: [
            ("move in a folder of notes", "move-in"), ("lost passphrase", "lost-passphrase"),
            ("forgot my password", "lost-passphrase"), ("go back in time", "go-back"), ("backup", "backup"),
            ("use in scripts", "scripts"), ("undo", "go-back"), ("leave", "move-out"), ("free disk space", "space"),
        ])
    func tasks(words: String, name: String) {
        #expect(HelpTask.matching(words.split(separator: " ").map(String.init)).map(\.name) == [name])
    }

    @Test("words about nothing find nothing")
    func noTask() {
        #expect(HelpTask.matching(["zzz"]).isEmpty)
        #expect(HelpTask.matching(["a"]).isEmpty)
        #expect(HelpTask.matching([]).isEmpty)
    }
}
