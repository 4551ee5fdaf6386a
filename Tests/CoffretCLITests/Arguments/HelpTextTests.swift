// Help as people see it, compared with files under Snapshots. After a change that is meant, run the
// tests with COFFRET_UPDATE_SNAPSHOTS=1 and read the difference before committing it.

import Foundation
import Testing

@testable import CoffretCLI
@testable import CoffretTerminal

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

    @Test("every command line that a task or an example shows is one that the parser accepts")
    func examplesParse() {
        let fromTasks = HelpTasks.all.flatMap { task in
            task.steps.compactMap { step in if case .command(let line, _) = step { line } else { nil } }
        }
        let fromExamples = RootCommand.description.allDescendants().flatMap { $0.command.examples.map(\.command) }
        #expect(fromTasks.count > 20)
        for line in fromTasks + fromExamples {
            for words in Self.coffretWords(in: line) {
                #expect(throws: Never.self, "\(line)") {
                    try ArgumentParser.parse(words, root: RootCommand.description, globalOptions: GlobalOptions.all)
                }
            }
        }
    }

    /// The words after each `coffret` of a shell line; quotes group words, and | < > $ ( ) end a command.
    static func coffretWords(in line: String) -> [[String]] {
        var commands: [[String]] = []
        var words: [String] = []
        var word: String?
        var quote: Character?
        func endWord() {
            if let finished = word { words.append(finished) }
            word = nil
        }
        func endCommand() {
            endWord()
            if let start = words.firstIndex(of: "coffret") { commands.append(Array(words[(start + 1)...])) }
            words = []
        }
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                endWord()
            } else if "|<>()&;".contains(character) {
                endCommand()
            } else {
                word = (word ?? "") + String(character)
            }
        }
        endCommand()
        return commands
    }

    @Test(
        "words about a task find it",
        arguments: [
            ("move in a folder of notes", "move-in"), ("lost passphrase", "lost-passphrase"),
            ("forgot my password", "lost-passphrase"), ("go back in time", "go-back"), ("backup", "back-up"),
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
