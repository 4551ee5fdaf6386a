// Rules for what people read. The one thing to keep true: what a page or a comment points to exists.

import Foundation
import Testing

@Suite("Documents")
struct DocumentTests {
    private static let pages =
        ["README.md", "ARCHITECTURE.md"].map { SourceFile(path: $0, text: (try? SourceTree.text($0)) ?? "") }
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
}
