// Entries for fuzzing: each takes any bytes and must return, whatever they are. A short seeded run of each
// belongs to the tests; longer ones start from the same functions.

import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

/// Front matter: what parses can be written again and reads back the same.
func fuzzFrontMatter(_ bytes: [UInt8]) {
    guard let block = FrontMatter(startOf: bytes[...], byteCountMax: 1 << 16) else { return }
    let written = FrontMatterWriter.text(replacing: [], in: block)
    precondition(Array(written.utf8) == Array(bytes.prefix(block.byteCount)), "front matter keeps its bytes")
}

/// A whole Markdown file, its links resolved against a small folder.
func fuzzNoteFile(_ bytes: [UInt8]) {
    let path = SourcePath(cleanBytes: Array("a/b.md".utf8))
    guard case .success(let note)? = try? NoteFile.parse(bytes, path: path, limits: ImportLimits()) else { return }
    let index = LinkIndex([SourceEntry(path: path, byteCount: 0, modifiedMilliseconds: nil)])
    for link in note.links { _ = index.resolve(link, from: path) }
    _ = note.draft
}

/// A list of items.
func fuzzItemList(_ bytes: [UInt8]) {
    _ = try? ItemListImporter.parse(bytes, limits: ImportLimits())
}

/// A table, by every format.
func fuzzTable(_ bytes: [UInt8]) {
    guard let table = try? CSVTable(bytes, rowCountMax: 1_000) else { return }
    for format in ListFormat.tables {
        for row in table.rows.indices {
            var item = format.item(of: table.row(row))
            _ = item.finished(text: [])
        }
    }
}

/// The readers of other programs' exports, each on the same bytes, without a vault behind them.
func fuzzForeign(_ bytes: [UInt8]) {
    let limits = ImportLimits()
    if let value = try? parseForeignJSON(bytes, limits: limits) { _ = ForeignObject(value)?.rest }
    if let reader = try? ForeignXMLReader(limits: limits, take: { _, _ in true }) { try? reader.read(bytes[...]) }
    _ = try? KeePassKeyFile.key(of: bytes)
    _ = try? gunzipped(bytes, subject: "fuzz", limits: limits)
}

/// A whole import of a file that may be of any format, into a vault that must not change where it fails.
func fuzzForeignImport(_ bytes: [UInt8], named name: String, in folder: TemporaryFolder, _ fixture: ImportFixture) {
    guard let file = try? folder.write(Data(bytes), to: name), let source = try? openImportSource(atPath: file.path),
        let importer = try? ImporterRegistry.detect(source)
    else { return }
    _ = try? fixture.vault.importFrom(
        source, with: importer, keys: ForeignTrial.keys("words"), files: fixture.files, random: fixture.random,
        isDryRun: true)
}

/// The grammar of a full export, without its check value.
func fuzzFullExport(_ bytes: [UInt8]) {
    var rest: [UInt8]? = bytes
    var trial = FullImportTrial()
    _ = try? FullExportParser.parse(into: &trial, limits: ImportLimits()) {
        defer { rest = nil }
        return rest
    }
}

/// An archive: listed and read.
func fuzzArchive(_ bytes: [UInt8], in folder: TemporaryFolder) {
    guard let file = try? folder.write(Data(bytes), to: "fuzz.bin"),
        let source = try? openImportSource(atPath: file.path)
    else { return }
    try? source.visit({ _ in true }) { (_, reader) throws(ImportExportError) in
        try reader.forEachPiece(byteCountMax: 1 << 20) { _ in }
    }
}

@Suite("Fuzz entries of import and export")
struct ImportExportFuzzTests {
    @Test("tables survive any bytes")
    func tables() {
        let samples = [
            "name,url,username,password\r\n\"a\",\"b \"\"c\"\"\",\"d\\\"e\",f\r\n,,,\n",
            "url,username,password,totp,extra,name,grouping,fav\nhttp://sn,,,,\"NoteType:Credit Card\nNumber:1\",x,a\\b,1\n",
        ].map { Array($0.utf8) }
        fuzz(samples, rounds: 500) { bytes in fuzzTable(bytes) }
    }

    @Test("front matter and notes survive any bytes")
    func text() {
        let samples = [
            "---\ntitle: \"a\\u00e9\"\ntags: [a, 'b']\nlist:\n  - x\n  - y: z\ntext: |\n  a\n---\n# T [x](a.md) ![[b]] #tag\n",
            "---\r\na: b\r\n...\r\n`code` <img src=\"x.png\"> [r]: ../x%20y.md\n", "\u{FEFF}---\n---\n",
        ].map { Array($0.utf8) }
        var count = 0
        fuzz(samples) { bytes in
            fuzzFrontMatter(bytes)
            fuzzNoteFile(bytes)
            count += 1
        }
        #expect(count > 0)
    }

