// Vaults as TextBundles: what came in as bundles goes out as the same bundles, and anything else as bundles that come in
// again.

import CoffretBase
import CoffretCore
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
}
