// Rules about how sources look: size, banned calls, nothing left open, nothing of one machine.

import Foundation
import Testing

@Suite("Source rules")
struct SourceRuleTests {
    static let lineCountMax = 450

    @Test("no source file is longer than 450 lines")
    func filesAreShort() {
        for file in SourceTree.sources {
            #expect(file.lines.count <= Self.lineCountMax + 1, "\(file.path) has \(file.lines.count) lines")
        }
    }

    @Test("no function is longer than 70 lines")
    func functionsAreShort() {
        var long: [String] = []
        var count = 0
        for file in SourceTree.sources {
            let lines = file.lines
            for (start, line) in lines.enumerated() {
                // Most lines are passed over without a pattern, which takes long.
                guard line.contains("func ") || line.contains("init"),
                    line.contains(/^ *([a-z]+(\(set\))? |@[A-Za-z]+(\([^)]*\))? )*(func |init[?(<]|deinit )/)
                else { continue }
                let closing = String(line.prefix { $0 == " " }) + "}"
                // A protocol's requirement has no end of its own, and is not counted.
                let end = lines[(start + 1)...].firstIndex {
                    $0 == closing
                        || ($0.count >= closing.count && !$0.hasPrefix(closing.dropLast() + " ") && $0 != ""
                            && !$0.hasPrefix(closing.dropLast() + ")"))
                }
                guard let end, lines[end] == closing else { continue }
                count += 1
                if end - start + 1 > 70 { long.append("\(file.path):\(start + 1)") }
            }
        }
        #expect(count > 4_000)
        #expect(long == [])
    }

    /// `Scripts/check` runs them after the others, by their names.
    @Test("a suite that drives a browser, a window or a desktop has a name that begins with Desktop")
    func desktopSuitesAreNamed() {
        var count = 0
        let means = ["WindowRunner", "BrowserPrograms.", "PageServer(", "screen.window("]
        for file in SourceTree.tests
        where file.path.contains("EndToEndTests/") && means.contains(where: { file.text.contains($0) }) {
            for suite in file.text.matches(of: /@Suite(?:.|\n)*?\n(?:final class|struct) ([A-Za-z]+)/) {
                count += 1
                #expect(suite.1.hasPrefix("Desktop"), "\(file.path): \(suite.1)")
            }
        }
        #expect(count > 10)
    }

    @Test("a file opens with a comment that says its purpose")
    func filesSayTheirPurpose() {
        for file in SourceTree.sources + SourceTree.tests {
            #expect(file.text.hasPrefix("//") || file.text.hasPrefix("#!"), "\(file.path) does not say what it is for")
        }
    }

    @Test("nothing is left open in the sources")
    func nothingLeftOpen() {
        let words = ["TODO", "FIXME", "XXX", "unimplemented", "not implemented"]
        let left = SourceTree.sources.flatMap { file in
            words.filter { file.text.contains($0) }.map { "\(file.path): \($0)" }
        }
        #expect(left == [])
    }

    @Test("the library layers neither print nor read the environment")
    func librariesAreQuiet() {
        let talking = ["CoffretTerminal", "CoffretCLI", "coffret", "coffret-bench", "coffret-bench-interop"]
        let calls = ["print(", "getenv(", "debugPrint(", "dump("]
        var loud: [String] = []
        for file in SourceTree.sources where !talking.contains(file.target) && calls.contains(where: file.text.contains)
        {
            for (number, line) in file.lines.enumerated() where !line.trimmed.hasPrefix("//") {
                for call in calls
                where line.contains(call) && !line.contains(".\(call)") && !line.contains("func \(call)") {
                    // A longer name that ends like the call is another function.
                    let before = line.range(of: call).flatMap { line[..<$0.lowerBound].last }
                    if before?.isLetter != true { loud.append("\(file.path):\(number + 1) calls \(call))") }
                }
            }
        }
        #expect(loud == [])
    }

    @Test("no source takes an entry for verified that was not: that is for worlds which tests replay")
    func nothingIsAssumedVerified() {
        let mark = "assumedForReplay"
        let places = SourceTree.sources.filter { $0.text.contains(mark) }.map(\.path)
        #expect(places == ["Sources/CoffretHistory/Entry/VerifiedEntry.swift"])
        let calls = SourceTree.sources.flatMap(\.lines).filter { $0.contains(mark) && !$0.contains("static func") }
        #expect(calls == [])
    }

    @Test("what lies on the disk is taken for verified by who keeps the index of what was verified, and by nobody else")
    func entriesAreReadBack() {
        let places = SourceTree.sources.filter { $0.text.contains("VerifiedEntry.readBack(") }.map(\.path)
        #expect(places.sorted() == ["Sources/CoffretLogs/LogFiles.swift", "Sources/CoffretLogs/LogFsck.swift"])
    }

    @Test("what a member link does is said where it is checked, and nowhere else")
    func linksAreVerified() {
        func places(_ mark: String) -> [String] {
            SourceTree.sources.flatMap { file in file.lines.filter { $0.contains(mark) }.map { _ in file.path } }
                .sorted()
        }
        // Of bytes: the founding link and each later one.
        let checked = "Sources/CoffretTrust/Member/VerifiedMemberRights.swift"
        #expect(places("MemberEffect(") == [checked, checked])
        // With what its sealed part says: of these two, of a plan, and of a link in its author's plan.
        let folder = "Sources/CoffretHistory/Members/"
        #expect(
            places("VerifiedMemberLink(") == [folder + "MemberState.swift"]
                + [String](repeating: folder + "MemberVerifier.swift", count: 3))
    }

    @Test("no path of one machine stands in the project")
    func noLocalPaths() {
        let marks = ["/wo" + "rk/", "/ro" + "ot/"]
        for file in SourceTree.sources + SourceTree.tests + SourceTree.files(below: "Scripts", suffix: "") {
            for mark in marks {
                #expect(!file.text.contains(mark), "\(file.path) names \(mark)")
            }
        }
    }

    @Test("every file of tests asserts something")
    func testsAssert() {
        for file in SourceTree.tests where file.text.contains("@Test") {
            let asserts = ["#expect", "#require", "Issue.record", "expect("].contains { file.text.contains($0) }
            #expect(asserts, "\(file.path) asserts nothing")
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        drop(while: { $0 == " " })
    }
}