    @Test("structured files survive any bytes")
    func structured() {
        let samples = [
            "{\"format\":\"coffret-items\",\"version\":1,\"items\":[{\"kind\":\"login\",\"title\":\"t\",\"tags\":[\"a\"],\"fields\":[{\"name\":\"password\",\"value\":\"x\"}]}]}",
            "{\"format\":\"coffret-export\",\"version\":1,\"exported\":\"2026-01-01\",\"vault\":\"v\",\"items\":[],\"attachments\":[{\"byteCount\":0,\"hash\":\"0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8\",\"chunks\":[]}],\"history\":[{\"time\":1,\"instance\":\"00000000000000000000000000000000\",\"changes\":[[\"N00000000000000000000000000000000\",\"a\",null,{\"attachment\":0}]]}],\"stateHash\":\"0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8\",\"check\":\"0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8\"}",
        ].map { Array($0.utf8) }
        var trial = FullImportTrial()
        var whole: [UInt8]? = samples[1]
        let hash = try? FullExportParser.parse(into: &trial, limits: ImportLimits()) {
            defer { whole = nil }
            return whole
        }
        #expect(hash != nil && trial.changeCount == 1, "the sample itself must parse")
        fuzz(samples) { bytes in
            fuzzItemList(bytes)
            fuzzFullExport(bytes)
        }
    }

    @Test("exports of password managers survive any bytes")
    func foreign() throws {
        let samples = [
            BitwardenTests.sample, KeePassTests.sample,
            "{\"keyID\":\"x\",\"typeName\":\"webforms.WebForm\",\"uuid\":\"u\",\"title\":\"t\",\"secureContents\":{\"fields\":[{\"type\":\"P\",\"designation\":\"password\",\"value\":\"p\"}]}}\n***5642bee8-a5ff-11dc-8314-0800200c9a66***\n",
            "{\"accounts\":[{\"attrs\":{},\"vaults\":[{\"attrs\":{\"name\":\"v\"},\"items\":[{\"uuid\":\"u\",\"categoryUuid\":\"001\",\"details\":{\"sections\":[{\"fields\":[{\"title\":\"t\",\"value\":{\"totp\":\"A\"}}]}]},\"overview\":{\"title\":\"x\"}}]}]}]}",
            "{\"userId\":\"u\",\"vaults\":{\"a\":{\"name\":\"n\",\"items\":[{\"itemId\":\"i\",\"data\":{\"type\":\"login\",\"metadata\":{\"name\":\"x\"},\"content\":{\"password\":\"p\",\"urls\":[\"u\"]}},\"state\":1}]}},\"version\":\"1\"}",
            "{\"AUTHENTIFIANT\":[{\"title\":\"t\",\"login\":\"l\",\"domain\":\"d\"}]}",
            "otpauth://totp/A:b?secret=JBSWY3DPEHPK3PXP&issuer=A\n# x\notpauth-migration://offline?data=CigKEPqlBekzoNEukL7qlsjBCDYSDnBpQHJhc3BiZXJyeXBpIAEoATACEAEYASAAKLzjp5n4%2F%2F%2F%2F%2FwE%3D\n",
            "{\"version\":1,\"header\":{\"slots\":null,\"params\":null},\"db\":{\"entries\":[{\"type\":\"totp\",\"name\":\"n\",\"info\":{\"secret\":\"A\",\"digits\":6}}]}}",
        ].map { Array($0.utf8) }
        let (folder, fixture) = (try TemporaryFolder(), try ImportFixture())
        let before = try fixture.commitCount()
        fuzz(samples, rounds: 400) { bytes in
            fuzzForeign(bytes)
            fuzzForeignImport(bytes, named: "x.json", in: folder, fixture)
        }
        #expect(try fixture.commitCount() == before)
    }

    @Test("archives survive any bytes")
    func archives() throws {
        let folder = try TemporaryFolder()
        try folder.python(
            """
            import tarfile, zipfile, io
            for name, mode in [('a.tar', 'w'), ('a.tgz', 'w:gz'), ('a.txz', 'w:xz')]:
                t = tarfile.open(name, mode)
                for path in ['f/ü.md', 'f/b.png']:
                    i = tarfile.TarInfo(path); i.size = 3; t.addfile(i, io.BytesIO(b'abc'))
                t.close()
            z = zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED); z.writestr('f/ü.md', b'abc' * 99); z.close()
            """)
        let samples = try ["a.tar", "a.tgz", "a.txz", "a.zip"].map {
            [UInt8](try Data(contentsOf: folder.url.appendingPathComponent($0)))
        }
        fuzz(samples, rounds: 400) { fuzzArchive($0, in: folder) }
        #expect(samples.count == 4)
    }
}
