// Single Markdown files: what becomes title, tag, time, field and link.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Markdown notes")
struct NoteFileTests {
    private func note(_ text: String, at path: String = "a/b/Note name.md") throws -> NoteFile {
        try note(bytes: Array(text.utf8), at: path)
    }

    private func note(bytes: [UInt8], at path: String = "a/b/Note name.md") throws -> NoteFile {
        let path = try SourcePath(validating: Array(path.utf8), limits: ImportLimits())
        return try NoteFile.parse(bytes, path: path, limits: ImportLimits()).get()
    }

    @Test("front matter is taken apart and the rest is kept raw")
    func frontMatter() throws {
        let note = try note(
            """
            ---
            Title: Reading list
            tags: [books, "#fiction", books, "a,b"]
            created: 2026-01-14
            updated: 2026-01-15T10:00:00+01:00
            pinned: yes
            archived: false
            source: https://example.org
            aliases:
              - one
              - two
            date: never
            ---
            # Heading

            Text
            """)
        #expect(note.givenTitle == "Reading list")
        #expect(note.frontMatterTags.map(\.path) == ["books", "fiction"])
        #expect(note.folderTag?.path == "a/b")
        #expect(note.created == 1_768_348_800_000)
        #expect(note.modified == 1_768_467_600_000)
        #expect(note.isPinned && !note.isArchived)
        #expect(
            note.rawFields.map(\.label) == ["tags", "source", "aliases", "date"],
            "a tag that cannot be one keeps its whole line as a field")
        #expect(
            note.rawFields.map(\.value) == ["books, #fiction, books, a,b", "https://example.org", "one, two", "never"])
        #expect(String(decoding: note.text, as: UTF8.self) == "# Heading\n\nText")
    }

    @Test(
        "the title is the heading that the text begins with, else the file's name",
        arguments: [
            ("# One\n\ntext", nil), ("\n<!-- old\nname -->\n\n## Two", nil), ("Three\n=====\n", nil),
            ("<a id=\"x\"></a>\n# Four", nil),
            ("text\n\n# Late", "Note name"), ("- Feature Name: x", "Note name"), ("", "Note name"),
            ("#tag first", "Note name"),
            ("---\ntitle: ''\n---\ntext", "Note name"), ("---\ntitle: \"a\\nb\"\n---\n", "a b"),
        ] as [(String, String?)])
    func titles(_ text: String, _ title: String?) throws {
        #expect(try note(text).givenTitle == title)
    }

    @Test("mark, block and text together are the file's bytes")
    func bytesAreKept() throws {
        let samples: [[UInt8]] = [
            NoteFile.byteOrderMark + Array("---\r\na: b\r\n---\r\ntext\r\n".utf8), Array("no end".utf8), [],
            NoteFile.byteOrderMark,
            Array("---\na: b\n---".utf8), Array("---\nno block\n---\n".utf8),
        ]
        for sample in samples {
            let note = try note(bytes: sample)
            var bytes = note.hasByteOrderMark ? NoteFile.byteOrderMark : []
            if let block = note.frontMatter { bytes += Array(FrontMatterWriter.text(replacing: [], in: block).utf8) }
            #expect(bytes + note.text == sample)
        }
    }

    @Test("text that is not UTF-8 or holds a NUL is no note; a long line is refused (R41)")
    func refusals() throws {
        let path = try SourcePath(validating: Array("x.md".utf8), limits: ImportLimits())
        var limits = ImportLimits()
        limits.lineByteCountMax = 10
        func refusal(_ bytes: [UInt8]) throws -> NoteFile.Refusal? {
            guard case .failure(let error) = try NoteFile.parse(bytes, path: path, limits: limits) else { return nil }
            return error.reason
        }
        #expect(try refusal([0x61, 0xFF]) == .notUTF8)
        #expect(try refusal([0x61, 0x00]) == .binary)
        #expect(try refusal(Array("0123456789\n0123456789".utf8)) == nil)
        #expect(throws: ImportExportError(.lineTooLong, subject: "x.md")) { try refusal(Array("01234567890\n".utf8)) }
        #expect(throws: ImportExportError(.lineTooLong, subject: "x.md")) { try refusal(Array("\n01234567890".utf8)) }
    }

    @Test("links lead to the files they name")
    func links() throws {
        let names = [
            "a/b/Note name.md", "a/b/Other one.md", "a/img/p.png", "Top.md", "c/Deep.md", "a/c/Deep.md", "c/pic.svg",
        ]
        let index = LinkIndex(
            try names.map {
                SourceEntry(
                    path: try SourcePath(validating: Array($0.utf8), limits: ImportLimits()), byteCount: 0,
                    modifiedMilliseconds: nil)
            })
        let text = """
            [x](Other%20one.md) [x](<Other one.md#part>) ![p](../img/p.png "t") <img src="../img/p.png"/> [[other one]]
            [[Deep]] ![[pic.svg]] [[c/Deep|shown]] [t](../../Top.md?x#y) [out](../../../Top.md) [no](none.md)
            [web](https://a.b/c.md) [mail](mailto:a@b.c) [abs](/Top.md) [frag](#here) [[nowhere]] `[code](Top.md)`

            [ref]: ../../Top.md
            """
        let path = try SourcePath(validating: Array(names[0].utf8), limits: ImportLimits())
        let note = try note(text)
        let found = note.links.map { link in index.resolve(link, from: path).map { names[$0] } }
        #expect(
            found == [
                names[1], names[1], names[2], names[2], names[1], "a/c/Deep.md", "c/pic.svg", "c/Deep.md", "Top.md",
                nil, nil, "Top.md", nil, "Top.md",
            ])
        #expect(note.links.filter(\.isEmbed).count == 2)
    }

    @Test("every note of the corpora is read, and nothing of it lost", .enabled(if: SharedData.isAvailable))
    func corpora() throws {
        let data = try #require(SharedData.root).appendingPathComponent("data")
        for (path, noteCount, titled) in [
            ("notes/rust-book.tar.gz", 112, 112), ("notes/rust-rfcs.tar.gz", 648, 0),
            ("imports/obsidian/kepano-vault", 100, 0),
            ("notes/tldr-pages-en.tar.gz", 7_425, 7_425),
        ] {
            let source = try openImportSource(atPath: data.appendingPathComponent(path).path)
            var count = 0
            var titledCount = 0
            try source.visit({ source.listing.entries[$0].path.isMarkdown }) {
                (index, reader) throws(ImportExportError) in
                let bytes = try reader.readAll(byteCountMax: 1 << 24)
                let path = source.listing.entries[index].path
                guard case .success(let note) = try NoteFile.parse(bytes, path: path, limits: ImportLimits()) else {
                    Issue.record("\(path.printable)")
                    return
                }
                let block = note.frontMatter.map { FrontMatterWriter.text(replacing: [], in: $0) } ?? ""
                #expect((note.hasByteOrderMark ? NoteFile.byteOrderMark : []) + Array(block.utf8) + note.text == bytes)
                if note.givenTitle == nil { titledCount += 1 }
                count += 1
            }
            #expect(count >= noteCount, "\(path)")
            #expect(titledCount >= titled * 9 / 10, "\(path)")
        }
    }
}
