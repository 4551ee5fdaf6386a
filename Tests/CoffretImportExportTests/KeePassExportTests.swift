// A vault as a KeePass database: read back here, and opened by the programs that it is for.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Exports as KeePass databases")
struct KeePassExportTests {
    private static let password = "correct mule"
    private static let light = KDBXCosts(memoryByteCount: 8 << 20, passCount: 1)
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }

    /// Writes a database, and takes it in again.
    @discardableResult
    private func export(_ fixture: ImportFixture, to name: String = "out.kdbx") throws -> ExportReport {
        var bytes = Array(Self.password.utf8)
        return try fixture.vault.exportKDBX(
            to: path(name), password: SecretBytes(consuming: &bytes), costs: Self.light, files: fixture.files,
            random: fixture.random)
    }

    private func back(_ name: String = "out.kdbx") throws -> ForeignTrial {
        try ForeignTrial(path(name), password: Self.password)
    }

    @Test("what came in from KeePass goes out and comes in as the same state, its past and its files too")
    func roundTrip() throws {
        let first = try ForeignTrial(Array(KeePassTests.sample.utf8), named: "export.xml")
        let report = try export(first.fixture)
        #expect(report.otherItems == 3 && report.notes == 1 && report.attachments == 1 && report.warnings.isEmpty)
        #expect(try FileManager.default.attributesOfItem(atPath: path("out.kdbx"))[.posixPermissions] as? Int == 0o600)
        let second = try back()
        try KeePassTests.expectAll(second)
        #expect(try second.fixture.states() == first.fixture.states())
        #expect(throws: ImportExportError.self, "a file that is there stays") { try export(first.fixture) }
    }

    @Test("kinds, flags, fields and characters that KeePass does not have come back")
    func foreign() throws {
        let made = try ImportFixture()
        try made.makeEveryKind()
        var draft = ItemDraft(kind: .login, title: "Title & <b>", text: "bell\u{7}\r\nline & <tag>")
        draft.tags = [try TagPath("a;b/c"), try TagPath("z;1"), try TagPath("a;b/c/d")]
        (draft.isPinned, draft.isArchived) = (true, true)
        let labels: [(String, FieldKind, String)] = [
            ("Title", .text, "not the title"), ("otp", .secret, "no code"), ("Door", .email, "a@b.example"),
            ("Door", .phone, "112"), ("Website", .url, "https://one.example"), ("KP2A_URL", .text, "x"),
            ("Website", .url, "https://two.example"), ("Expires", .date, "2031-02-03"), ("Expires", .date, "some day"),
            ("Passkey", .passkey, #"{"KPEX_PASSKEY_USERNAME":"ada","KPEX_PASSKEY_PRIVATE_KEY_PEM":"KEY"}"#),
            ("Passkey 2", .passkey, #"{"rpId":"example"}"#), ("odd kind", FieldKind(rawValue: "odd"), "\u{2}\u{FFFF}"),
            ("empty", .text, ""), ("Previous password, until 2020-01-02", .secret, "p1"),
            ("Previous password, until 2021-01-02", .secret, "p2"),
        ]
        draft.fields =
            try [
                ("url", "https://zero.example"), ("password", "pw"), ("totp", "jbsw y3dp"),
            ].map { try #require(ItemField(standard: $0.0, of: .login, value: $0.1)) }
            + labels.enumerated().map { index, field in
                ItemField(listed: field.0, kind: field.1, value: field.2, position: UInt32(index) + 1)
            }
        draft.fields.removeAll { $0.value.isEmpty }
        _ = try made.vault.create(draft)
        var untitled = ItemDraft(text: "# Heading\n\ntext #tag\n")
        untitled.isTrashed = true
        untitled.tags = [try TagPath("bin/deep")]
        _ = try made.vault.create(untitled)
        #expect(try export(made).warnings.isEmpty)
        #expect(try back().fixture.states() == made.states())
        // Once more: what came back goes out alike.
        let again = try back()
        try export(again.fixture, to: "again.kdbx")
        #expect(try back("again.kdbx").fixture.states() == made.states())
    }

    @Test(
        "every real database and XML file comes back as the same state",
        .enabled(if: RealExports.areThere, "no real exports beside the repository"),
        arguments: [
            ("NewDatabase.kdbx", "a"), ("NewDatabase2.kdbx", "a"), ("Compressed.kdbx", ""),
            ("NonAscii.kdbx", "\u{394}\u{f6}\u{636}"),
            ("RecycleBinWithData.kdbx", "123"), ("ProtectedStrings.kdbx", "masterpw"), ("Format400.kdbx", "t"),
            ("test_db_kdbx4_with_totp_entry.kdbx", "test"), ("keepass.xml", ""),
        ])
    func real(name: String, password: String) throws {
        guard let first = try? ForeignTrial(RealExports.path("keepass/" + name), password: password) else {
            Issue.record("\(name) does not open")
            return
        }
        try export(first.fixture)
        #expect(try back().fixture.states() == first.fixture.states())
    }

    @Test("a wrong password, a flipped byte and a file cut short are refused, and nothing of the content lies in clear")
    func sealed() throws {
        let first = try ForeignTrial(Array(KeePassTests.sample.utf8), named: "export.xml")
        try export(first.fixture)
        let bytes = [UInt8](try Data(contentsOf: folder.url.appendingPathComponent("out.kdbx")))
        for word in ["paper", "Shop", "ada", "4711", "older", "first"] {
            #expect(bytes.firstRange(of: Array(word.utf8)) == nil, "\(word)")
        }
        #expect(try ForeignTrial.refusal(path("out.kdbx"), password: "wrong mule") == .passwordWrong)
        for place in stride(from: 12, to: bytes.count, by: 61) {
            var altered = bytes
            altered[place] ^= 1
            #expect(try ForeignTrial.refusal(altered, named: "x.kdbx", password: Self.password) != nil, "byte \(place)")
            let cut = Array(bytes[..<place])
            #expect(try ForeignTrial.refusal(cut, named: "x.kdbx", password: Self.password) != nil, "cut at \(place)")
        }
    }

    @Test("a file of several blocks is whole; a missing one is said; an export that is stopped leaves nothing")
    func files() throws {
        let fixture = try ImportFixture()
        let id = try fixture.vault.create(ItemDraft(text: "# Files"))
        let data = fixture.random.bytes(count: 3 << 20 | 77)
        try fixture.attach(data, named: "big.bin", to: id)
        try fixture.attach(Array("small".utf8), named: "big.bin", to: id)
        let report = try export(fixture)
        #expect(report.attachments == 2 && report.byteCount > 3 << 20)
        let second = try back()
        #expect(second["Files"]?.attachments.map(\.name) == ["big.bin", "big.bin"])
        #expect(try second.fixture.states() == fixture.states())
        var bytes = Array("x".utf8)
        var count = 0
        #expect(throws: ImportExportError.self) {
            _ = try fixture.vault.exportKDBX(
                to: path("stopped.kdbx"), password: SecretBytes(consuming: &bytes), costs: Self.light,
                files: fixture.files,
                isStopped: {
                    count += 1
                    return count > 1
                })
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["out.kdbx"])
    }

    // MARK: Real programs

    private static let keePassXC = "/usr/bin/keepassxc-cli"
    private static let hasKeePassXC = FileManager.default.isExecutableFile(atPath: keePassXC)
    private static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    private static let hasPyKeePass =
        FileManager.default.isExecutableFile(atPath: python)
        && (try? ProcessRunner.run(python, ["-c", "import pykeepass"]))?.exitCode == 0

    /// The export that programs open: the sample, and a login with a code.
    private func exported() throws {
        let first = try ForeignTrial(Array(KeePassTests.sample.utf8), named: "export.xml")
        var draft = ItemDraft(kind: .login, title: "Bare code")
        draft.fields = [try #require(ItemField(standard: "totp", of: .login, value: "JBSWY3DPEHPK3PXP"))]
        _ = try first.fixture.vault.create(draft)
        try export(first.fixture)
    }

    private func show(_ arguments: String...) throws -> String {
        var arguments = arguments
        arguments.insert(contentsOf: ["-q", path("out.kdbx")], at: 1)
        let result = try ProcessRunner.run(Self.keePassXC, arguments, input: Array("\(Self.password)\n".utf8))
        #expect(result.exitCode == 0, "\(arguments): \(result.errorText)")
        return result.text
    }

    @Test(
        "keepassxc-cli opens it: groups, fields, files, codes and the past",
        .enabled(if: hasKeePassXC, "keepassxc-cli is missing"))
    func opensInKeePassXC() throws {
        try exported()
        let list = try show("ls", "-R", "-f").split(separator: "\n").map(String.init)
        #expect(list.contains("one/Shop & more") && list.contains("Work/A\u{2215}B/Same"), "\(list)")
        #expect(list.contains("Recycle Bin/Gone"), "\(list)")
        #expect(try show("show", "-s", "-a", "Password", "one/Shop & more") == " pw \n")
        #expect(try show("show", "-s", "-a", "Door", "-a", "Notes", "one/Shop & more") == "4711\nfirst\nsecond\n")
        #expect(try show("show", "-a", "Tags", "one/Shop & more").contains("two"))
        #expect(try show("attachment-export", "--stdout", "one/Shop & more", "paper.txt") == "paper")
        for title in ["one/Shop & more", "Bare code"] {
            #expect(try show("show", "-t", title).wholeMatch(of: /\d{6}\n/) != nil, "\(title)")
        }
        let xml = try show("export", "-f", "xml")
        #expect(xml.contains("older") && xml.contains("2030-05-06") == false, "times are binary in KDBX 4")
        // What KeePassXC wrote out of it comes in as the same items.
        let again = try ForeignTrial(Array(xml.utf8), named: "again.xml")
        let shop = try #require(again["Shop & more"])
        #expect(shop.value("password") == " pw " && shop.fields.contains { $0.value == "older" && $0.kind == .secret })
        #expect(Set(shop.tagPaths) == ["one", "two"] && shop.value("Expires") == "2030-05-06")
        #expect(again["Work"]?.kind == .note && again["Bare code"]?.value("totp") == "JBSWY3DPEHPK3PXP")
    }

    @Test("pykeepass opens it", .enabled(if: hasPyKeePass, ".build/venv has no pykeepass"))
    func opensInPyKeePass() throws {
        try exported()
        let script = """
            from pykeepass import PyKeePass
            db = PyKeePass('out.kdbx', password='\(Self.password)')
            e = db.find_entries(title='Shop & more', first=True)
            assert (e.username, e.password, e.url) == ('ada', ' pw ', 'https://a.example'), (e.username, e.password)
            assert e.notes == 'first\\nsecond' and e.tags == ['two'] and e.path == ['one', 'Shop & more'], e.tags
            assert e.custom_properties['Door'] == '4711' and e.is_custom_property_protected('Door')
            assert [a.filename for a in e.attachments] == ['paper.txt'] and e.attachments[0].data == b'paper'
            assert e.otp.startswith('otpauth://') and e.expires and e.expiry_time.year == 2030
            assert [h.password for h in e.history] == ['older', ' pw '], e.history
            assert e.ctime.year == 2020 and e.mtime.year == 2021
            assert db.recyclebin_group.entries[0].title == 'Gone'
            same = db.find_entries(title='Same', first=True)
            assert same.path == ['Work', 'A\\u2215B', 'Same'] and same.password == ' pw !', same.path
            """
        let result = try ProcessRunner.run(Self.python, ["-c", script], directory: folder.url.path)
        #expect(result.exitCode == 0, "\(result.errorText)")
    }
}
