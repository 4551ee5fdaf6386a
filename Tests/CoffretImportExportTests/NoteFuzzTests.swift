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
