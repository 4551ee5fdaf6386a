// Bitwarden's exports: small ones made here, real ones beside the repository.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Bitwarden's exports")
struct BitwardenTests {
    static let sample = """
        {"encrypted": false, "folders": [{"id": "f1", "name": "Home/Bills"}], "items": [
         {"id": "i1", "organizationId": null, "folderId": "f1", "type": 1, "reprompt": 1, "name": "Shop",
          "notes": "two\\nlines", "favorite": true, "creationDate": "2023-01-02T03:04:05.678Z",
          "revisionDate": "2024-01-02T03:04:05Z", "deletedDate": null, "archivedDate": "2024-02-02T03:04:05Z",
          "fields": [{"name": "Door", "value": "4711", "type": 1}, {"name": "Yes", "value": "true", "type": 2},
                     {"name": "Link", "value": null, "type": 3, "linkedId": 100}],
          "passwordHistory": [{"lastUsedDate": "2022-03-04T00:00:00Z", "password": "older"}],
          "login": {"uris": [{"match": 1, "uri": "https://a.example"}, {"match": null, "uri": "https://b.example"}],
            "username": "ada", "password": "pw", "totp": "JBSWY3DPEHPK3PXP",
            "fido2Credentials": [{"credentialId": "c", "rpId": "a.example", "keyValue": "k"}]},
          "invented": {"deep": [1, 2], "word": "kept"}, "collectionIds": null},
         {"id": "i2", "type": 5, "name": "Key", "sshKey": {"privateKey": "PRIVATE", "publicKey": "ssh-ed25519 A",
          "keyFingerprint": "SHA256:x"}, "deletedDate": "2024-01-01T00:00:00Z"},
         {"id": "i3", "type": 9, "name": "Unheard", "novel": {"thing": "x"}}
        ]}
        """

    @Test("every kind of value has a place, and what has none is kept under its name")
    func everything() throws {
        let trial = try ForeignTrial(Array(Self.sample.utf8), named: "bitwarden_export.json")
        #expect(trial.report.imported == 3 && trial.report.dropped == 0)
        let shop = try #require(trial["Shop"])
        #expect(shop.kind == .login && shop.isPinned && shop.isArchived && !shop.isTrashed)
        #expect(shop.text == "two\nlines" && shop.tagPaths == ["Home/Bills"])
        #expect(shop.created == 1_672_628_645_678 && shop.modified == 1_704_164_645_000)
        #expect(shop.value("username") == "ada" && shop.value("password") == "pw")
        #expect(shop.value("url") == "https://a.example" && shop.value("Website") == "https://a.example")
        #expect(shop.fields.contains { $0.value == "https://b.example" && $0.kind == .url })
        #expect(shop.fields.contains { $0.label == "Door" && $0.value == "4711" && $0.kind == .secret })
        #expect(shop.value("Yes") == "true" && shop.value("Link") == "linked to 100")
        let old = try #require(shop.fields.first { $0.value == "older" })
        #expect(old.label == "Previous password, until 2022-03-04" && old.kind == .secret)
        let passkey = try #require(shop.fields.first { $0.kind == .passkey })
        #expect(passkey.label == "Passkey of a.example" && passkey.value.contains("\"keyValue\":\"k\""))
        #expect(shop.value("invented.deep") == "[1,2]" && shop.value("invented.word") == "kept")
        #expect(shop.value("login.uris 1.match") == "1" && shop.value("reprompt") == "1")
        let key = try #require(trial["Key"])
        #expect(key.kind == .sshKey && key.isTrashed && key.value("private-key") == "PRIVATE")
        #expect(trial["Unheard"]?.kind == .custom && trial["Unheard"]?.value("novel.thing") == "x")
        #expect(trial.report.keptAsRaw == 7)
        let line = try #require(trial.report.items.first)
        #expect(line.name == "Shop" && line.outcome == .imported && line.mapped == 16 && line.raw.count == 5)
    }

