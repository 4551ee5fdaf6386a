// Backups and exports of programs for notes, real ones: the counts and titles of what comes in, and that a second run finds
// nothing new.

import CoffretBase
import CoffretCore
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Exports of programs for notes")
struct NoteProgramTests {
    /// A file and what the README beside it says of it.
    struct Export: CustomTestStringConvertible {
        let path: String
        let titles: [String]
        var attachments = 0
        /// Titles of items that hold what belongs to no note.
        var others: [String] = []

        var testDescription: String { path }
    }

    static let exports: [Export] =
        [
            Export(
                path: "bear/backup.bear2bk",
                titles: [
                    "2023-10-11T081102Z", "Archived File", "Encrypted File", "File with asset, content, and a tag",
                    "File with heading only, no content", "Trashed file",
                ], attachments: 1),
            Export(path: "bear/tags.bear2bk", titles: ["Tag forms Bear writes", "Tags in other scripts"]),
            Export(
                path: "bear/markdown-samples.bear2bk",
                titles: [
                    "Get started with Bear", "Markdown sample", "Organize, search, and customize in Bear",
                    "Welcome to Bear 👋", "Work faster and easier with Bear",
                ], attachments: 6),
            Export(path: "textbundle/only text.textbundle", titles: ["only text"]),
            Export(
                path: "textbundle/text plus attachments.textbundle", titles: ["text plus attachments"], attachments: 1),
            Export(path: "textbundle/Textbundle Example v1.textbundle", titles: ["Textbundle Example"], attachments: 1),
            Export(path: "textbundle/Textbundle Example v2.textbundle", titles: ["Textbundle Example"], attachments: 1),
            Export(path: "textbundle/example.textpack", titles: ["Textbundle Example"], attachments: 1),
            Export(
                path: "standardnotes/Standard Notes Backup and Import File-custom.zip",
                titles: ["Nivovo-česneková pomazánka"]),
            Export(
                path: "joplin/03_10_2022.jex",
                titles: [
                    "1. Welcome to Joplin!", "2. Importing and exporting notes", "3. Synchronising your notes",
                    "4. Tips",
                    "5. Joplin Privacy Policy", "Hello",
                ], attachments: 4),
            Export(
                path: "joplin/raw-from-03_10_2022/03_10_2022",
                titles: [
                    "1. Welcome to Joplin!", "2. Importing and exporting notes", "3. Synchronising your notes",
                    "4. Tips",
                    "5. Joplin Privacy Policy", "Hello",
                ], attachments: 4),
            Export(
                path: "notesnook/backup.nnbackup",
                titles: [
                    "Note 1", "Note 12/22/22, 10:46 AMfsadfsad", "Note 2", "Note 3", "Note 4", "Note 4 (Copy)",
                    "Note 5",
                    "Note 6", "Note 7", "Note 8", "Note 9", "f wdf", "frefsd", "fwe",
                ]),
            Export(
                path: "notesnook/backup.v5.8.json",
                titles: ["Test note 1", "Test note 2", "Test note 3", "Test note 4"]),
            Export(
                path: "simplenote/simplenote.zip",
                titles: ["KEYWORDS LIST OF MINT PLAYER", "List of Pages", "Welcome to Simplenote!"],
                // One of the text files says more than its note.
                attachments: 1, others: ["Files of simplenote2"]),
            Export(
                path: "googlekeep/takeout.zip",
                titles: ["another note", "draw", "good place", "hello world", "[ ] note"], attachments: 2),
            Export(path: "googlekeep/invalid-keep-json-note.json", titles: ["_Text note"]),
            Export(
                path: "googlekeep/notes",
                titles: [
                    "Archived note", "Background colour note", "Checklist note", "Deleted note",
                    "Drawings (multiple) note", "Hashtags & labels note", "Image, label, and body text note",
                    "Invalid title characters note !@#$%^&*()_+~`{}[]\\|;:'<>',./?/*-+", "Labelled note",
                    "Multiline title note Second line", "Pinned text note", "This note has a drawing but no title",
                    "Voice recording",
                ]),
        ] + enex

