// Links of notes as md4c, a reader of all of CommonMark, finds them.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore

@Suite("Markdown beside md4c")
struct MarkdownPeerTests {
    /// Makes texts of blocks that people write; every destination is another one.
    ///
    /// Left out is what the scan reads otherwise on purpose: labels and code spans that go on in the next line, and blocks
    /// of HTML, which hold no Markdown for md4c.
    private struct Writer {
        let random: SeededGenerator
        var number = 0

        mutating func destination() -> String {
            number += 1
            return "d\(number).md"
        }

        mutating func inline() -> String {
            let to = destination()
            switch random.int(in: 0...15) {
            case 0: return "[label](\(to))"
            case 1: return "![picture](\(to))"
            case 2: return "[two words](<a b \(to)> \"title\")"
            case 3: return "[x](\(to) 'title')"
            case 4: return "[x](a(b)\(to))"
            case 5: return "[![badge](\(to))](\(destination()))"
            case 6: return "`[code](\(to))`"
            case 7: return "`` ` [code](\(to)) ``"
            case 8: return "\\[no](\(to))"
            case 9: return "[`code` in a label](\(to))"
            case 10: return "**[bold](\(to))** and *words*"
            case 11: return "see <img alt=\"a\" src=\"\(to)\">"
            case 12: return "see <a href=\"\(to)\">a</a>"
            case 13: return "[a [nested] label](\(to))"
            case 14: return "[label] (\(to))"
            default: return "words #tag - and! more"
            }
        }

        mutating func line() -> String {
            (0..<random.int(in: 1...3)).map { _ in inline() }.joined(separator: " then ")
        }

        mutating func block() -> String {
            switch random.int(in: 0...12) {
            case 0: return "# \(line())"
            case 1: return "- \(line())\n- \(line())\n  more \(line())"
            case 2: return "1. \(line())\n2. \(line())"
            case 3: return "> \(line())\n> \(line())"
            case 4: return "```\n\(line())\n```"
            case 5: return "~~~ text\n\(line())\n\n\(line())\n~~~"
            case 6: return "    \(line())\n    \(line())"
            case 7:
                let (label, to) = ("r\(number)", destination())
                return "See [\(label)].\n\n[\(label)]: \(to)"
            case 8: return "\(line())\n\(line())"
            case 9: return "a ` lone tick [x](\(destination()))"
            case 10: return "[no\\](\(destination()))"
            case 11: return "| a | b |\n| \(inline()) | \(inline()) |"
            default: return line()
            }
        }

        mutating func text() -> String {
            (0..<random.int(in: 1...6)).map { _ in block() }.joined(separator: "\n\n") + "\n"
        }
    }

    private static let peer = SharedData.packageRoot.appendingPathComponent("Tests/Interop/markdown_peer.py").path
    private static let isAvailable =
        (try? ProcessRunner.run("/usr/bin/python3", [peer], input: Array("[]".utf8)))?.exitCode == 0

    @Test(
        "links of 1,000 texts are those that md4c finds, and none in code",
        .enabled(if: isAvailable, "needs libmd4c-html0"))
    func links() throws {
        var writer = Writer(random: SeededGenerator.fromEnvironment())
        let texts = (0..<1_000).map { _ in writer.text() }
        let input = try JSONSerialization.data(withJSONObject: texts)
        let result = try ProcessRunner.run("/usr/bin/python3", [Self.peer], input: Array(input))
        try #require(result.exitCode == 0, "\(result.errorText)")
        let answers = try #require(
            JSONSerialization.jsonObject(with: Data(result.standardOutput)) as? [[String]])
        #expect(answers.count == texts.count && answers.joined().count > 1_000)
        for (text, answer) in zip(texts, answers) {
            let found = Set(MarkdownScan(text).links.map(\.destination))
            #expect(found == Set(answer), "seed \(writer.random.seed):\n\(text)")
        }
    }
}
