// Any bytes in the place of other programs' notes: an import ends, whatever they are, and a dry run leaves nothing behind.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

/// A page of HTML, made Markdown.
func fuzzHTML(_ bytes: [UInt8]) {
    guard let page = try? HTMLElement.parse(bytes, subject: "fuzz") else { return }
    var converter = HTMLMarkdown()
    let text = converter.markdown(of: page)
    precondition(text.isEmpty || text.hasSuffix("\n"), "a text ends with a line feed")
}

/// An Evernote export, its pieces counted.
func fuzzEnex(_ bytes: [UInt8]) {
    var openCount = 0
    guard
        let parser = try? EnexParser(
            subject: "fuzz", limits: ImportLimits(),
            emit: { event, _ in
                if case .noteStart = event { openCount += 1 }
                if case .noteEnd = event { openCount -= 1 }
                return true
            })
    else { return }
    do {
        for piece in stride(from: 0, to: bytes.count, by: 7) {
            try parser.read(bytes[piece..<min(piece + 7, bytes.count)], isLast: false)
        }
        try parser.read([], isLast: true)
        precondition(openCount == 0, "every note that begins ends")
    } catch {}
}

/// One file of a Joplin export.
func fuzzJoplin(_ bytes: [UInt8]) {
    _ = (try? noteText(bytes, subject: "fuzz", limits: ImportLimits())).flatMap { try? JoplinItem($0, subject: "fuzz") }
}

/// The `info.json` of a bundle.
func fuzzBundleInfo(_ bytes: [UInt8]) {
    guard let info = try? BundleInfo(bytes, subject: "fuzz", limits: ImportLimits()) else { return }
    var item = ForeignItem(kind: .note)
    info.complete(&item)
    _ = item.finished()
}

@Suite("Any bytes as other programs' notes")
struct NoteFuzzTests {
    @Test("parsers survive any bytes")
    func parsers() {
        let page = Array(
            "<html><head><title>t</title></head><body><h1>A</h1><p>b <b>c</b><br>*d*</p><ul><li>e<ol><li>f</ol></ul><table><tr><td colspan=2>g|<td>h</table><pre>i\nj</pre><img src='data:image/png;base64,AAAA'><a href='x'>k</a>"
                .utf8)
        let enex = Array(
            "<?xml version=\"1.0\"?><en-export><note><title>t</title><content><![CDATA[<en-note>x<en-media hash=\"a\"/></en-note>]]></content><created>20220101T000000Z</created><tag>u</tag><resource><data encoding=\"base64\">AAEC\nAwQ=</data><mime>image/png</mime></resource><task><title>v</title></task></note></en-export>"
                .utf8)
        let joplin = Array("Title\n\nBody :/x\n\nid: 0123\nparent_id: \nis_todo: 1\ntype_: 1".utf8)
        let info = Array(
            "{\"version\":2,\"net.shinyfrog.bear\":{\"uniqueIdentifier\":\"A\",\"trashed\":1,\"creationDate\":\"2020-01-01T00:00:00Z\",\"encrypted\":1,\"password\":{\"encryptionVersion\":1}},}"
                .utf8)
        var count = 0
        for (sample, body) in [(page, fuzzHTML), (enex, fuzzEnex), (joplin, fuzzJoplin), (info, fuzzBundleInfo)] {
            body(sample)
            fuzz([sample], rounds: 500) { bytes in
                body(bytes)
                count += 1
            }
        }
        #expect(count >= 2_000)
    }

    /// The formats whose samples are altered: all, or the one that `Scripts/fuzz-imports` names.
    static let formats: [String] = {
        let one = ProcessInfo.processInfo.environment["COFFRET_FUZZ_FORMAT"]
        return ImportedSample.all.map(\.format).filter { one == nil || one == $0 }
    }()

