// Bundles made here: what real ones do not show, sealed notes whose constants are known among it.

import CoffretBase
import CoffretCore
import CoffretInterop
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Bundles and Bear")
struct NoteBundleTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ name: String, _ text: String, bear: String = "", more: String = "") throws {
        try folder.write(text, to: "b.bear2bk/\(name).textbundle/text.md")
        let members = bear.isEmpty ? "" : ",\"net.shinyfrog.bear\":{\(bear)}"
        try folder.write("{\"version\":2\(members)\(more),}", to: "b.bear2bk/\(name).textbundle/info.json")
    }

    @Test("links to notes of Bear become links to the items, tags and files stay with their note")
    func links() throws {
        try write(
            "A", "# A\nto [B](bear://x-callback-url/open-note?id=ID-B) #two words# ![](assets/p%20q.png)\n",
            bear: "\"uniqueIdentifier\":\"ID-A\",\"archived\":1,\"archivedDate\":\"2024-01-02T03:04:05Z\"")
        try write("B", "# B\n[gone](bear://x-callback-url/open-note?id=ID-C)\n", bear: "\"uniqueIdentifier\":\"ID-B\"")
        try folder.write(Data([1, 2]), to: "b.bear2bk/A.textbundle/assets/p q.png")
        try folder.write(Data([3]), to: "b.bear2bk/A.textbundle/assets/unmentioned.bin")
        let trial = try ForeignTrial(folder.path + "/b.bear2bk")
        let (a, b) = (try #require(trial["A"]), try #require(trial["B"]))
        #expect(a.text.contains("[B](coffret:\(b.id.uuid.hex))") && a.tagPaths == ["two words"])
        #expect(a.isArchived && a.value("archivedDate") == "2024-01-02T03:04:05Z")
        #expect(a.attachments.map(\.name) == ["p q.png", "unmentioned.bin"])
        #expect(a.attachments.first?.path == "b.bear2bk/A.textbundle/assets/p q.png")
        #expect(b.text.contains("bear://x-callback-url/open-note?id=ID-C"))
        #expect(try ForeignTrial.run(folder.path + "/b.bear2bk", trial.fixture).isNothingNew)
    }

    @Test("what changed in a later backup is brought up to date")
    func laterBackup() throws {
        try write("A", "# A\none\n", bear: "\"uniqueIdentifier\":\"ID-A\"")
        try write("B", "# B\n", bear: "\"uniqueIdentifier\":\"ID-B\"")
        let trial = try ForeignTrial(folder.path + "/b.bear2bk")
        try write("A", "# A\ntwo\n", bear: "\"uniqueIdentifier\":\"ID-A\",\"pinned\":1")
        let report = try ForeignTrial.run(folder.path + "/b.bear2bk", trial.fixture)
        #expect((report.updated, report.unchanged, report.imported) == (1, 1, 0))
        let items = try ForeignTrial.all(trial.fixture)
        #expect(
            items.first { $0.title == "A" }?.text == "# A\ntwo\n" && items.first { $0.title == "A" }?.isPinned == true)
    }

    // MARK: Sealed notes

    private static let encryptionID = "9AD3904E-D2ED-440E-B4B4-3DAA5D2F03F8"
    private static let chain = (passphrasePart: "part", context: "some context")

    private func writeSealed() throws {
        let chain = try BearKeyChain(
            passwordPart: Self.chain.passphrasePart.utf8, applicationContext: Self.chain.context.utf8)
        let key = try chain.deriveApplicationKey(passphrase: "bear's own".utf8)
        let body = try key.seal("# Secret\nof the bear\n".utf8, noteID: Self.encryptionID.utf8)
        // EXPOSE: read by the cell.
        let check = try unsafe key.withUnsafeBytes {
            try unsafe SecureCell(key: $0.bytes).seal([UInt8](repeating: 7, count: 32))
        }
        try write(
            "Secret", "",
            bear: """
                "uniqueIdentifier":"ID-S","title":"Secret","tags":["hidden"],"encrypted":1,\
                "encryptedData":"\(Base64.standard.encode(body))","encryptionUniqueIdentifier":"\(Self.encryptionID)",\
                "password":{"creationDate":"2020-10-23T00:57:51Z","encryptionVersion":1,\
                "uniqueIdentifier":"E684617F-02A6-4CF7-9F2C-A2B4CA757F1D",\
                "encryptedData":"\(Base64.standard.encode(check))"}
                """)
    }

    private func passphrase(_ text: String) throws -> NotePassphrase {
        var bytes = Array(text.utf8)
        return try NotePassphrase(SecretBytes(consuming: &bytes))
    }

    private func run(_ fixture: ImportFixture, constants: String?) throws -> ImportReport {
        let keys = SourceKeys.none()
        keys.constants = constants.map { Array($0.utf8) }
        return try fixture.vault.importFrom(
            openImportSource(atPath: folder.path + "/b.bear2bk"), keys: keys, files: fixture.files,
            random: fixture.random)
    }

    @Test("a note that Bear encrypted opens with the constants and the passphrase, given at once or later")
    func sealed() throws {
        try writeSealed()
        for isLater in [false, true] {
            let fixture = try ImportFixture()
            let constants = "\(Self.chain.passphrasePart)\n\(Self.chain.context)\n"
            var report = try run(fixture, constants: isLater ? nil : constants)
            #expect(report.imported == 1)
            if isLater {
                #expect(report.warnings.contains { $0.contains("--bear-constants") })
                report = try run(fixture, constants: constants)
                #expect((report.imported, report.updated) == (0, 1))
            }
            #expect(try run(fixture, constants: constants).isNothingNew)
            let item = try #require(try ForeignTrial.all(fixture).first)
            #expect(item.isSealed && item.title == "Secret" && item.tagPaths == ["hidden"])
            let record = try fixture.vault.record(for: item)
            #expect(throws: CoreError(.notePassphraseWrong, at: record.id.hex)) {
                try fixture.vault.unlockRecord(record, passphrase("another"))
            }
            try fixture.vault.unlockRecord(record, passphrase("bear's own"))
            #expect(try fixture.vault.opened(item).text == "# Secret\nof the bear\n")
            #expect(fixture.vault.noteKeys.held().isEmpty, "keys of other constants do not leave the command")
            // It can be edited, resealed and unlocked like any other.
            var opened = try fixture.vault.opened(item)
            opened.text += "more\n"
            try fixture.vault.batch { batch in
                try batch.update(item.id) { item in item = opened }
            }
            try fixture.vault.unlockNotes([item.id])
            #expect(try ForeignTrial.all(fixture).first?.text.hasSuffix("more\n") == true)
        }
    }

    @Test("constants that are none, and a sealed note that is incomplete, are refused")
    func damagedSealed() throws {
        try writeSealed()
        for constants in ["", "one", "a\nb\nc\n", "a\n\n"] {
            let fixture = try ImportFixture()
            #expect(throws: ImportExportError.self) { try run(fixture, constants: constants) }
            #expect(try fixture.commitCount() == 0)
        }
        let path = "b.bear2bk/Secret.textbundle/info.json"
        let whole = String(decoding: try #require(try folder.files()[path]), as: UTF8.self)
        for (old, new) in [
            ("\"encryptionVersion\":1", "\"encryptionVersion\":2"), (Self.encryptionID, "no id"),
            ("\"password\"", "\"passwort\""), ("2020-10-23", "never"),
        ] {
            try folder.write(whole.replacing(old, with: new), to: path)
            let code = try ForeignTrial.refusal(folder.path + "/b.bear2bk")
            #expect(code == (old.hasPrefix("\"encryptionV") ? .formatVersionUnknown : .formatInvalid), "\(old)")
        }
    }
}
