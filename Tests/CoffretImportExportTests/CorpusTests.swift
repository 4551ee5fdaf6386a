// Real collections, all the way: in, again, out, in elsewhere, and as one file with everything.

import CoffretBase
import CoffretCore
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Real collections")
struct CorpusTests {
    /// What the README beside the archives says of one: notes and their bytes, files and their bytes.
    struct Corpus: CustomTestStringConvertible {
        let name: String
        let noteCount: Int
        let noteByteCount: Int
        let fileCount: Int
        let repeatedTitleCount: Int

        var testDescription: String { name }
    }

    /// Licence texts in the archives count as notes or files too; their bytes are not in the README's sums.
    static let corpora = [
        Corpus(
            name: "tldr-pages-en", noteCount: 7_426, noteByteCount: 4_275_187, fileCount: 0, repeatedTitleCount: 140),
        Corpus(name: "rust-book", noteCount: 112, noteByteCount: 1_221_077, fileCount: 31, repeatedTitleCount: 0),
        Corpus(name: "rust-rfcs", noteCount: 648, noteByteCount: 9_222_555, fileCount: 4, repeatedTitleCount: 0),
    ]

    @Test(
        "what came in comes out byte for byte, a second run finds nothing new, an export is the same vault",
        .enabled(if: SharedData.isAvailable), arguments: corpora)
    func roundTrip(_ corpus: Corpus) throws {
        let folder = try TemporaryFolder()
        let fixture = try ImportFixture()
        let archive = try #require(SharedData.root).appendingPathComponent("data/notes/\(corpus.name).tar.gz").path

        let first = try fixture.importPath(archive)
        #expect((first.imported, first.attachments, first.dropped) == (corpus.noteCount, corpus.fileCount, 0))
        #expect(try fixture.commitCount() == 1)
        #expect(try fixture.importPath(archive).isNothingNew)
        var titles: [String: Int] = [:]
        try fixture.vault.present.forEachItem { titles[$0.title, default: 0] += 1 }
        #expect(titles.values.count { $0 > 1 } >= corpus.repeatedTitleCount)

        let target = folder.path + "/out"
        let report = try fixture.vault.exportMarkdown(to: target, files: fixture.files)
        #expect(
            (report.notes, report.identical, report.attachments) == (
                corpus.noteCount, corpus.noteCount, corpus.fileCount
            ))
        try folder.python("import tarfile; tarfile.open('\(archive)').extractall('in')")
        let before = try folder.files(below: "in/\(corpus.name)")
        #expect(try before == folder.files(below: "out"))
        let notes = before.filter { $0.key.hasSuffix(".md") && $0.key.contains("/") }
        #expect(notes.values.reduce(0) { $0 + $1.count } == corpus.noteByteCount)
        #expect(try fixture.importPath(target).isNothingNew)
        #expect(try fixture.commitCount() == 1)

        let file = folder.path + "/all.json"
        let exported = try fixture.vault.exportEverything(to: file, files: fixture.files, time: fixture.clock.now)
        let other = try ImportFixture()
        let imported = try other.vault.importEverything(fromPath: file, files: other.files)
        #expect(imported.stateHash == exported.stateHash)
        #expect((imported.items, imported.commits, imported.attachments) == (exported.items, 1, corpus.fileCount))
        #expect(try other.importPath(archive).isNothingNew)
    }
}
