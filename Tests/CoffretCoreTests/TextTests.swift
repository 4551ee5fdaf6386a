// Differences, merges and what a note's text says about itself.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Testing

@Suite("Line differences")
struct LineDifferenceTests {
    /// Applies a difference to its old text; must give the new one.
    func apply(_ difference: LineDifference) -> String {
        var lines: [ArraySlice<UInt8>] = []
        var position = 0
        for edit in difference.edits {
            lines += difference.old.lines[position..<edit.oldRange.lowerBound]
            lines += difference.new.lines[edit.newRange]
            position = edit.oldRange.upperBound
        }
        lines += difference.old.lines[position...]
        return TextLines.joined(lines)
    }

    /// The length of a longest common subsequence, the slow and obvious way.
    func commonLineCount(_ old: [String], _ new: [String]) -> Int {
        var row = [Int](repeating: 0, count: new.count + 1)
        for line in old {
            var diagonal = 0
            for (index, other) in new.enumerated() {
                let above = row[index + 1]
                row[index + 1] = line == other ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[new.count]
    }

    @Test("an edit script rebuilds the new text and is as short as possible")
    func shortest() {
        forAll(count: 400) { random in
            let alphabet = random.int(in: 1...6)
            func lines() -> [String] {
                (0..<random.int(in: 0...30)).map { _ in String(random.int(in: 0...alphabet)) }
            }
            let (old, new) = (lines(), lines())
            let text = { (lines: [String]) in lines.map { $0 + "\n" }.joined() }
            let difference = LineDifference(from: text(old), to: text(new))
            try require(apply(difference) == text(new), "rebuilds")
            let common = commonLineCount(old, new)
            try require(difference.removedLineCount == old.count - common, "removes no more than needed")
            try require(difference.addedLineCount == new.count - common, "adds no more than needed")
        }
    }

    @Test("two long texts without a common line still give a correct script in bounded time")
    func bounded() {
        let old = (0..<9_000).map { "a\($0 * 7 % 9_001)\n" }.joined()
        let new = (0..<9_000).map { "a\($0 * 5 % 9_001)\n" }.joined()
        let difference = LineDifference(from: old, to: new)
        #expect(apply(difference) == new)
    }

    @Test("lines compare by bytes: a composed and a decomposed letter are different lines")
    func bytes() {
        let difference = LineDifference(from: "caf\u{E9}\n", to: "cafe\u{301}\n")
        #expect(difference.addedLineCount == 1 && difference.removedLineCount == 1)
    }

    @Test("a unified difference has the heads and lines that diff -u prints")
    func unified() {
        let old = (1...20).map { "\($0)\n" }.joined()
        let new = old.replacing("5\n6\n", with: "5\nfive and a half\n6\n").replacing("18\n", with: "") + "end"
        let unified = UnifiedDifference(LineDifference(from: old, to: new))
        #expect(unified.hunks.map(\.head) == ["@@ -3,6 +3,7 @@", "@@ -15,6 +16,6 @@"])
        #expect(unified.hunks[0].lines.filter { $0.mark == .added }.map(\.text) == ["five and a half"])
        #expect(unified.hunks[1].lines.last?.hasLineFeed == false)
        #expect(UnifiedDifference(LineDifference(from: old, to: old)).hunks.isEmpty)
        #expect(UnifiedDifference(LineDifference(from: "", to: "a\n")).hunks.map(\.head) == ["@@ -0,0 +1 @@"])
    }
}

@Suite("Markdown")
struct MarkdownTests {
    func tags(_ text: String) -> [String] { MarkdownScan(text).tags.map(\.tag.path) }

    @Test("tags of one word, nested ones and those of several words are found")
    func tags() {
        #expect(tags("#one and #two/three, #four. #five/") == ["one", "two/three", "four", "five"])
        #expect(tags("#two words# and #a/b cd# end") == ["two words", "a/b cd"])
        #expect(tags("#dotnet C# and #plan b#") == ["dotnet", "plan"])
        #expect(tags("#straße #日本") == ["straße", "日本"])
        #expect(tags("#a #b") == ["a", "b"])
        #expect(tags("ends with #tag-") == ["tag"])
    }

    @Test("headings, numbers, fragments and colours in addresses are no tags")
    func noTags() {
        for text in [
            "# Heading", "## #", "issue #12", "see page#part", "a#b", "[x](#anchor)", "\\#no", "#", "#/x", "##x",
        ] {
            #expect(tags(text) == [], "\(text)")
        }
    }

    @Test("nothing inside code counts")
    func code() {
        #expect(tags("```\n#in\n```\n#out") == ["out"])
        #expect(tags("~~~~ sh\n#in\n~~~\n#in\n~~~~\n#out") == ["out"])
        #expect(tags("a `#in` #out ``#in ` #in``") == ["out"])
        #expect(tags("text\n\n    #in\n\n    #in\nend #out") == ["out"])
        #expect(tags("- item\n\n    #out") == ["out"])
        #expect(tags("```\nnever closed #in") == [])
        #expect(tags("`not closed #out") == ["out"])
        #expect(MarkdownScan("`[[In]]` [[Out]]").links.map(\.destination) == ["Out"])
    }

    @Test("front matter is not text")
    func frontMatter() {
        let scan = MarkdownScan("---\ntitle: x\n# no\n---\n# Real\n")
        #expect(scan.title == "Real")
        #expect(MarkdownScan("---\nno end\n#tag").tags.map(\.tag.path) == ["tag"])
    }

    @Test("the title is the first line that says something")
    func titles() {
        let cases = [
            ("# Tomatoes, *second* sowing #\ntext", "Tomatoes, *second* sowing"), ("\n\n## `tar`\n", "tar"),
            ("<!-- old -->\n# New", "New"), ("- Feature Name: x\n# Summary", "Feature Name: x"),
            ("plain\nlines", "plain"), ("", ""), ("```\ncode\n```\n", ""), ("> **quoted**", "quoted"),
            ("---\n", ""), ("a \\* b", "a * b"), ("#tag only", "#tag only"),
        ]
        for (text, title) in cases {
            #expect(MarkdownScan(text).title == title, "\(text)")
            #expect(MarkdownScan.title(of: text) == title, "\(text)")
        }
        #expect(MarkdownScan(String(repeating: "é", count: 5_000)).title.utf8.count <= MarkdownScan.titleByteCountMax)
    }

    @Test("links of every form are found with their places")
    func links() {
        let text = """
            [[A note]] [[Other|shown]] [[Third#part]] [x](rel/a%20b.md "t") ![i](img/(1).png) [y](<a b.md>)
            [ref]: ../c.md
            <img alt="z" src="img/d.svg" /> <a href="e.md">e</a>
            """
        let scan = MarkdownScan(text)
        #expect(
            scan.links.map(\.destination)
                == [
                    "A note", "Other", "Third", "rel/a%20b.md", "img/(1).png", "a b.md", "../c.md", "img/d.svg", "e.md",
                ])
        #expect(
            scan.links.map(\.form)
                == [.wiki, .wiki, .wiki, .inline, .image, .inline, .definition, .html, .html])
        let nested = MarkdownScan("[![badge](b.svg)](c.md)").links
        #expect(nested.map(\.form) == [.image, .inline] && nested.map(\.destination) == ["b.svg", "c.md"])
        for link in scan.links {
            #expect(Array(text.utf8)[link.destinationRange].elementsEqual(link.destination.utf8))
        }
    }

