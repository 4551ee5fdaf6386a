// Rules for what people read. The one thing to keep true: what a page or a comment points to exists.

import Foundation
import Testing

@Suite("Documents")
struct DocumentTests {
    private static let pages =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .map { SourceFile(path: $0, text: (try? SourceTree.text($0)) ?? "") }
        + SourceTree.files(below: "Docs", suffix: ".md") + SourceTree.files(below: "Spec", suffix: ".md")

    @Test("each decision has a number of its own, and its title says it")
    func decisionNumbers() throws {
        let decisions = SourceTree.files(below: "Docs/decisions", suffix: ".md")
            .map { (name: $0.path.split(separator: "/").last ?? "", text: $0.text) }
            .filter { $0.name.first?.isNumber == true }
        #expect(decisions.count > 20)
        #expect(Set(decisions.map { $0.name.prefix(4) }).count == decisions.count)
        for decision in decisions {
            #expect(decision.text.hasPrefix("# \(decision.name.prefix(4)) "), "\(decision.name)")
        }
    }

    @Test("files that pages and comments name exist")
    func namedFilesExist() throws {
        var missing: [String] = []
        for file in Self.pages + SourceTree.sources {
            for match in file.text.matches(
                of: /\b(?:Docs|Spec|Scripts|Tests|Sources|Packaging)\/[A-Za-z0-9_\-\/.]*[A-Za-z0-9]/)
            {
                let name = String(match.output)
                let path = SourceTree.root.appendingPathComponent(name).path
                if !FileManager.default.fileExists(atPath: path) { missing.append("\(file.path): \(name)") }
            }
        }
        #expect(missing == [])
    }

    @Test("a decision that is named by its number exists")
    func namedDecisionsExist() throws {
        let numbers = Set(
            SourceTree.files(below: "Docs/decisions", suffix: ".md").compactMap { file -> String? in
                file.path.split(separator: "/").last.map { String($0.prefix(4)) }
            })
        for file in Self.pages + SourceTree.sources {
            for match in file.text.matches(of: /[Dd]ecision (\d{4})/) {
                #expect(numbers.contains(String(match.1)), "\(file.path): \(match.output.0)")
            }
        }
    }

    @Test("the places to touch that CONTRIBUTING.md names are types, files or targets")
    func placesToTouchExist() throws {
        let files = SourceTree.sources + SourceTree.tests
        var known = Set(files.map(\.target))
        for file in files {
            if let name = file.path.split(separator: "/").last { known.insert(String(name.dropLast(6))) }
            for line in file.lines where !line.hasPrefix("//") {
                let words = line.split(separator: " ")
                for (word, next) in zip(words, words.dropFirst())
                where ["struct", "class", "enum", "protocol", "actor"].contains(word) {
                    known.insert(String(next.prefix { $0.isLetter || $0.isNumber }))
                }
            }
        }
        let named = try SourceTree.text("CONTRIBUTING.md").matches(of: /`([A-Z][A-Za-z]+(?:\+[A-Za-z]+)?)`/)
            .map { String($0.1) }
        #expect(named.count > 40)
        // A part of an error type, which each layer has for itself.
        let generic = ["Code", "Limits", "Data"]
        #expect(Set(named).subtracting(known).subtracting(generic).sorted() == [])
    }

    /// The text of `coffret help` for each command, by its words.
    private static let commandHelp = Dictionary(
        uniqueKeysWithValues: SourceTree.files(below: "Tests/CoffretCLITests/Snapshots", suffix: ".txt").map { file in
            (String((file.path.split(separator: "/").last ?? "").dropLast(4)), file.text)
        })

    /// Options in a piece of text that the command before them does not have, as `coffret unlock --nothing`.
    private static func unknownOptions(in text: String) -> [String] {
        text.matches(of: /\bcoffret((?: [a-z][a-z-]*)*)((?: (?:--[a-z][a-z0-9-]*|[A-Z]+))+)/).flatMap { match in
            let words = match.1.split(separator: " ").map(String.init)
            let names = (0...min(3, words.count)).reversed().map {
                (["coffret"] + words.prefix($0)).joined(separator: "-")
            }
            let help = (names.compactMap { commandHelp[$0] }.first ?? "") + (commandHelp["coffret"] ?? "")
            let known = Set(help.matches(of: /--[a-z][a-z0-9-]*/).map(\.output))
            return match.2.matches(of: /--[a-z][a-z0-9-]*/).map(\.output).filter { !known.contains($0) }.map {
                "\(match.output.0): \($0)"
            }
        }
    }

    @Test("what a message, a help text or a page tells people to type has the options that it names")
    func namedOptionsExist() {
        #expect(Self.commandHelp.count > 100)
        #expect(Self.unknownOptions(in: "see coffret unlock --pin, coffret vault sync NAME --json") == [])
        #expect(Self.unknownOptions(in: "coffret vault sync NAME --pin").count == 1)
        for file in Self.pages + SourceTree.sources where !file.path.contains("decisions/") {
            for line in file.text.split(separator: "\n") where line.contains("coffret ") {
                let unknown = Self.unknownOptions(in: String(line))
                #expect(unknown == [], "\(file.path): \(unknown)")
            }
        }
    }
}