    @Test("a second import changes nothing; a changed item is updated; an organization's collections are tags")
    func again() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.sample, to: "export.json").path
        let fixture = try ImportFixture()
        #expect(try ForeignTrial.run(path, fixture).imported == 3)
        let count = try fixture.commitCount()
        let report = try ForeignTrial.run(path, fixture)
        #expect(report.isNothingNew && report.unchanged == 3)
        #expect(try fixture.commitCount() == count)
        try folder.write(Self.sample.replacing("\"pw\"", with: "\"new\""), to: "export.json")
        let third = try ForeignTrial.run(path, fixture)
        #expect(third.updated == 1 && third.unchanged == 2 && third.imported == 0)

        let trial = try ForeignTrial(
            Array(
                """
                {"encrypted": false, "collections": [{"id": "c", "organizationId": "o", "name": "Team/Ops", "externalId": null}],
                 "items": [{"id": "x", "organizationId": "o", "folderId": null, "type": 2, "name": "N", "secureNote": {"type": 0},
                 "collectionIds": ["c"]}]}
                """.utf8), named: "org.json")
        #expect(trial["N"]?.tagPaths == ["Team/Ops"] && trial["N"]?.kind == .note && trial.report.keptAsRaw == 0)
    }

    @Test("an export of what came in comes in as the same state, whatever the kinds of its items")
    func roundTrip() throws {
        let first = try ForeignTrial(Array(Self.sample.utf8), named: "export.json")
        let folder = try TemporaryFolder()
        let path = folder.url.appendingPathComponent("out.json").path
        let report = try first.fixture.vault.exportBitwarden(to: path)
        #expect(report.otherItems == 3 && report.notes == 0 && report.warnings.isEmpty)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let second = try ForeignTrial(path)
        #expect(try second.fixture.states() == first.fixture.states())
        #expect(throws: ImportExportError.self) { _ = try first.fixture.vault.exportBitwarden(to: path) }

        // Kinds and fields that Bitwarden does not have.
        let made = try ImportFixture()
        try made.makeEveryKind()
        let other = folder.url.appendingPathComponent("kinds.json").path
        _ = try made.vault.exportBitwarden(to: other)
        let back = try ForeignTrial(other)
        #expect(try back.fixture.states() == made.states())
        if RealExports.areThere {
            for name in ["bitwarden_export.json", "bitwarden.json"] {
                let real = try ForeignTrial(RealExports.path("bitwarden/" + name))
                let out = folder.url.appendingPathComponent("real-" + name).path
                _ = try real.fixture.vault.exportBitwarden(to: out)
                #expect(try ForeignTrial(out).fixture.states() == real.fixture.states())
            }
        }
    }

    @Test("a zip carries the files of items; what belongs to none is kept beside")
    func zip() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.sample, to: "data.json")
        try folder.python(
            """
            import zipfile
            z = zipfile.ZipFile('e.zip', 'w')
            z.write('data.json'); z.writestr('attachments/i1/paper.txt', b'abc'); z.writestr('stray.bin', b'stray')
            z.close()
            """)
        let path = folder.url.appendingPathComponent("e.zip").path
        let trial = try ForeignTrial(path)
        #expect(try trial.content("Shop", "paper.txt") == Array("abc".utf8))
        #expect(try trial.content("Files of e.zip", "stray.bin") == Array("stray".utf8))
        let report = try ForeignTrial.run(path, trial.fixture)
        #expect(report.isNothingNew && report.attachmentsUnchanged == 2)
    }

    @Test("a cut or altered file changes nothing, nor does one of too much depth or size (R41)")
    func broken() throws {
        let whole = Array(Self.sample.utf8)
        for end in stride(from: whole.count - 2, to: 400, by: -97) {
            #expect(try ForeignTrial.refusal(Array(whole[..<end]), named: "a.json") == .formatTruncated)
        }
        let deep = "{\"encrypted\":false,\"folders\":[],\"items\":" + String(repeating: "[", count: 5_000)
        #expect(try ForeignTrial.refusal(Array(deep.utf8), named: "a.json") == .formatInvalid)
        let account = "{\"encrypted\":true,\"folders\":[],\"items\":[{\"id\":\"x\",\"name\":\"2.a|b|c\"}]}"
        #expect(try ForeignTrial.refusal(Array(account.utf8), named: "a.json") == .sourceUnsupported)
        var limits = ImportLimits()
        limits.valueCountMax = 20
        #expect(throws: ImportExportError(.tooManyEntries, at: "line 1")) {
            _ = try parseForeignJSON(Array("[\(String(repeating: "0,", count: 30))0]".utf8), limits: limits)
        }
    }

    @Test(
        "the real exports come in with their titles, folders and fields",
        .enabled(if: RealExports.areThere, "needs the real exports beside the repository"))
    func realExports() throws {
        let first = try ForeignTrial(RealExports.path("bitwarden/bitwarden_export.json"))
        #expect(first.report.imported == 4 && first.report.dropped == 0 && first.report.keptAsRaw == 0)
        #expect(Set(first.items.keys) == ["My Secure Note", "Card Name", "My Identity", "Login Name"])
        let login = try #require(first["Login Name"])
        #expect(login.value("username") == "myusername@gmail.com" && login.value("password") == "mypassword")
        #expect(login.fields.filter { $0.kind == .url }.count == 3 && login.tagPaths == ["My Folder"])
        #expect(login.value("totp")?.hasPrefix("otpauth://totp/Google:") == true && login.isPinned)
        #expect(first["My Identity"]?.value("Social security number") == "123-12-1234")
        let card = try #require(first["Card Name"])
        #expect(card.value("code") == "123" && card.value("expiry") == "10/2021" && card.tagPaths == ["Second Folder"])

        let second = try ForeignTrial(RealExports.path("bitwarden/bitwarden.json"))
        #expect(second.report.imported == 14 && second.report.keptAsRaw == 0)
        let tags = Set(try ForeignTrial.all(second.fixture).flatMap(\.tagPaths))
        #expect(tags == ["Bank", "CornerCases", "Emails", "Emails/WS", "Servers", "Social"])
        #expect(second["aib"]?.value("password") == "ws5T@;_UB[Q|P!8'`~z%XC'JHFUbf#IX _E0}:HF,[{ei0hBg14")
    }
}
