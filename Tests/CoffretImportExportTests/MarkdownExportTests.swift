// Vaults as folders of Markdown, and back.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Markdown export")
struct MarkdownExportTests {
    let folder: TemporaryFolder
    let fixture: ImportFixture

    init() throws {
        folder = try TemporaryFolder()
        fixture = try ImportFixture()
    }

    private func export(
        _ name: String = "out", _ change: (inout MarkdownExportOptions) -> Void = { _ in }
    ) throws -> ExportReport {
        var options = MarkdownExportOptions()
        change(&options)
        return try fixture.vault.exportMarkdown(to: folder.path + "/" + name, files: fixture.files, options: options)
    }

    @Test("an untouched folder comes out byte for byte, whatever its files are like")
    func roundTrip() throws {
        try folder.write("---\r\ntitle:  odd \r\n# c\r\nodd: {a: b}\r\n---\r\n\r\ntext\r\n", to: "in/a/b.md")
        try folder.write(Data(NoteFile.byteOrderMark + Array("# x".utf8)), to: "in/mark.md")
        try folder.write("---\n---\n---\nb: c\n---\nnot a block", to: "in/double.md")
        try folder.write("", to: "in/empty.md")
        try folder.write(Data([0xFF, 0x00]), to: "in/binary.md")
        try folder.write("x", to: "in/a/file with blanks.txt")
        try folder.write("![f](a/file%20with%20blanks.txt) [[b]]", to: "in/links.markdown")
        try folder.write("deep", to: "in/1/2/3/4/5/Index.md")
        try folder.python("open(b'in/\\xff.md', 'w').write('named oddly')")
        let imported = try fixture.importPath(folder.path + "/in")
        #expect((imported.imported, imported.attachments) == (7, 2))
        let report = try export()
        #expect((report.notes, report.identical, report.attachments, report.otherItems) == (7, 7, 2, 0))
        try folder.python(
            """
            import os, sys
            def tree(d):
                return {os.path.relpath(os.path.join(p, f), d): open(os.path.join(p, f), 'rb').read()
                        for p, _, fs in os.walk(d) for f in fs}
            a, b = tree(b'in'), tree(b'out')
            sys.exit(0 if a == b else 1)
            """)
        #expect(try fixture.importPath(folder.path + "/out").isNothingNew, "the export is the same import")
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/out/a/b.md")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let folderAttributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/out/a")
        #expect(folderAttributes[.posixPermissions] as? Int == 0o700)
    }

    @Test("a target that is not empty is refused, unless replacing was asked for")
    func occupiedTarget() throws {
        try folder.write("# x", to: "in/x.md")
        _ = try fixture.importPath(folder.path + "/in")
        try folder.write("mine", to: "out/x.md")
        #expect(throws: ImportExportError(.targetOccupied, subject: folder.path + "/out")) { try export() }
        #expect(try folder.files(below: "out") == ["x.md": Data("mine".utf8)])
        _ = try export { $0.mayReplace = true }
        #expect(try folder.files(below: "out") == ["x.md": Data("# x".utf8)])
        try folder.write("a file", to: "file")
        #expect(throws: ImportExportError.self) { try export("file") }
        #expect(throws: ImportExportError.self) { try export("no/such/folder") }
    }

    @Test("a link in the target is never followed out of it")
    func linkInTarget() throws {
        try folder.write("# x", to: "in/a/x.md")
        _ = try fixture.importPath(folder.path + "/in")
        try folder.write("safe", to: "elsewhere/x.md")
        try FileManager.default.createDirectory(atPath: folder.path + "/out", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/out/a", withDestinationPath: "../elsewhere")
        #expect(throws: ImportExportError.self) { try export { $0.mayReplace = true } }
        #expect(try folder.files(below: "elsewhere") == ["x.md": Data("safe".utf8)])
    }

    @Test("of a changed note only what changed is different")
    func changedNotes() throws {
        try folder.write("---\n# c\ntags: [x, y]\nodd: 1\nupdated: 2026-01-01\n---\n# Old\n", to: "in/a/n.md")
        try folder.write("text", to: "in/plain.md")
        _ = try fixture.importPath(folder.path + "/in")
        fixture.clock.advance(by: 1_000)
        let items = try fixture.items()
        try fixture.vault.update(try #require(items["in/a/n.md"]).id) { item in
            item.givenTags.removeAll { $0.path == "x" }
            item.text = "# New\n"
            item.fields[0].value = "two: 2"
            item.modified = 1_767_312_000_000
        }
        try fixture.vault.update(try #require(items["in/plain.md"]).id) { item in item.givenTitle = "Given" }
        try fixture.vault.set(.pinned, of: try #require(items["in/plain.md"]).id, to: true)
        let report = try export()
        #expect((report.notes, report.identical) == (2, 0))
        let files = try folder.files(below: "out").mapValues { String(decoding: $0, as: UTF8.self) }
        #expect(
            files["a/n.md"]
                == "---\n# c\ntags:\n  - y\nodd: \"two: 2\"\nupdated: 2026-01-02T00:00:00Z\n---\n# New\n")
        #expect(files["plain.md"] == "---\ntitle: Given\npinned: true\n---\ntext")
        // The edited folder goes back into another vault as the same notes.
        let other = try ImportFixture()
        _ = try other.importPath(folder.path + "/out")
        let mine = try fixture.items()
        for (path, item) in try other.items() {
            let original = try #require(mine["in" + path.dropFirst(3)])
            #expect(itemStateHash(item) == itemStateHash(original), "\(path)")
        }
    }

    @Test("what was made in the vault goes out under safe names and comes back the same")
    func vaultItems() throws {
        let stored = try fixture.files.store { (write) throws(ImportExportError) in try write([1, 2, 3]) }
        let tag = try TagPath("garden/beds")
        for (title, text) in [
            ("A/B: what?", "text"), ("A-B- what-", "other"), ("con", ""), (nil, "# Heading\n\n#inline"),
            ("Sly", "---\ntitle: no block\n---\ntext"), ("..", "dots"),
        ] as [(String?, String)] {
            var draft = ItemDraft(kind: .note, title: title, text: text, tags: [tag])
            draft.created = 1_700_000_000_000
            draft.isArchived = title == "con"
            let id = try fixture.vault.create(draft)
            if title == "con" {
                try fixture.vault.batch { batch in
                    try batch.addAttachment(
                        to: id, name: "x y.bin", mediaType: "application/octet-stream", byteCount: 3,
                        reference: stored.encodedReference)
                }
            }
        }
        var login = ItemDraft(kind: .login, title: "Site", text: "note", tags: [tag])
        login.fields = try [
            #require(ItemField(standard: "password", of: .login, value: "p\"w")),
            ItemField(key: #require(FieldKey("x-1")), label: "Extra", kind: .secret, value: "s", position: 1),
        ]
        let loginID = try fixture.vault.create(login)
        try fixture.vault.batch { batch in
            try batch.addAttachment(
                to: loginID, name: "key.pem", mediaType: "text/plain", byteCount: 3, reference: stored.encodedReference)
        }
        let gone = try fixture.vault.create(ItemDraft(title: "Gone"))
        try fixture.vault.trash(gone)
        let report = try export()
        #expect((report.notes, report.otherItems, report.attachments, report.trashed) == (6, 1, 2, 1))
        #expect(report.warnings == ["coffret-items.json holds passwords and other secrets in clear"])
        let names = try folder.files(below: "out").keys.sorted()
        #expect(
            names
                == [
                    "coffret-items files/key.pem", "coffret-items.json", "garden/beds/A-B- what-.md",
                    "garden/beds/A-B- what- 2.md",
                    "garden/beds/Heading.md", "garden/beds/Sly.md", "garden/beds/_.md",
                    "garden/beds/_con files/x y.bin",
                    "garden/beds/_con.md",
                ].sorted())
        let other = try ImportFixture()
        let back = try other.importPath(folder.path + "/out")
        #expect((back.imported, back.attachments, back.keptAsRaw, back.dropped) == (7, 2, 0, 0))
        #expect(back.warnings == [])
        var mine: [String: Item] = [:]
        try fixture.vault.present.forEachItem { mine[$0.title] = $0 }
        try other.vault.present.forEachItem { item in
            guard let original = mine[item.title] else {
                Issue.record("\(item.title) is new")
                return
            }
            #expect(item.text == original.text)
            #expect(item.givenTags == original.givenTags)
            #expect(item.created == original.created)
            #expect(item.isArchived == original.isArchived)
            #expect(item.fields.map(\.value) == original.fields.map(\.value))
            #expect(item.fields.map(\.kind) == original.fields.map(\.kind))
            #expect(item.attachments.map(\.name) == original.attachments.map(\.name))
        }
    }

    @Test("two imports go out below their names, one without")
    func roots() throws {
        try folder.write("# A", to: "one/x.md")
        try folder.write("# B", to: "two/x.md")
        _ = try fixture.importPath(folder.path + "/one")
        _ = try export("single")
        #expect(try folder.files(below: "single").keys.sorted() == ["x.md"])
        _ = try fixture.importPath(folder.path + "/two")
        _ = try export("both")
        #expect(try folder.files(below: "both").keys.sorted() == ["one/x.md", "two/x.md"])
    }

    @Test(
        "names are made safe for every file system",
        arguments: [
            ("a/b\\c:d*e?f\"g<h>i|j", "a-b-c-d-e-f-g-h-i-j"), ("...", "_"), (" x. ", "x"), ("NUL.txt", "_NUL.txt"),
            ("com1", "_com1"), ("comfy", "comfy"), ("tab\there", "tab-here"), ("", "_"), ("ü😀", "ü😀"),
        ])
    func safeNames(_ text: String, _ name: String) {
        #expect(ExportNames.safe(text) == name)
        #expect(ExportNames.safe(String(repeating: "é", count: 200)).utf8.count == 120)
    }
}