    @Test("every format survives any bytes in the place of its files", arguments: formats)
    func format(_ name: String) throws {
        let sample = try #require(ImportedSample.all.first { $0.format == name })
        let isFile = sample.files[sample.place] != nil
        let (folder, fixture) = (try TemporaryFolder(), try ImportFixture())
        let importer = try #require(ImporterRegistry.named(name))
        for (path, text) in sample.files { try folder.write(text, to: isFile ? path : "\(sample.place)/\(path)") }
        var roundCount = 0
        // The file that says most.
        let (path, text) = try #require(sample.files.max { $0.value.utf8.count < $1.value.utf8.count })
        roundCount += fuzz([Array(text.utf8)], rounds: 25) { bytes in
            guard (try? folder.write(Data(bytes), to: isFile ? path : "\(sample.place)/\(path)")) != nil,
                let source = try? openImportSource(atPath: folder.path + "/" + sample.place)
            else { return }
            let keys = ForeignTrial.keys("words")
            keys.decryptOpenPGP = { $0 }
            _ = try? fixture.vault.importFrom(
                source, with: importer, keys: keys, files: fixture.files, random: fixture.random, isDryRun: true)
        }
        #expect(roundCount >= 25)
        #expect(try fixture.commitCount() == 0)
        if Self.formats.count == 1 { print("fuzz: \(name): \(roundCount) rounds") }
    }

    @Test("whole imports survive any bytes, and a dry run writes nothing")
    func imports() throws {
        let folder = try TemporaryFolder()
        let fixture = try ImportFixture()
        let samples: [(name: String, text: String)] = [
            (
                "keep.json",
                "{\"isTrashed\":false,\"isPinned\":true,\"isArchived\":false,\"title\":\"t\",\"textContent\":\"x\",\"listContent\":[{\"text\":\"a\",\"isChecked\":true}],\"labels\":[{\"name\":\"l\"}],\"attachments\":[{\"filePath\":\"a.png\"}],\"userEditedTimestampUsec\":1}"
            ),
            (
                "notes.json",
                "{\"activeNotes\":[{\"id\":\"1\",\"content\":\"c\",\"creationDate\":\"2020-01-01T00:00:00Z\",\"tags\":[\"a\"]}],\"trashedNotes\":[]}"
            ),
            (
                "sn.txt",
                "{\"version\":\"004\",\"items\":[{\"content_type\":\"Tag\",\"uuid\":\"t\",\"content\":{\"title\":\"a.b\",\"references\":[{\"uuid\":\"n\",\"content_type\":\"Note\"}]}},{\"content_type\":\"Note\",\"uuid\":\"n\",\"content\":{\"title\":\"t\",\"noteType\":\"super\",\"text\":\"{\\\"root\\\":{\\\"children\\\":[{\\\"type\\\":\\\"list\\\",\\\"children\\\":[]}]}}\",\"references\":[]}}]}"
            ),
            (
                "n.nnbackup",
                "{\"version\":5.8,\"type\":\"web\",\"date\":1,\"data\":[{\"id\":\"n\",\"type\":\"note\",\"title\":\"t\",\"contentId\":\"c\",\"notebooks\":[{\"id\":\"b\",\"topics\":[]}]},{\"id\":\"c\",\"type\":\"tiptap\",\"data\":\"<p>x</p>\"},{\"id\":\"b\",\"type\":\"notebook\",\"title\":\"B\"}]}"
            ),
            ("page.html", "<h1>A</h1><p>b <img src=\"data:image/png;base64,AAAA\">"),
        ]
        var importCount = 0
        for (name, text) in samples {
            let path = try folder.write(text, to: name).path
            #expect(
                try fixture.importPath(path, isDryRun: true).imported == 1, "\(name): the sample itself must come in")
            fuzz([Array(text.utf8)], rounds: 120) { bytes in
                guard let file = try? folder.write(Data(bytes), to: name) else { return }
                _ = try? fixture.importPath(file.path, isDryRun: true)
                importCount += 1
            }
        }
        #expect(importCount >= 600)
        #expect(try fixture.commitCount() == 0)
    }
}
