// Real exports of password managers and of programs for one-time codes, beside the repository: each comes in whole, is
// recognised by itself, and changes nothing a second time.

import CoffretBase
import CoffretCore
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite(
    "Real exports of password managers",
    .enabled(if: RealExports.areThere, "needs the real exports beside the repository"))
struct RealPasswordExportTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let path: String
        var password: String?
        var keyFile: String?
        let format: String
        let count: Int
        var titles: [String] = []
        var testDescription: String { path }

        init(
            _ path: String, _ format: String, _ count: Int, password: String? = nil, keyFile: String? = nil,
            titles: [String] = []
        ) {
            (self.path, self.format, self.count) = (path, format, count)
            (self.password, self.keyFile, self.titles) = (password, keyFile, titles)
        }
    }

    static let codes = ["Deno", "SPDX", "Airbnb", "Issuu", "Air Canada", "WWE", "Boeing"]

    static let samples: [Sample] = [
        Sample("bitwarden/bitwarden_export.json", "bitwarden", 4),
        Sample("bitwarden/bitwarden.json", "bitwarden", 14, titles: ["aib", "note", "mastodon.social"]),
        Sample("bitwarden/bitwarden_encrypted_export.json", "bitwarden", 1, password: "a", titles: ["KeePassXC"]),
        Sample(
            "bitwarden/bitwarden_encrypted_argon2id_export.json", "bitwarden", 1, password: "a", titles: ["KeePassXC"]),
        Sample(
            "1password/1PasswordExport.1pux", "1pux", 9,
            titles: [
                "Login", "UUID 005 Password", "Home Wifi", "Credit Card", "Login Archived", "KeePassXC Logo",
                "Secure Note", "Identity", "Bank Account",
            ]),
        Sample("1password/1password.1pif", "1pif", 14, titles: ["aib", "note", "ovh.com"]),
        Sample("1password/1pux-items/LoginData.json", "1pux", 1, titles: ["eToro"]),
        Sample("1password/1pux-items/SecureNote.json", "1pux", 1, titles: ["Secure Note #1"]),
        Sample("1password/1pux-items/CreditCard.json", "1pux", 1, titles: ["Parent's Credit Card"]),
        Sample("1password/1pux-items/IdentityData.json", "1pux", 1, titles: ["George Engels"]),
        Sample("1password/1pux-items/APICredentials.json", "1pux", 1, titles: ["API Credential"]),
        Sample("1password/1pux-items/Password.json", "1pux", 1, titles: ["SuperSecret Password"]),
        Sample("1password/1pux-items/SSN.json", "1pux", 1, titles: ["SSN"]),
        Sample("1password/1pux-items/WirelessRouter.json", "1pux", 1, titles: ["Wireless Router"]),
        Sample(
            "protonpass/protonpass.zip", "proton-pass", 7,
            titles: [
                "Test proton 1", "Test alias", "Test proton2", "testwithoutpass", "Customfields", "Customnote",
                "Testcreditcard",
            ]),
        Sample("dashlane/dashlane.json", "dashlane-json", 15, titles: ["aib", "note", "empty entry"]),
        Sample("otp/otpauth-uris.txt", "otpauth", 7, titles: codes),
        Sample("otp/aegis_plain.json", "aegis", 7, titles: codes),
        Sample("otp/aegis_encrypted.json", "aegis", 7, password: "test", titles: codes),
        Sample("otp/andotp_plain.json", "andotp", 7, titles: codes),
        Sample("otp/2fas_authenticator_plain_v4.2fas", "2fas", 5, titles: ["Deno", "Issuu", "Air Canada"]),
        Sample("otp/2fas_authenticator_encrypted_v4.2fas", "2fas", 5, password: "test", titles: ["Deno", "Issuu"]),
        Sample("otp/proton_authenticator.json", "proton-authenticator", 3, titles: ["Deno", "SPDX", "Airbnb"]),
        Sample("otp/google-migration-totp.txt", "google-authenticator", 5, titles: ["raspberrypi", "pi@raspberrypi"]),
        Sample("keepass/NewDatabase.kdbx", "keepass-kdbx", 2, password: "a"),
        Sample("keepass/NewDatabase2.kdbx", "keepass-kdbx", 2, password: "a"),
        Sample("keepass/Format300.kdbx", "keepass-kdbx", 1, password: "a"),
        Sample("keepass/Format400.kdbx", "keepass-kdbx", 1, password: "t"),
        Sample("keepass/ProtectedStrings.kdbx", "keepass-kdbx", 1, password: "masterpw"),
        Sample("keepass/NonAscii.kdbx", "keepass-kdbx", 1, password: "\u{394}\u{F6}\u{636}"),
        Sample("keepass/Compressed.kdbx", "keepass-kdbx", 1, password: ""),
        Sample("keepass/RecycleBinWithData.kdbx", "keepass-kdbx", 11, password: "123"),
        Sample("keepass/FileKeyXmlV2.kdbx", "keepass-kdbx", 0, password: "", keyFile: "keepass/FileKeyXmlV2.keyx"),
        Sample(
            "keepass/KeyFileProtected.kdbx", "keepass-kdbx", 2, password: "a", keyFile: "keepass/KeyFileProtected.key"),
        Sample("keepass/test_db_kdbx4_with_password_argon2.kdbx", "keepass-kdbx", 2, password: "demopass"),
        Sample("keepass/test_db_kdbx4_with_password_argon2id_chacha20.kdbx", "keepass-kdbx", 1, password: "demopass"),
        Sample("keepass/test_db_kdbx4_with_password_aes.kdbx", "keepass-kdbx", 1, password: "demopass"),
        Sample("keepass/test_db_kdbx4_with_password_argon2_twofish.kdbx", "keepass-kdbx", 1, password: "demopass"),
        Sample("keepass/test_db_kdbx41_with_password_aes.kdbx", "keepass-kdbx", 4, password: "demopass"),
        Sample("keepass/test_db_kdbx4_with_totp_entry.kdbx", "keepass-kdbx", 1, password: "test"),
        Sample(
            "keepass/test_db_kdbx4_with_keyfile_v2.kdbx", "keepass-kdbx", 1, password: "demopass",
            keyFile: "keepass/test_db_kdbx4_with_keyfile_v2.keyx"),
        Sample("keepass/test_db_kdbx4_with_password_deleted_entry.kdbx", "keepass-kdbx", 3, password: "demopass"),
        Sample("keepass/NewDatabase.xml", "keepass-xml", 4),
        Sample("keepass/keepass.xml", "keepass-xml", 14, titles: ["aib", "note", "ovh.com"]),
    ]

    @Test("each comes in with all its items, and a second time nothing does", arguments: samples)
    func comesIn(_ sample: Sample) throws {
        let path = try RealExports.path(sample.path)
        let keyFile = try sample.keyFile.map { try RealExports.path($0) }
        let trial = try ForeignTrial(path, password: sample.password, keyFile: keyFile)
        #expect(trial.report.format == sample.format && trial.report.dropped == 0)
        // Notes of a KeePass group are an item more.
        let all = try ForeignTrial.all(trial.fixture).filter {
            !sample.format.hasPrefix("keepass") || $0.kind == .login
        }
        let items = all.filter { !$0.title.hasPrefix("Files of ") }
        #expect(items.count == sample.count, "\(items.map(\.title))")
        for title in sample.titles { #expect(items.contains { $0.title == title }, "\(title): \(items.map(\.title))") }
        let count = try trial.fixture.commitCount()
        let again = try ForeignTrial.run(path, trial.fixture, password: sample.password, keyFile: keyFile)
        #expect(again.isNothingNew && again.keptAsRaw == 0)
        #expect(try trial.fixture.commitCount() == count)
    }

    @Test(
        "KeePass databases say what keepassxc-cli says of them",
        arguments: samples.filter { $0.format == "keepass-kdbx" })
    func asKeePassXC(_ sample: Sample) throws {
        let name = try #require(sample.path.split(separator: "/").last).replacing(".kdbx", with: ".csv")
        let table = try CSVTable(RealExports.bytes("keepass/expected/\(name)"), rowCountMax: 1_000)
        let keyFile = try sample.keyFile.map { try RealExports.path($0) }
        let trial = try ForeignTrial(RealExports.path(sample.path), password: sample.password, keyFile: keyFile)
        let items = try ForeignTrial.all(trial.fixture).filter { $0.kind == .login }
        #expect(table.rows.count == items.count)
        for index in table.rows.indices {
            let row = Dictionary(table.row(index).map { ($0.column, $0.value) }) { $1 }
            let isThere = items.contains { item in
                (row["Title"]?.isEmpty == true || item.title == row["Title"])
                    && (item.value("username") ?? "") == row["Username"]
                    && (item.value("password") ?? "") == row["Password"]
                    && (item.value("url") ?? "") == row["URL"]
                    && (row["Notes"] ?? "").trimmedBlanks() == item.text.trimmedBlanks()
                    && CivilTime.format(item.created).prefix(19) == row["Created"]?.prefix(19)
                    && CivilTime.format(item.modified).prefix(19) == row["Last Modified"]?.prefix(19)
            }
            #expect(isThere, "\(row) among \(items.map { ($0.title, $0.fields.map(\.value)) })")
        }
    }

    @Test("1Password's fields, files, state and second vault")
    func onePassword() throws {
        let trial = try ForeignTrial(RealExports.path("1password/1PasswordExport.1pux"))
        let login = try #require(trial["Login"])
        #expect(login.value("username") == "team@keepassxc.org" && login.value("password") == "password")
        #expect(
            login.fields.filter { $0.kind == .url }.map(\.value) == ["https://keepassxc.org", "https://twitter.com"])
        #expect(login.fields.filter { $0.kind == .oneTimeCode }.map(\.value) == ["DFDFDEF", "DFDFDEFDEF"])
        #expect(login.tagPaths.contains("website") && login.tagPaths.contains("Personal") && login.isPinned)
        #expect(trial["Login Archived"]?.isArchived == true && trial["Bank Account"]?.tagPaths == ["Shared"])
        #expect(try trial.content("KeePassXC Logo", "keepassxc.png")?.count == 18_422)
        let card = try #require(trial["Credit Card"])
        #expect(
            card.value("number") == "1234567890" && card.value("expiry") == "06/2022" && card.value("code") == "123")
        #expect(trial["Identity"]?.value("street") == "123 Avenue Rd")
        let history = try ForeignTrial(RealExports.path("1password/1pux-items/LoginData.json"))
        #expect(history["eToro"]?.fields.filter { $0.label.hasPrefix("Previous password") }.count == 3)
    }

    @Test("one-time codes make the codes that their programs make")
    func oneTimeCodes() throws {
        for file in ["otpauth-uris.txt", "aegis_plain.json", "andotp_plain.json"] {
            let trial = try ForeignTrial(RealExports.path("otp/" + file))
            for (title, secret, digits) in [
                ("Deno", "4SJHB4GSD43FZBAI7C2HLRJGPQ", 6), ("SPDX", "5OM4WOOGPLQEF6UGN3CPEOOLWU", 7),
                ("WWE", "5VAML3X35THCEBVRLV24CGBKOY", 8),
            ] {
                let item = try #require(trial[title])
                let code = try OneTimeCode.parse(#require(item.value("totp")))
                #expect(Base32Text.encode(code.secret) == secret && code.digitCount == digits, "\(file) \(title)")
            }
            #expect(trial["Boeing"]?.value("totp")?.contains("JRZCL47CMXVOQMNPZR2F7J4RGI") == true)
            #expect(trial["Deno"]?.value("username") == "Mason")
        }
    }

    @Test("a wrong password, a wrong key file and none at all change nothing")
    func wrongKeys() throws {
        let protected = Self.samples.filter { $0.password != nil && $0.keyFile == nil && $0.password != "" }
        for sample in protected where !sample.path.contains("argon2") {
            let path = try RealExports.path(sample.path)
            #expect(try ForeignTrial.refusal(path, password: "not this") == .passwordWrong, "\(sample.path)")
            #expect(try ForeignTrial.refusal(path) == .passwordNeeded, "\(sample.path)")
        }
        let database = try RealExports.path("keepass/KeyFileProtected.kdbx")
        let other = try RealExports.path("keepass/FileKeyXmlV2.keyx")
        #expect(try ForeignTrial.refusal(database, password: "a", keyFile: other) == .passwordWrong)
        #expect(try ForeignTrial.refusal(database, password: "a") == .passwordWrong)
        let unknown = try RealExports.path("bitwarden/password-protected-unknown-password.json")
        #expect(try ForeignTrial.refusal(unknown, password: "password") == .passwordWrong)
    }

    @Test("broken databases are refused by name, and change nothing")
    func brokenDatabases() throws {
        func code(_ name: String, _ password: String = "") throws -> ImportExportError.Code? {
            try ForeignTrial.refusal(RealExports.path("keepass/" + name), password: password)
        }
        #expect(try code("BrokenHeaderHash.kdbx") == .checkMismatch)
        #expect(try code("broken_random_data.kdbx") == .sourceUnrecognised)
        #expect(try code("broken_kdbx_version.kdbx") == .sourceUnsupported)
        #expect(try code("basic.kdb", "masterpw") == .sourceUnsupported)
        for name in ["Format400.kdbx", "Format300.kdbx"] {
            let whole = try RealExports.bytes("keepass/" + name)
            let password = name == "Format400.kdbx" ? "t" : "a"
            for end in [10, 60, 150, whole.count / 2, whole.count - 5] {
                let code = try ForeignTrial.refusal(Array(whole[..<end]), named: name, password: password)
                #expect(code != nil, "\(name) cut at \(end)")
            }
            for place in [13, 40, 150, whole.count - 40] {
                var altered = whole
                altered[place] ^= 1
                let code = try ForeignTrial.refusal(altered, named: name, password: password)
                #expect(code != nil, "\(name) flipped at \(place)")
            }
        }
    }
}
