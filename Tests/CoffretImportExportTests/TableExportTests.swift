// A vault as a table, and Markdown folders of notes that other programs made.

import CoffretBase
import CoffretCore
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Exports as tables")
struct TableExportTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.url.appendingPathComponent("out.csv").path }

    @Test("each value is in the table as it is, for a reader of RFC 4180 and for the import of Bitwarden's tables")
    func table() throws {
        let made = try ImportFixture()
        try made.makeEveryKind()
        var draft = ItemDraft(kind: .login, title: "=1+1, \"quoted\"", text: "two\r\nlines, one \"quote\"")
        draft.tags = [try TagPath("a/b"), try TagPath("c")]
        (draft.isPinned, draft.isArchived) = (true, true)
        draft.fields =
            try [("username", " ada "), ("password", "=cmd|' /C calc'!A0"), ("url", "https://a.example")].map {
                try #require(ItemField(standard: $0.0, of: .login, value: $0.1))
            } + [
                ItemField(listed: "Door", kind: .secret, value: "4711", position: 1),
                ItemField(listed: "Website", kind: .url, value: "https://b.example", position: 2),
                ItemField(listed: "Poem", kind: .text, value: "roses\nviolets", position: 3),
                ItemField(listed: "a: b", kind: .text, value: "c", position: 4),
            ]
        let id = try made.vault.create(draft)
        try made.attach([1], named: "file", to: id)
        let trashed = try made.vault.create(ItemDraft(kind: .login, title: "Trashed"))
        try made.vault.trash(trashed)
        let report = try made.vault.exportTable(to: path)
        #expect(report.otherItems + report.notes == 8 && report.trashed == 1)
        #expect(report.warnings.contains { $0.contains("attachments are not in this file: 1") })
        #expect(report.warnings.contains { $0.contains("spreadsheet") })
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        try folder.python(
            """
            import csv
            rows = list(csv.DictReader(open('out.csv', newline='')))
            assert len(rows) == 8 and all(None not in r and None not in r.values() for r in rows), rows
            row = [r for r in rows if r['name'].startswith('=')][0]
            assert row['name'] == '=1+1, "quoted"' and row['login_password'] == "=cmd|' /C calc'!A0"
            assert row['notes'] == 'two\\r\\nlines, one "quote"\\nPoem:\\nroses\\nviolets\\na: b:\\nc', row['notes']
            assert row['fields'] == 'Door: 4711\\nTag: c' and row['login_username'] == ' ada '
            assert row['login_uri'] == 'https://a.example,https://b.example' and row['folder'] == 'a/b'
            assert row['favorite'] == '1' and row['archivedDate']
            """)
        let back = try ForeignTrial(path)
        #expect(back.report.imported == 8 && back.report.dropped == 0)
        let login = try #require(back[draft.title ?? ""])
        #expect(login.kind == .login && login.isPinned && login.isArchived && login.tagPaths == ["a/b"])
        #expect(login.value("password") == "=cmd|' /C calc'!A0" && login.value("Door") == "4711")
        #expect(login.text.hasSuffix("Poem:\nroses\nviolets\na: b:\nc") && login.value("Tag") == "c")
        // A card is a note there; none of its values is lost.
        let card = try #require(back["a card"])
        for field in ItemKind.card.standardFields where field.key.name != "expiry" {
            #expect(card.value(field.label) == "value of \(field.key.name)", "\(field.label)")
        }
    }

    @Test("Markdown of notes that came from another program: pictures and links by ids work in the folder")
    func markdown() throws {
        let bundle = "in/A.textbundle/"
        try folder.write(#"{"version": 2, "type": "net.daringfireball.markdown"}"#, to: bundle + "info.json")
        try folder.write("# A\n\n![pic](assets/p%201.png) and `assets/p%201.png`\n", to: bundle + "text.md")
        try folder.write("picture", to: bundle + "assets/p 1.png")
        let trial = try ForeignTrial(folder.url.appendingPathComponent("in").path)
        let vault = trial.fixture.vault
        let first = try #require(trial["A"])
        var draft = ItemDraft(
            text: "# B\n\n[one](coffret:\(first.id.uuid.hex)) [none](coffret:\(String(repeating: "0", count: 32)))\n")
        draft.tags = [try TagPath("garden")]
        let second = try vault.create(draft)
        _ = try vault.update(first.id) { $0.text += "\n[two](COFFRET:\(second.uuid.hex.uppercased()))\n" }
        let target = folder.url.appendingPathComponent("out")
        let report = try vault.exportMarkdown(to: target.path, files: trial.fixture.files)
        #expect(report.notes == 2 && report.attachments == 1)
        let files = try contents(of: target).mapValues { String(decoding: $0, as: UTF8.self) }
        #expect(files["A files/p 1.png"] == "picture", "\(files.keys)")
        let text = try #require(files["A.md"])
        #expect(text.contains("![pic](A%20files/p%201.png) and `assets/p%201.png`\n\n[two](garden/B.md)\n"), "\(text)")
        #expect(!text.contains("attachments:"), "what the text shows needs no list")
        let other = try #require(files["garden/B.md"])
        #expect(other.contains("[one](../A.md) [none](coffret:000"), "\(other)")
        let back = try ForeignTrial(target.path)
        #expect(back.report.imported == 2 && back.report.danglingLinks == 0)
        #expect(try back.content("A", "p 1.png") == Array("picture".utf8))
    }

    @Test(
        "a real Joplin export as Markdown has every picture where its note says",
        .enabled(if: RealExports.areThere, "no real exports beside the repository"))
    func joplin() throws {
        let trial = try ForeignTrial(RealExports.path("joplin/03_10_2022.jex"))
        let target = folder.url.appendingPathComponent("out")
        let report = try trial.fixture.vault.exportMarkdown(to: target.path, files: trial.fixture.files)
        #expect(report.notes == trial.report.imported && report.attachments == trial.report.attachments)
        let back = try ForeignTrial(target.path)
        #expect(back.report.imported == report.notes && back.report.attachments == report.attachments)
        #expect(back.report.danglingLinks <= trial.report.danglingLinks)
        for item in try ForeignTrial.all(back.fixture) { #expect(!item.title.hasPrefix("Files of"), "\(item.title)") }
    }
}