    static let enex: [Export] = [
        Export(
            path: "evernote/code-block-indentation.enex",
            titles: ["Backslashes and markdown in code", "Indented with non-breaking spaces", "Indented with spaces"]),
        Export(path: "evernote/image-size.enex", titles: ["One image placed at several sizes"], attachments: 1),
        Export(path: "evernote/long-attachment-name.enex", titles: ["Long Attachment Name"], attachments: 1),
        Export(path: "evernote/note-link-without-title.enex", titles: ["Links to it", "Quarterly plan"]),
        Export(path: "evernote/source-of-webclip.enex", titles: ["Blank website. Blank site. Nothing to see here."]),
        Export(
            path: "evernote/test-file-with-many-dots.enex", titles: ["Test with files contains multiple dots"],
            attachments: 1),
        Export(
            path: "evernote/test-internotebook_links_A.enex",
            titles: ["Note in Notebook A", "Note2", "Table of Contents"]),
        Export(
            path: "evernote/test-internotebook_links_B.enex",
            titles: ["Note in Notebook B", "Table of Contents", "Untitled"]),
        Export(
            path: "evernote/test-resource-attributes-single-child.enex",
            titles: ["File Name And Source", "Only File Name"], attachments: 2),
        Export(path: "evernote/test-task-lists.enex", titles: ["Task lists"]),
        Export(path: "evernote/test-encryption.enex", titles: ["Encryption"]),
        Export(path: "evernote/test-checklist.enex", titles: ["test-checkbox.v10.48"]),
        Export(path: "evernote/test-empty-en-todo.enex", titles: ["test-empty-en-todo"]),
        Export(path: "evernote/test-headings.enex", titles: ["test - headings"]),
        Export(path: "evernote/test-highlights.enex", titles: ["Highlights"]),
        Export(path: "evernote/test-image-dataUrl.enex", titles: ["test - image - dataUrl"], attachments: 5),
        Export(path: "evernote/test-links.enex", titles: ["NoteA", "NoteB"]),
        Export(path: "evernote/test-note-attributes.enex", titles: ["\\\\Test//"]),
        Export(path: "evernote/test-noteWithCodeBlock.enex", titles: ["Note with code block"]),
        Export(path: "evernote/test-noteWithNestedTags.enex", titles: ["test -note with text only"]),
        Export(path: "evernote/test-noteWithLatLong.enex", titles: ["Test"]),
        Export(path: "evernote/test-pdfAttachment.enex", titles: ["pdfAttachment"], attachments: 1),
        Export(path: "evernote/test-reminder.enex", titles: ["reminders title"]),
        Export(path: "evernote/test-table.enex", titles: ["table"]),
        Export(path: "evernote/test-things-to-do.enex", titles: ["Things to do"]),
        Export(path: "evernote/text styles.enex", titles: ["text styles"]),
        Export(
            path: "evernote/two-untitled-notes-with-toc.enex",
            titles: ["Table of Contents", "Untitled Note", "Untitled Note"]),
        Export(path: "evernote/test-sublists-valid.enex", titles: ["test - sublists - valid"]),
        Export(path: "evernote/test-invalid-tags.enex", titles: ["invalid-tags"]),
        Export(path: "evernote/test-old-note.enex", titles: ["Untitled"]),
        Export(path: "evernote/Colors.enex", titles: ["Colors"]),
        Export(path: "evernote/Essay Outline.enex", titles: ["Essay Outline"], attachments: 1),
        Export(path: "evernote/ll.enex", titles: ["ll"], attachments: 2),
        Export(path: "evernote/test-threePictures.enex", titles: ["test - note with more pictures"], attachments: 3),
        Export(path: "evernote/note-with-internal-link.enex", titles: ["I am a note", "I am awesome"]),
    ]

