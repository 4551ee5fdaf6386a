// KeePass's XML and databases, made here: what items carry, what is refused, and how much work a file may ask for.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("KeePass")
struct KeePassTests {
    /// One entry with everything, one that refers to it, one in the recycle bin, and a group with notes.
    static let sample = """
        <?xml version="1.0" encoding="utf-8"?>
        <KeePassFile><Meta><DatabaseName>D</DatabaseName><RecycleBinUUID>QklOQklOQklOQklOQklOQg==</RecycleBinUUID>
        <Binaries><Binary ID="0">cGFwZXI=</Binary></Binaries></Meta>
        <Root><Group><UUID>AAAAAAAAAAAAAAAAAAAAAA==</UUID><Name>Root</Name>
        <Entry><UUID>AQEBAQEBAQEBAQEBAQEBAQ==</UUID><IconID>0</IconID><Tags>one;two</Tags>
         <Times><CreationTime>2020-01-02T03:04:05Z</CreationTime><LastModificationTime>2021-01-02T03:04:05Z</LastModificationTime>
          <ExpiryTime>2030-05-06T00:00:00Z</ExpiryTime><Expires>True</Expires></Times>
         <String><Key>Title</Key><Value>Shop &amp; more</Value></String>
         <String><Key>UserName</Key><Value>ada</Value></String>
         <String><Key>Password</Key><Value ProtectInMemory="True"> pw </Value></String>
         <String><Key>URL</Key><Value>https://a.example</Value></String>
         <String><Key>KP2A_URL_1</Key><Value>https://b.example</Value></String>
         <String><Key>Notes</Key><Value>first
        second</Value></String>
         <String><Key>otp</Key><Value>otpauth://totp/x?secret=JBSWY3DPEHPK3PXP</Value></String>
         <String><Key>Door</Key><Value ProtectInMemory="True">4711</Value></String>
         <String><Key>KPEX_PASSKEY_RELYING_PARTY</Key><Value>a.example</Value></String>
         <String><Key>KPEX_PASSKEY_PRIVATE_KEY_PEM</Key><Value ProtectInMemory="True">KEY</Value></String>
         <Binary><Key>paper.txt</Key><Value Ref="0"/></Binary>
         <AutoType><Enabled>True</Enabled><DataTransferObfuscation>0</DataTransferObfuscation><DefaultSequence>{TAB}</DefaultSequence></AutoType>
         <CustomData><Item><Key>mine</Key><Value>yours</Value></Item></CustomData>
         <History><Entry><UUID>AQEBAQEBAQEBAQEBAQEBAQ==</UUID>
          <Times><LastModificationTime>2020-06-07T00:00:00Z</LastModificationTime></Times>
          <String><Key>Title</Key><Value>Shop</Value></String>
          <String><Key>Password</Key><Value ProtectInMemory="True">older</Value></String></Entry></History>
        </Entry>
        <Group><UUID>BQEBAQEBAQEBAQEBAQEBAQ==</UUID><Name>Work</Name><Notes>about work</Notes>
         <Group><UUID>BgEBAQEBAQEBAQEBAQEBAQ==</UUID><Name>A/B</Name>
          <Entry><UUID>AgEBAQEBAQEBAQEBAQEBAQ==</UUID><String><Key>Title</Key><Value>Same</Value></String>
          <String><Key>Password</Key><Value>{REF:P@I:01010101010101010101010101010101}!</Value></String></Entry></Group></Group>
        <Group><UUID>QklOQklOQklOQklOQklOQg==</UUID><Name>Recycle Bin</Name>
         <Entry><UUID>AwEBAQEBAQEBAQEBAQEBAQ==</UUID><String><Key>Title</Key><Value>Gone</Value></String></Entry></Group>
        </Group><DeletedObjects/></Root></KeePassFile>
        """