    @Test("damaged and hostile text neither crashes nor takes long")
    func hostile() {
        let sample = "# a\n\n```x\n#b\n```\n[[c|d]] [e](f) ![g](<h>) `i` #two words# <a href=\"j\">\n[k]: l\n"
        fuzz([Array(sample.utf8)], rounds: 3_000) { bytes in _ = fuzzMarkdownScan(bytes) }
        for piece in ["[[", "](", "](<", "#a ", "`", "``x`", "<a ", "\\", "#a#", "[", "]", "((", "~"] {
            let text = String(repeating: piece, count: 200_000 / piece.utf8.count)
            let (_, seconds) = ProcessorTime.measure { MarkdownScan(text) }
            #expect(seconds < 5, "\(piece) took \(seconds) s")
        }
    }

    @Test("tags are compared without case, nest, and refuse what they cannot hold")
    func tagPaths() throws {
        #expect(try TagPath("#Garden/ Beds/").path == "Garden/Beds")
        #expect(try TagPath("Garden/Beds").isInside(TagPath("garden")))
        #expect(try !TagPath("gardening").isInside(TagPath("garden")))
        #expect(
            try TagPath("garden/beds").moved(from: TagPath("garden"), to: TagPath("yard/back")).path == "yard/back/beds"
        )
        #expect(try TagPath("two words").mention == "#two words#")
        for text in ["", "#", "/", "a,b", "a#b", "a\nb", String(repeating: "x", count: 257)] {
            #expect(throws: CoreError.self) { try TagPath(text) }
        }
        #expect(throws: CoreError.self) { try TagPath((0...16).map(String.init).joined(separator: "/")) }
    }
}
