// Front matter as people and other programs write it.

import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Front matter")
struct FrontMatterTests {
    private func parse(_ text: String) -> FrontMatter? {
        FrontMatter(startOf: Array(text.utf8)[...], byteCountMax: 1 << 16)
    }

    @Test("scalars, quotes, lists and blocks are read")
    func valuesAreRead() throws {
        let block = try #require(
            parse(
                """
                ---
                title: "A \\"quoted\\" title \\u00e9"   # comment
                single: 'it''s'
                Tags: [inline, "two, words", tag]
                keywords:
                  - one
                  - "two: three"
                at margin:
                - x
                - y
                empty:
                nothing: ~
                literal: |
                  first
                  second
                folded: >-
                  first
                  second
                url: https://example.org:8080/a#b
                ---
                Body
                """))
        #expect(block.value("title") == .text("A \"quoted\" title é"))
        #expect(block.value("single") == .text("it's"))
        #expect(block.value("tags") == .list(["inline", "two, words", "tag"]))
        #expect(block.value("keywords") == .list(["one", "two: three"]))
        #expect(block.value("at margin") == .list(["x", "y"]))
        #expect(block.value("empty") == .text(""))
        #expect(block.value("nothing") == .text(""))
        #expect(block.value("literal") == .text("first\nsecond"))
        #expect(block.value("folded") == .text("first second"))
        #expect(block.value("url") == .text("https://example.org:8080/a#b"))
    }

    @Test("lines that are no YAML are texts as people meant them, and spoil no other value")
    func looseLines() throws {
        let block = try #require(
            parse(
                """
                ---
                title: Part 2: the end # of it
                by: @somebody
                tags: [#a, b]
                links:
                  - [[A note]]
                  - [[Ünother|é]]
                bent: "not closed
                mixed: [a, [b]]
                anchor: &x y
                folded: one
                  two
                multi: [a,
                  "b, c"
                ]
                "quoted key": v
                ---
                """))
        #expect(block.value("title") == .text("Part 2: the end"))
        #expect(block.value("by") == .text("@somebody"))
        #expect(block.value("tags") == .list(["#a", "b"]))
        #expect(block.value("links") == .list(["[[A note]]", "[[Ünother|é]]"]))
        #expect(block.value("bent") == .raw("\"not closed"))
        #expect(block.value("mixed") == .raw("[a, [b]]"))
        #expect(block.value("anchor") == .raw("&x y"))
        #expect(block.value("folded") == .text("one two"))
        #expect(block.value("multi") == .list(["a", "b, c"]))
        #expect(block.value("quoted key") == .text("v"))
    }

    @Test("any bytes between the fences are read without harm")
    func anyBytes() {
        let seeds = [
            "a: [b, 'c']\n- d\n", "k: |\n  x\n", "k: {a: [b, {c: d}]}\n", "k: &a [*a, !t x]\n", "k:\n - [[x]]\n",
        ]
        fuzz(seeds.map { Array($0.utf8) }) { bytes in
            let block = FrontMatter(
                startOf: (Array("---\n".utf8) + bytes + Array("\n---\n".utf8))[...], byteCountMax: 1 << 16)
            if let block { #expect(FrontMatterWriter.text(replacing: [], in: block).utf8.count == block.byteCount) }
        }
    }

    @Test("nested maps stay as raw text")
    func nestedMapsAreRaw() throws {
        let block = try #require(parse("---\noutput:\n  md: \n    toc: yes\nauthor:\n  - name: J\n    url: u\n---\n"))
        #expect(block.value("output") == .raw("md: \n    toc: yes"))
        #expect(block.value("author") == .raw("- name: J\n    url: u"))
    }

    @Test(
        "a rule followed by text is not front matter",
        arguments: [
            "---\nJust a paragraph.\n---\n", "---\n", "---\ntitle: open", "----\na: b\n----\n", " ---\na: b\n---\n",
            "---\n- a\n- b\n---\n", "a: b\n", "", "---", "---\n\u{1}: x\n  ---\n",
        ])
    func textIsNotFrontMatter(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test("a block beyond the limit is text")
    func limitHolds() {
        let text = Array(("---\na: " + String(repeating: "x", count: 100) + "\n---\n").utf8)
        #expect(FrontMatter(startOf: text[...], byteCountMax: text.count) != nil)
        #expect(FrontMatter(startOf: text[...], byteCountMax: text.count - 1) == nil)
    }

    @Test("bytes that are not UTF-8 are no front matter")
    func invalidTextIsRefused() {
        #expect(
            FrontMatter(startOf: (Array("---\na: ".utf8) + [0xFF] + Array("\n---\n".utf8))[...], byteCountMax: 99)
                == nil)
    }

    @Test("writing without changes gives the same bytes")
    func unchangedBlocksKeepTheirBytes() throws {
        for text in [
            "---\n# note\ntitle:   spaced\n\ntags: [ a,b ]\n...\n", "---\r\ntitle: x\r\nlist:\r\n- a\r\n---\r\n",
            "---\n---\n",
            "---  \na: b\n---",
        ] {
            let block = try #require(parse(text))
            #expect(FrontMatterWriter.text(replacing: [], in: block) == text)
            #expect(block.byteCount == text.utf8.count)
        }
    }

    @Test("a changed key replaces its lines only")
    func changesAreLocal() throws {
        let block = try #require(parse("---\ntitle: old\n# kept\nTags:\n  - a\n  - b\nother: 1\n---\n"))
        let text = FrontMatterWriter.text(
            replacing: [
                FrontMatterChange("tags", .list(["b", "c d"])), FrontMatterChange("title", nil),
                FrontMatterChange("pinned", .raw("true")),
            ], in: block)
        #expect(text == "---\nTags:\n  - b\n  - c d\nother: 1\npinned: true\n---\n")
        #expect(FrontMatterWriter.text(replacing: [], in: nil) == "")
        #expect(FrontMatterWriter.text(replacing: [FrontMatterChange("a", .text("x"))], in: nil) == "---\na: x\n---\n")
    }

    @Test("what is written reads back as the same text")
    func scalarsRoundTrip() throws {
        var samples = [
            "", "plain", "yes", "No", "null", "12", "1e5", "2024-01-01", "- x", "a: b", "a:", "#x", "a #b", "\"q\"",
            "'", "tab\there",
            "line\nbreak", " lead", "trail ", "é 😀", "\u{7}", "[x]", "{x}", "@x", "a:b", "C:\\x", "`", "%", "|", ">",
            "a\u{85}b", "a\u{2028}b", "\u{FEFF}", "\u{9F}",
        ]
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("ab :#-\"'\\\n[]{},é|>")
        for _ in 0..<500 {
            samples.append(String((0..<Int.random(in: 0..<9, using: &random)).map { _ in alphabet.randomElement()! }))
        }
        for sample in samples {
            let text = FrontMatterWriter.text(
                replacing: [FrontMatterChange("k", .text(sample)), FrontMatterChange("l", .list([sample, "z"]))],
                in: nil)
            let block = try #require(parse(text), "\(sample.debugDescription)")
            #expect(block.value("k") == .text(sample), "\(sample.debugDescription)")
            #expect(block.value("l") == .list([sample, "z"]), "\(sample.debugDescription)")
        }
    }

    @Test("front matter of other programs is read", .enabled(if: SharedData.isAvailable))
    func foreignFiles() throws {
        let folder = try #require(SharedData.root).appendingPathComponent("data/imports/joplin/md-frontmatter")
        func block(_ name: String) throws -> FrontMatter {
            let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
            return try #require(FrontMatter(startOf: bytes[...], byteCountMax: 1 << 16))
        }
        #expect(try block("duplicates.md").value("tags") == .list(["banana", "banana", "banana"]))
        #expect(try block("inline_tags.md").value("tags") == .list(["inline", "tag"]))
        #expect(try block("normalize.md").value("tags") == .list(["tag1", "tag2", "tag3"]))
        #expect(try block("title_start_with_dash.md").value("title") == .text("-Start with dash"))
        #expect(try block("task_completed.md").value("completed?") == .text("yes"))
        #expect(try block("unquoted.md").value("longitude") == .text("-94.51350100"))
        #expect(try block("r-markdown.md").value("keywords") == .list(["YAML", "Rmd"]))
        #expect(try block("r-markdown.md").value("category") == .list(["Rmd", "Medicine"]))
        #expect(try block("r-markdown.md").value("lang") == .text("en-US"))
    }
}