    @Test(
        "notes come in with their titles and files, in one commit, and once", .enabled(if: RealExports.areThere),
        arguments: exports)
    func export(_ export: Export) throws {
        let path = try RealExports.path(export.path)
        let trial = try ForeignTrial(path)
        #expect(try ForeignTrial.all(trial.fixture).map(\.title).sorted() == (export.titles + export.others).sorted())
        #expect(trial.report.imported == export.titles.count)
        #expect(trial.report.attachments == export.attachments)
        #expect(trial.report.dropped == 0)
        #expect(try trial.fixture.commitCount() == 1)
        let hash = try trial.fixture.vault.present.snapshot.stateHash()
        let again = try ForeignTrial.run(path, trial.fixture)
        #expect(again.isNothingNew && again.missing == 0)
        #expect(again.unchanged == export.titles.count)
        #expect(try trial.fixture.commitCount() == 1)
        #expect(try trial.fixture.vault.present.snapshot.stateHash() == hash)
        if ProcessInfo.processInfo.environment["COFFRET_SHOW_IMPORTS"] != nil {
            print("=====", export.path, trial.report.warnings, trial.report.rawFields.keys.sorted())
            for item in try ForeignTrial.all(trial.fixture) {
                print(
                    "---", item.title, item.tags.map(\.path), item.fields.map { "\($0.label)=\($0.value.prefix(60))" },
                    item.attachments.map { $0.path ?? $0.name }, item.isPinned, item.isArchived, item.isTrashed,
                    CivilTime.format(item.created), CivilTime.format(item.modified), item.path ?? "")
                print(item.text.prefix(1500))
            }
        }
    }

