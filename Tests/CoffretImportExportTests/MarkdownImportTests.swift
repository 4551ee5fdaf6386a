// Folders of Markdown into a vault, once and again.

import CoffretBase
import CoffretCore
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Markdown import")
struct MarkdownImportTests {
    let folder: TemporaryFolder
    let fixture: ImportFixture

    init() throws {
        folder = try TemporaryFolder()
        fixture = try ImportFixture()
    }

    private func importNotes() throws -> ImportReport { try fixture.importPath(folder.path + "/notes") }

    private func writeGarden() throws {
        try folder.write(
            "---\ntags: [x]\nodd: 1\n---\n# Bed\n\n![plan](../img/a%20b.png) #inline\n[all](../Index.md)\n",
            to: "notes/sub/bed.md")
        try folder.write("# Index\n[bed](sub/bed.md) ![gone](gone.png) ![[plan.svg]]\n", to: "notes/Index.md")
        try folder.write(Data([1, 2, 3]), to: "notes/img/a b.png")
        try folder.write("<svg/>", to: "notes/img/plan.svg")
        try folder.write("alone", to: "notes/LICENSE")
    }

    @Test("notes, tags, fields, files and paths arrive; one commit")
    func firstImport() throws {
        try writeGarden()
        let report = try importNotes()
        #expect(report.imported == 2)
        #expect(report.attachments == 3)
        #expect(report.tags == 3)
        #expect(report.keptAsRaw == 1)
        #expect(report.rawFields == ["odd": ImportReport.RawField(count: 1, example: "sub/bed.md")])
        #expect(report.dropped == 0)
        #expect(report.danglingLinks == 1)
        #expect(report.warnings == ["Index.md shows a file that is not there: gone.png"])
        #expect(try fixture.commitCount() == 1)
        let items = try fixture.items()
        let bed = try #require(items["notes/sub/bed.md"])
        #expect(bed.title == "Bed")
        #expect(bed.tags.map(\.path) == ["inline", "sub", "x"])
        #expect(bed.fields.map(\.label) == ["odd"])
        #expect(bed.text == "# Bed\n\n![plan](../img/a%20b.png) #inline\n[all](../Index.md)\n")
        #expect(bed.attachments.map(\.path) == ["notes/img/a b.png"])
        #expect(bed.attachments.map(\.mediaType) == ["image/png"])
        #expect(try fixture.content(bed.attachments[0].encodedReference) == [1, 2, 3])
        let index = try #require(items["notes/Index.md"])
        #expect(index.attachments.map(\.name) == ["plan.svg"])
        #expect(items["Files of notes"]?.attachments.map(\.name) == ["LICENSE"])
    }

    @Test("a second import of the same changes nothing, from wherever it comes")
    func secondImport() throws {
        try writeGarden()
        _ = try importNotes()
        let hash = try fixture.vault.present.snapshot.stateHash()
        for path in ["notes", "moved", "packed.tgz"] {
            if path == "moved" { try folder.python("import os; os.rename('notes', 'moved')") }
            if path == "packed.tgz" {
                try folder.python(
                    "import tarfile; t = tarfile.open('packed.tgz', 'w:gz'); t.add('moved', 'notes'); t.close()")
            }
            let report = try fixture.importPath(folder.path + "/" + path)
            #expect(report.isNothingNew, "\(path)")
            #expect(report.unchanged == 2)
            #expect(report.attachmentsUnchanged == 3)
            #expect(report.missing == 0)
        }
        #expect(try fixture.commitCount() == 1)
        #expect(try fixture.vault.present.snapshot.stateHash() == hash)
    }

    @Test("what changed in the folder is brought up to date, and the past keeps what was")
    func changedFolder() throws {
        try writeGarden()
        _ = try importNotes()
        fixture.clock.advance(by: 1_000)
        try folder.write("---\ntags: [y]\n---\n# Bed two\n![p](../img/a%20b.png)", to: "notes/sub/bed.md")
        try folder.write(Data([9]), to: "notes/img/a b.png")
        try folder.write("new", to: "notes/new.md")
        try FileManager.default.removeItem(atPath: folder.path + "/notes/LICENSE")
        let report = try importNotes()
        #expect((report.imported, report.updated, report.unchanged, report.attachments) == (1, 1, 1, 1))
        #expect(report.missing == 1)
        let items = try fixture.items()
        let bed = try #require(items["notes/sub/bed.md"])
        #expect(bed.title == "Bed two")
        #expect(bed.tags.map(\.path) == ["sub", "y"])
        #expect(bed.fields.isEmpty)
        #expect(bed.attachments.map(\.byteCount) == [1])
        #expect(items["notes/new.md"]?.title == "new")
        #expect(items["Files of notes"]?.attachments.count == 1, "what is gone from the folder stays in the vault")
        #expect(try fixture.vault.history(of: bed.id).count == 2)
        #expect(try importNotes().isNothingNew)
    }

    @Test("a note changed on both sides is kept twice, and once only")
    func conflict() throws {
        try writeGarden()
        _ = try importNotes()
        let id = try #require(try fixture.items()["notes/Index.md"]).id
        try fixture.vault.update(id) { $0.text += "mine" }
        try folder.write("# Index\ntheirs", to: "notes/Index.md")
        let report = try importNotes()
        #expect((report.conflicts, report.updated, report.imported) == (1, 0, 0))
        #expect(report.warnings.contains("changed here and in the source, both kept: Index.md"))
        let items = try fixture.items()
        #expect(items["notes/Index.md"]?.text.hasSuffix("mine") == true)
        #expect(items["Index (imported)"]?.text == "# Index\ntheirs")
        #expect(try importNotes().isNothingNew)
    }

