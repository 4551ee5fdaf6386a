// Vaults as TextBundles: what came in as bundles goes out as the same bundles, and anything else as bundles that come in
// again.

import CoffretBase
import CoffretCore
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("TextBundle export")
struct TextBundleExportTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("import, export, import: the same bytes and the same state hash", .enabled(if: RealExports.areThere))
    func roundTrip() throws {
        let source = try RealExports.path("textbundle")
        for name in ["Textbundle Example v1", "text plus attachments", "only text"] {
            try FileManager.default.createDirectory(atPath: folder.path + "/in", withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: "\(source)/\(name).textbundle", toPath: "\(folder.path)/in/\(name).textbundle")
        }
        let trial = try ForeignTrial(folder.path + "/in")
        #expect(trial.report.imported == 3)
        let hash = try trial.fixture.vault.present.snapshot.stateHash()
        try FileManager.default.createDirectory(atPath: folder.path + "/out", withIntermediateDirectories: true)
        let report = try trial.fixture.vault.exportTextBundles(to: folder.path + "/out/in", files: trial.fixture.files)
        #expect((report.notes, report.identical, report.attachments) == (3, 3, 2))
        #expect(try folder.files(below: "in") == folder.files(below: "out/in"))
        let again = try ForeignTrial.run(folder.path + "/out/in", trial.fixture)
        #expect(again.isNothingNew && again.unchanged == 3 && again.missing == 0)
        #expect(try trial.fixture.vault.present.snapshot.stateHash() == hash)
    }

    @Test("notes of any origin come out with their dates, flags, fields and files, and come in again")
    func anyOrigin() throws {
        try folder.write(
            "---\nodd: one\npinned: true\n---\n# Bed #tag\n![p](img/a%20b.png) [c](sub/c.md)\n", to: "md/bed.md")
        try folder.write("# C\n", to: "md/sub/c.md")
        try folder.write(Data([1, 2, 3]), to: "md/img/a b.png")
        let trial = try ForeignTrial(folder.path + "/md")
        let report = try trial.fixture.vault.exportTextBundles(to: folder.path + "/out", files: trial.fixture.files)
        #expect((report.notes, report.identical, report.attachments) == (2, 0, 1))
        let bed = try #require(try folder.files(below: "out")["Bed #tag.textbundle/text.md"])
        #expect(String(decoding: bed, as: UTF8.self).contains("![p](assets/a%20b.png)"))
        let back = try ForeignTrial(folder.path + "/out")
        let (old, new) = (try #require(trial["Bed #tag"]), try #require(back["Bed #tag"]))
        #expect(new.isPinned && new.value("odd") == "one" && new.created == old.created && new.modified == old.modified)
        #expect(new.attachments.map(\.byteCount) == [3] && new.tagPaths == old.tagPaths)
        #expect(try back.content("Bed #tag", "a b.png") == [1, 2, 3])
        #expect(throws: ImportExportError.self) {
            try trial.fixture.vault.exportTextBundles(to: folder.path + "/out", files: trial.fixture.files)
        }
    }

    /// A vault of notes and a login with all that a bundle has no place for of its own.
    private func makeVault() throws -> ImportFixture {
        let fixture = try ImportFixture()
        var note = ItemDraft(title: "Given", text: "# Bé #text\n\nwords\n")
        note.tags = [try TagPath("a/b"), try TagPath("c d")]
        note.fields = [
            ItemField(listed: "Door", kind: .secret, value: "4711", position: 1),
            ItemField(listed: "archived", kind: .text, value: "a label of Bear's", position: 2),
        ]
        (note.created, note.modified, note.isPinned) = (1_600_000_000_000, 1_650_000_000_000, true)
        let id = try fixture.vault.create(note)
        try fixture.attach([1, 2, 3], named: "ü.bin", to: id)
        var plain = ItemDraft(text: "no title, no tag")
        (plain.created, plain.modified) = (1_600_000_000_000, 1_650_000_000_000)
        _ = try fixture.vault.create(plain)
        try fixture.makeEveryKind()
        let login = try #require(try ForeignTrial.all(fixture).first { $0.kind == .login })
        try fixture.attach([4, 5], named: "key.bin", to: login.id)
        return fixture
    }

    @Test("import, export, import: tags, titles and fields that no text has come back", arguments: [false, true])
    func state(isPack: Bool) throws {
        let fixture = try makeVault()
        var states = try fixture.states()
        var source = fixture
        for round in 1...2 {
            let path = folder.path + "/out\(round)" + (isPack ? ".textpack" : "")
            let report = try source.vault.exportTextBundles(to: path, isPack: isPack, files: source.files)
            #expect((report.notes, report.attachments, report.faults.count) == (3, 2, 0))
            let trial = try ForeignTrial(path)
            #expect(trial.report.dropped == 0)
            #expect(try trial.fixture.states() == states, "round \(round)")
            // A second run of the same changes nothing.
            let hash = try trial.fixture.vault.present.snapshot.stateHash()
            #expect(try ForeignTrial.run(path, trial.fixture).isNothingNew)
            #expect(try trial.fixture.vault.present.snapshot.stateHash() == hash)
            source = trial.fixture
            states = try source.states()
        }
    }

    @Test("a TextPack is a zip file that others read, and appears whole or not at all")
    func pack() throws {
        let fixture = try makeVault()
        let path = folder.path + "/all.textpack"
        let report = try fixture.vault.exportTextBundles(to: path, isPack: true, files: fixture.files)
        #expect(report.notes == 3)
        try folder.python(
            """
            import zipfile, json
            z = zipfile.ZipFile('all.textpack')
            assert z.testzip() is None
            names = z.namelist()
            assert 'Given.textbundle/assets/ü.bin' in names, names
            assert z.read('Given.textbundle/assets/ü.bin') == bytes([1, 2, 3])
            info = json.loads(z.read('Given.textbundle/info.json'))
            assert info['version'] == 2 and info['net.shinyfrog.bear']['pinned'] == 1
            assert info['coffret']['tags'] == ['a/b', 'c d']
            assert all(i.external_attr >> 16 & 0o777 == 0o600 for i in z.infolist())
            assert all(i.extract_version < 45 for i in z.infolist()), 'no entry needs Zip64'
            """)
        #expect(throws: ImportExportError.self) {
            try fixture.vault.exportTextBundles(to: path, isPack: true, files: fixture.files)
        }
        #expect(throws: ImportExportError(.stopped)) {
            try fixture.vault.exportTextBundles(
                to: folder.path + "/b.textpack", isPack: true, files: fixture.files, isStopped: { true })
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["all.textpack"])
    }

    @Test("links to notes are Bear's in bundles, and lead to the same notes after an import")
    func links() throws {
        let fixture = try ImportFixture()
        let aim = try fixture.vault.create(ItemDraft(text: "# Aim\n"))
        _ = try fixture.vault.create(ItemDraft(text: "# From\n\n[x](coffret:\(aim.uuid.hex)) [y](coffret:zz)\n"))
        _ = try fixture.vault.exportTextBundles(to: folder.path + "/out", files: fixture.files)
        let text = try #require(try folder.files(below: "out")["From.textbundle/text.md"])
        let address = "bear://x-callback-url/open-note?id=\(aim.uuid.description.uppercased())"
        #expect(String(decoding: text, as: UTF8.self) == "# From\n\n[x](\(address)) [y](coffret:zz)\n")
        let trial = try ForeignTrial(folder.path + "/out")
        let new = try #require(trial["Aim"])
        #expect(trial["From"]?.text.contains("[x](coffret:\(new.id.uuid.hex))") == true)
    }
}