    @Test("a note that Bear encrypted stays sealed, byte for byte", .enabled(if: RealExports.areThere))
    func sealedByBear() throws {
        let trial = try ForeignTrial(RealExports.path("bear/backup.bear2bk"))
        let item = try #require(trial["Encrypted File"])
        #expect(item.isSealed && item.text.isEmpty && item.fields.isEmpty)
        let value = try #require(item.lock?.parts[.text]?.values.first)
        #expect(value.encryptionID.description.uppercased() == "9AD3904E-D2ED-440E-B4B4-3DAA5D2F03F8")
        #expect(
            Base64.standard.encode(value.body)
                == "AAEBQAwAAAAQAAAAGQAAAKyAqVCHYtE4FcfrTiVtpBRkMELNohAkl4yLNxFSwt+yesEwdZafsCCJgc8o3CxyfliPakTp")
        let record = try trial.fixture.vault.record(for: item)
        #expect(record.scheme == .bear && CivilTime.format(record.created) == "2020-10-23T00:57:51Z")
        #expect(
            UniqueID(bytes: record.identity.salt)?.description.uppercased() == "E684617F-02A6-4CF7-9F2C-A2B4CA757F1D")
        #expect(throws: CoreError(.recordConstantsMissing, at: record.id.hex)) {
            try trial.fixture.vault.unlockRecord(record, passphrase("anything"))
        }
        #expect(trial.report.warnings.contains { $0.contains("only Bear's own constants open it") })
    }

    private func passphrase(_ text: String) throws -> NotePassphrase {
        var bytes = Array(text.utf8)
        return try NotePassphrase(SecretBytes(consuming: &bytes))
    }

    @Test("dates, flags, tags and texts are those of the notes", .enabled(if: RealExports.areThere))
    func values() throws {
        let bear = try ForeignTrial(RealExports.path("bear/backup.bear2bk"))
        let asset = try #require(bear["File with asset, content, and a tag"])
        #expect(CivilTime.format(asset.created) == "2023-10-11T05:43:33Z" && asset.tagPaths == ["Test-Tag"])
        #expect(asset.text.contains("![](assets/acorn.jpeg)") && !asset.isTrashed)
        #expect(bear["Trashed file"]?.isTrashed == true)
        let tags = try ForeignTrial(RealExports.path("bear/tags.bear2bk"))
        #expect(tags["Tag forms Bear writes"]?.tagPaths.contains("two words") == true)
        let samples = try ForeignTrial(RealExports.path("bear/markdown-samples.bear2bk"))
        #expect(samples["Welcome to Bear 👋"]?.isPinned == true)
        #expect(samples.items.values.contains { $0.text.contains("<!-- {\"width\":") })
        let joplin = try ForeignTrial(RealExports.path("joplin/03_10_2022.jex"))
        let hello = try #require(joplin["Hello"])
        #expect(hello.value("To-do") == "open" && hello.value("Due")?.hasPrefix("2022-05-12") == true)
        let welcome = try #require(joplin["1. Welcome to Joplin!"])
        #expect(welcome.tagPaths == ["hope", "mine", "welcome", "Welcome! (Desktop)/helo"])
        #expect(welcome.attachments.map(\.name).sorted() == ["SubNotebooks.png"])
        #expect(!welcome.text.contains("](:/"))
        let sync = try #require(joplin["3. Synchronising your notes"])
        #expect(sync.attachments.map(\.mediaType) == ["application/pdf"])
        let keep = try ForeignTrial(RealExports.path("googlekeep/takeout.zip"))
        #expect(
            keep["[ ] note"]?.text.contains("- [ ] bing\n") == true && keep["[ ] note"]?.tagPaths == ["cats", "run"])
        let simple = try ForeignTrial(RealExports.path("simplenote/simplenote.zip"))
        #expect(simple["List of Pages"]?.tagPaths == ["cow", "hello"])
        #expect(simple["Welcome to Simplenote!"]?.isTrashed == true)
        #expect(simple["KEYWORDS LIST OF MINT PLAYER"]?.isPinned == true)
        let notesnook = try ForeignTrial(RealExports.path("notesnook/backup.nnbackup"))
        #expect(notesnook["Note 7"]?.tagPaths == ["Notebook 3/topic 7", "Notebook 3/Topic 8", "Notebook 3/Topic 9"])
        #expect(notesnook["Note 1"]?.text == "1\n")
    }

    @Test("Evernote's notes keep links, tasks, tables, tags and sealed parts", .enabled(if: RealExports.areThere))
    func evernote() throws {
        let links = try ForeignTrial(RealExports.path("evernote/test-links.enex"))
        let target = try #require(links["NoteA"])
        #expect(links["NoteB"]?.text.contains("[NoteA](coffret:\(target.id.uuid.hex))") == true)
        let tasks = try ForeignTrial(RealExports.path("evernote/test-things-to-do.enex"))
        #expect(tasks["Things to do"]?.text.hasPrefix("- [ ] Simple task\n- [x] Done\n") == true)
        let table = try ForeignTrial(RealExports.path("evernote/test-table.enex"))
        #expect(table["table"]?.text.contains("| c1r2 | **c2r2** | C3r2 |") == true)
        let sealed = try ForeignTrial(RealExports.path("evernote/test-encryption.enex"))
        #expect(sealed["Encryption"]?.text.contains("<en-crypt cipher=\"AES\" hint=\"this is a hint\"") == true)
        let pictures = try ForeignTrial(RealExports.path("evernote/test-threePictures.enex"))
        let note = try #require(pictures["test - note with more pictures"])
        #expect(note.attachments.map(\.name) == ["pic.jpg", "squirell2.jpg", "squirell3.jpeg"])
        #expect(note.text.contains("![](squirell3.jpeg)"))
        let attributes = try ForeignTrial(RealExports.path("evernote/test-note-attributes.enex"))
        let values = try #require(attributes["\\\\Test//"])
        #expect(values.tagPaths == ["note-attributes", "test"] && values.value("application-data color") == "blue")
        #expect(values.value("place-name") == "Reichstag Building, Berlin")
    }

    @Test(
        "what is none is refused, and the vault stays as it was", .enabled(if: RealExports.areThere),
        arguments: [
            ("textbundle/invalid no info.textbundle", ImportExportError.Code.formatInvalid),
            ("textbundle/invalid no text.textbundle", .formatInvalid),
            ("notesnook/encrypted.nnbackup", .sourceUnsupported),
            ("googlekeep/broken-json-note.json", .formatInvalid),
        ])
    func refusal(_ path: String, _ code: ImportExportError.Code) throws {
        #expect(try ForeignTrial.refusal(RealExports.path(path)) == code)
    }
}