    static func expectAll(_ trial: ForeignTrial, line: Int = #line) throws {
        #expect(trial.report.imported == 4 && trial.report.dropped == 0)
        let shop = try #require(trial["Shop & more"])
        #expect(shop.value("username") == "ada" && shop.value("password") == " pw " && shop.text == "first\nsecond")
        #expect(shop.value("url") == "https://a.example" && shop.fields.contains { $0.value == "https://b.example" })
        #expect(shop.value("totp")?.hasPrefix("otpauth://") == true && shop.value("Expires") == "2030-05-06")
        #expect(shop.fields.contains { $0.label == "Door" && $0.value == "4711" && $0.kind == .secret })
        #expect(
            shop.fields.contains {
                $0.kind == .passkey && $0.label == "Passkey of a.example" && $0.value.contains("KEY")
            })
        #expect(Set(shop.tagPaths) == ["one", "two"])
        #expect(shop.created == 1_577_934_245_000 && shop.modified == 1_609_556_645_000)
        #expect(shop.value("AutoType.DefaultSequence") == "{TAB}" && shop.value("mine") == "yours")
        let old = try #require(shop.fields.first { $0.value == "older" })
        #expect(old.label == "Previous password, until 2021-01-02" && old.kind == .secret)
        #expect(shop.fields.contains { $0.label == "Previous Title, until 2021-01-02" && $0.value == "Shop" })
        #expect(try trial.content("Shop & more", "paper.txt") == Array("paper".utf8))
        #expect(trial["Same"]?.value("password") == " pw !" && trial["Same"]?.tagPaths == ["Work/A\u{2215}B"])
        #expect(trial["Gone"]?.isTrashed == true && trial["Gone"]?.tagPaths == [])
        #expect(trial["Work"]?.kind == .note && trial["Work"]?.text == "about work")
    }

    @Test("everything in XML has a place, and a second import changes nothing")
    func xml() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.sample, to: "k.xml").path
        let trial = try ForeignTrial(path)
        try Self.expectAll(trial)
        let again = try ForeignTrial.run(path, trial.fixture)
        #expect(again.isNothingNew && again.unchanged == 4 && again.attachmentsUnchanged == 1)
    }

    private static let keePassXC = "/usr/bin/keepassxc-cli"

    @Test(
        "a database that keepassxc-cli made of that XML says the same",
        .enabled(if: FileManager.default.isExecutableFile(atPath: keePassXC), "needs keepassxc-cli"))
    func database() throws {
        let folder = try TemporaryFolder()
        let xml = try folder.write(
            Self.sample.replacing("<Name>A/B</Name>", with: "<Name>A/B</Name><Notes></Notes>"), to: "k.xml")
        let kdbx = folder.url.appendingPathComponent("k.kdbx").path
        let made = try ProcessRunner.run(
            Self.keePassXC, ["import", "-p", "-t", "100", xml.path, kdbx], input: Array("words\nwords\n".utf8))
        #expect(made.exitCode == 0, "\(made.errorText)")
        let trial = try ForeignTrial(kdbx, password: "words")
        #expect(trial.report.imported == 4 && trial.report.dropped == 0)
        let shop = try #require(trial["Shop & more"])
        #expect(shop.value("username") == "ada" && shop.text == "first\nsecond" && shop.value("Door") == "4711")
        #expect(shop.fields.contains { $0.label == "Previous password, until 2021-01-02" && $0.value == "older" })
        #expect(try trial.content("Shop & more", "paper.txt") == Array("paper".utf8))
        #expect(trial["Gone"]?.isTrashed == true)
        #expect(try ForeignTrial.refusal(kdbx, password: "wrong") == .passwordWrong)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: kdbx)))
        for place in stride(from: 12, to: whole.count, by: whole.count / 12) {
            var altered = whole
            altered[place] ^= 0x40
            #expect(try ForeignTrial.refusal(altered, named: "k.kdbx", password: "words") != nil, "byte \(place)")
            #expect(try ForeignTrial.refusal(Array(whole[..<place]), named: "k.kdbx", password: "words") != nil)
        }
    }

    @Test("entities, deep nesting, text that is cut and too many elements change nothing (R41)")
    func hostile() throws {
        let bomb = """
            <?xml version="1.0"?><!DOCTYPE k [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
            <KeePassFile><Root><Group><Name>&b;</Name></Group></Root></KeePassFile>
            """
        #expect(try ForeignTrial.refusal(Array(bomb.utf8), named: "k.xml") == .formatInvalid)
        let outside = "<!DOCTYPE k [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><KeePassFile>&x;</KeePassFile>"
        #expect(try ForeignTrial.refusal(Array(outside.utf8), named: "k.xml") == .formatInvalid)
        let deep = "<KeePassFile>" + String(repeating: "<Group>", count: 100_000)
        #expect(try ForeignTrial.refusal(Array(deep.utf8), named: "k.xml") == .formatInvalid)
        let whole = Array(Self.sample.utf8)
        for end in stride(from: whole.count - 3, to: 60, by: -211) {
            #expect(try ForeignTrial.refusal(Array(whole[..<end]), named: "k.xml") == .formatTruncated, "\(end)")
        }
        var limits = ImportLimits()
        limits.valueCountMax = 10
        let reader = try ForeignXMLReader(limits: limits) { _, _ in true }
        #expect(throws: ImportExportError(.tooManyEntries)) { try reader.read(whole[...]) }
    }

    @Test("a database that asks for too much memory or time is refused before any work (R41)")
    func costs() throws {
        func field(_ id: UInt8, _ value: [UInt8]) -> [UInt8] {
            [id] + littleEndian(UInt64(value.count)).prefix(4) + value
        }
        func entry(_ type: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] {
            [type] + littleEndian(UInt64(name.utf8.count)).prefix(4) + Array(name.utf8)
                + littleEndian(UInt64(value.count)).prefix(4) + value
        }
        func database(_ kdf: [UInt8]) throws -> [UInt8] {
            let aes = try Hex.decode("31c1f2e6bf714350be5805216afc5aff")
            return KDBXFile.signature + [0, 0, 4, 0] + field(2, aes) + field(3, [0, 0, 0, 0])
                + field(4, [UInt8](repeating: 1, count: 32)) + field(7, [UInt8](repeating: 2, count: 16))
                + field(11, [0, 1] + kdf + [0]) + field(0, []) + [UInt8](repeating: 0, count: 100)
        }
        let salt = entry(0x42, "S", [UInt8](repeating: 3, count: 32))
        let argon = try entry(0x42, "$UUID", Hex.decode("ef636ddf8c29444b91f7a9a403e30a0c")) + salt
        func costs(memory: UInt64, passes: UInt64, lanes: UInt64) -> [UInt8] {
            entry(0x05, "M", littleEndian(memory)) + entry(0x05, "I", littleEndian(passes))
                + entry(0x04, "P", Array(littleEndian(lanes).prefix(4))) + entry(0x04, "V", [0x13, 0, 0, 0])
        }
        for kdf in try [
            argon + costs(memory: 1 << 42, passes: 2, lanes: 1),
            argon + costs(memory: 1 << 20, passes: 1 << 40, lanes: 1),
            argon + costs(memory: 1 << 31, passes: 900, lanes: 1),
            argon + costs(memory: 1 << 20, passes: 1, lanes: 5_000),
            argon + costs(memory: 1 << 20, passes: 0, lanes: 1),
            entry(0x42, "$UUID", Hex.decode("c9d9f39a628a4460bf740d08c18a4fea")) + salt
                + entry(0x05, "R", littleEndian(.max)),
        ] {
            let code = try ForeignTrial.refusal(database(kdf), named: "k.kdbx", password: "x")
            #expect(code == .keyDerivationTooCostly)
        }
        let usual = try database(argon + costs(memory: 1 << 20, passes: 1, lanes: 2))
        #expect(try ForeignTrial.refusal(usual, named: "k.kdbx", password: "x") == .checkMismatch)
    }
}
