// Hostile exports of programs for notes: each is a clear error, and the vault is as before (R41).

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Hostile exports of programs for notes")
struct HostileNotesTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A text file of a name, and its refusal.
    struct Hostile: CustomTestStringConvertible {
        let name: String
        let text: String
        let code: ImportExportError.Code
        var testDescription: String { "\(name): \(text.prefix(60)) \(code.rawValue)" }
    }

    private static func enex(_ inside: String) -> String {
        "<?xml version=\"1.0\"?><en-export><note><title>t</title>\(inside)</note></en-export>"
    }

    private static func content(_ enml: String) -> String {
        enex("<content><![CDATA[<en-note>\(enml)</en-note>]]></content>")
    }

    private static let deepArray = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    private static let keep = "{\"isTrashed\":false,\"isPinned\":false,\"isArchived\":false,\"title\":\"t\","

    static let files: [Hostile] = [
        // Evernote.
        Hostile(name: "cut.enex", text: String(enex("<created>2022").dropLast(30)), code: .formatTruncated),
        Hostile(
            name: "cutdata.enex", text: enex("<resource><data encoding=\"base64\">AAA").dropTail(40),
            code: .formatTruncated),
        Hostile(name: "wrong.enex", text: enex("<tag>a</tagg>"), code: .formatInvalid),
        Hostile(name: "base64.enex", text: enex("<resource><data>A*==</data></resource>"), code: .formatInvalid),
        Hostile(
            name: "entity.enex",
            text: "<?xml version=\"1.0\"?><!DOCTYPE en-export [<!ENTITY a \"b\">]>"
                + "<en-export><note><title>&a;</title></note></en-export>", code: .formatInvalid),
        Hostile(
            name: "laughs.enex",
            text: "<?xml version=\"1.0\"?><!DOCTYPE en-export [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
                + "<en-export/>", code: .formatInvalid),
        Hostile(
            name: "file.enex",
            text: "<?xml version=\"1.0\"?><!DOCTYPE en-export [<!ENTITY a SYSTEM \"file:///etc/hostname\">]>"
                + "<en-export><note><title>&a;</title></note></en-export>", code: .formatInvalid),
        Hostile(
            name: "deep.enex",
            text: enex(String(repeating: "<a>", count: 100) + String(repeating: "</a>", count: 100)),
            code: .formatInvalid),
        Hostile(name: "deepnote.enex", text: content(String(repeating: "<div>", count: 400)), code: .formatInvalid),
        Hostile(name: "large.enex", text: content(String(repeating: "x", count: 17 << 20)), code: .noteTooLarge),
        Hostile(
            name: "title.enex", text: enex("<tag>\(String(repeating: "x", count: 2 << 20))</tag>"), code: .noteTooLarge),
        Hostile(name: "line.enex", text: content(String(repeating: "x", count: 9 << 20)), code: .lineTooLong),
        // JSON.
        Hostile(name: "cut.json", text: keep + "\"textContent\":\"a", code: .formatTruncated),
        Hostile(name: "deep.json", text: keep + "\"x\":\(deepArray)}", code: .formatInvalid),
        Hostile(name: "twice.json", text: keep + "\"title\":\"u\"}", code: .formatInvalid),
        Hostile(
            name: "line.json", text: keep + "\"textContent\":\"\(String(repeating: "x", count: 9 << 20))\"}",
            code: .lineTooLong),
        Hostile(
            name: "cutnotes.json", text: "{\"activeNotes\":[{\"id\":\"1\",\"content\":\"c\"}],\"trashedNotes\":[",
            code: .formatTruncated),
        Hostile(
            name: "sn.json",
            text: "{\"version\":\"004\",\"items\":[{\"content_type\":\"Note\",\"uuid\":\"1\",\"content\":{\"text\":\"a",
            code: .formatTruncated),
        Hostile(
            name: "sn.txt", text: "{\"items\":[{\"content_type\":\"Note\",\"uuid\":\"1\",\"content\":\"003:a:b\"}]}",
            code: .sourceUnsupported),
        Hostile(
            name: "a.nnbackup", text: "{\"version\":5.8,\"type\":\"web\",\"date\":1,\"data\":7}", code: .formatInvalid),
        Hostile(
            name: "b.nnbackup", text: "{\"version\":5.8,\"type\":\"web\",\"date\":1,\"data\":{\"cipher\":\"x\"}}",
            code: .sourceUnsupported),
        // HTML.
        Hostile(name: "deep.html", text: String(repeating: "<div>", count: 3_000), code: .formatInvalid),
    ]

    @Test("a file that is cut, altered, nested or too long is refused", arguments: files)
    func file(_ hostile: Hostile) throws {
        #expect(try ForeignTrial.refusal(Array(hostile.text.utf8), named: hostile.name) == hostile.code)
    }

    /// Archives, made by Python, whose modules write what well-behaved tools refuse to.
    static let archives: [(name: String, script: String, code: ImportExportError.Code)] = [
        ("dots.bear2bk", "z.writestr('../evil.textbundle/text.md', 'x')", .pathUnsafe),
        ("root.bear2bk", "z.writestr('/etc/evil.textbundle/text.md', 'x')", .pathUnsafe),
        ("bomb.bear2bk", "z.writestr('a.textbundle/text.md', b'0' * (64 << 20), zipfile.ZIP_DEFLATED)", .ratioTooHigh),
        ("line.bear2bk", "z.writestr('a.textbundle/text.md', b'0' * (9 << 20)); info()", .lineTooLong),
        ("text.bear2bk", "z.writestr('a.textbundle/text.md', b'\\xff\\xfe'); info()", .formatInvalid),
        ("noinfo.bear2bk", "z.writestr('a.textbundle/text.md', 'x')", .formatInvalid),
        ("notext.bear2bk", "info()", .formatInvalid),
        (
            "cutinfo.bear2bk", "z.writestr('a.textbundle/text.md', 'x'); info('{\"version\": 2, \"net')",
            .formatTruncated
        ),
        ("version.bear2bk", "z.writestr('a.textbundle/text.md', 'x'); info('{\"version\": 9}')", .formatVersionUnknown),
        (
            "deep.bear2bk", "z.writestr('a.textbundle/text.md', 'x'); info('{\"a\":' + '[' * 200 + ']' * 200 + '}')",
            .formatInvalid
        ),
        ("empty.bear2bk", "pass", .formatInvalid),
        ("cut.bear2bk", "z.writestr('a.textbundle/text.md', 'x' * 999); info(); cut = 40", .archiveDamaged),
    ]

    @Test("an archive that climbs, bursts or is cut is refused", arguments: 0..<archives.count)
    func archive(_ index: Int) throws {
        let (name, script, code) = Self.archives[index]
        try folder.python(
            """
            import zipfile
            cut = 0
            z = zipfile.ZipFile('\(name)', 'w')
            def info(text='{"version": 2}'): z.writestr('a.textbundle/info.json', text)
            \(script)
            z.close()
            if cut:
                data = open('\(name)', 'rb').read()
                open('\(name)', 'wb').write(data[:cut])
            """)
        #expect(try ForeignTrial.refusal(folder.path + "/" + name) == code, "\(name)")
    }

    @Test("a Joplin export that is cut, incomplete or still encrypted is refused")
    func joplin() throws {
        for (tail, code) in [
            ("id: %032x\\ntype_: 1", nil as ImportExportError.Code?), ("type_: 1", .formatInvalid),
            ("no value", .formatInvalid),
            ("id: %032x\\nencryption_applied: 1\\ntype_: 1", .sourceUnsupported),
        ] {
            try folder.python(
                """
                import tarfile, io
                t = tarfile.open('n.jex', 'w')
                for k in range(3):
                    data = ('T %d\\n\\nbody\\n\\n' % k + ('\(tail)' % k if '%' in '\(tail)' else '\(tail)')).encode()
                    i = tarfile.TarInfo('%032x.md' % k); i.size = len(data); t.addfile(i, io.BytesIO(data))
                t.close()
                open('cut.jex', 'wb').write(open('n.jex', 'rb').read()[:700])
                """)
            if let code {
                #expect(try ForeignTrial.refusal(folder.path + "/n.jex") == code, "\(tail)")
            } else {
                #expect(try ForeignTrial(folder.path + "/n.jex").report.imported == 3)
                #expect(try ForeignTrial.refusal(folder.path + "/cut.jex") == .archiveDamaged)
            }
        }
    }

    @Test("symbolic links are not followed, and counted")
    func links() throws {
        try folder.write("{\"version\":2}", to: "b.bear2bk/a.textbundle/info.json")
        try folder.write("# A\n", to: "b.bear2bk/a.textbundle/text.md")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/b.bear2bk/a.textbundle/assets", withDestinationPath: "/etc")
        let trial = try ForeignTrial(folder.path + "/b.bear2bk")
        #expect(trial["A"]?.attachments.isEmpty == true && trial.report.dropped == 1)
    }
}

extension String {
    /// The text without its last bytes.
    fileprivate func dropTail(_ count: Int) -> String { String(dropLast(count)) }
}