    @Test("what was deleted or changed in the vault alone is left so")
    func vaultWins() throws {
        try writeGarden()
        _ = try importNotes()
        let items = try fixture.items()
        try fixture.vault.deletePermanently([try #require(items["notes/Index.md"]).id])
        try fixture.vault.update(try #require(items["notes/sub/bed.md"]).id) { $0.givenTitle = "Mine" }
        let report = try importNotes()
        #expect(report.isNothingNew)
        let after = try fixture.items()
        #expect(after["notes/Index.md"] == nil)
        #expect(after["notes/sub/bed.md"]?.title == "Mine")
    }

    @Test("links between files are links between notes, however they are written")
    func linksBetweenNotes() throws {
        try folder.write("# Far title\n", to: "notes/a/Far.md")
        try folder.write("# Near title\n", to: "notes/b/Near.md")
        try folder.write(
            "[1](../a/Far.md#x) [[Near]] [[far title]] [[a/Far]] [[FAR.md]] <a href=\"Near.md\">x</a> [n](none.md)",
            to: "notes/b/links.md")
        _ = try importNotes()
        let items = try fixture.items()
        let links = try fixture.vault.links(of: try #require(items["notes/b/links.md"]).id)
        let (far, near) = ("Far title", "Near title")
        #expect(links.map { $0.items.map(\.title) } == [[far], [near], [far], [far], [far], [near], []])
        let backlinks = try fixture.vault.backlinks(of: try #require(items["notes/a/Far.md"]).id)
        #expect(backlinks.map(\.title) == ["links"])
    }

    @Test("two folders of one name stay apart")
    func twoFolders() throws {
        try folder.write("# A", to: "one/notes/a.md")
        try folder.write("# B", to: "two/notes/b.md")
        _ = try fixture.importPath(folder.path + "/one/notes")
        _ = try fixture.importPath(folder.path + "/two/notes")
        #expect(Set(try fixture.items().keys) == ["notes/a.md", "notes (2)/b.md"])
    }

    @Test("a dry run reports and writes nothing")
    func dryRun() throws {
        try writeGarden()
        let report = try fixture.importPath(folder.path + "/notes", isDryRun: true)
        #expect((report.imported, report.attachments) == (2, 3))
        #expect(try fixture.commitCount() == 0)
        #expect(try fixture.attachments.storedFiles().isEmpty)
    }

    @Test("a refused file means that nothing was imported (R41)")
    func rollback() throws {
        try writeGarden()
        try folder.python("open('notes/zz.md', 'wb').write(b'x' * (9 << 20))")
        #expect(throws: ImportExportError(.lineTooLong, subject: "zz.md")) { try importNotes() }
        #expect(try fixture.commitCount() == 0)
        try folder.python("f = open('notes/zz.md', 'wb'); f.truncate(1 << 30); f.close()")
        #expect(throws: ImportExportError(.noteTooLarge, at: "bytes 1073741824", subject: "zz.md")) {
            try importNotes()
        }
        #expect(try fixture.commitCount() == 0)
    }

    @Test("text that is not UTF-8 is kept as a file, byte for byte, and said")
    func notText() throws {
        try folder.write(Data([0x61, 0xFF]), to: "notes/latin.md")
        try folder.write("see [it](latin.md)", to: "notes/a.md")
        let report = try importNotes()
        #expect((report.imported, report.attachments) == (1, 1))
        #expect(report.warnings == ["not UTF-8, kept as a file: latin.md"])
        let note = try #require(try fixture.items()["Files of notes"])
        #expect(try fixture.content(note.attachments[0].encodedReference) == [0x61, 0xFF])
        #expect(try importNotes().isNothingNew)
    }

    @Test("progress knows the total from the start and ends at it")
    func progress() throws {
        try writeGarden()
        var steps: [WorkProgress] = []
        let source = try openImportSource(atPath: folder.path + "/notes")
        _ = try fixture.vault.importFrom(source, files: fixture.files) { steps.append($0) }
        #expect(steps.allSatisfy { $0.totalCount == 5 })
        #expect(steps.first?.stage == .listing)
        #expect(steps.filter { $0.stage == .reading }.map(\.doneCount) == [1, 2])
        #expect(
            steps.last
                == WorkProgress(stage: .saving, doneCount: 5, totalCount: 5, byteCount: steps.last?.byteCount ?? 0))
    }

    @Test("the samples of the project import as they should")
    func samples() throws {
        let samples = SharedData.packageRoot.appendingPathComponent("Samples")
        let report = try fixture.importPath(samples.appendingPathComponent("notes").path)
        #expect((report.imported, report.attachments, report.dropped, report.danglingLinks) == (12, 2, 0, 0))
        #expect(report.warnings == [])
        let welcome = try #require(try fixture.items()["notes/Welcome.md"])
        #expect(welcome.isPinned)
        let logins = try fixture.importPath(samples.appendingPathComponent("logins.json").path)
        #expect((logins.imported, logins.keptAsRaw) == (5, 0))
        let library = try #require(try fixture.items()["Library"])
        #expect(library.kind == .login)
        #expect(library.fields.map(\.key.name) == ["username", "password", "url", "totp"])
        #expect(try fixture.importPath(samples.appendingPathComponent("logins.json").path).isNothingNew)
    }
}
